"""What the paper on HADS prints, and what is measured here."""
