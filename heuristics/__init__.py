"""Heuristics: D_spot and the primary scheduling heuristic of HADS."""

from .d_spot import d_spot_warning, estimate_d_spot, with_d_spot
from .greedy import GreedyOptions, greedy
from .outcome import HeuristicOutcome

__all__ = ["GreedyOptions", "HeuristicOutcome", "d_spot_warning", "estimate_d_spot", "greedy", "with_d_spot"]
