"""Lower bounds and exact models."""

from .configuration_bound import ConfigurationBound, configuration_bound
from .divisible_bound import DivisibleBound, divisible_bound
from .makespan_bounds import makespan_lower_bound_s

__all__ = [
    "ConfigurationBound",
    "DivisibleBound",
    "configuration_bound",
    "divisible_bound",
    "makespan_lower_bound_s",
]
