"""Rates of interruption by VM type, in files of scenarios and in that of the Spot Instance Advisor."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import spotbag
from spotbag.core.errors import InputError
from spotbag.instances.bags.day_draws import horizon_s
from spotbag.instances.bags.scenario_files import format_scenario, scenario_of_document
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.scripted_days import HOURS_A_MONTH
from spotbag.instances.bags.shock_days import ShockScenario
from spotbag.instances.entries import VmType
from spotbag.instances.instance import Instance
from spotbag.replay.bags.plan import law_values

ADVISOR = {
    "ranges": [{"index": k, "max": most, "label": ""} for k, most in enumerate([5, 11, 16, 22, 100])],
    "instance_types": {},
    "spot_advisor": {
        "us-east-1": {"Linux": {"m5.large": {"s": 70, "r": 0}, "c5.xlarge": {"s": 60, "r": 4}}},
        "eu-west-1": {"Linux": {"m5.large": {"s": 70, "r": 2}}, "Windows": {"m5.large": {"s": 1, "r": 1}}},
    },
}


def two_types() -> Instance:
    def vm_type(name: str, usd: float) -> dict[str, Any]:
        offers = {
            "spot": {"price_usd_per_hour": usd, "limit": 8},
            "on-demand": {"price_usd_per_hour": 0.2, "limit": 20},
        }
        return {"name": name, "vcpus": 4, "memory_mb": 8192, "offers": offers}

    return Instance(
        name="two types",
        deadline_s=20_000,
        vm_types=[vm_type("c5.xlarge", 0.070), vm_type("m5.large", 0.068)],
        tasks=[{"id": "t", "memory_mb": 100, "base_runtime_s": 9000, "count": 16}],
    )


def of_name(name: str, zone: str | None = None) -> VmType:
    offers = {"spot": {"price_usd_per_hour": 1.0, "limit": 1}}
    return VmType(name=name, vcpus=1, memory_mb=1, offers=offers, zone=zone)


def of_rates(rates: dict[str, float], **more: Any) -> ShockScenario:
    return ShockScenario(vm_interruptions_per_hour=rates, mean_outage_s=1800, **more)


def test_each_type_has_the_interruptions_of_its_own_rate() -> None:
    bag = two_types()
    hours = horizon_s(bag) / 3600
    scenario = of_rates({"m5.*": 0.4, "c5.xlarge": 0.0, "*": 9.0})
    counts = Counter(
        (event.vm_type, event.kind) for day in range(40) for event in scenario.day(bag, seed=1, day=day).events
    )
    # 3 VMs for each of 8 places on 40 days of 55.6 h: 21,333 are to be expected, with a deviation of 146.
    assert abs(counts["m5.large", "interrupt"] - 40 * 24 * 0.4 * hours) < 4 * 146
    assert counts["c5.xlarge", "interrupt"] == 0
    assert not scenario.fixed
    assert of_rates({"*": 0.0}).fixed


def test_days_of_one_rate_are_those_of_that_rate_for_every_type() -> None:
    bag = two_types()
    by_type = ShockScenario(vm_interruptions_per_hour={"*": 0.3}, type_interruptions_per_hour={"c5*": 0.2, "m5*": 0.2})
    one = ShockScenario(vm_interruptions_per_hour=0.3, type_interruptions_per_hour=0.2)
    assert by_type.day(bag, 3, 5).events == one.day(bag, 3, 5).events


def test_a_name_counts_before_a_pattern_and_a_type_without_a_rate_is_refused() -> None:
    rates = of_rates({"c*": 0.5, "c5.xlarge": 0.1})
    assert rates.rates_of(of_name("c5.xlarge")) == (0.1, 0.0)
    assert rates.rates_of(of_name("c5.large")) == (0.5, 0.0)
    pools = of_rates({"a@east": 0.1, "a": 0.2, "*@west": 0.3})
    assert pools.rates_of(of_name("a@east", "east")) == (0.1, 0.0)
    assert pools.rates_of(of_name("a@west", "west")) == (0.2, 0.0)
    assert pools.rates_of(of_name("b@west", "west")) == (0.3, 0.0)
    with pytest.raises(InputError, match=r"vm_interruptions_per_hour has no rate of the spot type 'm5\.large'"):
        rates.day(two_types(), 0, 0)


def test_policies_know_no_law_of_rates_that_differ() -> None:
    assert of_rates({"*": 0.1}).law is None
    assert law_values(of_rates({"*": 0.1}).law, 100) == {}


def test_a_file_with_rates_by_type_is_read_and_written() -> None:
    document = {
        "format": "spotbag.scenario/1",
        "name": "advisor",
        "cloud": "aws-terminate",
        "type_interruptions_per_hour": {"m5.large": 0.03, "c5.xlarge": 0.001},
        "mean_outage_s": 1800,
    }
    scenario = scenario_of_document(document)
    assert isinstance(scenario, ShockScenario)
    assert scenario.rates_of(of_name("c5.xlarge")) == (0.0, 0.001)
    assert scenario_of_document(json.loads(format_scenario(scenario))) == scenario


@pytest.mark.parametrize("rates", [{}, {"a": -1}, {"a": "often"}, "often"])
def test_rates_that_are_none_are_refused(rates: object) -> None:
    with pytest.raises(InputError, match="vm_interruptions_per_hour"):
        scenario_of_document({"format": "spotbag.scenario/1", "vm_interruptions_per_hour": rates})


def test_the_advisor_says_how_often_vms_are_interrupted_within_a_month(tmp_path: Path) -> None:
    path = tmp_path / "advisor.json"
    path.write_text(json.dumps(ADVISOR))
    scenario = find_scenario(str(path), zone="us-east-1b")
    assert isinstance(scenario, ShockScenario)
    # 5 % a month at most: 0.05 = 1 - exp(-rate * 730). The last class begins at 22 %.
    assert scenario.rates_of(of_name("m5.large"))[0] == pytest.approx(0.051293 / HOURS_A_MONTH, rel=1e-4)
    assert scenario.rates_of(of_name("c5.xlarge"))[0] == pytest.approx(0.248461 / HOURS_A_MONTH, rel=1e-4)
    windows = find_scenario(str(path), zone="eu-west-1", product="Windows")
    assert isinstance(windows, ShockScenario)
    assert windows.rates_of(of_name("m5.large"))[0] == pytest.approx(0.116534 / HOURS_A_MONTH, rel=1e-4)
    with pytest.raises(InputError, match=r"has 2 regions: choose one by --zone"):
        find_scenario(str(path))
    with pytest.raises(InputError, match="has no region 'mars'"):
        find_scenario(str(path), zone="mars")
    with pytest.raises(InputError, match="has no 'SUSE' in us-east-1"):
        find_scenario(str(path), zone="us-east-1", product="SUSE")


@pytest.mark.slow
def test_a_plan_for_such_days_prefers_the_calmer_type() -> None:
    calm = ShockScenario(type_interruptions_per_hour={"m5.large": 0.3, "c5.xlarge": 0.001}, mean_outage_s=1800)
    choice = spotbag.choose_plan(two_types(), calm, "on-time", 20, method="greedy")
    assert choice.schedule is not None
    assert {
        offer.vm_type.name for offer in map(choice.schedule.instance.offers.__getitem__, choice.schedule.vm_offer)
    } == {"c5.xlarge"}
    quiet = spotbag.solve(two_types(), "greedy").schedule
    assert quiet is not None
    assert "m5.large" in {two_types().offers[index].vm_type.name for index in quiet.vm_offer}
