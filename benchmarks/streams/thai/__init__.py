"""What the paper on Thai et al. (2015) prints, and what is measured here."""
