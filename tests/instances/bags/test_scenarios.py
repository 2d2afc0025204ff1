"""Days by law, by script and by trace."""

from __future__ import annotations

import json
import math
import pickle
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import InputError
from spotbag.instances.bags import day_draws
from spotbag.instances.bags.availability_days import availability_of_document
from spotbag.instances.bags.poisson_days import PoissonScenario
from spotbag.instances.bags.scenarios import SCENARIOS, find_scenario
from spotbag.instances.bags.scripted_days import ScriptedScenario
from spotbag.instances.bags.timeline import QUIET, Timeline, TimelineEvent, event_issues, write_timeline
from spotbag.instances.entries import Market
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance

ROOT = Path(__file__).parents[3]

BOTH = {"spot": {"price_usd_per_hour": 0.1, "limit": 5}, "on-demand": {"price_usd_per_hour": 0.3, "limit": 5}}
ON_DEMAND = {"on-demand": BOTH["on-demand"]}


def instance_of(*types: tuple[str, Any], deadline_s: int = 2700, boot_s: int = 0, **changes: Any) -> Instance:
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "demo",
        "deadline_s": deadline_s,
        "boot_overhead_s": boot_s,
        "vm_types": [{"name": name, "vcpus": 2, "memory_mb": 4096, "offers": offers} for name, offers in types],
        "tasks": [{"id": "t", "memory_mb": 10, "base_runtime_s": 1}],
    }
    return Instance.from_document(document | changes, "demo")


def of_type(timeline: Timeline, name: str) -> list[tuple[int, str]]:
    return [(event.time_s, event.kind) for event in timeline.events if event.vm_type == name]


def times_of(timeline: Timeline, name: str) -> list[int]:
    return [time_s for time_s, _ in of_type(timeline, name)]


def check_order(timeline: Timeline) -> None:
    """The days that are made without the checks of the constructor pass them."""
    assert event_issues(timeline.events) == []
    assert Timeline(timeline.events, timeline.name) == timeline
    assert all(type(event.time_s) is int for event in timeline.events)


# ---------------------------------------------------------------------------------------------------- Poisson

FOUR = instance_of(("a", BOTH), ("b", BOTH), ("c", ON_DEMAND), ("d", BOTH), ("e", BOTH))


def reference_moments(scenario: PoissonScenario, instance: Instance, seed: int, day: int, position: int) -> list[int]:
    """Moments of a type, one number at a time."""
    source = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(day,))).jumped(position)
    random = np.random.Generator(source)
    end_s = 10 * instance.deadline_s
    moments: list[int] = []
    now, last = float(instance.boot_overhead_s), -1
    while True:
        rate = scenario.rate_scale * (scenario.k_r if len(moments) % 2 else scenario.k_h)
        if rate == 0:
            return moments
        now += -math.log1p(-random.random()) * instance.deadline_s / rate
        if now >= end_s or max(math.ceil(now), last + 1) >= end_s:
            return moments + [end_s] * (len(moments) % 2 == 1 and scenario.k_r > 0)
        last = max(math.ceil(now), last + 1)
        moments.append(last)


@pytest.mark.parametrize(("k_h", "k_r"), [(0, 0), (0, 5), (1, 0), (5, 5), (3, 2.5), (0.01, 40), (40, 0.01)])
@pytest.mark.parametrize("boot_s", [0, 60])
def test_days_are_those_of_the_law_drawn_one_by_one(k_h: float, k_r: float, boot_s: int) -> None:
    scenario = PoissonScenario("x", k_h, k_r, 0.7)
    instance = FOUR.replace(boot_overhead_s=boot_s)
    for day in range(20):
        timeline = scenario.day(instance, 7, day)
        check_order(timeline)
        for position, name in enumerate("abcde"):
            expected = [] if name == "c" else reference_moments(scenario, instance, 7, day, position)
            assert times_of(timeline, name) == expected


