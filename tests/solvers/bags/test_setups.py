"""VM types whose VMs are set up after the boot: billed, and before the first task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from spotbag.audits.auditor import audit
from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.lower_bounds import lower_bounds
from spotbag.core.errors import InputError, ModelRefusal
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.timeline import QUIET, Timeline
from spotbag.instances.clouds import PAPERS, cloud_of
from spotbag.instances.instance import Instance
from spotbag.replay.bags.compiled_engine import CompiledReplays
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.live import LivePolicy
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.record import trace_of
from spotbag.replay.bags.runs import replay_day
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.pareto import pareto_front
from spotbag.solvers.bags.solve import solve
from tests.helpers.back_ends import RULE_POLICIES, outcome_step_by_step, random_meeting, random_replay_plan
from tests.helpers.exhaustive import exhaustive_objective
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak_of, some
from tests.helpers.tiny_days import bag, plan, vm_type
from tests.helpers.tiny_instances import FAMILIES, tiny_billing, tiny_instance
from tests.helpers.tiny_states import tiny_state

KNOWS = [name for name, method in METHODS.items() if method.setups]
SETUPS = st.lists(st.sampled_from([0, 3, 20]), min_size=3, max_size=3)
SEEDS = st.integers(0, 10**6)


def with_setups(document: dict[str, Any], setups: list[int]) -> dict[str, Any]:
    """Return a document whose VM types are set up for so long."""
    types = [entry | {"setup_s": setup_s} for entry, setup_s in zip(document["vm_types"], setups, strict=False)]
    return document | {"vm_types": types}


def look_at(method: str, family: str, seed: int, from_state: bool = False) -> None:
    """Demand that a plan costs what a quiet day does, and that neither it nor a bound is better than the optimum."""
    if from_state:
        setups = [(seed + number) % 3 * 2 for number in range(3)]
        problem = Instance.from_document(with_setups(tiny_state(family, seed).to_document(), setups), "state")
    else:
        problem = tiny_instance(seed, setups=True, **FAMILIES[family])
    if seed % 2:
        problem = problem.replace(billing=tiny_billing(seed))
    best = exhaustive_objective(problem)
    found = solve(problem, method, survive="none")
    place = f"{method} {family} {seed}: {found.status} {found.objective}, bound {found.bound}, the optimum is {best}"
    if best is None:
        assert found.schedule is None, place
        return
    assert found.bound is None or found.bound <= best * (1 + 1e-7), place
    if found.schedule is None:
        assert not METHODS[method].exact or family == "burstable", place
        return
    assert found.objective is not None
    assert found.objective >= best * (1 - 1e-7), place
    report = check(found.instance, found.schedule)
    assert not report.violations, place
    assert report.cost_usd == pytest.approx(found.schedule.cost_usd, rel=1e-9), place
    if not from_state:
        day = replay_day(found.schedule, "static", QUIET)
        assert day.cost_usd == pytest.approx(found.schedule.cost_usd, rel=1e-9), place
        assert day.makespan_s == found.schedule.makespan_s, place
    if method in ("auto", "interval") and family != "burstable":
        assert found.status == "optimal", place
    if found.status == "optimal":
        assert found.objective <= best * (1 + 1e-7), place


@pytest.mark.parametrize("family", some([*FAMILIES], fast=3))
def test_no_method_is_better_than_the_optimum(family: str) -> None:
    for method in KNOWS:
        look_at(method, family, 0)


@pytest.mark.parametrize(("method", "family", "seed"), [("interval", "cores", 1099), ("auto", "burstable", 1087)])
def test_presolve_loses_no_optimum(method: str, family: str, seed: int) -> None:
    """OR-Tools 9.15 called worse plans of these optimal, 3.23 for 2.48 and 6.41 for 4.21."""
    look_at(method, family, seed)


@soak_of(st.sampled_from(KNOWS), st.sampled_from([*FAMILIES]), SEEDS, sample=100, whole=5000)
def test_no_method_is_better_than_the_optimum_of_thousands(method: str, family: str, seed: int) -> None:
    look_at(method, family, seed)


@soak_of(st.sampled_from(["auto", "search", "interval"]), st.sampled_from([*FAMILIES]), SEEDS, sample=60, whole=3000)
def test_no_plan_from_a_state_is_better_than_the_optimum(method: str, family: str, seed: int) -> None:
    look_at(method, family, seed, from_state=True)


@soak_of(st.sampled_from([*FAMILIES]), SEEDS, sample=60, whole=3000)
def test_no_bound_is_above_the_optimum(family: str, seed: int) -> None:
    problem = with_d_spot(tiny_instance(seed, setups=True, **FAMILIES[family]))
    best = exhaustive_objective(problem)
    for bound in lower_bounds(problem):
        if bound.name in ("divisible bound", "configuration bound", "core-pattern bound"):
            assert best is None or bound.value <= best * (1 + 1e-7), f"{family} {seed}: {bound}, {best}"


def two_types(**fields: Any) -> Instance:
    """A task of 100 s: on spot a tenth of a cent a second, on type b after half a minute of setup."""
    types = [vm_type("a"), vm_type("b") | {"setup_s": 30}]
    return bag({"t": {"a": 100, "b": 60}}, types, boot_overhead_s=10, survive="none", **fields)


@pytest.mark.parametrize(("method", "takes"), [(name, name in KNOWS) for name in METHODS])
def test_a_vm_is_billed_while_it_is_set_up(method: str, takes: bool) -> None:
    """Ready at 40 s, the task ends at 100 s: 90 s are billed from the boot on, which is less than 100 s without."""
    if not takes:
        with pytest.raises(ModelRefusal, match="knows no setup_s of VM types"):
            solve(two_types(), method)
        return
    found = solve(two_types(), method).schedule
    assert found is not None
    assert (found.vm_counts(), found.makespan_s) == ({"b spot": 1}, 100)
    assert found.cost_usd == pytest.approx(0.09)
    assert found.vm_ready_s.tolist() == [40]


def test_who_does_not_know_setups_says_so() -> None:
    found = solve(two_types())
    assert found.schedule is not None
    with pytest.raises(InputError, match="a live policy does not know"):
        LivePolicy.begin(found.schedule, "hads")


@pytest.mark.parametrize("level", ["one-type", "blackout", "each"])
def test_what_is_lost_is_done_on_a_vm_that_is_set_up_first(level: Any) -> None:
    """Lost at 99 s, it is done again from 139 s to 199 s: 89 s of spot are billed, and 90 s at thrice the price."""
    for deadline_s, market in ((199, "spot"), (198, "on-demand")):
        document = two_types().to_document() | {"deadline_s": deadline_s, "survive": level}
        document["tasks"][0]["runtime_s"].pop("a")
        document.pop("d_spot_s")
        problem = Instance.from_document(document, "day")
        found = solve(problem)
        assert found.status == "optimal" or level == "each"
        assert found.schedule is not None
        assert found.schedule.vm_counts() == {f"b {market}": 1}
        assert found.survival is not None
        report = check(found.instance, found.schedule.to_document("by hand", found.survival), survive=level)
        assert report.survival is not None
        assert (report.survival.verdict, report.notes) == ("survives", ())
        if level != "each":  # its bill is a bound
            usd = pytest.approx(0.27 + 0.089 * (market == "spot"))
            assert (found.survival.worst_cost_usd, report.survival.worst_cost_usd) == (usd, usd)


def test_a_front_knows_setups() -> None:
    front = pareto_front(two_types(), time_limit_s=5)
    assert [(point.makespan_s, round(point.cost_usd, 9)) for point in front.points] == [(100, 0.09)]
    with pytest.raises(ModelRefusal, match="knows no setup_s"):
        pareto_front(two_types(), method="class-programme")


def recorded(schedule: Schedule, policy: str, day: Timeline) -> tuple[float, list[dict[str, Any]]]:
    """Replay and audit a day on the papers' cloud; return its cost and records."""
    run = Replay(replay_plan(schedule), find_policy(policy), day, PAPERS, record=True)
    outcome = run.run()
    trace = trace_of(run.state, run.day, run.cloud, outcome)
    report = audit(trace, given=schedule.instance)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(outcome.cost_usd, abs=1e-9)
    return outcome.cost_usd, trace.events


