"""Quality of plans made again within milliseconds: ``python -m spotbag_papers.bags.replanning``.

Bags of distinct tasks whose plan is being carried out; a VM with tasks is lost, and what is left is planned again, in a
process that is warm. Each plan is compared with the better one of two long runs, and with the best plan known, which is
the best of those two and of all others that are made here. The times say something on an idle machine only.
``--seconds 4`` is for how long a state is planned at each limit, ``--long 3`` how long a long run is, ``--most 2000``
how many tasks the largest bag has.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence

import numpy as np

from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.schedules.events import VmEnded
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.bags.warm_up import warm_up

from ..measuring import asked, print_table

SIZES = ((20, 2), (60, 1), (60, 3), (300, 8), (1_000, 7), (2_000, 40))
"""Tasks, and VMs of each offer at most: the plans of the bags have 4, 6, 14, 44, 41 and 121 VMs."""
LIMITS_S = (0.01, 0.05, 0.2, 1.0)
_SHARES = (0.05, 0.6)
"""Moments of the losses, as shares of the makespan: most tasks wait still, and a part of them."""
_MOVES = 2_000_000
_LONG_S = 3.0
_SECONDS = 4.0
"""400 runs at 10 ms: the 99th percentile of a few would be the longest of them."""
_PERCENT, _MS = 100, 1e3


def bag(n_tasks: int, limit: int) -> Instance:
    """A bag of distinct tasks, with D_spot."""
    return with_d_spot(
        generate_instance(
            n_tasks, distinct=True, limit=limit, name=f"{n_tasks}", d_spot_fraction=0.8, goal="balanced", seed=n_tasks
        )
    )


def states(instance: Instance) -> Iterator[tuple[State, Schedule]]:
    """States of a bag whose plan is being carried out, each after the loss of the VM that runs most; and the plan."""
    # By moves, not by the clock: the same plan, and so the same states, on every machine.
    plan = solve(instance, "search", options={"moves": _MOVES}, survive="none").schedule
    assert plan is not None
    for share in _SHARES:
        moment = int(share * plan.makespan_s)
        state = State.planned(plan, moment)
        lost = max(state.vms, key=lambda vm: len(vm.running))
        yield state.advance(moment, VmEnded(lost.id)), plan


def rows(
    sizes: Sequence[tuple[int, int]], limits_s: Sequence[float], for_s: float, long_s: float
) -> Iterator[Sequence[object]]:
    """Rows of sizes and limits: distance from long runs, the best plan and the bound; and the time taken."""
    for n_tasks, limit in sizes:
        instance = bag(n_tasks, limit)
        found: dict[float, list[tuple[float, int]]] = {limit_s: [] for limit_s in limits_s}
        took: dict[float, list[float]] = {limit_s: [] for limit_s in limits_s}
        best, best_of_long, bounds, n_open, n_vms = [], [], [], [], []
        for number, (state, plan) in enumerate(states(instance)):
            left = state.remaining(instance)
            n_open.append(len(left.open_tasks))
            n_vms.append(len(left.machines))
            # Long runs stand for the optimum, which is not known for bags of this size.
            long = [replan(instance, state, time_limit_s=long_s, start=plan, seed=seed) for seed in (1, 2)]
            values = [result.objective for result in long if result.objective is not None]
            best_of_long.append(min(values))
            bounds.append(max(result.bound for result in long if result.bound is not None))
            for limit_s in limits_s:
                # Not measured: the first call fills caches of the bag.
                replan(instance, state, time_limit_s=limit_s, start=plan)
                for seed in range(max(int(for_s / limit_s), 2)):
                    gc.collect()  # else it is due when the next call begins, here where nothing else is made
                    begin = time.perf_counter()
                    result = replan(instance, state, time_limit_s=limit_s, start=plan, seed=seed)
                    took[limit_s].append(time.perf_counter() - begin)
                    value = np.inf if result.objective is None else result.objective
                    found[limit_s].append((value, number))
                    values.append(value)
            best.append(min(values))
        size = n_tasks, f"{min(n_open):,} to {max(n_open):,}", max(n_vms)
        proven = _PERCENT * np.mean([value / bound - 1 for value, bound in zip(best, bounds, strict=True)])
        for limit_s in limits_s:
            above_long, above = (
                np.array([_PERCENT * (value / least[number] - 1) for value, number in found[limit_s]])
                for least in (best_of_long, best)
            )
            median_s, late_s = np.median(took[limit_s]), np.percentile(took[limit_s], 99)
            gaps = above_long.mean(), above.mean(), above.max(), proven
            yield *size, _MS * limit_s, *gaps, _MS * median_s, _MS * late_s, late_s / limit_s


def main() -> None:
    """Print the table."""
    given = asked(__doc__, seconds=_SECONDS, long=_LONG_S, most=SIZES[-1][0])
    warm_up(["search"])
    sizes = [size for size in SIZES if size[0] <= given.most]
    columns = {
        "tasks": ",",
        "open": "",
        "VMs": ",",
        "limit (ms)": ",.0f",
        "above two long runs (%)": ".2f",
        "above the best (%)": ".2f",
        "at most (%)": ".2f",
        "best above the bound (%)": ".2f",
        "median (ms)": ",.1f",
        "99th percentile (ms)": ",.1f",
        "of the limit": ".2f",
    }
    print_table("Plans made again from a state", columns, rows(sizes, LIMITS_S, given.seconds, given.long))


if __name__ == "__main__":
    main()
