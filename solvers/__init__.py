"""Solving: `solve`, its result, the methods, fronts, and their back ends."""
