"""Days on which VMs have lifetimes of a bathtub's shape."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest

from spotbag.audits.auditor import audit
from spotbag.core.errors import InputError
from spotbag.instances.bags.day_draws import horizon_s
from spotbag.instances.bags.lifetime_days import BathtubScenario
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.timeline import Timeline, TimelineEvent, event_issues
from spotbag.instances.clouds import find_cloud
from spotbag.instances.library import library_instance
from spotbag.replay.bags.compiled_engine import CompiledReplays
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.runs import trace_day
from spotbag.solvers.bags.solve import solve
from spotbag.traces.trace import Trace
from tests.helpers.random_days import Anything

BAG = library_instance("hads/J60")


def cdf(scenario: BathtubScenario, age_s: float) -> float:
    """F as the paper prints it, in plain arithmetic."""
    early = math.exp(-age_s / scenario.early_scale_s)
    late = math.exp((age_s - scenario.end_age_s) / scenario.late_scale_s)
    return min(scenario.amplitude * (1 - early + late), 1.0)


SHAPES = st.builds(
    BathtubScenario,
    amplitude=st.floats(0.05, 1.0),
    early_scale_s=st.floats(10, 1e5),
    late_scale_s=st.floats(10, 1e4),
    end_age_s=st.floats(0, 1e5),
)


@given(SHAPES, st.floats(0, 1, exclude_max=True))
def test_ages_are_the_inverse_of_the_law(scenario: BathtubScenario, probability: float) -> None:
    age_s = float(scenario.ages_s(np.array([probability]))[0])
    assert float(scenario.gone_by(np.array([age_s]))[0]) == pytest.approx(cdf(scenario, age_s), rel=1e-12)
    if probability <= cdf(scenario, 0):
        assert age_s == 0
    else:
        assert cdf(scenario, age_s) == pytest.approx(probability, rel=1e-9, abs=1e-9)
        assert cdf(scenario, age_s * (1 - 1e-9)) <= probability + 1e-12


@given(SHAPES)
def test_the_mean_lifetime_is_the_integral_of_what_is_left(scenario: BathtubScenario) -> None:
    last_s = float(scenario.ages_s(np.ones(1))[0])
    # What changes fast is integrated by parts of its own.
    early_s = [min(k * scenario.early_scale_s, last_s) for k in (1, 8, 30)]
    cuts = [*early_s, *(max(last_s - k * scenario.late_scale_s, 0) for k in (1, 8, 30)), last_s]
    spans = zip([0.0, *sorted(cuts)], sorted(cuts), strict=False)
    mean_s = sum(quad(lambda age_s: 1 - cdf(scenario, age_s), *span)[0] for span in spans)
    assert scenario.mean_s == pytest.approx(max(mean_s, 1.0), rel=1e-6, abs=1e-3)
    assert scenario.law["vm_interruptions_per_hour"] == pytest.approx(3600 / scenario.mean_s)


def test_drawn_lifetimes_follow_the_law() -> None:
    scenario = BathtubScenario(amplitude=0.5, early_scale_s=600, late_scale_s=300, end_age_s=4_000)
    events = [event for day in range(60) for event in scenario.day(BAG, 5, day).events]
    ages_s = np.array([event.age_s for event in events], dtype=float)
    vms = sum(3 * vm_type.offers["spot"].limit for vm_type in BAG.vm_types if "spot" in vm_type.offers)
    assert len(ages_s) == 60 * vms  # all are within the horizon
    assert kstest(ages_s, np.vectorize(lambda age_s: cdf(scenario, age_s))).pvalue > 0.01
    # A rounded-up age is one second late at most; another law is told apart.
    other = scenario.model_copy(update={"amplitude": 0.55})
    assert kstest(ages_s, np.vectorize(lambda age_s: cdf(other, age_s))).pvalue < 1e-6


def test_days_are_of_the_seed_and_can_be_written() -> None:
    scenario = find_scenario("vms/bathtub", end_age_s=1800.0, early_scale_s=300.0, late_scale_s=60.0)
    day = scenario.day(BAG, 1, 2)
    assert day == scenario.day(BAG, 1, 2) != scenario.day(BAG, 1, 3)
    assert event_issues(day.events) == []
    assert all(event.age_s is not None and event.age_s <= horizon_s(BAG) for event in day.events)


def test_what_a_law_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match=r"amplitude 1\.5"):
        find_scenario("vms/bathtub", amplitude=1.5)
    with pytest.raises(InputError, match="late_scale_s 0"):
        find_scenario("vms/bathtub", late_scale_s=0.0)
    with pytest.raises(InputError, match=r"amplitude 0\.5 cannot be given with the scenario 'hads/sc1'"):
        find_scenario("hads/sc1", amplitude=0.5)
    with pytest.raises(InputError, match="k_h 1 cannot be given with the scenario 'vms/bathtub'"):
        find_scenario("vms/bathtub", k_h=1.0)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (TimelineEvent(0, "c3.large", "terminate", age_s=60), "needs 'vm'"),
        (TimelineEvent(5, "c3.large", "terminate", vm=1, age_s=60), "and the time_s 0"),
        (TimelineEvent(0, "c3.large", "resume", vm=1, age_s=60), "does not belong to 'resume'"),
        (TimelineEvent(0, "c3.large", "terminate", vm=1, age_s=-1), "must be a whole number, 0 or more"),
    ],
)
def test_an_age_is_that_of_a_vm_from_when_it_is_ready(event: TimelineEvent, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Timeline((event,))


def test_a_vm_has_one_age() -> None:
    twice = tuple(TimelineEvent(0, "c3.large", "terminate", vm=1, age_s=age_s) for age_s in (5, 9))
    with pytest.raises(InputError, match="is given twice for VM 1"):
        Timeline(twice)


SHORT = BathtubScenario(amplitude=0.6, early_scale_s=900, late_scale_s=300, end_age_s=2_000)
PLAN = solve(BAG, method="greedy").schedule


def went_late(trace: Trace, ages: dict[tuple[str, int | None], int | None], notice_s: int) -> int:
    """Check that VMs go at their ages; return how many of them were requested after the start."""
    ready_s = {event["vm"]: event["t"] for event in reversed(trace.events) if event["event"] == "ready"}
    of_type: Counter[str] = Counter()
    numbers, late = {}, 0
    for event in trace.events:
        if event["event"] == "launch" and event["market"] == "spot":
            of_type[event["type"]] += 1
            numbers[event["vm"]] = event["type"], of_type[event["type"]]
        elif event["event"] in ("hibernate", "stop", "reclaim"):
            age_s = ages[numbers[event["vm"]]]
            assert age_s is not None
            assert event["t"] == ready_s[event["vm"]] + age_s + notice_s
            late += ready_s[event["vm"]] > BAG.boot_overhead_s
    return late


def ages_of(timeline: Timeline) -> dict[tuple[str, int | None], int | None]:
    return {(event.vm_type, event.vm): event.age_s for event in timeline.events}


@pytest.mark.parametrize("policy", ["hads", "on-time"])
@pytest.mark.parametrize("cloud", ["papers", "gcp", "aws-terminate"])
def test_vms_go_at_their_ages_in_both_back_ends(cloud: str, policy: str) -> None:
    assert PLAN is not None
    rules, compiled, went = find_cloud(cloud), CompiledReplays(replay_plan(PLAN)), 0
    for day in range(4):
        timeline = SHORT.day(BAG, 0, day)
        outcome, trace = trace_day(PLAN, policy, timeline, cloud=rules)
        assert audit(trace, given=BAG).findings == ()
        assert compiled.outcome(find_policy(policy), timeline, rules) == outcome
        went_late(trace, ages_of(timeline), rules.notice_s)
        went += outcome.hibernations + outcome.stops + outcome.reclaims
    assert went > 0


def test_ages_count_from_when_a_vm_is_ready_also_if_it_is_requested_late() -> None:
    assert PLAN is not None
    late = 0
    for day in range(12):
        timeline = SHORT.day(BAG, 0, day)
        _, trace = trace_day(PLAN, Anything(day), timeline, cloud="gcp")
        assert audit(trace, given=BAG).findings == ()
        late += went_late(trace, ages_of(timeline), 30)
    assert late > 0
