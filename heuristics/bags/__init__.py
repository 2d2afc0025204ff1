"""Heuristics of bags."""
