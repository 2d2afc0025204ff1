"""Solving: the front door, the result, the methods."""

from .convergence import write_convergence
from .front_door import solve
from .registry import METHODS, Method
from .result import STATUS_MEANINGS, Result, relative_gap

__all__ = ["METHODS", "STATUS_MEANINGS", "Method", "Result", "relative_gap", "solve", "write_convergence"]
