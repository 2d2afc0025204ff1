"""Lower bounds."""

from .divisible_bound import DivisibleBound, divisible_bound
from .makespan_bounds import makespan_lower_bound_s

__all__ = ["DivisibleBound", "divisible_bound", "makespan_lower_bound_s"]