@pytest.mark.slow
def test_times_up_and_down_are_exponential() -> None:
    from scipy import stats  # takes long to load

    # A long deadline, so that whole seconds do not show.
    deadline_s, boot_s = 10_000_000, 1000
    instance = instance_of(("a", BOTH), ("b", BOTH), deadline_s=deadline_s, boot_s=boot_s)
    scenario = PoissonScenario("x", 4, 2.5, rate_scale=2)
    times = [times_of(scenario.day(instance, 1, day), name) for day in range(1000) for name in "ab"]
    # Some 30 times up and 30 times down fit before the horizon; all rows have the first four.
    lengths_s = np.diff(np.array([[boot_s, *row[:4]] for row in times]), axis=1)
    for column, mean_s in zip(lengths_s.T, [deadline_s / 8, deadline_s / 5] * 2, strict=True):
        assert np.mean(column) == pytest.approx(mean_s, rel=0.06)
        assert stats.kstest(column, "expon", args=(0, mean_s)).pvalue > 0.001
    first_of = np.array([row[0] for row in times]).reshape(-1, 2)
    assert abs(np.corrcoef(first_of.T)[0, 1]) < 0.08, "types are independent of each other"


def test_hibernations_within_the_deadline_are_as_many_as_expected() -> None:
    days = [find_scenario("hads/sc2").day(FOUR, 3, day) for day in range(500)]
    # Never up again: a type has hibernated by the deadline with probability 1 - exp(-5).
    hit = sum(event.time_s <= FOUR.deadline_s for timeline in days for event in timeline.events)
    assert hit / 2000 == pytest.approx(1 - math.exp(-5), abs=0.005)
    days = [find_scenario("hads/sc1").day(FOUR, 3, day) for day in range(500)]
    hit = sum(event.time_s <= FOUR.deadline_s for timeline in days for event in timeline.events)
    assert hit / 2000 == pytest.approx(1 - math.exp(-1), abs=0.03)
    # Up and down at the rate 5 / D: events come as a Poisson process of that rate, every other one a hibernation.
    days = [find_scenario("hads/sc4").day(FOUR, 3, day) for day in range(500)]
    hit = sum(event.time_s <= FOUR.deadline_s for timeline in days for event in timeline.events)
    assert hit / 2000 == pytest.approx(5, rel=0.03)


def test_a_day_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    scenario = find_scenario("burst-hads/sc4")
    day = scenario.day(FOUR, 5, 17)
    assert day == scenario.day(FOUR, 5, 17)
    assert day == pickle.loads(pickle.dumps(scenario)).day(FOUR, 5, 17)
    assert len({scenario.day(FOUR, seed, day).events for seed in range(5) for day in range(5)}) == 25
    assert day.name == "burst-hads/sc4, seed 5, day 17"


def test_a_day_is_this_one_on_every_machine() -> None:
    day = find_scenario("hads/sc7").day(library_instance("burst-hads/J60"), 1, 2)
    assert [(event.time_s, event.vm_type, event.kind) for event in day.events[:6]] == [
        (359, "c3.large", "interrupt"),
        (424, "c3.large", "resume"),
        (1162, "c3.large", "interrupt"),
        (2332, "c3.xlarge", "interrupt"),
        (2449, "c4.large", "interrupt"),
        (2841, "c3.large", "resume"),
    ]


def test_a_type_has_its_own_stream() -> None:
    scenario = find_scenario("hads/sc4")
    day = scenario.day(FOUR, 1, 1)
    others = scenario.day(instance_of(("x", ON_DEMAND), ("b", BOTH), ("y", BOTH)), 1, 1)
    assert of_type(others, "b") == of_type(day, "b")
    swapped = scenario.day(instance_of(("b", BOTH), ("a", BOTH)), 1, 1)
    assert times_of(swapped, "b") == times_of(day, "a")
    assert times_of(swapped, "a") == times_of(day, "b")
    assert of_type(day, "c") == []


def test_markets_and_limits_that_forbid_spot_vms_do_not_matter() -> None:
    forbidden = FOUR.replace(markets=("on-demand",))
    scenario = find_scenario("hads/sc4")
    assert scenario.day(forbidden, 1, 1) == scenario.day(FOUR, 1, 1)


