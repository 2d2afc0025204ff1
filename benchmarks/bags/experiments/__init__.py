"""Experiments at scale: instances, methods, seeds, scenarios and policies, one row for each cell."""
