"""Plans with late tasks, when the deadline is lost."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spotbag
from spotbag.bounds.bags.infeasibility import late_weight_bound
from spotbag.charts.bags.bag_chart import LATE
from spotbag.charts.bags.plan import plan_chart
from spotbag.core.errors import InputError
from spotbag.core.limits import within
from spotbag.executors.dask import _Supervisor
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import Lateness
from spotbag.schedules.lateness import value_of, with_late
from spotbag.schedules.schedule_files import read_schedule_document
from spotbag.schedules.state import State
from spotbag.solvers.bags.late import late_plan, lateness_of
from tests.helpers.late_exhaustive import least_late_value
from tests.helpers.soaks import soak, some
from tests.helpers.tiny_dates import dated_instance
from tests.helpers.tiny_instances import FAMILIES, tiny_instance
from tests.helpers.tiny_states import tiny_state

_MOST_BURSTING = 3
"""Most tasks of bags with burstable VMs: the exhaustive search looks at all credits of each second."""
_WORK = 100_000_000
"""About what a core does in 100 s, however busy it is: a bag with credits takes 14 s to be proved."""
GOALS = ("cheapest", "fastest", "balanced")


def late_bag(seed: int) -> Instance:
    """Draw a tiny bag, or what is left of one, whose deadline is a part of what it was."""
    draw = random.Random(f"late {seed}")
    *others, both = FAMILIES
    family = both if seed % 11 == 7 else draw.choice(others)
    if family == "burstable" and tiny_instance(seed, **FAMILIES[family]).n_tasks > _MOST_BURSTING:
        family = "memory"
    made = tiny_state(family, seed) if seed % 3 == 0 else tiny_instance(seed, **FAMILIES[family])
    boot_s = made.boot_overhead_s
    deadline_s = max(int(made.deadline_s * draw.choice([0.15, 0.25, 0.4, 0.6])), boot_s + 1, 2)
    changes = {} if made.d_spot_s is None else {"d_spot_s": draw.choice([deadline_s, draw.randint(0, deadline_s)])}
    bag = made.replace(deadline_s=deadline_s, late="least", survive="none", **changes)
    return bag if draw.random() < 0.4 else bag.with_goal(draw.choice(GOALS))


def dated_late_bag(seed: int) -> Instance:
    """Draw a tiny bag with dates and weights, or what is left of one, whose dates are parts of what they were."""
    draw = random.Random(f"late dates {seed}")
    while True:
        made = dated_instance(draw.randrange(10**6))
        if made.n_tasks > _MOST_BURSTING and any(vm_type.burstable for vm_type in made.vm_types):
            continue
        document = made.to_document() | {"late": "least", "survive": "none"}
        deadline_s = max(int(made.deadline_s * draw.choice([0.25, 0.4, 0.7, 1.0])), made.boot_overhead_s + 1, 2)
        document["deadline_s"] = deadline_s
        if document.get("d_spot_s") is not None:
            document["d_spot_s"] = draw.choice([deadline_s, draw.randint(0, deadline_s)])
        for task in document["tasks"]:
            if "deadline_s" in task:
                task["deadline_s"] = max(int(task["deadline_s"] * draw.choice([0.5, 1])), 1)
        with suppress(InputError):  # a task that is due before it may begin
            return Instance.from_document(document, "dated late")


def agrees_with_all_plans(seed: int, drawn: Callable[[int], Instance] = late_bag) -> bool:
    """Compare a late plan with the exhaustive search; return whether any task was late."""
    bag = drawn(seed)
    result = spotbag.solve(bag, iterations=_WORK)
    question = with_d_spot(bag)
    value = None if result.schedule is None else value_of(result.schedule, question)
    best = least_late_value(bag, (math.inf, math.inf) if value is None else value[:2])
    if best is None:
        assert result.status == "infeasible", seed
        return False
    assert result.schedule is not None, seed
    assert value is not None, seed
    assert late_weight_bound(question) <= best.weight, seed
    assert (value.weight, value.lateness_s) == best[:2], seed
    assert value.objective == pytest.approx(best.objective, rel=1e-7), seed
    report = spotbag.check(bag, result.schedule.to_document(late=result.late))
    assert not report.violations, seed
    assert report.status == ("late" if best.weight else "feasible"), seed
    if result.late is not None:
        assert result.late.fewest, seed
        assert result.late.weight == result.late.weight_bound == report.late.weight, seed
    return best.weight > 0


@pytest.mark.parametrize("first", some(range(0, 60, 4), 1))
def test_late_plans_are_the_best_of_all_plans(first: int) -> None:
    for seed in range(first, first + 4):
        agrees_with_all_plans(seed)


@pytest.mark.parametrize("first", some(range(4, 64, 4), 1))
def test_late_plans_of_tasks_with_dates_are_the_best_of_all_plans(first: int) -> None:
    for seed in range(first, first + 4):
        agrees_with_all_plans(seed, dated_late_bag)


@soak(30, 2000)
def test_late_plans_of_tasks_with_dates_are_the_best_of_all_plans_for_many_bags(how_many: int) -> None:
    assert sum(agrees_with_all_plans(seed, dated_late_bag) for seed in range(how_many)) > how_many / 4


def test_a_late_task_may_begin_and_end_as_late_as_it_must_on_a_spot_vm() -> None:
    """D_spot is 2 s, the deadline 8 s: the task ends at 9 s on the spot VM that runs another one until 5 s."""
    assert agrees_with_all_plans(5634)


def test_an_on_demand_vm_is_no_dearer_twin_of_a_spot_vm_on_which_nothing_is_in_time() -> None:
    """D_spot is 0 s: two tasks share the on-demand VM, one of them late, and the spot VM of the same type is idle."""
    assert agrees_with_all_plans(7396)


@soak(40, 2000)
def test_late_plans_are_the_best_of_all_plans_for_many_bags(how_many: int) -> None:
    assert sum(map(agrees_with_all_plans, range(how_many))) > how_many / 4


def nightly(**changes: Any) -> Instance:
    """Two VMs of two cores, 540 s after the boot: two parts of 200 s on each core fit, the ninth and the index do not.

    The ninth ends at 660 s, and the index, on another core, at 1160 s.
    """
    vm_type = {
        "name": "c5.large",
        "vcpus": 2,
        "memory_mb": 4096,
        "offers": {
            "spot": {"price_usd_per_hour": 0.03, "limit": 1},
            "on-demand": {"price_usd_per_hour": 0.085, "limit": 1},
        },
    }
    document = {
        "format": "spotbag.instance/1",
        "name": "nightly",
        "deadline_s": 600,
        "boot_overhead_s": 60,
        "vm_types": [vm_type],
        "tasks": [
            {"id": "index", "runtime_s": {"c5.large": 700}, "memory_mb": 500},
            {"id": "part", "runtime_s": {"c5.large": 200}, "memory_mb": 500, "count": 9},
        ],
        "late": "least",
    }
    return Instance.from_document(document | changes, "nightly")


@pytest.fixture(scope="module")
def late_night() -> spotbag.Result:
    return spotbag.solve(nightly(), threads=1)


def test_the_late_tasks_are_named_with_what_would_save_them(late_night: spotbag.Result) -> None:
    late = late_night.late
    assert late_night.status == "late"
    assert late is not None
    assert [(task.late_s, task.lost_since_s) for task in late.tasks] == [(560, -160), (60, None)]
    assert late.tasks[0].id == "index"
    assert (late.weight, late.weight_bound, late.lateness_s, late.fewest) == (2, 2, 620, True)
    assert late.enough_deadline_s == 760  # the index begins first
    assert late.enough_vms is None  # no VM is faster
    assert "'index' takes 700 s on c5.large spot and ends there after 760 s, 160 s too late" in late_night.message


def parts(count: int = 9, **changes: Any) -> Instance:
    """Return the parts without the index."""
    return nightly(tasks=[{"id": "part", "runtime_s": {"c5.large": 200}, "memory_mb": 500, "count": count}], **changes)


def test_more_vms_that_would_do_are_named() -> None:
    late = spotbag.solve(parts(), threads=1).late
    assert late is not None
    assert late.weight == 1
    assert [(vms.market, vms.vms) for vms in late.enough_vms or ()] == [("spot", 1), ("on-demand", 1)]


def test_more_vms_at_the_own_price_of_one_are_none_that_would_do() -> None:
    machine = {"id": "vm", "type": "c5.large", "market": "spot", "ready_s": 60, "price_usd_per_hour": 0.02}
    late = spotbag.solve(parts(machines=[machine]), threads=1).late
    assert late is not None
    assert [(vms.market, vms.vms) for vms in late.enough_vms or ()] == [("spot", 1), ("on-demand", 1)]


def test_vms_of_all_types_that_tasks_need_are_rented_within_the_limit_of_a_market() -> None:
    """Three of six types may be rented together, and each of three tasks runs on one type alone."""
    types = [
        {
            "name": name,
            "vcpus": 1 + number,
            "memory_mb": 4096,
            "offers": {"on-demand": {"price_usd_per_hour": 0.1, "limit": 3}},
        }
        for number, name in enumerate("abcdef")
    ]
    tasks = [{"id": f"t{name}", "runtime_s": {name: 700}, "memory_mb": 500} for name in "ace"]
    bag = nightly(vm_types=types, tasks=tasks, limits={"max_on_demand": 3})
    result = spotbag.solve(bag, threads=1)
    assert (result.status, result.schedule is not None) == ("late", True)
    none = spotbag.solve(bag.replace(limits={"max_on_demand": 2}), threads=1)
    assert (none.status, none.schedule) == ("infeasible", None)
    assert "within their limits" in none.message


def test_a_plan_to_start_from_may_be_late_and_nothing_worse_is_returned(late_night: spotbag.Result) -> None:
    start = late_night.schedule
    assert start is not None
    result = spotbag.solve(nightly(), time_limit_s=1e-3, threads=1, initial=start)
    assert result.late is not None
    assert (result.late.weight, result.late.lateness_s) == (2, 620)
    wrong = replace(start, task_start_s=np.zeros_like(start.task_start_s))
    with pytest.raises(InputError, match="breaks a rule: ready"):
        spotbag.solve(nightly(), threads=1, initial=wrong)


def test_iterations_are_the_clock_of_late_plans() -> None:
    first, second = (spotbag.solve(parts(45), iterations=100_000) for _ in range(2))
    assert first.schedule is not None
    assert second.schedule is not None
    assert first.schedule.to_document() == second.schedule.to_document()
    assert first.stats == second.stats
    state = State(instance="nightly", time_s=100, spent_usd=0)
    result = spotbag.replan(with_late(nightly(), None), state, iterations=20_000, late="least")
    assert result.status == "late"


def test_a_late_plan_has_no_certificate_of_survival() -> None:
    bag = parts(markets=["on-demand"])
    plan = spotbag.solve(bag, threads=1).schedule
    assert plan is not None
    survival = spotbag.check(bag, plan, survive="one-type").survival
    assert survival is not None
    assert survival.verdict == "not-shown"


def test_tasks_are_late_by_their_own_dates_and_weights() -> None:
    """One core from 60 s on: of 'light', due at 270 s, and 'heavy', due at 300 s, one is in time; 'last' is, at 600 s.

    That costs least if 'heavy' goes first, until 260 s: 'light' then ends at 460 s, 190 s too late. 'last' is released
    at 480 s.
    """
    vm_type = {"name": "a", "vcpus": 1, "memory_mb": 100, "offers": {"spot": {"price_usd_per_hour": 1, "limit": 1}}}
    tasks = [
        {"id": "light", "runtime_s": {"a": 200}, "memory_mb": 1, "deadline_s": 270},
        {"id": "heavy", "runtime_s": {"a": 200}, "memory_mb": 1, "deadline_s": 300, "weight": 5},
        {"id": "last", "runtime_s": {"a": 100}, "memory_mb": 1, "ready_s": 480},
    ]
    bag = nightly(vm_types=[vm_type], tasks=tasks)
    result = spotbag.solve(bag, threads=1)
    assert result.late is not None
    assert [(task.id, task.late_s, task.weight) for task in result.late.tasks] == [("light", 190, 1.0)]
    assert (result.late.weight_bound, result.late.enough_deadline_s) == (1, None)
    assert result.schedule is not None
    document = result.schedule.to_document(late=result.late)
    assert spotbag.check(bag, document).status == "late"
    rules = {violation.rule for violation in spotbag.check(with_late(bag, None), document).violations}
    assert rules == {"due"}
    later = spotbag.replan(bag, State(instance="nightly", time_s=400, done=("heavy",), spent_usd=0), late="least")
    assert later.late is not None  # after 60 s for the boot: 'light' ends at 660 s, and 'last' at 760 s, or first
    assert {task.id for task in later.late.tasks} <= {"light", "last"}
    assert later.late.weight == 1  # 'last' first, from 480 s until 580 s


def test_a_plan_in_time_is_the_answer_where_there_is_one() -> None:
    result = spotbag.solve(nightly(deadline_s=1800), "greedy", late="least")
    assert result.status == "feasible"
    assert result.late is None


def test_the_first_plan_is_there_whatever_the_limit() -> None:
    result = spotbag.solve(nightly(), time_limit_s=1e-3, threads=1)
    assert result.status == "late"
    assert result.schedule is not None


def test_who_asks_to_stop_before_there_is_a_plan_gets_none() -> None:
    stop = threading.Event()
    stop.set()
    result = spotbag.solve(nightly(), stop=stop, threads=1)
    assert (result.status, result.schedule, result.interrupted) == ("no-plan", None, True)


def test_without_the_option_the_message_names_it(late_night: spotbag.Result) -> None:
    with pytest.raises(InputError, match="'index'"):
        nightly(late=None)
    result = spotbag.solve(parts(late=None), threads=1)
    assert result.schedule is None
    assert result.message.endswith("; --late least gives the best that can still be done")
    assert "--late" not in late_night.message


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda bag: spotbag.solve(bag, survive="blackout"), "promises no survival"),
        (lambda bag: spotbag.solve(bag, goal="fastest", budget_usd=1.0), "has no budget"),
        (lambda bag: spotbag.solve(bag, near_least=0.1), "has no budget"),
        (lambda bag: spotbag.pareto_front(bag), "has no meaning"),
        (lambda bag: spotbag.replan(bag, under_way(0, 0), late="most"), "must be least"),
        (lambda bag: spotbag.replan(bag, spotbag.State(instance="nightly", time_s=0), survive="each"), "no survival"),
    ],
)
def test_what_cannot_be_honoured_is_refused(call: Callable[[Instance], object], said: str) -> None:
    with pytest.raises(InputError, match=f"late.*{said}"):
        call(nightly())


def test_a_late_plan_is_read_back_and_judged(late_night: spotbag.Result, tmp_path: Path) -> None:
    assert late_night.schedule is not None
    path = tmp_path / "plan.json"
    spotbag.write_schedule(late_night.schedule, path, late=late_night.late)
    document = read_schedule_document(path)
    assert document.late == late_night.late
    assert spotbag.read_schedule(path, nightly(late=None, deadline_s=900)).instance.late == "least"
    report = spotbag.check(nightly(), document)
    assert (report.status, report.feasible, report.violations) == ("late", False, ())
    assert report.late is not None
    assert [(task.id, task.late_s) for task in report.late.tasks] == [
        (task.id, task.late_s)
        for task in late_night.late.tasks  # type: ignore[union-attr]
    ]
    in_time = spotbag.check(with_late(nightly(), None), document)
    assert {violation.rule for violation in in_time.violations} == {"deadline", "d-spot"}


@pytest.mark.parametrize(
    "forged",
    [
        lambda late: late | {"weight": 1.0},
        lambda late: late | {"lateness_s": 619.0},
        lambda late: late | {"weight_bound": 3.0},
        lambda late: late | {"tasks": late["tasks"][:1]},
        lambda late: late | {"tasks": [late["tasks"][0] | {"late_s": 559}, late["tasks"][1]]},
        lambda late: late | {"tasks": [late["tasks"][0] | {"weight": 2.0}, late["tasks"][1]]},
        lambda late: late | {"tasks": [late["tasks"][0] | {"id": "part#1"}, late["tasks"][1]]},
    ],
)
def test_forged_lateness_is_found(
    late_night: spotbag.Result, forged: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    assert late_night.schedule is not None
    assert late_night.late is not None
    document = late_night.schedule.to_document(late=Lateness(**forged(late_night.late.model_dump())))
    report = spotbag.check(nightly(), document)
    assert report.status == "infeasible"
    assert {violation.rule for violation in report.violations} == {"claim"}


def test_late_tasks_are_marked_on_the_chart(late_night: spotbag.Result) -> None:
    assert late_night.schedule is not None
    chart = plan_chart(late_night.schedule)
    bars = {bar.name for panel in chart.panels for bar in panel.bars if bar.look is LATE}
    assert bars == {task.id for task in late_night.late.tasks}  # type: ignore[union-attr]
    assert LATE in chart.legend


def under_way(time_s: float, done: int) -> State:
    """The bag at a moment, with nothing that runs and some parts done."""
    return State(instance="nightly", time_s=time_s, spent_usd=0, done=tuple(f"part#{k}" for k in range(1, done + 1)))


def test_replan_brings_all_others_in_time_beside_what_is_lost() -> None:
    # 100 s are gone: the boot and two parts end at 560 s on each core, and all that are left are in time but the index.
    result = spotbag.replan(nightly(), under_way(100, 3), late="least")
    assert result.late is not None
    assert [(task.id, task.late_s) for task in result.late.tasks] == [("index", 260)]
    assert result.late.fewest
    assert result.schedule is not None
    document = result.schedule.to_document(late=result.late)
    assert spotbag.check(nightly(), document, state=under_way(100, 3)).status == "late"
    assert spotbag.replan(nightly(), under_way(100, 3), time_limit_s=1.0, late="least", threads=1).late == result.late


def test_after_the_deadline_all_is_late_and_a_warning_says_from_when() -> None:
    bag = with_late(nightly(), None)
    with pytest.raises(InputError, match="the deadline was 600 s"):
        spotbag.replan(bag, under_way(700, 8))
    result = spotbag.replan(bag, under_way(700, 8), late="least")
    assert result.status == "late"
    assert result.late is not None
    assert {task.id for task in result.late.tasks} == {"index", "part#9"}
    assert any("the deadline of 600 s has passed" in text for text in result.warnings)


@pytest.mark.slow
def test_large_bags_are_near_the_bound() -> None:
    draw = random.Random(7)
    tasks = [
        {"id": f"t{k}", "runtime_s": {"c5.large": draw.randint(5, 60)}, "memory_mb": draw.choice([500, 1800])}
        for k in range(120)
    ]
    bag = nightly(tasks=tasks)
    question = with_d_spot(bag)
    with within(0.5):
        plan, bound = late_plan(question, 0, late_weight_bound(question), None, threads=1, prove=True)
    assert plan is not None
    late = lateness_of(plan, question, bound)
    assert late is not None
    assert late.weight_bound <= late.weight <= 1.1 * late.weight_bound
    assert spotbag.check(bag, plan.to_document(late=late)).status == "late"


def test_a_dask_run_without_a_plan_in_time_goes_on_late() -> None:
    supervisor = object.__new__(_Supervisor)
    supervisor.instance, supervisor.start_vm = with_late(nightly(), None), lambda vm: None
    supervisor.replan = lambda *what: None
    plan = spotbag.solve(nightly(deadline_s=1800), "greedy").schedule
    assert plan is not None
    supervisor.plan = plan
    for state in (under_way(100, 3), under_way(700, 8)):
        found = supervisor._feasible(state)
        assert found is not None
        assert found.instance.n_tasks == 10 - len(state.done)
