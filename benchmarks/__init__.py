"""Benchmarks: what the heuristics reach, and what a move costs."""
