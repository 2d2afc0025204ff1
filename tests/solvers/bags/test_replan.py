"""Planning anew while a plan is carried out."""

from __future__ import annotations

import gc
import random
import resource
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import spotbag
from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.core.errors import InputError
from spotbag.core.limits import current_limit
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.schedules.events import TaskExpected, VmDraining, VmEnded, VmHibernated, VmReady
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from spotbag.schedules.vm_state import TaskOnVm, VmState
from spotbag.solvers.bags import replan as replan_module
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.bags.warm_up import warm_up_replan
from tests.helpers.exhaustive import exhaustive_objective
from tests.helpers.rescues import carried_on, random_plan
from tests.helpers.soaks import soak_of


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    warm_up_replan()


def plan_anew(seed: int) -> None:
    """Plan what a random tiny state has left, twice: after a loss, and after that went as planned for a while."""
    rng, plan = random.Random(f"replan {seed}"), random_plan(seed)
    instance = plan.instance
    state = State.planned(plan, rng.randrange(plan.makespan_s))
    if state.vms and rng.random() < 0.5:
        state = state.advance(state.time_s, VmEnded(rng.choice(state.vms).id))
    if state.vms and rng.random() < 0.3:
        state = state.advance(state.time_s, VmDraining(rng.choice(state.vms).id))
    waiting = state.waiting_ids(instance)
    state = state.replace(saved={name: 0.5 for name in waiting if rng.random() < 0.2})
    survive: Any = rng.choice([None, None, "none", "one-type"]) if seed % 10 == 0 else None
    start = plan if rng.random() < 0.8 else None
    first = replan(instance, state, time_limit_s=0.01, start=start, survive=survive)
    judge(state, instance, first.schedule, first.status)
    if first.schedule is None:
        return
    followed = state.follow(first.schedule)
    if len(followed.vms) and (followed.waiting_ids(instance) or followed.running_ids):
        second = replan(instance, followed, time_limit_s=0.005, start=first)
        judge(followed, instance, second.schedule, second.status)


def judge(state: State, instance: Instance, plan: Schedule | None, status: str) -> None:
    """See that a plan is one of what is left, by the checker and by what runs."""
    if plan is None:
        assert status in ("infeasible", "no-plan")
        return
    rest = state.remaining(instance)
    rest = rest if rest.d_spot_s is not None else rest.replace(d_spot_s=rest.deadline_s)
    assert status in ("optimal", "feasible")
    assert check(rest, plan).violations == ()
    for vm in state.vms:
        for run in vm.running:
            task = plan.instance.task_index[run.task]
            assert plan.vm_ids[plan.task_vm[task]] == vm.id
            assert (plan.task_core[task], plan.task_start_s[task] <= 0) == (run.core, True)


def troubled_state(rng: random.Random, plan: Schedule) -> State:
    """Return a state of a plan in which some VMs are lost, drain or hibernate, and tasks are late or saved in part."""
    instance, now_s = (
        plan.instance,
        rng.choice([0.0, rng.uniform(0, plan.makespan_s), float(plan.instance.boot_overhead_s)]),
    )
    state = State.planned(plan, now_s)
    for vm in state.vms:
        happens = rng.choice([None, None, VmEnded, VmDraining, VmHibernated])
        if happens is not None:
            state = state.advance(state.time_s, happens(vm.id))
    vms = []
    for vm in state.vms:
        running = tuple(
            run.model_copy(update={"end_s": now_s + rng.choice([-3.0, 0.0, 0.4, 9.0]) if rng.random() < 0.4 else None})
            for run in vm.running
        )
        paid_until_s = rng.choice([None, None, now_s + 2.5, now_s + 60])
        vms.append(vm.model_copy(update={"running": running, "paid_until_s": paid_until_s}))
    saved = {name: rng.choice([0.1, 0.5, 0.99]) for name in state.waiting_ids(instance) if rng.random() < 0.3}
    if rng.random() < 0.2:
        state = state.replace(time_s=state.time_s + rng.uniform(0, 5))
    return state.replace(vms=tuple(vms), saved=saved)


