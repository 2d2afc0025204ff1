"""Heuristics: D_spot, the published primary schedulers, our search, and packing onto hosts paid by started units."""