def test_scenarios_share_their_random_numbers() -> None:
    first = {name: times_of(find_scenario(name).day(FOUR, 1, 4), "a")[0] for name in ("hads/sc1", "hads/sc3")}
    assert first["hads/sc1"] == first["hads/sc3"], "k_r does not change the first hibernation"
    faster = times_of(find_scenario("hads/sc2").day(FOUR, 1, 4), "a")[0]
    assert faster == pytest.approx(first["hads/sc1"] / 5, abs=1)


def test_a_type_that_is_down_at_the_horizon_resumes_there() -> None:
    scenario = PoissonScenario("x", 1000, 0.001)
    day = scenario.day(instance_of(("a", BOTH)), 1, 1)
    assert of_type(day, "a")[1:] == [(27_000, "resume")]
    assert day_draws.HORIZON_DEADLINES == 10


rates = st.sampled_from([0.0, 1e-300, 0.3, 5.0, 300.0, 10_000.0])


@pytest.mark.slow
@given(rates, rates, st.integers(1, 40), st.integers(0, 500), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_events_alternate_at_different_seconds(k_h: float, k_r: float, deadline_s: int, boot_s: int, day: int) -> None:
    # With up to 10,000 events in 40 s, rounding brings many into one second.
    deadline_s += boot_s
    instance = instance_of(("a", BOTH), ("b", BOTH), deadline_s=deadline_s, boot_s=boot_s)
    timeline = PoissonScenario("x", k_h, k_r).day(instance, 0, day)
    check_order(timeline)
    for name in "ab":
        events = of_type(timeline, name)
        assert all(boot_s <= time_s <= 10 * deadline_s for time_s, _ in events)
        assert all(time_s < 10 * deadline_s for time_s, kind in events if kind == "interrupt")
        if k_r > 0:
            assert not events or events[-1][1] == "resume"
        else:
            assert len(events) <= 1


def test_no_spot_types_no_events() -> None:
    assert find_scenario("hads/sc4").day(instance_of(("a", ON_DEMAND)), 1, 1).events == ()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ((-1, 0), "x: k_h -1 must be a finite number, 0 or more"),
        ((1, math.inf), "k_r inf must be a finite number"),
        ((1, math.nan), "k_r nan must be a finite number"),
        ((1, 1, -2), "rate_scale -2 must be a finite number"),
        ((1000, 1, 11), "k_h 1000 times rate_scale must be at most 10000 events per deadline"),
    ],
)
def test_rates_out_of_range_are_refused(fields: Sequence[float], said: str) -> None:
    with pytest.raises(InputError) as caught:
        PoissonScenario("x", *fields)
    assert said in str(caught.value)


@pytest.mark.parametrize(("seed", "day", "said"), [(-1, 0, "seed: -1"), (0, -1, "day: -1"), (2**63, 0, "seed: ")])
def test_seeds_and_days_out_of_range_are_refused(seed: int, day: int, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said) + r".*must be from 0 to 2\^63 - 1"):
        find_scenario("hads/sc4").day(FOUR, seed, day)


# --------------------------------------------------------------------------------------------------- scripted


def test_a_scripted_day_is_every_day() -> None:
    timeline = Timeline((TimelineEvent(600, "a", "hibernate"),), "by hand")
    scenario = ScriptedScenario(timeline, "day.json")
    assert scenario.name == "by hand"
    assert scenario.day(FOUR, 1, 1) is scenario.day(FOUR, 2, 9) is timeline


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("aa", "day.json: events: at 600 s: type 'aa' is no VM type of the instance 'demo' (did you mean 'a'?)"),
        ("zzz", "type 'zzz' is no VM type of the instance 'demo' (it has a, b, c, d, e)"),
        ("c", "at 600 s: type 'c' has no spot offer in the instance 'demo': only spot VMs are interrupted"),
    ],
)
def test_types_that_are_not_there_are_refused(name: str, said: str) -> None:
    events = TimelineEvent(500, "a", "hibernate"), TimelineEvent(600, name, "hibernate")
    with pytest.raises(InputError) as caught:
        ScriptedScenario(Timeline(events), "day.json").day(FOUR, 0, 0)
    assert said in str(caught.value)


