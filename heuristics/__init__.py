"""Heuristics: D_spot, the published primary schedulers, and our search."""
