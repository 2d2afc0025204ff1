"""Classical problems as bags: machines are VMs of one core, and the makespan is all that counts.

P||Cmax: identical machines. R||Cmax: each machine takes its own time for each job. A plain CP-SAT model of them is the
baseline.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.quantities import IntArray
from ...instances.entries import Objective, Offer, Task, VmType
from ...instances.instance import Instance
from ...schedules.method import Outcome, Run
from ...solvers.backend import SolverLimits
from ...solvers.cp_sat import solve_cp_model

PLANTED_S = 1000
"""Time for which each machine of a planted bag is busy, without a gap, in the best plan."""


def identical_machines(
    n_tasks: int, n_machines: int, *, kind: Literal["uniform", "big", "planted"], seed: int, name: str
) -> Instance:
    """Generate jobs for identical machines.

    Parameters
    ----------
    n_tasks, n_machines : int
        Jobs, and machines.
    kind : {"uniform", "big", "planted"}
        Times from 1 to 100 s; from 1 to 10,000 s; or `PLANTED_S` of each machine, cut into its jobs at random.
    seed, name
        Of the instance.
    """
    rng = np.random.default_rng(seed)
    if kind == "planted":
        counts = np.full(n_machines, n_tasks // n_machines) + (np.arange(n_machines) < n_tasks % n_machines)
        cuts = [np.sort(rng.choice(PLANTED_S - 1, count - 1, replace=False)) + 1 for count in counts.tolist()]
        times = np.concatenate([np.diff(cut, prepend=0, append=PLANTED_S) for cut in cuts])
    else:
        times = rng.integers(1, {"uniform": 100, "big": 10_000}[kind] + 1, n_tasks)
    return _bag(name, rng.permutation(times)[:, None], n_machines)


def unrelated_machines(
    n_tasks: int, n_machines: int, *, kind: Literal["uncorrelated", "jobs", "machines"], seed: int, name: str
) -> Instance:
    """Generate jobs for unrelated machines.

    Parameters
    ----------
    n_tasks, n_machines : int
        Jobs, and machines.
    kind : {"uncorrelated", "jobs", "machines"}
        Times from 10 to 100 s; or from 1 to 100 s for each job, or for each machine, and from 1 to 20 s for each pair
        in addition.
    seed, name
        Of the instance.
    """
    rng = np.random.default_rng(seed)
    if kind == "uncorrelated":
        return _bag(name, rng.integers(10, 101, (n_tasks, n_machines)), 1)
    common = rng.integers(1, 101, (n_tasks, 1) if kind == "jobs" else (1, n_machines))
    return _bag(name, common + rng.integers(1, 21, (n_tasks, n_machines)), 1)


def _bag(name: str, times_s: IntArray, limit: int) -> Instance:
    """Return the bag of a table of times, of jobs by types of machines."""
    offer = Offer(price_usd_per_hour=1.0, limit=limit)
    names = [f"machine-{number}" for number in range(1, times_s.shape[1] + 1)]
    rows = enumerate(times_s.tolist(), 1)
    tasks = [Task(id=f"job-{k}", memory_mb=1, runtime_s=dict(zip(names, row, strict=True))) for k, row in rows]
    longest_s = times_s.max(axis=1)
    return Instance(
        name=name,
        deadline_s=2 * int(longest_s.sum()) // (limit * len(names)) + 2 * int(longest_s.max()),
        survive="none",
        markets=("on-demand",),
        objective=Objective(goal="balanced", cost_weight=0.0, cost_scale_usd=1.0, makespan_scale_s=1.0),
        vm_types=tuple(VmType(name=own, vcpus=1, memory_mb=1024, offers={"on-demand": offer}) for own in names),
        tasks=tuple(tasks),
    )


def plain_cp_sat(instance: Instance, run: Run) -> Outcome:
    """Plan by a plain CP-SAT model: a machine for each job, and a makespan that no machine exceeds.

    Parameters
    ----------
    instance : Instance
        Of which the makespan alone counts; see `AssignmentModel`.
    run : Run
        Seed, time limit and threads.

    Raises
    ------
    ModelRefusal
        If the instance is another, or too large.
    """
    from ...models.bags.assignment_model import AssignmentModel  # here, since CP-SAT takes a second to load

    model = AssignmentModel(instance, instance.boot_overhead_s, instance.deadline_s)
    answer = solve_cp_model(model.model, SolverLimits.of_run(run), model.schedule, model.factor, model.constant)
    return Outcome(answer.values, "the plain model found no plan", bound=answer.bound)
