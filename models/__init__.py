"""Lower bounds and exact models."""

from .configuration_bound import ConfigurationBound, configuration_bound
from .divisible_bound import DivisibleBound, divisible_bound
from .instance_count import SizingProblem, TypeChoice, problem_of_job
from .lower_bounds import LowerBound, lower_bounds
from .makespan_bounds import makespan_lower_bound_s

__all__ = [
    "ConfigurationBound",
    "DivisibleBound",
    "LowerBound",
    "SizingProblem",
    "TypeChoice",
    "configuration_bound",
    "divisible_bound",
    "lower_bounds",
    "makespan_lower_bound_s",
    "problem_of_job",
]
