"""Solving: the front door, the result, the methods."""