def make_the_best_of(plan: Schedule, rng: random.Random, *, tiny: bool) -> str:
    """Plan what a troubled state has left for any goal and level; of tiny ones, compare with all plans that exist."""
    instance = plan.instance.with_goal(rng.choice(["cheapest", "fastest", "balanced"]))
    if rng.random() < 0.5:
        instance = instance.replace(deadline_s=instance.deadline_s + plan.makespan_s, d_spot_s=None)
    state = troubled_state(rng, plan)
    level: Any = rng.choice(["none", "none", "one-type", "blackout"])
    try:
        result = replan(
            instance,
            state,
            time_limit_s=0.01,
            start=plan if rng.random() < 0.7 else None,
            survive=level,
            seed=rng.randrange(9),
        )
    except InputError as error:
        assert "deadline" in str(error) or "all tasks are done" in str(error)
        return "refused"
    judge(state, instance, result.schedule, result.status)
    best = exhaustive_objective(result.instance) if tiny and result.instance.n_tasks <= 5 else None
    if best is not None:
        assert result.status != "infeasible"
        assert result.bound is not None
        assert result.bound <= best * (1 + 1e-9) + 1e-12
    if result.schedule is None:
        return result.status
    value = result.stages[0].value if result.stages else result.schedule.objective
    assert result.bound is not None
    assert result.bound <= value + 1e-9
    assert best is None or value >= best * (1 - 1e-9) - 1e-12
    report = check(result.instance, result.schedule)
    assert report.violations == ()
    if level != "none":
        assert result.survival is not None
        judged = check(result.instance, result.schedule, survive=level).survival
        assert judged is not None
        assert (judged.verdict, result.survival.verdict) not in (("lost", "survives"), ("survives", "lost"))
    return result.status


def carry_on_as_planned(plan: Schedule, rng: random.Random) -> None:
    """A plan that goes on as planned costs what the whole costs less what is spent; planned anew, it is no worse."""
    now_s = rng.randrange(plan.makespan_s)
    instance, state = plan.instance, State.planned(plan, now_s)
    rest = carried_on(plan, state)
    assert rest.cost_usd + state.spent_usd == pytest.approx(plan.cost_usd, rel=1e-9, abs=1e-9)
    assert rest.makespan_s == plan.makespan_s - now_s
    result = replan(instance, state, time_limit_s=0.01, start=plan)
    assert result.schedule is not None
    assert result.schedule.objective <= rest.objective * (1 + 1e-9)


def larger_plan(seed: int) -> Schedule:
    """Return a plan of 20 to 120 tasks; memory may bind, and a type may be burstable."""
    rng = random.Random(f"larger {seed}")
    speeds = {name: rng.choice([0.7, 1.0, 1.6]) for name in ("a", "b", "c")}
    burstable = rng.choice(["", "", "c"])
    credits = {"baseline_fraction": 0.3, "credits_per_hour": 36, "initial_credits": 3, "max_credits": 100}
    vm_types = [
        {
            "name": name,
            "vcpus": rng.choice([1, 2, 4]),
            "memory_mb": rng.choice([2000, 4000, 9000]),
            "speed": speed,
            "offers": {
                market: {"price_usd_per_hour": speed * share, "limit": rng.randint(2, 6)}
                for market, share in (("spot", rng.choice([0.3, 0.6])), ("on-demand", 1.0))
                if name != burstable or market == "on-demand"
            },
        }
        | ({"burstable": credits} if name == burstable else {})
        for name, speed in speeds.items()
    ]
    memory_mb = rng.choice([(1, 50), (100, 900), (500, 2000)])
    tasks = [
        {"id": f"t{number}", "memory_mb": rng.randint(*memory_mb), "base_runtime_s": rng.randint(20, 900)}
        for number in range(rng.choice([20, 40, 60, 120]))
    ]
    document = {
        "format": "spotbag.instance/1",
        "name": "larger",
        "deadline_s": 40_000,
        "d_spot_s": 40_000,
        "boot_overhead_s": rng.choice([0, 60]),
        "vm_types": vm_types,
        "tasks": tasks,
        "limits": {"max_spot": rng.randint(3, 12)} if rng.random() < 0.4 else {},
    }
    plan = solve(Instance.from_document(document, "larger"), "lpt", survive="none").schedule
    assert plan is not None
    deadline_s = int(plan.makespan_s * rng.choice([1.0, 1.1, 1.5])) + 1
    instance = plan.instance.replace(deadline_s=deadline_s, d_spot_s=rng.choice([deadline_s, plan.makespan_s]))
    places = plan.task_vm, plan.task_core, plan.task_start_s, plan.task_baseline
    return Schedule(instance, plan.vm_offer, *places, plan.vm_ids)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
