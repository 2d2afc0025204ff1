"""Days on which VMs are interrupted one by one, as types, and by shocks that strike several types."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import InputError
from spotbag.instances.bags.day_draws import horizon_s
from spotbag.instances.bags.scenarios import SCENARIOS, find_scenario
from spotbag.instances.bags.shock_days import ShockScenario
from spotbag.instances.bags.timeline import event_issues
from spotbag.instances.library import library_instance

BAG = library_instance("hads/J60")
TYPES = [vm_type.name for vm_type in BAG.vm_types if "spot" in vm_type.offers]
HOURS = (horizon_s(BAG) - BAG.boot_overhead_s) / 3600


def scenarios() -> st.SearchStrategy[ShockScenario]:
    rates = st.sampled_from([0.0, 0.01, 0.3, 4.0])
    return st.builds(
        ShockScenario,
        vm_interruptions_per_hour=rates,
        type_interruptions_per_hour=rates,
        shocks_per_hour=rates,
        shock_share=st.sampled_from([0.0, 0.5, 1.0]),
        mean_outage_s=st.sampled_from([None, 1.0, 600.0, 1e6]),
    )


@pytest.mark.slow
@given(scenarios(), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_every_day_is_one_that_can_be_written(scenario: ShockScenario, day: int) -> None:
    timeline = scenario.day(BAG, 1, day)
    assert event_issues(timeline.events) == []
    assert scenario.day(BAG, 1, day) == timeline
    assert not scenario.fixed or not timeline.events
    if scenario.mean_outage_s is not None:
        # Whatever goes is back some day.
        last = {(event.vm_type, event.vm): event.kind for event in timeline.events}
        assert set(last.values()) <= {"resume"}


@pytest.mark.slow
@pytest.mark.parametrize("outage_s", [None, 600.0, 1800.0])
def test_a_vm_is_interrupted_as_often_as_said_whenever_it_is_requested(outage_s: float | None) -> None:
    scenario = ShockScenario(vm_interruptions_per_hour=2.0, mean_outage_s=outage_s)
    days = 60
    events = [event for day in range(days) for event in scenario.day(BAG, 3, day).events if event.kind == "interrupt"]
    vms = sum(3 * vm_type.offers["spot"].limit for vm_type in BAG.vm_types if "spot" in vm_type.offers)
    hours = (np.array([event.time_s for event in events]) - BAG.boot_overhead_s) / 3600
    for hour in range(4):
        found = int(((hours > hour) & (hours <= hour + 1)).sum())
        assert found == pytest.approx(days * vms * 2.0, rel=0.05)


def test_a_vm_that_was_there_is_gone_as_long_as_said() -> None:
    scenario = ShockScenario(vm_interruptions_per_hour=2.0, mean_outage_s=600.0)
    gone_s: dict[tuple[int, str, int | None], int] = {}
    outages_s = []
    for day in range(60):
        for event in scenario.day(BAG, 4, day).events:
            key = day, event.vm_type, event.vm
            if event.kind == "resume":
                outages_s.append(event.time_s - gone_s.pop(key))
            else:
                gone_s.setdefault(key, event.time_s)
    assert not gone_s
    # Times are rounded up to seconds, and the last outages end with the horizon.
    assert np.mean(outages_s) == pytest.approx(600, rel=0.05)


def test_shocks_strike_types_together() -> None:
    scenario = ShockScenario(shocks_per_hour=1.0, shock_share=0.5, mean_outage_s=1.0)
    moments: dict[str, set[tuple[int, int]]] = {name: set() for name in TYPES}
    days = 300
    for day in range(days):
        for event in scenario.day(BAG, 5, day).events:
            if event.kind == "interrupt":
                moments[event.vm_type].add((day, event.time_s))
    first, second = moments[TYPES[0]], moments[TYPES[1]]
    assert len(first) == pytest.approx(0.5 * days * HOURS, rel=0.1)
    assert len(first & second) == pytest.approx(0.25 * days * HOURS, rel=0.15)
    assert scenario.law == {"vm_interruptions_per_hour": 0.0, "type_interruptions_per_hour": 0.5, "mean_outage_s": 1.0}


def test_more_vms_leave_what_happens_to_types_as_it_is() -> None:
    scenario = ShockScenario(type_interruptions_per_hour=0.5, shocks_per_hour=0.5, mean_outage_s=600.0)
    with_vms = scenario.model_copy(update={"vm_interruptions_per_hour": 0.5})
    of_types = [event for event in with_vms.day(BAG, 0, 7).events if event.vm is None]
    assert tuple(of_types) == scenario.day(BAG, 0, 7).events


@pytest.mark.parametrize("name", [name for name, known in SCENARIOS.items() if known.shocks is not None])
def test_scenarios_of_single_vms_have_names(name: str) -> None:
    scenario = find_scenario(name)
    assert scenario.name == name
    assert not scenario.fixed
    with pytest.raises(InputError, match="cannot be given with the scenario"):
        find_scenario(name, rate_scale=2.0)


def test_a_scenario_is_read_from_a_file(tmp_path: Path) -> None:
    document = {
        "format": "spotbag.scenario/1",
        "name": "mine",
        "cloud": "gcp",
        "vm_interruptions_per_hour": 0.1,
        "mean_outage_s": 900,
    }
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(document))
    scenario = find_scenario(str(path))
    assert scenario == ShockScenario(name="mine", cloud="gcp", vm_interruptions_per_hour=0.1, mean_outage_s=900.0)
    path.write_text(json.dumps(document | {"shock_share": 1.5, "vm_rate": 3, "cloud": "moon"}))
    with pytest.raises(InputError, match="3 errors"):
        find_scenario(str(path))
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="k_h 1 cannot be given with a scenario of a file"):
        find_scenario(str(path), k_h=1)


def test_a_day_of_far_too_many_events_is_refused() -> None:
    scenario = ShockScenario(vm_interruptions_per_hour=3600.0, mean_outage_s=1.0)
    with pytest.raises(InputError, match="would make about"):
        scenario.day(BAG.replace(deadline_s=10**7), 0, 0)


def test_events_of_all_types_count_towards_too_many() -> None:
    # Eight million events of each type are not too many by themselves.
    scenario = ShockScenario(type_interruptions_per_hour=3600.0, mean_outage_s=1.0)
    with pytest.raises(InputError, match="would make about"):
        scenario.day(BAG.replace(deadline_s=400_000), 0, 0)