def test_a_new_vm_of_the_day_is_set_up_before_it_runs_what_is_moved_to_it() -> None:
    """The spot VM goes at 50 s; a VM on demand is requested, has booted at 60 s and runs the task from 90 s on."""
    problem = bag({"t": {"b": 60}}, [vm_type("b") | {"setup_s": 30}], boot_overhead_s=10, survive="none", d_spot_s=300)
    schedule = plan(problem, ["b spot"], {"t": (0, 0, 40)})
    events = recorded(schedule, "hads", Timeline((), "quiet"))[1]
    assert [event["t"] for event in events if event["event"] == "start"] == [40]


@soak_of(instance_documents(max_tasks=10), SETUPS, SEEDS, sample=60, whole=3000)
def test_days_in_both_back_ends_are_the_same_and_audited(
    document: dict[str, Any], setups: list[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    made = random_replay_plan(with_setups(document, setups), rng)
    assume(made is not None)
    assert made is not None
    day, cloud = random_meeting(made.instance, rng)
    loops = CompiledReplays(made)
    for policy in rng.choice(RULE_POLICIES, 2, replace=False).tolist():
        outcome_step_by_step(loops, policy, day, cloud)
        run = Replay(made, find_policy(policy), day, cloud, record=True)
        outcome = run.run()
        report = audit(trace_of(run.state, run.day, run.cloud, outcome), given=made.instance)
        assert report.findings == (), policy
        assert report.cost_usd == pytest.approx(outcome.cost_usd, abs=1e-9)
    quiet = Replay(made, find_policy("static"), QUIET, cloud_of(made.instance.cloud, made.instance.billing)).run()
    assert quiet.cost_usd == pytest.approx(made.schedule.cost_usd, rel=1e-9)
    assert quiet.makespan_s == made.schedule.makespan_s
