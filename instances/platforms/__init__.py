"""Platforms: malleable jobs on clusters and clouds below a tree of agents."""
