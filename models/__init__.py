"""Lower bounds and exact models."""
