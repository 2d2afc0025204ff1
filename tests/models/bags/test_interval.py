"""The interval model: by hand, against brute force, and what it refuses."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.configuration_bound import configuration_bound
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.core.errors import ModelRefusal
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.models.bags.interval import IntervalModel
from spotbag.models.bags.interval_places import Choices, IntervalSwitches
from spotbag.schedules.method import Run, TracePoint
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.interval_method import IntervalOptions, interval
from spotbag.solvers.bags.solve import solve
from tests.helpers.fake_time import fake_time, solvers_take_all_their_time
from tests.helpers.second_by_second import brute_force_objective
from tests.helpers.soaks import some

NO_FIXING = IntervalOptions(fixing="off")


def vm_type(name: str = "a", price: float = 3.6, limit: int = 1, **fields: Any) -> dict[str, Any]:
    """A VM type of 0.001 $/s with one on-demand offer."""
    offers = {"on-demand": {"price_usd_per_hour": price, "limit": limit}}
    return {"name": name, "vcpus": 2, "memory_mb": 1000, "offers": offers} | fields


def instance(runtimes: list[int], memory: list[int] | None = None, **fields: Any) -> Instance:
    """Tasks of these run times; cost scale 1 $, makespan scale 1000 s: a second of either counts 0.0005."""
    memory = memory or [100] * len(runtimes)
    base: dict[str, Any] = {
        "name": "by hand",
        "deadline_s": 100,
        "objective": {"cost_scale_usd": 1, "makespan_scale_s": 1000},
        "vm_types": [vm_type()],
        "tasks": [
            {"id": f"t{k}", "memory_mb": need, "base_runtime_s": e}
            for k, (e, need) in enumerate(zip(runtimes, memory, strict=True))
        ],
    }
    return Instance(**(base | fields))


def optimum(problem: Instance, options: IntervalOptions | None = None, **run: Any) -> Schedule:
    """Proved optimum, through the checker."""
    outcome = interval(problem, options or IntervalOptions(), Run(**run))
    assert outcome.schedule is not None, outcome.explanation
    assert outcome.bound == pytest.approx(outcome.schedule.objective, rel=1e-8)
    report = check(problem, outcome.schedule)
    assert report.violations == ()
    assert report.objective == pytest.approx(outcome.schedule.objective)
    return outcome.schedule


def test_the_best_split_of_four_tasks_by_hand() -> None:
    # Two cores: 7 + 3 and 6 + 5 end at 11; 7 + 5 or 7 + 6 end later.
    assert optimum(instance([7, 6, 5, 3])).makespan_s == 11


def test_memory_binds_by_hand() -> None:
    # 600 and 500 MB do not fit 1000 MB together, nor do two of 600: 6 + 5 in turn, the 400 MB beside them.
    plan = optimum(instance([6, 5, 4], [600, 500, 400]))
    assert plan.makespan_s == 11
    assert plan.objective == pytest.approx(0.5 * 0.011 + 0.5 * 0.011)


def test_no_two_tasks_fit_together() -> None:
    # One after the other on each VM: 8 on one, 5 + 4 on the other.
    types = [vm_type(limit=2)]
    plan = optimum(instance([8, 5, 4], [600, 600, 600], vm_types=types))
    assert sorted(plan.vm_end_s.tolist()) == [8, 9]
    model = IntervalModel(with_d_spot(instance([8, 5, 4], [600, 600, 600], vm_types=types)))
    assert all(vm.one_at_a_time for vm in model.vms)


def test_the_bill_begins_with_the_boot_and_the_makespan_does_not() -> None:
    plan = optimum(instance([8, 5], boot_overhead_s=7))
    assert plan.makespan_s == 15
    assert plan.objective == pytest.approx(0.5 * 0.008 + 0.5 * 0.015)
    assert plan.task_start_s.min() == 7


def test_limits_of_markets_count_vms_of_all_types() -> None:
    types = [vm_type("a", limit=2), vm_type("b", limit=2)]
    problem = instance([5] * 5, vm_types=types, objective={"cost_weight": 0})
    assert optimum(problem).makespan_s == 5
    capped = problem.replace(limits={"max_on_demand": 2})
    assert optimum(capped).makespan_s == 10
    assert len(optimum(capped).vm_offer) <= 2


def test_spot_vms_end_by_d_spot() -> None:
    offers = {
        "spot": {"price_usd_per_hour": 0.36, "limit": 1},
        "on-demand": {"price_usd_per_hour": 3.6, "limit": 1},
    }
    problem = instance([10, 10, 10], vm_types=[vm_type(offers=offers)], d_spot_s=19)
    plan = optimum(problem)
    ends = dict(zip(plan.vm_offer.tolist(), plan.vm_end_s.tolist(), strict=True))
    assert ends == {0: 10, 1: 10}  # two on spot for 0.001 $, the third cannot follow them there


def burstable(**fields: Any) -> dict[str, Any]:
    return {"baseline_fraction": 0.2, "credits_per_hour": 30, "initial_credits": 0} | fields


def test_it_pays_to_wait_for_credits() -> None:
    slow = burstable(credits_per_hour=30, baseline_fraction=0.25)
    problem = instance([8], vm_types=[vm_type(vcpus=1, burstable=slow)], deadline_s=40)
    # At the baseline 32 s. At full speed 8 s spend 480 / 3600 credits, of which 240 are earned meanwhile:
    # the other 240 take 8 s of waiting.
    plan = optimum(problem)
    assert plan.task_start_s.tolist() == [8]
    assert plan.makespan_s == 16
    without_waiting = brute_force_objective(problem)
    assert without_waiting is not None
    assert plan.objective < without_waiting


def test_the_balance_is_capped_while_waiting() -> None:
    # A cap of 3 credit-seconds (of 1/60 credit) never lets 8 s run at full speed: 8 s lack 4.
    capped = burstable(credits_per_hour=30, baseline_fraction=0.5, max_credits=3 / 60)
    assert optimum(instance([8], vm_types=[vm_type(vcpus=1, burstable=capped)])).makespan_s == 16
    enough = burstable(credits_per_hour=30, baseline_fraction=0.25, max_credits=4 / 60)
    assert optimum(instance([8], vm_types=[vm_type(vcpus=1, burstable=enough)])).makespan_s == 16
    assert optimum(instance([8], vm_types=[vm_type(vcpus=1, burstable=enough)])).task_start_s.tolist() == [8]


def test_initial_credits_are_spent_where_they_help_most() -> None:
    # Nothing is earned. 7 core-seconds of full speed for both tasks are too many. With 6, the long one runs at full
    # speed and the short one at the baseline beside it, for 10 s: they spend 5 * 1 + 5 * 0.2 in the first 5 s.
    rules = burstable(credits_per_hour=0, baseline_fraction=0.2, initial_credits=6 / 60, max_credits=1)
    plan = optimum(instance([5, 2], vm_types=[vm_type(burstable=rules)], deadline_s=30))
    assert plan.makespan_s == 10
    assert plan.task_baseline.tolist() == [False, True]
    # With 5.5 they may overlap for 2 s only: the short one waits until 3 s, although a core is free.
    less = burstable(credits_per_hour=0, baseline_fraction=0.2, initial_credits=5.5 / 60, max_credits=1)
    late = optimum(instance([5, 2], vm_types=[vm_type(burstable=less)], deadline_s=30))
    assert late.makespan_s == 13
    assert late.task_start_s.tolist() == [0, 3]


def test_credits_of_a_machine_may_lack_what_their_sum_was_rounded_by() -> None:
    # A task spends 6/60 = 0.1 credits in 6 s at full speed, and 6 * 24/3600 = 0.04 are earned meanwhile; the state has
    # added its 0.06 up from parts of seconds. It was proved that no plan exists: at the baseline it takes 30 s.
    burstable = {"baseline_fraction": 0.2, "credits_per_hour": 24, "initial_credits": 0}
    tight = instance([6], vm_types=[vm_type(burstable=burstable)], deadline_s=6).to_document()
    tight["machines"] = [{"id": "m", "type": "a", "market": "on-demand", "credits": math.nextafter(0.06, 0)}]
    result = solve(Instance.from_document(tight, "tight"), "interval")
    assert result.status == "optimal"
    assert result.schedule is not None
    assert result.schedule.makespan_s == 6


def test_credits_that_never_come_leave_the_baseline_only() -> None:
    rules = burstable(credits_per_hour=0, baseline_fraction=0.5)
    model = IntervalModel(instance([5, 4], vm_types=[vm_type(burstable=rules)]))
    assert model.choices.kinds[0].credits == "never enough"
    assert {place.mode for place in model.places} == {1}
    plenty = burstable(credits_per_hour=120)
    assert (
        IntervalModel(instance([5, 4], vm_types=[vm_type(burstable=plenty)])).choices.kinds[0].credits
        == "always enough"
    )


def random_problem(seed: int) -> Instance:
    """A tiny instance of any shape."""
    draw = random.Random(seed)
    types = []
    for name in ["a", "b"][: draw.randint(1, 2)]:
        markets = draw.choice([["spot"], ["on-demand"], ["spot", "on-demand"]])
        offers = {m: {"price_usd_per_hour": draw.choice([0.36, 1.0, 3.6, 9.0]), "limit": 1} for m in markets}
        chosen = vm_type(name, offers=offers, vcpus=draw.randint(1, 3), speed=draw.choice([1.0, 1.0, 0.7]))
        if draw.random() < 0.4:
            chosen["burstable"] = {
                "baseline_fraction": draw.choice([0.25, 0.5, 0.4, 1.0]),
                "credits_per_hour": draw.choice([0, 12, 36.5, 90]),
                "initial_credits": draw.choice([0, 0, 0.05, 0.0875, 2]),
                "max_credits": 100,
            }
            if chosen["burstable"]["initial_credits"] < 0.1 and draw.random() < 0.5:
                chosen["burstable"]["max_credits"] = 0.1
        types.append(chosen)
    if len(types) == 1 and draw.random() < 0.5:
        next(iter(types[0]["offers"].values()))["limit"] = 2
    tasks: list[dict[str, Any]] = []
    left = draw.randint(1, 4)
    while left:
        count = draw.randint(1, min(left, 2))
        left -= count
        task = {"memory_mb": draw.choice([100, 400, 500, 501, 700]), "base_runtime_s": draw.randint(1, 8)}
        tasks.append({"id": f"t{left}", "count": count} | task)
    fields: dict[str, Any] = {"deadline_s": draw.randint(15, 40)}
    fields["d_spot_s"] = draw.randint(8, fields["deadline_s"])
    if draw.random() < 0.3:
        fields["boot_overhead_s"] = 3
    if draw.random() < 0.3:
        fields["limits"] = {"max_on_demand": 1, "max_spot": draw.randint(1, 2)}
    if draw.random() < 0.3:
        fields["checkpoint"] = {"overhead_fraction": 0.3, "dump_base_s": 0.7}
    if draw.random() < 0.6:
        fields["objective"] = {"cost_weight": draw.choice([0.0, 0.2, 0.8, 1.0])}
    return instance([], vm_types=types, tasks=tasks, **fields)


def agrees_with_brute_force(seed: int) -> None:
    problem = random_problem(seed)
    best = brute_force_objective(problem)
    outcome = interval(problem, NO_FIXING, Run(seed=seed))
    if outcome.schedule is None:
        assert best is None
        assert outcome.bound == math.inf
        assert "no plan exists" in outcome.explanation
        return
    assert check(problem, outcome.schedule).violations == ()
    objective = outcome.schedule.objective
    assert outcome.bound == pytest.approx(objective, rel=1e-7, abs=1e-9)
    if best is not None:
        assert objective <= best * (1 + 1e-9)
    if not any(offer.burstable and offer.limit for offer in problem.offers):
        assert objective == pytest.approx(best, rel=1e-9)
    again = interval(problem, IntervalOptions(), Run(seed=seed, initial=outcome.schedule))
    assert again.schedule is not None
    assert again.schedule.objective == pytest.approx(objective, rel=1e-9)
    assert again.bound == pytest.approx(objective, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", some(range(40), fast=6))
def test_tiny_instances_agree_with_brute_force(seed: int) -> None:
    agrees_with_brute_force(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_a_hundred_tiny_instances_agree_with_brute_force(seed: int) -> None:
    agrees_with_brute_force(seed)


@pytest.mark.parametrize("seed", range(8))
def test_cuts_and_symmetry_change_no_optimum(seed: int) -> None:
    problem = random_problem(100 + seed)
    plain = interval(problem, IntervalOptions("off", "off", "off"), Run())
    full = interval(problem, IntervalOptions(), Run())
    assert (plain.schedule is None) == (full.schedule is None)
    if plain.schedule is not None and full.schedule is not None:
        assert full.schedule.objective == pytest.approx(plain.schedule.objective, rel=1e-9)


def test_a_start_is_accepted_and_improved() -> None:
    problem = library_instance("memory/m10")
    problem = with_d_spot(problem.replace(tasks=problem.tasks[:6]))
    poor = solve(problem, "greedy").schedule
    assert poor is not None
    model = IntervalModel(problem, configuration_bound(problem), poor)
    assert model.hinted
    best = optimum(problem, initial=poor)
    assert best.objective < poor.objective
    assert optimum(problem, initial=best).objective == pytest.approx(best.objective, rel=1e-12)


def test_the_hint_is_a_solution_of_the_model() -> None:
    rules = burstable(credits_per_hour=30, baseline_fraction=0.4, initial_credits=0.05)
    types = [vm_type("b", burstable=rules), vm_type("a", price=9.0, limit=2)]
    problem = instance([6, 6, 6, 5], [400, 400, 400, 600], vm_types=types)
    plan = optimum(problem)
    from ortools.sat.python import cp_model

    model = IntervalModel(problem, configuration_bound(problem), plan)
    assert model.hinted
    solver = cp_model.CpSolver()
    solver.parameters.fix_variables_to_their_hinted_value = True
    solver.parameters.num_workers = 1
    assert solver.solve(model.model) == cp_model.OPTIMAL
    assert solver.objective_value / model.factor + model.constant == pytest.approx(plan.objective, rel=1e-9)


@pytest.mark.slow
def test_a_model_that_is_too_large_is_refused_with_its_size() -> None:
    problem = with_d_spot(generate_instance(1100, seed=1, d_spot_fraction=0.8, goal="balanced"))
    with pytest.raises(
        ModelRefusal, match=r"would need 44,000 intervals for 1,100 tasks on [0-9]+ VMs; its limit is 40,000"
    ):
        interval(problem, IntervalOptions(), Run())
    tasks = [{"id": "t", "memory_mb": 1, "base_runtime_s": 1, "count": 50_000}]
    with pytest.raises(ModelRefusal, match=r"more than 40,000 intervals for 50,000 tasks"):
        interval(instance([], tasks=tasks, vm_types=[vm_type(limit=2000)]), IntervalOptions(), Run())


def test_too_many_seconds_of_credits_are_refused() -> None:
    types = [vm_type("a"), vm_type("b", limit=5, burstable=burstable(credits_per_hour=24))]
    problem = instance([40] * 30, vm_types=types, deadline_s=5000)
    with pytest.raises(ModelRefusal, match=r"CPU credits second by second.*5 VMs of b on-demand over 5000 s; 30 tasks"):
        IntervalModel(problem)
    assert IntervalModel(instance([40] * 30, vm_types=types[:1], deadline_s=5000)).vms


def test_what_cannot_be_done_is_proved_and_explained() -> None:
    late = interval(instance([50, 50, 50], [600, 600, 600], deadline_s=120), IntervalOptions(), Run())
    assert late.bound == math.inf
    assert "no plan exists" in late.explanation
    slow = burstable(credits_per_hour=0, baseline_fraction=0.2)
    nowhere = interval(instance([30], vm_types=[vm_type(burstable=slow)]), IntervalOptions(), Run())
    assert nowhere.bound == math.inf
    assert nowhere.schedule is None


def test_the_time_limit_is_observed_and_the_start_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = with_d_spot(library_instance("memory/m20"))
    start = solve(problem, "lpt").schedule
    clock = fake_time(monkeypatch, look_s=1e-5)
    solvers_take_all_their_time(monkeypatch, clock)
    seen: list[TracePoint] = []
    outcome = solve(
        problem, "interval", time_limit_s=1.0, initial=start, on_progress=lambda point, _: seen.append(point)
    )
    assert 0.9 <= clock.now_s < 1.1
    assert start is not None
    assert outcome.schedule is not None
    assert check(problem, outcome.schedule).feasible
    assert outcome.schedule.objective <= start.objective
    assert outcome.bound is not None
    assert divisible_bound(problem).objective <= outcome.bound <= outcome.schedule.objective
    assert list(dict.fromkeys(point for point in seen if point.best < math.inf)) == list(outcome.trace)


def test_the_same_seed_gives_the_same_plan() -> None:
    problem = with_d_spot(library_instance("memory/m10"))
    problem = problem.replace(tasks=problem.tasks[:5])
    plans = [optimum(problem, seed=3) for _ in range(2)]
    assert (plans[0].task_start_s == plans[1].task_start_s).all()
    assert (plans[0].task_vm == plans[1].task_vm).all()


@pytest.mark.parametrize("name", some(["m10", "never-two", "two-sizes", "m20", "m30"], fast=2))
def test_the_configuration_bound_lies_between_the_divisible_one_and_every_plan(name: str) -> None:
    problem = with_d_spot(library_instance(f"memory/{name}"))
    bound = configuration_bound(problem)
    plan = solve(problem, "lpt").schedule
    assert plan is not None
    assert divisible_bound(problem).objective <= bound.objective <= plan.objective
    assert bound.makespan_s <= plan.makespan_s <= bound.latest_makespan_s(problem, plan.objective)
    assert not bound.barred(problem, plan.objective)[problem.task_group, plan.vm_offer[plan.task_vm]].any()
    if name == "never-two":  # memory seconds alone say 0.285
        assert bound.objective > 0.413


@pytest.mark.parametrize("seed", range(20))
def test_the_heaviest_set_is_that_of_all_subsets(seed: int) -> None:
    from itertools import combinations

    from spotbag.bounds.bags.configuration_bound import strongest_weighting
    from spotbag.models.bags.simultaneous_tasks import VmRoom

    draw = random.Random(seed)
    count = draw.randint(1, 8)
    needs = np.array([draw.randint(1, 60) for _ in range(count)])
    weights = np.array([draw.randint(0, 9) for _ in range(count)])
    room = VmRoom(draw.randint(1, 4), 100, needs, *np.ones((2, count), dtype=np.int64))
    best = max(
        int(weights[list(some)].sum())
        for size in range(room.vcpus + 1)
        for some in combinations(range(count), size)
        if needs[list(some)].sum() <= 100
    )
    chosen = room.heaviest_set(weights)
    assert int(weights @ chosen) == room.weighting(weights).capacity == best
    assert int(needs @ chosen) <= 100
    assert chosen.sum() <= room.vcpus
    strongest = strongest_weighting(room, np.ones(count))
    assert strongest is not None
    assert strongest.weights.sum() / strongest.capacity >= count / room.vcpus * (1 - 1e-9) - 0.01 * count


def test_a_budget_is_a_row_of_the_model() -> None:
    # Four tasks of 10 s on VMs of one core: on four at once 10 s, on two after each other 20 s, for 40 s of a VM each.
    types = [vm_type("a", 3.6, 2, vcpus=1), vm_type("b", 7.2, 2, vcpus=1)]  # 0.001 and 0.002 $ a second
    for budget_usd, least_s in ((0.06, 10), (0.0599, 20), (0.04, 20)):
        fastest = {"goal": "fastest", "budget_usd": budget_usd}
        plan = optimum(instance([10] * 4, vm_types=types, objective=fastest))
        assert plan.makespan_s == least_s
        assert plan.within_budget
    cheaper = instance([10] * 4, vm_types=types, objective={"goal": "fastest", "budget_usd": 0.0399})
    outcome = interval(cheaper, IntervalOptions(), Run())
    assert outcome.bound == math.inf


def test_fixing_gives_a_vm_no_more_time_than_a_plan_as_good_as_the_start_can_pay_for() -> None:
    problem = library_instance("memory/m10")
    problem = with_d_spot(problem.replace(tasks=problem.tasks[:6]))
    start = solve(problem, "greedy").schedule
    assert start is not None
    fixed, free = (
        [kind.limit_s for kind in Choices(problem, None, start, IntervalSwitches(fixing=on)).kinds]
        for on in (True, False)
    )
    assert min(fixed) < min(free)
