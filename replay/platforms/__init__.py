"""Replays on hybrid platforms: malleable jobs that arrive over time, on clusters and clouds below a tree of agents."""
