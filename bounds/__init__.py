"""Proven lower bounds, and the linear programmes that are solved for them."""
