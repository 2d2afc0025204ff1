"""The tables of the HADS and Burst-HADS papers and of Thai et al., replayed beside what is printed."""
