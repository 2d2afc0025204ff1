"""Limits of several VM types together, by VMs or by vCPUs, in plans, rescues, replays, the checker and the auditor."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotbag.audits.auditor import audit
from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.cli import main
from spotbag.core.errors import InputError, SpotbagError
from spotbag.heuristics.bags.d_spot import estimate_d_spot, with_d_spot
from spotbag.heuristics.bags.rescue import certify
from spotbag.instances.bags.hads_files import hads_files
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.entries import Quota, VmsLeft, most_worth, one_limit_each
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.models.bags.makespan_bounds import usable_cores
from spotbag.replay.bags.runs import trace_day
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.solve import solve
from tests.helpers.quotas import Quotas


def vm_type(name: str, vcpus: int, spot: float, on_demand: float, limit: int = 16) -> dict[str, Any]:
    offers = {
        "spot": {"price_usd_per_hour": spot, "limit": limit},
        "on-demand": {"price_usd_per_hour": on_demand, "limit": limit},
    }
    return {"name": name, "vcpus": vcpus, "memory_mb": 2048 * vcpus, "offers": offers}


def account(*quotas: dict[str, Any], count: int = 192, **changes: Any) -> Instance:
    """The bag of a public file: an account with a quota of vCPUs over all types."""
    vm_types = [vm_type("c6i.xlarge", 4, 0.0578, 0.17), vm_type("c6i.8xlarge", 32, 0.43, 1.36, 2)]
    task = {"id": "t", "memory_mb": 900, "base_runtime_s": 1800, "count": count}
    given = {"deadline_s": 7200, "objective": {"goal": "fastest"}, "limits": {"max_on_demand": 16, "quotas": quotas}}
    return Instance(name="quota", tasks=[task], **(given | {"vm_types": vm_types} | changes))


SPOT_64 = {"market": "spot", "vcpus": 64}


def vcpus(plan: Schedule, market: str) -> int:
    offers = [plan.instance.offers[index] for index in plan.vm_offer.tolist()]
    return sum(offer.vcpus for offer in offers if offer.market == market)


@pytest.mark.slow
def test_an_account_of_64_spot_vcpus_has_the_earliest_end_that_they_allow() -> None:
    # On demand 16 VMs, 2 of them of 32 cores, are 120 cores: with 64 spot vCPUs all 192 tasks need a second round,
    # which 184 cores do by 3,600 s; with 16 VMs of spot instead, 120 cores would be taken.
    bag = account(SPOT_64)
    result = solve(bag, "auto", survive="none")
    assert result.schedule is not None
    assert (result.status, result.schedule.makespan_s) == ("optimal", 3600)
    assert vcpus(result.schedule, "spot") <= 64
    # A third of the tasks are 64 cores for one round; all must run on 64 vCPUs.
    only = solve(bag.replace(markets=["spot"]), "auto", survive="none")
    assert only.schedule is not None
    assert (only.status, only.schedule.makespan_s, vcpus(only.schedule, "spot")) == ("optimal", 5400, 64)


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if not method.exact])
def test_heuristics_and_their_bounds_keep_quotas(method: str) -> None:
    bag = account(SPOT_64, {"market": "on-demand", "types": ["*.xlarge"], "vcpus": 9}, count=40)
    result = solve(bag.with_goal("cheapest"), method, survive="none", seed=1)
    assert result.schedule is not None
    offers = map(bag.offers.__getitem__, result.schedule.vm_offer.tolist())
    assert Quotas(bag).allow((offer.vm_type.name, offer.market) for offer in offers)
    assert result.bound is not None
    assert result.bound <= result.schedule.objective * (1 + 1e-9)


def test_the_divisible_bound_knows_quotas() -> None:
    # 192 tasks of 1,800 s on 64 cores take 5,400 s, as tasks that may be cut as well.
    bag = with_d_spot(account(SPOT_64, markets=["spot"], d_spot_s=7200))
    assert divisible_bound(bag).objective == pytest.approx(5400)


def test_limits_count_what_is_left_in_each_group() -> None:
    bag = account(SPOT_64, {"market": "spot", "types": ["c6i.xlarge"], "vms": 3}, count=10)
    left = VmsLeft(bag)
    assert [left.of(offer.index) for offer in bag.offers] == [3, 16, 2, 2]
    left.take(2)  # 32 vCPUs on spot
    left.take(0, 2)
    assert [left.of(offer.index) for offer in bag.offers] == [1, 16, 0, 2]


def test_the_most_that_vms_are_worth_within_limits_is_no_less_than_that_of_any_vms() -> None:
    weights, most = np.array([4.0, 32.0]), 64.0
    limits = one_limit_each([(weights, most), (np.ones(2), 10.0)])
    # Cores: the first by VMs (10 are 40), the second by vCPUs (64 are 2): both cut the other way.
    vms = most_worth(np.array([4.0, 32.0]), np.array([16.0, 16.0]), limits)
    assert vms.tolist() == [10.0, 2.0]


def test_parts_of_vms_that_make_a_whole_one_are_in_a_bound_of_whole_cores() -> None:
    # By shares of the limit, 220 vCPUs are 2 of one type and 218 / 44 of another: a rounding error below 220 cores.
    types = [vm_type("two", 2, 0.05, 0.1, 1), vm_type("many", 44, 1.1, 2.2, 30)]
    quota = {"market": "on-demand", "vcpus": 220}
    bag = account(quota, count=220, vm_types=types, markets=["on-demand"], limits={"quotas": [quota]}, deadline_s=1800)
    assert usable_cores(with_d_spot(bag)) == 220
    result = solve(bag, "lpt", survive="none")
    assert result.schedule is not None
    assert result.schedule.makespan_s == 1800


def test_the_checker_counts_vcpus() -> None:
    bag = account(SPOT_64, d_spot_s=7200)
    plan = solve(account(d_spot_s=7200, limits={}, markets=["spot"]), "auto", survive="none").schedule
    assert plan is not None
    assert vcpus(plan, "spot") > 64
    (violation,) = [entry for entry in check(bag, plan).violations if entry.rule == "limit"]
    assert (
        violation.message == f"{vcpus(plan, 'spot')} quotas[0] vCPUs, {vcpus(plan, 'spot') - 64} over the limit of 64"
    )


def test_rescues_keep_the_quotas_of_on_demand_vms() -> None:
    one, two = ({"market": "on-demand", "vcpus": most} for most in (4, 8))
    bag = account(two, count=8, deadline_s=5400, d_spot_s=1800, limits={"quotas": [two]}, markets=["spot"])
    plan = solve(bag.with_goal("cheapest"), "auto", survive="none").schedule
    assert plan is not None
    # 8 tasks are lost just before 1,800 s: 8 vCPUs do them again by 3,600 s; 4 vCPUs do by 5,400 s.
    assert certify(plan, "blackout").verdict == "survives"
    narrow = plan.instance.replace(limits={"quotas": [one]}, deadline_s=5000)
    places = plan.task_vm, plan.task_core, plan.task_start_s, plan.task_baseline
    assert certify(Schedule(narrow, plan.vm_offer, *places), "blackout").verdict == "does-not-survive"
    judged = check(narrow, Schedule(narrow, plan.vm_offer, *places), survive="blackout").survival
    assert judged is not None
    assert judged.verdict == "does-not-survive"


@pytest.fixture(scope="module")
def surviving() -> Schedule:
    bag = account({"market": "spot", "vcpus": 16}, {"market": "on-demand", "vcpus": 12}, count=40, deadline_s=14_400)
    plan = solve(bag.with_goal("cheapest"), "search", survive="blackout", iterations=20_000).schedule
    assert plan is not None
    return plan


@pytest.mark.parametrize("policy", ["hads", "rescue", "on-time"])
def test_policies_keep_quotas_and_the_auditor_counts_them(policy: str, surviving: Schedule) -> None:
    narrower = surviving.instance.to_document()
    narrower["limits"]["quotas"][1]["vcpus"] = 3  # less than a VM
    for day in range(4):
        _, trace = trace_day(surviving, policy, find_scenario("hads/sc2").day(surviving.instance, 1, day))
        assert audit(trace).findings == ()
        rents = any(event["event"] == "launch" and event["market"] == "on-demand" for event in trace.events)
        findings = audit(dataclasses.replace(trace, instance=narrower)).findings
        assert any("vCPUs, " in finding.message for finding in findings) == rents


@pytest.mark.parametrize(
    ("quota", "said"),
    [
        ({"market": "spot"}, "needs exactly one of vcpus and vms"),
        ({"market": "spot", "vcpus": 1, "vms": 1}, "needs exactly one of vcpus and vms"),
        ({"vcpus": 1}, "market"),
        ({"market": "spot", "vcpus": -1}, "vcpus"),
        ({"market": "spot", "types": ["m6i.*"], "vcpus": 1}, r"types 'm6i.\*' names no VM type of the catalogue"),
    ],
)
def test_quotas_that_are_wrong_are_refused(quota: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        account(quota)


def test_what_knows_no_quotas_says_so() -> None:
    with pytest.raises(SpotbagError, match="HADS files know no quotas"):
        hads_files(library_instance("hads/J60").replace(limits={"quotas": [SPOT_64]}))


def test_d_spot_of_hads_counts_the_vms_that_quotas_allow() -> None:
    # 5 VMs of 4 vCPUs: ceil(20 / 5) = 4 tasks each, at once on 4 cores, 1,800 s; with one, 20 tasks in 5 rounds.
    assert estimate_d_spot(account({"market": "on-demand", "vcpus": 20}, count=20)) == 7200 - 1800
    assert estimate_d_spot(account({"market": "on-demand", "vcpus": 4}, count=16)) == 7200 - 4 * 1800


def test_d_spot_counts_vms_within_all_limits_that_they_have() -> None:
    # 4 VMs on demand, 2 of them of either type: half of the 16 tasks are not behind a limit of 2.
    types = [vm_type(name, 1, 0.1, 0.2) for name in ("a", "b")]
    limits = {"quotas": [{"market": "on-demand", "vms": 4}, {"market": "on-demand", "types": ["a"], "vms": 2}]}
    assert estimate_d_spot(account(count=16, vm_types=types, limits=limits, deadline_s=9000)) == 9000 - 4 * 1800


def test_options_give_quotas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = tmp_path / "tasks.csv"
    tasks.write_text("id,runtime_s,memory_mb\na,60,500\n")
    common = ["instance", "import", "csv", str(tasks), "--deadline", "2h", "--types", "c6i.*", "--out"]
    quotas = ["--quota", "spot=64", "--quota", "on-demand:c6i.large,c6i.xlarge=16 VMs"]
    assert main([*common, str(tmp_path / "bag.json"), *quotas]) == 0
    bag = json.loads((tmp_path / "bag.json").read_text())
    assert bag["limits"]["quotas"] == [
        {"market": "spot", "vcpus": 64},
        {"market": "on-demand", "types": ["c6i.large", "c6i.xlarge"], "vms": 16},
    ]
    for wrong in ("64", "spot=many", "cheap=3", "spot=3 cores"):
        assert main([*common, str(tmp_path / "no.json"), "--quota", wrong]) == 2
        assert "must be MARKET[:TYPES]=N vCPUs, or N VMs" in capsys.readouterr().err
    assert str(Quota(market="spot", vcpus=64, types=("c6i.*",))) == "64 vCPUs of c6i.* spot"
