"""What the paper on A2HA prints, and what is measured here."""
