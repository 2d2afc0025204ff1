"""The tables of the HADS and Burst-HADS papers, replayed on our instances beside what is printed."""