def test_prices_change_of_types_that_are_offered_on_demand_only() -> None:
    def day_of(market: Market) -> Timeline:
        events = (TimelineEvent(600, "c", "price", market=market, usd_per_hour=0.5),)
        return ScriptedScenario(Timeline(events), "day.json").day(FOUR, 0, 0)

    assert day_of("on-demand").events[0].usd_per_hour == 0.5
    with pytest.raises(InputError, match="type 'c' has no spot offer in the instance 'demo', which could have that"):
        day_of("spot")


# ----------------------------------------------------------------------------------------------- availability


def example_of_trace() -> dict[str, Any]:
    (text,) = re.findall(r"```json availability\n(.*?)```", (ROOT / "docs" / "formats.md").read_text(), re.DOTALL)
    document: dict[str, Any] = json.loads(text)
    return document


C3_C4 = instance_of(("c3.large", BOTH), ("c4.large", BOTH))


def test_the_example_of_the_documentation() -> None:
    scenario = availability_of_document(example_of_trace(), "trace.json", "available")
    assert scenario.name == "trace.json"
    day = scenario.day(C3_C4, 0, 0)
    check_order(day)
    # c3.large: 1 1 0 1, again and again; c4.large: 1 0 0 1. 27,000 s are 45 entries of 600 s.
    assert of_type(day, "c3.large")[:4] == [
        (1200, "interrupt"),
        (1800, "resume"),
        (3600, "interrupt"),
        (4200, "resume"),
    ]
    assert of_type(day, "c4.large")[:3] == [(600, "interrupt"), (1800, "resume"), (3000, "interrupt")]
    assert of_type(day, "c3.large")[-1] == (25_800, "resume")
    upside_down = availability_of_document(example_of_trace(), "trace.json", "preempted").day(C3_C4, 0, 0)
    assert of_type(upside_down, "c3.large")[:3] == [(0, "interrupt"), (1200, "resume"), (1800, "interrupt")]
    # Down at the end, and there are entries that say available.
    assert of_type(upside_down, "c3.large")[-1] == (27_000, "resume")


def test_a_type_that_is_down_at_first_hibernates_when_the_vms_are_ready() -> None:
    instance = instance_of(("a", BOTH), boot_s=90)
    for data, expected in [
        ([0, 0, 1, 1], [(90, "interrupt"), (120, "resume")]),
        ([1, 0, 1, 1], []),  # over before the boot
        ([1, 0, 0, 1], [(90, "interrupt"), (180, "resume")]),
    ]:
        gap_s = 30 if data == [1, 0, 1, 1] else 60
        trace = {"gap_seconds": gap_s, "data": data + [1] * 1000}
        assert of_type(availability_of_document(trace, "t", "available").day(instance, 0, 0), "a") == expected


def test_what_is_never_available_never_resumes() -> None:
    scenario = availability_of_document({"gap_seconds": 60, "data": [1, 1]}, "t", "preempted")
    assert of_type(scenario.day(C3_C4, 0, 3), "c4.large") == [(0, "interrupt")]


def down_seconds(timeline: Timeline, name: str, end_s: int) -> list[bool]:
    kinds = dict(of_type(timeline, name))
    down, seconds = False, []
    for second in range(end_s):
        down = {"interrupt": True, "resume": False}.get(kinds.get(second, ""), down)
        seconds.append(down)
    return seconds


@given(
    st.lists(st.integers(0, 1), min_size=1, max_size=12),
    st.sampled_from([0.1, 0.3, 0.5, 1, 1.7, 2.5, 3, 40, 1000]),
    st.integers(1, 20),
    st.integers(0, 12),
    st.integers(0, 5),
)
@settings(max_examples=40, deadline=None)
def test_every_second_is_as_the_trace_says(
    data: list[int], gap_s: float, deadline_s: int, boot_s: int, day: int
) -> None:
    deadline_s += boot_s
    instance = instance_of(("a", BOTH), deadline_s=deadline_s, boot_s=boot_s)
    scenario = availability_of_document({"gap_seconds": gap_s, "data": data}, "t", "available")
    timeline = scenario.day(instance, 3, day)
    check_order(timeline)
    end_s, gap = 10 * deadline_s, Fraction(str(gap_s))
    starts = range(len(data)) if day else [0]
    expected = [
        [second >= boot_s and not data[(first + int(second / gap)) % len(data)] for second in range(end_s)]
        for first in starts
    ]
    assert down_seconds(timeline, "a", end_s) in expected
    assert all(time_s < end_s for time_s, kind in of_type(timeline, "a") if kind == "interrupt")
    if any(data) and timeline.events:
        assert timeline.events[-1].kind == "resume"