@example(219410).via("only tasks that run are left, and no VM takes new ones")
@example(588).via("only tasks that run are left, and no offer is bounded")
@example(2792).via("a burstable VM that boots beside a machine earned credits for cores that waited")
def test_plans_of_random_states_break_no_rule(seed: int) -> None:
    plan_anew(seed)


@soak_of(st.integers(0, 10**6), sample=300, whole=10_000)
def test_plans_of_thousands_of_states_break_no_rule(seed: int) -> None:
    plan_anew(seed)


@soak_of(st.integers(0, 10**6), sample=100, whole=20_000)
def test_plans_of_thousands_of_troubled_states_are_within_all_plans_and_bounds(seed: int) -> None:
    make_the_best_of(random_plan(seed), random.Random(f"troubled {seed}"), tiny=True)


@soak_of(st.integers(0, 10**6), sample=10, whole=5_000)
def test_larger_plans_of_troubled_states_break_no_rule_and_go_on_as_planned(seed: int) -> None:
    rng, plan = random.Random(f"troubled {seed}"), larger_plan(seed)
    make_the_best_of(plan, rng, tiny=False)
    carry_on_as_planned(plan, rng)


@soak_of(st.integers(0, 10**6), sample=100, whole=10_000)
def test_plans_that_go_on_as_planned_cost_what_is_not_spent(seed: int) -> None:
    carry_on_as_planned(random_plan(seed), random.Random(f"on {seed}"))


