"""Planning a bag as the command line says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..arguments import MethodOptions
from ..progress import progress

if TYPE_CHECKING:
    from ...instances.instance import Instance
    from ...solvers.bags.result import Result


def plan_by(problem: Instance, planning: MethodOptions) -> Result:
    """Plan an instance by the method, and within the limits, that the command line gives."""
    from ...heuristics.bags.d_spot import with_d_spot
    from ...solvers.bags.solve import solve

    method, options = planning.one_method(), planning.options
    planning.warn_of_idle(method)
    start = None
    if planning.initial is not None:
        from ...schedules.schedule_files import read_schedule

        start = read_schedule(planning.initial, with_d_spot(problem))
    with progress(f"planning {problem.name} by {method}", planning.time_limit) as show:
        return solve(
            problem,
            method,
            time_limit_s=planning.time_limit,
            target_gap=planning.target_gap,
            seed=planning.seed,
            threads=planning.threads,
            initial=start,
            options=options,
            on_progress=show,
        )