def test_days_start_anywhere_and_all_types_together() -> None:
    n_entries = 50
    one_down = [0] + [1] * (n_entries - 1)
    trace = {"gap_seconds": 100, "data": {"c3.large": one_down, "c4.large": one_down}}
    scenario = availability_of_document(trace, "t", "available")
    starts = set()
    for day in range(1, 400):
        timeline = scenario.day(C3_C4, 1, day)
        assert of_type(timeline, "c3.large") == of_type(timeline, "c4.large")
        starts.add(timeline.events[0].time_s // 100)
        assert timeline == scenario.day(C3_C4, 1, day)
    assert starts == set(range(n_entries))
    assert scenario.day(C3_C4, 1, 0).events == scenario.day(C3_C4, 2, 0).events
    assert scenario.day(C3_C4, 1, 3).events != scenario.day(C3_C4, 2, 3).events


def test_a_trace_may_have_other_types_but_must_have_those_of_the_instance() -> None:
    more = {"gap_seconds": 600, "data": {name: [1, 0] for name in ("c3.large", "c4.large", "m5.large")}}
    day = availability_of_document(more, "t", "available").day(C3_C4, 0, 0)
    assert {event.vm_type for event in day.events} == {"c3.large", "c4.large"}
    misspelt = {"gap_seconds": 600, "data": {"c3.large": [1, 0], "c4.larg": [1, 0]}}
    with pytest.raises(InputError, match=r"no entries for the spot type 'c4.large' .*\(is 'c4.larg' meant\?\)"):
        availability_of_document(misspelt, "t", "available").day(C3_C4, 0, 0)
    less = {"gap_seconds": 600, "data": {"q": [1, 0]}}
    with pytest.raises(InputError, match="if it is always available, give it 2 entries"):
        availability_of_document(less, "t", "available").day(C3_C4, 0, 0)


def test_a_day_of_endless_events_is_refused() -> None:
    instance = instance_of(("a", BOTH), deadline_s=10**9)
    scenario = availability_of_document({"gap_seconds": 1, "data": [0, 1]}, "t", "available")
    with pytest.raises(InputError, match="events up to the horizon of 10 deadlines, more than 10,000,000"):
        scenario.day(instance, 0, 0)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"data": [0, 1]}, "t: gap_seconds is missing, here and in metadata"),
        ({"gap_seconds": 600}, "t: data is missing"),
        ({"gap_seconds": "x", "data": [0]}, "gap_seconds 'x' must be a number from 0.001 to 1000000000"),
        ({"gap_seconds": 0, "data": [0]}, "gap_seconds 0 must be a number from 0.001"),
        ({"gap_seconds": math.nan, "data": [0]}, "gap_seconds nan must be a number"),
        ({"gap_seconds": True, "data": [0]}, "gap_seconds true must be a number"),
        ({"metadata": {"gap_seconds": -1}, "data": [0]}, "metadata.gap_seconds -1 must be a number"),
        ({"gap_seconds": 5, "metadata": {"gap_seconds": 6}, "data": [0]}, "gap_seconds 5 is not the 6 of metadata"),
        ({"gap_seconds": 5, "data": []}, "data must not be empty"),
        ({"gap_seconds": 5, "data": {}}, "data must have at least one VM type"),
        ({"gap_seconds": 5, "data": "01"}, "data '01' must be an array of whole numbers, or an object of VM type"),
        ({"gap_seconds": 5, "data": [0, 1, 2.5]}, "data[2] 2.5 must be a whole number of VMs from 0 to 1000000"),
        ({"gap_seconds": 5, "data": [0, "x"]}, "data[1] 'x' must be a whole number of VMs"),
        ({"gap_seconds": 5, "data": [True]}, "data[0] true must be a whole number of VMs"),
        ({"gap_seconds": 5, "data": [None]}, "data[0] null must be a whole number of VMs"),
        ({"gap_seconds": 5, "data": {"a": [0, -3]}}, "data.a[1] -3 must be a whole number"),
        ({"gap_seconds": 5, "data": {"a": []}}, "data.a must not be empty"),
        ({"gap_seconds": 5, "data": {"a": 1}}, "data.a 1 must be an array of whole numbers"),
        ({"gap_seconds": 5, "data": {"": [1]}}, "data: '' is no name of a VM type"),
        ({"gap_seconds": 5, "data": {"a": [0, 1], "b": [1]}}, "for each type: 'b' has 1, 'a' has 2"),
    ],
)
def test_bad_traces_are_refused(document: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        availability_of_document(document, "t", "available")
    assert said in str(caught.value)


def test_a_report_of_faults_is_not_longer_than_anybody_reads() -> None:
    with pytest.raises(InputError) as caught:
        availability_of_document({"gap_seconds": 5, "data": ["x"] * 10_000}, "t", "available")
    assert len(caught.value.issues) <= 100


@pytest.mark.parametrize("one_means", [None, "up"])
def test_what_a_one_means_must_be_said(one_means: Any) -> None:
    with pytest.raises(InputError, match=r"one_means .--one-means. is 'available' or 'preempted'"):
        availability_of_document({"gap_seconds": 5, "data": [0, 1]}, "t", one_means)


# ------------------------------------------------------------------------------- traces that count

FIVE = instance_of(("a", BOTH), boot_s=90)  # spot limit 5, deadline 2,700 s


def capacities(data: list[int], instance: Instance = FIVE, gap_s: float = 60, **options: Any) -> list[tuple[int, int]]:
    """Changes of the capacity of type a on day 0; every event must be one."""
    document = {"gap_seconds": gap_s, "data": data}
    timeline = availability_of_document(document, "t", **({"one_means": "available"} | options)).day(instance, 0, 0)
    check_order(timeline)
    assert all(event.kind == "capacity" for event in timeline.events)
    return [(event.time_s, -1 if event.vms is None else event.vms) for event in timeline.events if event.vm_type == "a"]


def test_a_trace_that_counts_is_a_day_of_capacities() -> None:
    quiet = [16] * 1000
    # Nothing happens before the VMs are ready, at 90 s, but what holds then does; 16 of a limit of 5 are 5.
    assert capacities([16, 3, 7, 1, 0, 16, *quiet]) == [(90, 3), (120, 5), (180, 1), (240, 0), (300, 5)]
    assert capacities([0, 0, 4, *quiet]) == [(90, 0), (120, 4), (180, 5)]
    # Preempted VMs are missing from the limit.
    assert capacities([0, 0, 2, 9, *[0] * 1000], one_means="preempted") == [(120, 3), (180, 0), (240, 5)]
    # From the end it goes on with the first entry; the last change, within 27,000 s, leaves it at the most there was.
    again = capacities([2, 4], gap_s=13_000)
    assert again == [(90, 2), (13_000, 4), (26_000, 2), (27_000, 4)]


def test_what_a_one_stands_for_can_be_said() -> None:
    rest = [16] * 1000
    # By half VMs, of which a half that is over is none.
    assert capacities([7, 7, 3, *rest], vms_per_one=0.5) == [(90, 3), (120, 1), (180, 5)]
    assert capacities([3, 3, 16, *[0] * 1000], one_means="preempted", vms_per_one=0.5) == [(90, 3), (120, 0), (180, 5)]
    # 16 is all: 5 * 7 / 16 = 2.2, 5 * 13 / 16 = 4.1.
    assert capacities([7, 7, 13, *rest], vms_per_one="all") == [(90, 2), (120, 4), (180, 5)]
    assert capacities([9, 9, 16, *[0] * 1000], one_means="preempted", vms_per_one="all") == [
        (90, 2),
        (120, 0),
        (180, 5),
    ]
    # A trace of 0 and 1 is of single VMs if that is said, and of whole types otherwise.
    assert capacities([1] * 1000, vms_per_one=1) == [(90, 1)]
    whole = availability_of_document({"gap_seconds": 60, "data": [1, 1, 0, 1]}, "t", "available")
    assert not whole.counts
    assert {event.kind for event in whole.day(FIVE, 0, 0).events} == {"interrupt", "resume"}


def test_types_have_limits_of_their_own() -> None:
    small = {"spot": {"price_usd_per_hour": 0.1, "limit": 2}}
    instance = instance_of(("a", BOTH), ("b", small))
    document = {"gap_seconds": 60, "data": [3, 1, *[9] * 1000]}
    day = availability_of_document(document, "t", "available").day(instance, 0, 0)
    assert [(event.time_s, event.vm_type, event.vms) for event in day.events] == [
        (0, "a", 3),
        (60, "a", 1),
        (60, "b", 1),
        (120, "a", 5),
        (120, "b", 2),
    ]


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.sampled_from(["available", "preempted"]),
    st.sampled_from(["all", 1, 0.5, 2]),
    st.sampled_from([0.3, 1, 1.7, 40]),
    st.integers(0, 12),
    st.integers(0, 5),
)
@settings(max_examples=40, deadline=None)
def test_every_second_has_as_many_vms_as_the_trace_says(
    data: list[int], one_means: Any, scale: Any, gap_s: float, boot_s: int, day: int
) -> None:
    instance = instance_of(("a", BOTH), deadline_s=20, boot_s=boot_s)
    scenario = availability_of_document({"gap_seconds": gap_s, "data": [*data, 9]}, "t", one_means, scale)
    data = [*data, 9]
    timeline = scenario.day(instance, 3, day)
    check_order(timeline)
    assert timeline == scenario.day(instance, 3, day)
    counted = [Fraction(5 * value, 9) if scale == "all" else value * Fraction(scale) for value in data]
    levels = [min(max(math.floor(n if one_means == "available" else 5 - n), 0), 5) for n in counted]
    changes = {event.time_s: event.vms for event in timeline.events}
    there, found = 5, []
    for second in range(200):
        there = changes.get(second, there) or 0 if second in changes else there
        found.append(there)
    gap = Fraction(str(gap_s))
    assert found in [
        [5 if second < boot_s else levels[(first + int(second / gap)) % len(data)] for second in range(200)]
        for first in (range(len(data)) if day else [0])
    ]


