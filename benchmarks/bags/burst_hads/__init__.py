"""What the paper on Burst-HADS prints, and what is measured here."""
