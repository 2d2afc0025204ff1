"""``solve``: one way to all methods."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..heuristics.d_spot import d_spot_warning, with_d_spot
from ..instances.errors import SpotbagError
from ..instances.problem import Instance
from ..schedules.checker import check
from .registry import find_method, make_options
from .result import Result


def solve(
    instance: Instance, method: str = "greedy", *, seed: int = 0, options: Mapping[str, Any] | None = None
) -> Result:
    """Plan an instance.

    D_spot is estimated if the instance does not give it, the method is run, and its plan goes through the
    independent checker before it is handed out.

    Parameters
    ----------
    instance : Instance
        The problem.
    method : str
        One of `spotbag.solvers.METHODS`.
    seed : int
        For methods that use random numbers: same seed, same plan.
    options : mapping, optional
        Options of the method, by name.

    Returns
    -------
    Result
        Also if no plan was found: then its message says why.

    Raises
    ------
    InputError
        If the method or an option is unknown, or D_spot can be neither read nor estimated.
    """
    chosen = find_method(method)
    made_options = make_options(chosen, options or {})
    begin = time.perf_counter()
    given = instance
    instance = with_d_spot(given)
    outcome = chosen.run(instance, made_options)
    schedule = outcome.schedule
    if schedule is not None:
        violations = check(instance, schedule).violations
        if violations:
            raise SpotbagError(f"{method} made a plan that breaks a rule; please report this: {violations[0]}")
    return Result(
        status="no-plan" if schedule is None else "feasible",
        instance=instance,
        method=method,
        schedule=schedule,
        message=outcome.explanation,
        warnings=tuple(text for text in (d_spot_warning(given, instance), *outcome.warnings) if text),
        runtime_s=time.perf_counter() - begin,
        seed=seed,
    )
