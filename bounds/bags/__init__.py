"""Lower bounds of bags."""
