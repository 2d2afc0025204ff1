"""The checker counts the cores of tasks, by its own arithmetic, whatever a plan says of them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spotbag.audits.bags.plan import _Checker, check
from spotbag.instances.entries import MARKETS, SURVIVAL_LEVELS, SurvivalLevel
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import PlacedTask, RentedVm, ScheduleDocument
from spotbag.schedules.schedule_files import format_schedule, parse_schedule_document
from spotbag.schedules.state import State
from spotbag.solvers.bags.replan import replan
from tests.helpers.several_cores import random_cores
from tests.helpers.soaks import some
from tests.instances.test_cores import bag

Placed = tuple[str, int, int, tuple[int, ...] | None]


def broken(instance: Instance, *placed: Placed) -> dict[str, float]:
    """Rules that are broken by a plan of one VM of the first type: task, core, start and all cores of each."""
    tasks = [
        PlacedTask(id=name, vm="vm", core=core, start_s=start_s, end_s=start_s + 100, cores=cores)
        for name, core, start_s, cores in placed
    ]
    vms = (RentedVm(id="vm", type=instance.vm_types[0].name, market="on-demand"),)
    report = check(instance, ScheduleDocument(instance=instance.name, vms=vms, tasks=tuple(tasks)))
    return {violation.rule: violation.amount for violation in report.violations}


@pytest.mark.parametrize(
    ("placed", "rules"),
    [
        ([("t0", 0, 0, (0, 1)), ("t1", 2, 0, (2, 3, 4))], {}),
        ([("t0", 0, 0, (0, 3)), ("t1", 1, 0, (1, 2, 4))], {}),  # they need not be neighbours
        ([("t0", 0, 0, None), ("t1", 2, 0, None)], {}),  # a plan need not name them all
        ([("t0", 0, 0, (0, 1)), ("t1", 1, 40, (1, 2, 3))], {"core": 60}),  # both have core 1
        ([("t0", 0, 0, (0,)), ("t1", 2, 0, (2, 3, 4))], {"core": 1}),  # fewer than it needs
        ([("t0", 0, 0, (0, 0)), ("t1", 2, 0, (2, 3, 4))], {"core": 1}),
        ([("t0", 0, 0, (0, 1)), ("t1", 2, 0, (2, 3, 5))], {"core": 1}),  # the VM has cores 0 to 4
        ([("t0", 1, 0, (0, 1)), ("t1", 2, 0, (2, 3, 4))], {"core": 1}),  # 0 is the first of them
    ],
)
def test_cores_of_tasks_are_counted(placed: list[Placed], rules: dict[str, float]) -> None:
    assert broken(bag([2, 3]), *placed) == rules


@pytest.mark.parametrize(
    ("cores", "rules"),
    [
        ([(0,), (1,)], {}),
        ([(0,), None], {}),
        ([(0, 1), (1,)], {"core": 100}),  # more than it needs, and the other's
        ([(0,), (77,)], {"core": 1}),
        ([(0, 0), None], {"core": 1}),
        ([(1,), None], {"core": 100}),  # 0 is the first, and 1 is the other's
    ],
)
def test_cores_that_a_plan_names_are_judged_where_all_tasks_need_one(
    cores: list[tuple[int, ...] | None], rules: dict[str, float]
) -> None:
    first, second = cores
    assert broken(bag([1, 1]), ("t0", 0, 0, first), ("t1", 1, 0, second)) == rules


def test_no_more_cores_are_needed_than_there_are() -> None:
    instance = bag([2, 2, 3])
    assert broken(instance, ("t0", 0, 0, None), ("t1", 1, 0, None), ("t2", 2, 100, None)) == {}
    assert broken(instance, ("t0", 0, 0, None), ("t1", 1, 0, None), ("t2", 2, 99, None)) == {"core": 2}


def test_a_task_of_more_cores_than_its_vm_has_cannot_run_there() -> None:
    assert broken(bag([1, 8], (4, 8)), ("t0", 0, 0, None), ("t1", 1, 100, None)) == {"core": 4}


def test_memory_is_looked_at_beside_cores() -> None:
    instance = bag([2, 2], memory_mb=3000)
    assert broken(instance, ("t0", 0, 0, (0, 1)), ("t1", 2, 0, (2, 3))) == {"memory": 6000 - 5 * 1024}
    assert broken(instance, ("t0", 0, 0, (0, 1)), ("t1", 2, 100, (2, 3))) == {}


@pytest.mark.parametrize("level", SURVIVAL_LEVELS)
@pytest.mark.parametrize("market", ["spot", "on-demand"])
def test_survival_is_judged_where_a_task_runs_beyond_all_whole_slots(level: SurvivalLevel, market: str) -> None:
    offers = {"on-demand": {"price_usd_per_hour": 1, "limit": 3}, "spot": {"price_usd_per_hour": 0.3, "limit": 3}}
    vm_type = {"name": "c3", "vcpus": 3, "memory_mb": 1000, "offers": offers}
    task = {"id": "t", "memory_mb": 1, "base_runtime_s": 10, "cores": 2, "count": 3}
    instance = Instance(name="by hand", deadline_s=200, vm_types=[vm_type], tasks=[task])
    machine = {"id": "vm", "type": "c3", "market": market, "running": [{"task": "t#1", "core": 2, "start_s": 0}]}
    state = State(instance="by hand", time_s=2, vms=[machine])
    plan = replan(instance, state, survive=level, iterations=100).schedule
    assert plan is not None
    report = check(instance, plan, survive=level, state=state)
    assert (report.violations, report.survival and report.survival.verdict) == ((), "survives")


@pytest.mark.parametrize(("busy", "verdict"), [([(1, 4)], "survives"), ([(1, 4), (0, 2)], "does-not-survive")])
def test_a_rescue_goes_on_any_two_cores_that_are_free(busy: list[tuple[int, int]], verdict: str) -> None:
    """Cores of the VM on demand are busy to the deadline: what is lost goes on 0 and 2, or nowhere."""
    offers = {"on-demand": {"price_usd_per_hour": 1, "limit": 1}, "spot": {"price_usd_per_hour": 0.3, "limit": 1}}
    vm_type = {"name": "c5", "vcpus": 5, "memory_mb": 1000, "offers": offers}
    needed = [{"id": f"t{k}", "memory_mb": 1, "base_runtime_s": 100 + 100 * (k > 0), "cores": 2} for k in (0, 1, 2)]
    instance = Instance(name="by hand", deadline_s=200, vm_types=[vm_type], tasks=needed[: len(busy) + 1])
    vms = tuple(RentedVm(id=market, type="c5", market=market) for market in MARKETS)
    tasks = [PlacedTask(id="t0", vm="spot", core=0, start_s=0, end_s=100, cores=(0, 1))]
    tasks += [
        PlacedTask(id=f"t{k}", vm="on-demand", core=cores[0], start_s=0, end_s=200, cores=cores)
        for k, cores in enumerate(busy, 1)
    ]
    report = check(instance, ScheduleDocument(instance="by hand", vms=vms, tasks=tuple(tasks)), survive="blackout")
    assert (report.violations, report.survival and report.survival.verdict) == ((), verdict)


@pytest.mark.parametrize("seed", some(range(300), fast=60))
def test_looking_at_each_task_finds_no_more_than_the_arrays(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(f"changed {seed}")
    schedule = random_cores(seed % 60)
    plan = parse_schedule_document(format_schedule(schedule))
    tasks = list(plan.tasks)
    for _ in range(rng.randint(0, 2)):
        at = rng.randrange(len(tasks))
        task, other = tasks[at], rng.choice(tasks)
        changes = [
            {"cores": other.cores},
            {"cores": other.cores, "core": other.core, "vm": other.vm},
            {"cores": None},
            {"cores": (*(task.cores or (task.core,)), rng.randint(0, 5))},
            {"cores": tuple(reversed(task.cores or (1, task.core)))},
            {"start_s": task.start_s + 20, "end_s": task.end_s + 20},
            {"core": rng.randint(0, 5)},
        ]
        tasks[at] = task.model_copy(update=rng.choice(changes))
    plan = plan.model_copy(update={"tasks": tuple(tasks)})
    report = check(schedule.instance, plan)
    monkeypatch.setattr(_Checker, "_doubtful_rows", lambda checker: np.ones(len(checker.plan.task_ids), dtype=bool))
    monkeypatch.setattr(_Checker, "_doubtful_vms", lambda checker, _: np.ones(len(checker.plan.vm_names), dtype=bool))
    assert report == check(schedule.instance, plan)