# ------------------------------------------------------------------------------------------------ laws and clouds


def test_a_law_is_said_where_it_is_known() -> None:
    assert find_scenario("hads/sc5", rate_scale=2).law == {
        "type_interruptions_per_deadline": 6,
        "type_resumes_per_deadline": 5,
    }
    assert find_scenario("quiet").law is None
    assert availability_of_document({"gap_seconds": 5, "data": [0, 1]}, "t", "available").law is None


# ------------------------------------------------------------------------------------------------ find_scenario


def test_scenarios_by_name_are_those_of_the_papers() -> None:
    assert {name: (known.k_h, known.k_r) for name, known in SCENARIOS.items() if "hads/" in name} == {
        "hads/sc1": (1, 0),
        "hads/sc2": (5, 0),
        "hads/sc3": (1, 5),
        "hads/sc4": (5, 5),
        "hads/sc5": (3, 2.5),
        "hads/sc6": (2, 1),
        "hads/sc7": (2, 2),
        "burst-hads/sc1": (1, 0),
        "burst-hads/sc2": (5, 0),
        "burst-hads/sc3": (1, 5),
        "burst-hads/sc4": (5, 5),
        "burst-hads/sc5": (3, 2.5),
    }
    for name, known in SCENARIOS.items():
        if "hads/" in name:
            assert find_scenario(name) == PoissonScenario(name, known.k_h or 0, known.k_r or 0)
    assert SCENARIOS["hads/sc5"].summary == "HADS, Table 8: 3 hibernations and 2.5 resumes per deadline and type"


