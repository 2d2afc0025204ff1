"""Heuristics: D_spot, the published primary schedulers, and our search."""

from .d_spot import d_spot_warning, estimate_d_spot, with_d_spot
from .greedy import GreedyOptions, greedy
from .iterated_local_search import IlsOptions, iterated_local_search
from .lpt import LptOptions, lpt
from .outcome import HeuristicOutcome
from .run import Run, TracePoint
from .search import SearchOptions, search

__all__ = [
    "GreedyOptions",
    "HeuristicOutcome",
    "IlsOptions",
    "LptOptions",
    "Run",
    "SearchOptions",
    "TracePoint",
    "d_spot_warning",
    "estimate_d_spot",
    "greedy",
    "iterated_local_search",
    "lpt",
    "search",
    "with_d_spot",
]
