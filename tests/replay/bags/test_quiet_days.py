"""Without events, the replay is the plan: same cost to the cent, same makespan to the second."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from spotbag.core.errors import ModelRefusal
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.best_known import best_known, best_known_plan_path
from spotbag.instances.clouds import CLOUDS, PAPERS, Cloud
from spotbag.instances.library import library_instance, library_names
from spotbag.replay.bags.runs import replay_day
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import read_schedule
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.solve import solve
from tests.helpers.library_cases import library_cases
from tests.helpers.soaks import some


def demand_plan(schedule: Schedule) -> None:
    outcome = replay_day(schedule, "static")
    assert outcome.makespan_s == schedule.makespan_s
    assert round(outcome.cost_usd, 9) == round(schedule.cost_usd, 9)
    assert outcome.hibernations == outcome.unfinished_tasks == 0


def demand_plan_on_every_cloud(schedule: Schedule) -> None:
    """The plan's makespan, and its bill as each cloud reckons it; one bills by the hour."""
    for cloud in (*CLOUDS.values(), PAPERS.replace(minimum_s=100, block_s=3600, first_hour_free=True)):
        outcome = replay_day(schedule, "static", cloud=cloud)
        assert (outcome.makespan_s, outcome.unfinished_tasks) == (schedule.makespan_s, 0)
        assert outcome.cost_usd == pytest.approx(float(bill_usd(schedule, cloud)), rel=1e-12)


def bill_usd(schedule: Schedule, cloud: Cloud) -> Fraction:
    """Each VM from ready to the end of its last task, for the minimum at least, in whole blocks."""
    minimum_s, block_s = cloud.billing.minimum_s, cloud.billing.block_s or 1
    total = Fraction(0)
    for vm, offer in enumerate(schedule.vm_offer.tolist()):
        end_s = int(schedule.task_end_s[schedule.task_vm == vm].max())
        blocks = -(-max(end_s - schedule.instance.boot_overhead_s, minimum_s) // block_s)
        total += Fraction(str(schedule.instance.offers[offer].price_usd_per_hour)) / 3600 * blocks * block_s
    return total


def demand_plan_of(
    name: str, method: str, time_limit_s: float | None, every_cloud: bool = False, **options: Any
) -> None:
    try:
        result = solve(library_instance(name), method, time_limit_s=time_limit_s, options=options)
    except ModelRefusal:
        return
    if result.schedule is not None:
        demand_plan(result.schedule)
        if every_cloud:
            demand_plan_on_every_cloud(result.schedule)


@pytest.mark.parametrize("name", library_names())
def test_best_known_plans(name: str) -> None:
    """Plans of exact methods and of the search; one of them waits for CPU credits."""
    instance = with_d_spot(library_instance(name))
    assert name in best_known()
    demand_plan(read_schedule(best_known_plan_path(name), instance))


@pytest.mark.parametrize("name", library_cases())
def test_greedy(name: str) -> None:
    demand_plan_of(name, "greedy", None)


@pytest.mark.parametrize("name", some(["hads/J60", *(name for name in library_names() if name != "hads/J60")], fast=1))
def test_longest_task_first(name: str) -> None:
    demand_plan_of(name, "lpt", None)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_every_method_on_hand_sized_instances(method: str, every: int) -> None:
    for name in [name for name in library_names() if name.startswith("tiny/")][::every]:
        demand_plan_of(name, method, 5, True, **({"moves": 2000} if method == "search" else {}))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(library_names()[::9], marks=pytest.mark.slow, id="some"),
        pytest.param(library_names(), marks=pytest.mark.soak, id="all"),
    ],
)
def test_every_method_on_every_instance(method: str, names: tuple[str, ...]) -> None:
    for name in names:
        demand_plan_of(name, method, 1, every_cloud=True)


@pytest.mark.parametrize("policy", ["hads", "burst-hads"])
def test_published_policies_pay_for_idle_vms_on_a_quiet_day(policy: str) -> None:
    """They keep an idle VM to the end of its cycle: same makespan, or shorter by steals, for more money."""
    schedule = solve(library_instance("hads/J60"), "greedy").schedule
    assert schedule is not None
    outcome = replay_day(schedule, policy)
    assert outcome.makespan_s is not None
    assert outcome.makespan_s <= schedule.makespan_s
    assert outcome.cost_usd >= schedule.cost_usd
