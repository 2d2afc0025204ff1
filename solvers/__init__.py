"""Solving: the front door, the result, the methods."""

from .convergence import write_convergence
from .front_door import solve
from .instance_count import Sizing, size_job
from .pareto import FrontPoint, ParetoFront, pareto_front
from .pareto_picture import write_pareto
from .registry import METHODS, Method
from .result import STATUS_MEANINGS, Result, relative_gap

__all__ = [
    "METHODS",
    "STATUS_MEANINGS",
    "FrontPoint",
    "Method",
    "ParetoFront",
    "Result",
    "Sizing",
    "pareto_front",
    "relative_gap",
    "size_job",
    "solve",
    "write_convergence",
    "write_pareto",
]
