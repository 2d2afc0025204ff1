"""Scenarios of all kinds are written and read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from spotbag.core.errors import InputError
from spotbag.instances.bags.availability_days import availability_of_document
from spotbag.instances.bags.poisson_days import PoissonScenario
from spotbag.instances.bags.price_days import price_scenario
from spotbag.instances.bags.scenario_files import (
    changed_scenario,
    format_scenario,
    scenario_of_document,
    scenario_schema,
    write_scenario,
)
from spotbag.instances.bags.scenarios import SCENARIOS, find_scenario
from spotbag.instances.bags.scripted_days import Scenario, ScriptedScenario
from spotbag.instances.bags.spot_price_history import spot_prices_of_table
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.library import library_instance

BAG = library_instance("hads/J60")
PRICES = "2026-07-09 12:00,c3.large,0.03\n2026-07-10 12:10,c3.large,0.05\n2026-07-09 13:00,c4.large,0.06\n"
COUNTS = {"gap_seconds": 600.5, "data": {vm_type.name: [3, 5, 0, 1] for vm_type in BAG.vm_types}}

SAMPLES: dict[str, Scenario] = {
    "poisson": PoissonScenario("poisson k_h=2 k_r=0.5", 2, 0.5, 0.3, "aws-stop"),
    "named": find_scenario("hads/sc4"),
    "shocks": changed_scenario(find_scenario("vms/shocks"), cloud="gcp"),
    "for good": changed_scenario(find_scenario("vms/calm"), name="calm"),
    "bathtub": changed_scenario(find_scenario("vms/bathtub", end_age_s=7200.0, amplitude=0.4), cloud="gcp"),
    "quiet": find_scenario("quiet"),
    "day": ScriptedScenario(
        Timeline(
            (
                TimelineEvent(30, "c3.large", "capacity", vms=1, by="stop", notice_s=30),
                TimelineEvent(600, "c4.large", "price", market="on-demand", usd_per_hour=0.125),
            ),
            "by hand",
        ),
        cloud="azure",
    ),
    "all or none": availability_of_document({"gap_seconds": 60, "data": [1, 1, 0]}, "t", "preempted", cloud="gcp"),
    "counts": availability_of_document(COUNTS, "trace.json", "available", 0.5),
    "prices": price_scenario(spot_prices_of_table(f"Timestamp,InstanceType,SpotPrice\n{PRICES}", "p"), "p"),
    "prices of a time": changed_scenario(
        price_scenario(
            spot_prices_of_table(f"Timestamp,InstanceType,SpotPrice\n{PRICES}", "p"), "p", since="2026-07-09T12:30Z"
        ),
        name="noon",
        cloud="aws-terminate",
    ),
}


@pytest.mark.parametrize("label", SAMPLES)
def test_what_is_written_gives_the_same_days_when_it_is_read(label: str, tmp_path: Path) -> None:
    scenario = SAMPLES[label]
    write_scenario(scenario, tmp_path / "s.json")
    found = find_scenario(str(tmp_path / "s.json"))
    assert type(found) is type(scenario)
    assert (found.name, found.cloud, found.fixed, found.law) == (
        scenario.name,
        scenario.cloud,
        scenario.fixed,
        scenario.law,
    )
    for day in range(4):
        assert found.day(BAG, 7, day) == scenario.day(BAG, 7, day) == scenario.day(BAG, 7, day)
    assert format_scenario(found) == format_scenario(scenario)
    if not isinstance(scenario, ScriptedScenario):
        Draft202012Validator(json.loads(scenario_schema())).validate(json.loads(format_scenario(scenario)))


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name != "poisson"])
def test_every_scenario_with_a_name_can_be_written(name: str, tmp_path: Path) -> None:
    write_scenario(find_scenario(name), tmp_path / "s.json")
    assert find_scenario(str(tmp_path / "s.json")).day(BAG, 1, 2) == find_scenario(name).day(BAG, 1, 2)


HEAD = {"format": "spotbag.scenario/1"}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"kind": "poison"}, "s.json: kind 'poison' must be one of shocks, bathtub, poisson, availability, prices"),
        ({"kind": 3}, "s.json: kind 3 must be one of"),
        ({"kind": "poisson", "k_h": 1}, "k_r is missing"),
        ({"kind": "poisson", "k_h": 1, "k_r": 1, "k_s": 2}, "k_s"),
        ({"kind": "poisson", "k_h": 1e5, "k_r": 1}, "s.json: k_h 100000 times rate_scale must be at most 10000"),
        ({"kind": "availability", "gap_seconds": 60, "data": [1]}, "s.json: one_means is missing"),
        ({"kind": "availability", "gap_seconds": 60, "one_means": "available", "data": [-1]}, "s.json: data[0] -1"),
        (
            {"kind": "availability", "gap_seconds": 60, "one_means": "available", "vms_per_one": 0, "data": [1]},
            "vms_per_one 0 must be 'all', or a number above 0",
        ),
        ({"kind": "prices", "prices": [{"time_s": 0, "type": "a"}]}, "s.json: prices[0].usd_per_hour is missing"),
        (
            {"kind": "prices", "prices": [{"time_s": 5, "type": "a", "usd_per_hour": usd} for usd in (1, 2)]},
            "s.json: prices[1]: time_s 5 is given twice for the type 'a'",
        ),
        ({"kind": "prices", "prices": []}, "prices"),
        ({"kind": "prices", "cloud": "moon", "prices": [{"time_s": 0, "type": "a", "usd_per_hour": 1}]}, "cloud"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(document: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        scenario_of_document(HEAD | document, "s.json")
    assert said in str(caught.value)


def test_a_scenario_of_a_kind_of_its_own_is_not_written(tmp_path: Path) -> None:
    class Mine:
        name, cloud, fixed, law = "mine", None, False, None

        def day(self, instance: Any, seed: int, day: int) -> Timeline:
            return Timeline()

    with pytest.raises(InputError, match="mine: is of no kind that files have: Mine; write single days of it"):
        write_scenario(Mine(), tmp_path / "s.json")
    assert not (tmp_path / "s.json").exists()