def test_scenarios_with_rates() -> None:
    assert find_scenario("quiet").day(FOUR, 1, 1) is QUIET
    assert find_scenario("quiet").name == "quiet"
    assert find_scenario("poisson", k_h=2, k_r=0.5) == PoissonScenario("poisson k_h=2 k_r=0.5", 2, 0.5)
    halved = find_scenario("hads/sc4", rate_scale=0.5)
    assert halved == PoissonScenario("hads/sc4 rate_scale=0.5", 5, 5, 0.5)
    assert halved.day(FOUR, 1, 1).events == find_scenario("poisson", k_h=2.5, k_r=2.5).day(FOUR, 1, 1).events


def test_scenarios_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timeline = Timeline((TimelineEvent(600, "a", "hibernate"),), "by hand")
    write_timeline(timeline, tmp_path / "day")
    assert find_scenario(str(tmp_path / "day")).day(FOUR, 1, 1) == timeline
    (tmp_path / "trace.json").write_text(json.dumps({"gap_seconds": 50, "data": [1, 1, 0]}))
    scenario = find_scenario(str(tmp_path / "trace.json"), one_means="available")
    assert times_of(scenario.day(FOUR, 1, 0), "a")[:2] == [100, 150]
    # Names come before files; a path says that a file is meant.
    monkeypatch.chdir(tmp_path)
    write_timeline(timeline, "quiet")
    assert find_scenario("quiet").day(FOUR, 1, 1) is QUIET
    assert find_scenario("./quiet").day(FOUR, 1, 1) == timeline


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("hads/sc9", {}, "hads/sc9: is neither the name of a scenario nor a file (did you mean hads/sc"),
        ("xyzzy", {}, "known: quiet, poisson, hads/sc1"),
        ("", {}, "scenario: is neither the name"),
        ("nothing.json", {}, "nothing.json: no such file"),
        ("poisson", {}, "poisson: k_h and k_r must be given"),
        ("poisson", {"k_h": 1}, "poisson: k_r must be given"),
        ("poisson", {"k_h": 1, "k_r": -1}, "k_r -1 must be a finite number"),
        ("hads/sc1", {"k_h": 2.5}, "k_h 2.5 cannot be given with the scenario 'hads/sc1'; to choose rates, take"),
        ("hads/sc1", {"one_means": "available"}, "one_means 'available' cannot be given with the scenario 'hads/sc1'"),
        ("quiet", {"k_h": 1, "k_r": 2}, "k_h 1 and k_r 2 cannot be given with the scenario 'quiet'"),
        ("quiet", {"rate_scale": 2}, "rate_scale 2 cannot be given with the scenario 'quiet'"),
        ("hads/sc1", {"rate_scale": -1}, "rate_scale -1 must be a finite number"),
        ("day.json", {"rate_scale": 2}, "day.json: rate_scale 2 cannot be given with a day of a file"),
        ("day.json", {"one_means": "available"}, "one_means 'available' cannot be given with a day of a file"),
        ("trace.json", {"k_h": 2}, "trace.json: k_h 2 cannot be given with an availability trace"),
        (
            "trace.json",
            {"one_means": "available", "vms_per_one": -1},
            "vms_per_one -1 must be 'all', or a number above",
        ),
        ("trace.json", {"one_means": "available", "vms_per_one": "x"}, "vms_per_one 'x' must be 'all', or a number"),
        ("trace.json", {"one_means": "available", "zone": "a"}, "zone 'a' cannot be given with an availability trace"),
        ("trace.json", {}, "trace.json: is an availability trace; say what a 1 in its data means"),
        ("gap.json", {"one_means": "available"}, "gap.json: data is missing"),
        ("plan.json", {}, "plan.json: format 'spotbag.schedule/1' is not 'spotbag.timeline/1'"),
        ("other.json", {}, "other.json: is no scenario: it has neither"),
        ("list.json", {}, "list.json: is not a JSON object"),
        (".", {}, ".: is a folder, not a file"),
    ],
)
def test_what_is_no_scenario_is_refused(
    text: str, options: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_timeline(QUIET, "day.json")
    for name, document in {
        "trace": {"gap_seconds": 5, "data": [0, 1]},
        "gap": {"gap_seconds": 5},
        "plan": {"format": "spotbag.schedule/1"},
        "other": {"a": 1},
        "list": [0, 1],
    }.items():
        Path(f"{name}.json").write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        find_scenario(text, **options)
    assert said in str(caught.value)