@pytest.fixture(scope="module")
def under_way() -> tuple[Instance, Schedule, State]:
    """A bag of the library, its greedy plan, and the state after the loss of the VM that runs most."""
    instance = with_d_spot(library_instance("hads/J60"))
    plan = solve(instance, "greedy", survive="none").schedule
    assert plan is not None
    state = State.planned(plan, plan.makespan_s // 3)
    lost = max(state.vms, key=lambda vm: len(vm.running))
    return instance, plan, state.advance(state.time_s, VmEnded(lost.id))


def test_without_time_the_plan_that_is_carried_out_goes_on(under_way: tuple[Instance, Schedule, State]) -> None:
    instance, plan, _ = under_way
    state = State.planned(plan, plan.makespan_s // 3)
    stop = threading.Event()
    stop.set()
    result = replan(instance, state, start=plan, stop=stop)
    assert result.interrupted
    assert result.schedule is not None
    moved = {
        name
        for index, name in enumerate(result.instance.task_ids)
        if result.schedule.vm_ids[result.schedule.task_vm[index]]
        != plan.vm_ids[plan.task_vm[plan.instance.task_index[name]]]
    }
    assert moved == set()
    assert result.schedule.makespan_s <= plan.makespan_s - plan.makespan_s // 3 + 1


def test_a_lost_vm_is_made_up_for(under_way: tuple[Instance, Schedule, State]) -> None:
    instance, plan, state = under_way
    result = replan(instance, state, time_limit_s=0.02, start=plan)
    judge(state, instance, result.schedule, result.status)
    assert result.schedule is not None
    assert result.bound is not None
    assert result.bound <= result.schedule.objective + 1e-9
    existing = {machine.id for machine in result.instance.machines}
    new = {
        name for name, machine in zip(result.schedule.vm_ids, result.schedule.vm_machine, strict=True) if machine < 0
    }
    assert not new & existing


def test_memory_binds_from_a_state_too() -> None:
    instance = with_d_spot(library_instance("memory/m10"))
    plan = solve(instance, "greedy", survive="none").schedule
    assert plan is not None
    state = State.planned(plan, plan.makespan_s // 3)
    for lost in (state.vms[0].id, state.vms[-1].id):
        after = state.advance(state.time_s, VmEnded(lost))
        result = replan(instance, after, time_limit_s=0.01, start=plan)
        judge(after, instance, result.schedule, result.status)
        assert result.schedule is not None


@pytest.mark.parametrize("goal", ["cheapest", "fastest", "balanced"])
def test_goals_are_those_of_the_bag(goal: str, under_way: tuple[Instance, Schedule, State]) -> None:
    instance, plan, state = under_way
    asked = instance.with_goal(goal)
    result = replan(asked, state, time_limit_s=0.02, start=plan)
    judge(state, asked, result.schedule, result.status)
    assert result.schedule is not None
    assert result.instance.goal == goal
    value = {
        "cheapest": result.schedule.cost_usd,
        "fastest": result.schedule.makespan_s,
        "balanced": result.schedule.objective,
    }[goal]
    assert [stage.quantity for stage in result.stages[:1]] == {"cheapest": ["cost_usd"], "fastest": ["makespan_s"]}.get(
        goal, []
    )
    assert result.bound is not None
    assert result.bound <= value + 1e-9


def test_a_lost_vm_makes_room_for_a_faster_one_where_the_limit_of_the_market_allows_no_other() -> None:
    offers = {"spot": {"price_usd_per_hour": 1.0, "limit": 1}}
    document = {
        "format": "spotbag.instance/1",
        "name": "one at a time",
        "deadline_s": 30,
        "d_spot_s": 30,
        "limits": {"max_spot": 1},
        "vm_types": [{"name": name, "vcpus": 1, "memory_mb": 1000, "offers": offers} for name in ("slow", "fast")],
        "tasks": [{"id": "t", "memory_mb": 1, "runtime_s": {"slow": 25, "fast": 5}}],
    }
    instance = Instance.from_document(document, "document")
    slow = next(offer.index for offer in instance.offers if offer.vm_type.name == "slow")
    plan = Schedule(instance, [slow], [0], [0], [0], [False], ("lost",))
    state = State.planned(plan, 10)
    result = replan(instance, state.advance(10, VmEnded("lost")), start=plan)
    assert result.schedule is not None
    assert result.schedule.makespan_s == 5


def test_the_ending_begins_when_the_search_ends_and_not_when_its_start_is_made(
    monkeypatch: pytest.MonkeyPatch, under_way: tuple[Instance, Schedule, State]
) -> None:
    """A start that was made after all the time was over counted as part of the ending: no search was ever left."""
    instance, plan, state = under_way
    given = instance.replace(description="a bag that has not been planned again before")
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    made = replan_module.quick_plan

    def slow_start(remaining: Instance, bound: Any, start: Any, seed: int, until: Any) -> Schedule | None:
        nonlocal now
        now += 0.02  # later than the limit
        return made(remaining, bound, start, seed, until)

    def slow_check(*arguments: Any) -> Any:
        nonlocal now
        now += 0.001
        return check(*arguments)

    monkeypatch.setattr(replan_module, "quick_plan", slow_start)
    monkeypatch.setattr(replan_module, "check", slow_check)
    for _ in range(3):
        assert replan(given, state, time_limit_s=0.01, start=plan).schedule is not None
    endings = replan_module._Memory.of(given)
    usual_s = replan_module._RESERVE_S + replan_module._RESERVE_S_A_TASK * state.remaining(given).n_tasks
    assert [share * usual_s for share in endings.shares] == pytest.approx([0.001, 0.001])


def test_new_prices_are_found_for_the_bound_when_many_tasks_are_done_and_the_last_ones_are_used_between(
    monkeypatch: pytest.MonkeyPatch, under_way: tuple[Instance, Schedule, State]
) -> None:
    instance, _, state = under_way
    given = instance.replace(description="another bag that has not been planned again before")
    asked: list[bool] = []

    def bounded(remaining: Instance, start: Any = None, most_cuts: int = 0) -> Any:
        asked.append(start is None)
        assert most_cuts == (replan_module._CUTS if start is None else 1)
        return divisible_bound(remaining, start, most_cuts)

    monkeypatch.setattr(replan_module, "divisible_bound", bounded)
    first = replan_module._bound(state.remaining(given), replan_module._Memory.of(given), 1.0)
    again = replan_module._bound(state.remaining(given), replan_module._Memory.of(given), 1.0)
    assert asked == [True, False]
    assert again.objective == pytest.approx(first.objective, rel=1e-9)
    waiting = state.waiting_ids(given)
    fewer = state.replace(done=(*state.done, *waiting[: len(waiting) // 2]))
    worth = replan_module._bound(fewer.remaining(given), replan_module._Memory.of(given), 1.0)
    assert asked == [True, False, True]
    assert worth.objective == pytest.approx(divisible_bound(fewer.remaining(given)).objective, rel=1e-3)
    # In no time, the last prices prove what they can.
    replan_module._bound(state.remaining(given), replan_module._Memory.of(given), 1e-3)
    assert asked == [True, False, True, False]


def test_first_prices_that_took_too_long_are_looked_for_again(
    monkeypatch: pytest.MonkeyPatch, under_way: tuple[Instance, Schedule, State]
) -> None:
    instance, _, state = under_way
    given = instance.replace(description="one more bag that has not been planned again before")
    asked: list[bool] = []

    def slow(remaining: Instance, start: Any = None, most_cuts: int = 0) -> Any:
        asked.append(start is None)
        current_limit().ended_by_time()
        return divisible_bound(remaining, start, most_cuts)

    monkeypatch.setattr(replan_module, "divisible_bound", slow)
    for _ in range(4):
        replan_module._bound(state.remaining(given), replan_module._Memory.of(given), 1.0)
    assert asked == [True, True, False, False]


def test_one_long_ending_does_not_rule_those_that_follow() -> None:
    endings = replan_module._Memory()
    for seconds in (0.001, 0.001, 0.009):
        endings.shares.append(seconds)
    assert endings.reserve_s(1.0, 0.01) == pytest.approx(0.001 + replan_module._SLACK_S)
    endings.shares.clear()
    for number in range(3 * replan_module._KNOWN_ENDINGS):
        endings.shares.append(0.009 if number % 100 == 50 else 0.001)
        assert endings.reserve_s(1.0, 0.01) < 0.002
    # Where many of them are long, they are waited for.
    for number in range(replan_module._KNOWN_ENDINGS):
        endings.shares.append(0.004 if number % 8 == 0 else 0.001)
    assert endings.reserve_s(1.0, 0.01) >= 0.004


def test_the_search_has_a_share_of_the_time_whatever_endings_took(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.perf_counter", lambda: 5.0)
    for reserve_s, share, expected in ((0.002, 1.0, 0.008), (0.002, 0.5, 0.004), (1.0, 1.0, 0.001)):
        end = replan_module._SearchEnd(5.01, reserve_s)
        assert end(share) - 5.0 == pytest.approx(expected)
        assert end.moment == end(share)
    assert replan_module._SearchEnd(4.0, 0.002)(1.0) == 5.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"time_limit_s": 0}, "must be a positive number of seconds"),
        ({"time_limit_s": float("nan")}, "must be a positive number of seconds"),
        ({"time_limit_s": "1"}, "must be a positive number of seconds"),
        ({"survive": "all"}, "is unknown (known: "),
        ({"start": 3}, "3 must be a Schedule, a Result, or None"),
        ({"start": library_instance("tiny/one-task")}, "must be a Schedule"),
        ({"stop": 3}, "must have a method is_set()"),
        ({"seed": "a"}, "must be from 0"),
        ({"threads": 0}, "0 must be from 1 to 1024"),
        ({"method": "nosuch"}, "nosuch"),
    ],
)
def test_arguments_out_of_their_range_are_refused(
    arguments: dict[str, Any], said: str, under_way: tuple[Instance, Schedule, State]
) -> None:
    instance, _, state = under_way
    with pytest.raises(InputError) as caught:
        replan(instance, state, **arguments)
    assert said in str(caught.value)


def test_a_start_of_another_bag_is_of_no_use(under_way: tuple[Instance, Schedule, State]) -> None:
    instance, _, state = under_way
    other = solve(library_instance("tiny/one-task"), "greedy").schedule
    found = replan(instance, state, start=other).schedule
    assert found is not None
    assert check(found.instance, found).feasible
    with pytest.raises(InputError, match=r"must be a spotbag\.State"):
        replan(instance, None)  # type: ignore[arg-type]


def test_where_the_time_left_is_too_short_it_is_said_that_no_plan_exists() -> None:
    instance = library_instance("tiny/one-task").replace(d_spot_s=None)
    state = State(instance=instance.name, time_s=instance.deadline_s - 1)
    result = replan(instance, state)
    assert (result.status, result.schedule) == ("infeasible", None)
    assert "no plan exists" in result.message


@pytest.fixture
def usual_collector() -> Iterator[None]:
    """The garbage collector as programs have it; tests let it run seldom."""
    seldom = gc.get_threshold()
    gc.collect()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*seldom)


@pytest.mark.slow
def test_a_service_that_plans_a_thousand_times_in_two_threads_does_not_grow(usual_collector: None) -> None:
    instance = with_d_spot(generate_instance(60, distinct=True, limit=3, name="service", d_spot_fraction=0.8, seed=60))
    plan = solve(instance, "search", time_limit_s=1.0, survive="none").schedule
    assert plan is not None

    def serve(first: int, times: int) -> int:
        """Plan what other moments have left, each time after another loss."""
        made = 0
        for number in range(first, first + times):
            state = State.planned(plan, (number * 37) % (plan.makespan_s // 2))
            lost = state.vms[number % len(state.vms)].id
            result = replan(
                instance, state.advance(state.time_s, VmEnded(lost)), time_limit_s=0.01, start=plan, seed=number
            )
            made += result.schedule is not None
        return made

    with ThreadPoolExecutor(2) as threads:

        def run(times: int) -> int:
            return sum(threads.map(serve, (0, 10_000), (times, times)))

        assert run(100) == 200
        gc.collect()
        before = _resident_bytes()
        assert run(500) == 1000
        gc.collect()
        assert _resident_bytes() - before < 8_000_000


def _resident_bytes() -> int:
    """Memory of this process, where its system tells; else the most that it has had."""
    told = Path("/proc/self/statm")
    if told.exists():
        return int(told.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("time_limit_s", [0.02, pytest.param(0.4, marks=pytest.mark.slow)])
def test_a_budget_that_the_quick_plan_exceeds(under_way: tuple[Instance, Schedule, State], time_limit_s: float) -> None:
    instance, plan, state = under_way
    cheapest = replan(instance.with_goal("cheapest"), state, time_limit_s=0.1, start=plan).schedule
    assert cheapest is not None
    budget = state.spent_usd + 1.02 * cheapest.cost_usd
    result = replan(instance.with_goal("fastest", budget), state, time_limit_s=time_limit_s, start=plan)
    assert result.schedule is None or result.schedule.cost_usd <= 1.02 * cheapest.cost_usd * (1 + 1e-9)
    nothing = replan(
        instance.with_goal("fastest", state.spent_usd + 1e-5), state, time_limit_s=time_limit_s, start=plan
    )
    assert nothing.schedule is None
    assert nothing.status in ("no-plan", "infeasible")


@pytest.mark.parametrize("initial", [0.2, 0.3])
def test_credits_that_the_plan_has_spent_do_not_come_back(initial: float) -> None:
    """Nothing is earned: two tasks at full speed spend 0.2 credits, and a third one needs 0.1 more."""
    burstable = {"baseline_fraction": 0.05, "credits_per_hour": 0, "initial_credits": initial, "max_credits": 100}
    vm_types = [
        {"name": name, "vcpus": 1, "memory_mb": 100, "offers": {"on-demand": {"price_usd_per_hour": usd, "limit": 1}}}
        for name, usd in (("b", 0.36), ("c", 3.6))
    ]
    tasks = [{"id": name, "memory_mb": 1, "runtime_s": {"b": 6, "c": 6}} for name in "tuv"]
    bag = Instance(
        name="spent",
        deadline_s=30,
        d_spot_s=30,
        objective={"goal": "cheapest"},
        vm_types=[vm_types[0] | {"burstable": burstable}, vm_types[1]],
        tasks=tasks,
    )
    places, starts = np.array([0, 0, 1]), np.array([6, 0, 13])
    plan = Schedule(bag, np.array([0, 1]), places, np.zeros(3, dtype=np.int64), starts, np.zeros(3, dtype=bool))
    running = ({"task": "t", "core": 0, "start_s": 6, "mode": "burst"},)
    vm = {"id": plan.vm_ids[0], "type": "b", "market": "on-demand", "running": running}
    state = State(instance="spent", time_s=11, done=("u",), vms=(vm,))
    result = replan(bag, state, start=plan, method="interval", time_limit_s=20)
    assert result.schedule is not None
    # At 0.36 $/h until 1 s, and v for 6 s at 3.6 $/h; or v on the first VM as well, for 6 s more.
    assert result.schedule.cost_usd == pytest.approx(0.0001 + (0.006 if initial == 0.2 else 0.0006))


def test_credits_that_the_plan_has_earned_are_there() -> None:
    """After 5 s there are 0.02 + 5 * 12/3600 credits: 19 s more earn the 0.1 that 6 s at full speed spend."""
    credits = {"baseline_fraction": 0.05, "credits_per_hour": 12, "initial_credits": 0.02, "max_credits": 100}
    offers = {"on-demand": {"price_usd_per_hour": 0.36, "limit": 1}}
    vm_types = [{"name": "b", "vcpus": 1, "memory_mb": 1000, "offers": offers, "burstable": credits}]
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"b": 6}}]
    bag = Instance(name="earned", deadline_s=25, objective={"goal": "cheapest"}, vm_types=vm_types, tasks=tasks)
    one = np.zeros(1, dtype=np.int64)
    plan = Schedule(bag, one, one, one, np.array([18]), one > 0)
    state = State(instance="earned", time_s=5, vms=({"id": plan.vm_ids[0], "type": "b", "market": "on-demand"},))
    result = replan(bag, state, start=plan, method="interval", time_limit_s=20)
    assert result.status == "optimal"
    assert result.schedule is not None
    assert result.schedule.cost_usd == pytest.approx(19 * 0.0001)


def test_tasks_burst_on_a_machine_as_far_as_its_credits_go() -> None:
    burstable = {"baseline_fraction": 0.25, "credits_per_hour": 0.0, "initial_credits": 0.0, "max_credits": 100}
    offers = {"on-demand": {"price_usd_per_hour": 1, "limit": 1}}
    instance = Instance(
        name="credits",
        deadline_s=1000,
        d_spot_s=1000,
        vm_types=[{"name": "b", "vcpus": 2, "memory_mb": 100, "offers": offers, "burstable": burstable}],
        tasks=[{"id": f"t{k}", "memory_mb": 60, "runtime_s": {"b": 60}} for k in range(3)],
    )
    for credits, seconds in ((0.0, 720), (1.0, 540), (2.0, 360), (3.5, 180)):
        machine = {"id": "b-1", "type": "b", "market": "on-demand", "credits": credits}
        document = {"format": "spotbag.state/1", "instance": "credits", "time_s": 0, "vms": [machine]}
        state = State.from_document(document, "state.json")
        result = replan(instance, state, iterations=50_000)
        assert result.schedule is not None
        assert result.schedule.makespan_s == seconds
        assert check(result.instance, result.schedule).violations == ()


def test_a_vm_that_should_be_ready_and_still_launches_is_told() -> None:
    # It was planned ready at once, call after call, without a word.
    instance = library_instance("tiny/boot")
    plan = solve(instance, "greedy").schedule
    assert plan is not None
    begun = State.begin(plan)
    late = begun.advance(max(vm.ready_s for vm in begun.vms) + 5)
    assert any("should be ready by now" in text and plan.vm_ids[0] in text for text in replan(instance, late).warnings)
    ready = begun.advance(late.time_s, *map(VmReady, plan.vm_ids))
    assert not any("should be ready" in text for text in replan(instance, ready).warnings)


def test_a_task_that_should_have_ended_is_warned_of_until_its_end_is_told() -> None:
    run = TaskOnVm(task="t0", core=0, start_s=0)
    state = State(instance="b", time_s=150, vms=(VmState(id="v", type="a", market="spot", running=(run,)),))
    bag = two_tasks()
    assert any("should have ended by now" in text and "t0" in text for text in replan(bag, state).warnings)
    told = replan(bag, state.advance(150, TaskExpected("t0", 210)))
    assert not any("should have ended" in text for text in told.warnings)
    assert told.schedule is not None
    assert told.schedule.task_end_s[0] == 60


@pytest.mark.parametrize(
    ("survive", "of_the_bag", "warned"),
    [(None, None, True), ("none", None, False), (None, "none", False), ("one-type", None, False)],
)
def test_a_plan_that_is_not_asked_to_survive_says_so(survive: Any, of_the_bag: Any, warned: bool) -> None:
    bag, state = two_tasks().replace(survive=of_the_bag), State(instance="b", time_s=10)
    result = replan(bag, state, survive=survive)
    assert any("is not asked to survive" in text for text in result.warnings) == warned


def test_without_a_limit_the_method_goes_on_to_the_end() -> None:
    bag = library_instance("tiny/boot")
    result = replan(bag, State(instance=bag.name), time_limit_s=None, survive="one-type")
    assert result.status == "optimal"


def two_tasks() -> Instance:
    offers = {
        "spot": {"price_usd_per_hour": 0.36, "limit": 4},
        "on-demand": {"price_usd_per_hour": 0.72, "limit": 4},
    }
    return Instance(
        name="b",
        deadline_s=900,
        vm_types=[{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": offers}],
        tasks=[{"id": f"t{k}", "memory_mb": 10, "runtime_s": {"a": 100}} for k in range(2)],
    )


@pytest.mark.parametrize("time_limit_s", [0.05, 0.5])
def test_a_start_is_a_hint_whatever_has_changed_since(time_limit_s: float) -> None:
    """The queue ran empty and a job came, another catalogue, or no plan at all: what fits of a start is used."""
    bag, state = two_tasks(), State(instance="b", time_s=10)
    start = replan(bag, state, survive="none")
    new = {"id": "new", "memory_mb": 10, "runtime_s": {"a": 100}}
    later = State(instance="b", time_s=300, done=("t0", "t1"))
    changed = [(bag.replace(tasks=[*bag.tasks, new]), later)]
    offers = {"on-demand": {"price_usd_per_hour": 1.0, "limit": 2}}
    other = {"name": "z", "vcpus": 1, "memory_mb": 100, "offers": offers}
    tasks = [{"id": f"t{k}", "memory_mb": 10, "runtime_s": {"z": 50}} for k in range(2)]
    changed += [(Instance(name="b", deadline_s=900, vm_types=[other], tasks=tasks), state)]
    for now, left in changed:
        found = replan(now, left, start=start, time_limit_s=time_limit_s, survive="none")
        assert found.schedule is not None
        assert check(now, found.schedule, state=left).feasible
    nothing = replan(bag.replace(deadline_s=100), state, survive="none")
    assert nothing.schedule is None
    assert replan(bag, state, start=nothing, time_limit_s=time_limit_s, survive="none").schedule is not None


def test_running_vms_that_cost_nothing_are_planned_where_nothing_else_is_offered() -> None:
    # The box in which the multipliers of the bound are looked for was empty, and was made larger for ever.
    small = spotbag.VmType(
        name="small", vcpus=2, memory_mb=4000, offers={"on-demand": spotbag.Offer(price_usd_per_hour=0.1, limit=0)}
    )
    tasks = [spotbag.Task(id=f"t{k}", memory_mb=100, runtime_s={"small": 300}) for k in range(8)]
    bag = Instance(name="bag", deadline_s=3000, vm_types=[small], tasks=tasks)
    free = VmState(id="v", type="small", market="on-demand", status="running", price_usd_per_hour=0)
    found = replan(bag, State(instance="bag", vms=(free,)), time_limit_s=0.05, survive="none")
    assert (found.objective, found.bound) == (0.0, 0.0)
    assert found.schedule is not None
    assert found.schedule.makespan_s == 1200
