"""Heuristics of streams."""
