"""Survival certificates: by hand to the second, and against brute force over all moments and all ways of a rescue."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from spotbag.audits.bags.plan import check
from spotbag.core.limits import LimitReached, within
from spotbag.heuristics.bags import rescue as rescue_module
from spotbag.heuristics.bags import rescue_questions
from spotbag.heuristics.bags.d_spot import estimate_d_spot
from spotbag.heuristics.bags.rescue import certify, rescue_at, spot_types, survival_of
from spotbag.instances.entries import Machine
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.schedules.queues import Queue, schedule_of_queues
from spotbag.schedules.rescuable import longest_first_order
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from spotbag.solvers.bags.solve import solve
from tests.helpers.rescues import (
    can_be_rescued,
    carried_on,
    cost_of_loss_usd,
    dated_plan,
    demand_the_same_rescues,
    faults,
    left_of_lost,
    level_sets,
    random_plan,
    random_rest,
)
from tests.helpers.soaks import soak

HOURLY = 3600.0


def bag(deadline_s: int, runtimes_s: list[int], **fields: Any) -> Instance:
    """Tasks on VMs of one core, at 1 $ a second on spot and 2 $ on demand."""
    vm_type = {
        "name": "one",
        "vcpus": 1,
        "memory_mb": 1024,
        "offers": {
            "spot": {"price_usd_per_hour": HOURLY, "limit": 10},
            "on-demand": {"price_usd_per_hour": 2 * HOURLY, "limit": 10},
        },
    }
    document = {
        "format": "spotbag.instance/1",
        "name": "by hand",
        "deadline_s": deadline_s,
        "d_spot_s": deadline_s,
        "vm_types": [vm_type],
        "tasks": [{"id": f"t{k}", "memory_mb": 100, "base_runtime_s": s} for k, s in enumerate(runtimes_s)],
    }
    return Instance.from_document(document | fields, "by hand")


def on_vms(instance: Instance, *vms: tuple[int, list[int]]) -> Schedule:
    """Make a plan of VMs: an offer and the tasks in order."""
    return schedule_of_queues(instance, [Queue(instance.offers[offer], tasks) for offer, tasks in vms])


SPOT, ON_DEMAND = 0, 1


@pytest.mark.parametrize(("deadline_s", "verdict"), [(209, "survives"), (208, "does-not-survive")])
def test_a_task_that_is_lost_a_second_before_its_end(deadline_s: int, verdict: str) -> None:
    # Lost at 99 s, it starts anew at 109 s and ends at 209 s: 99 $ of spot, and 110 s of a VM on demand.
    plan = on_vms(bag(deadline_s, [100], migration_overhead_s=10), (SPOT, [0]))
    certificate = certify(plan, "one-type")
    assert certificate.verdict == verdict
    assert (certificate.worst_at_s, certificate.worst_types) == (99, ("one",))
    if verdict == "survives":
        assert certificate.worst_cost_usd == pytest.approx(99 + 2 * 110)
        assert certificate.least_slack_s == 0
        assert certificate.rescue is not None
        assert certificate.rescue.task_start_s.tolist() == [109]
    else:
        assert "99 s" in certificate.reason
        assert "'t0' takes 100 s more on demand and would end at 209 s" in certificate.reason


@pytest.mark.parametrize(("deadline_s", "verdict"), [(154, "survives"), (153, "does-not-survive")])
def test_a_task_goes_on_from_its_last_checkpoint(deadline_s: int, verdict: str) -> None:
    # 100 s, a checkpoint of 5 s after 50 s: lost at 54 s, all of it is left; at 104 s, 50 s. Both end at 154 s.
    instance = bag(deadline_s, [100], checkpoint={"overhead_fraction": 0.1, "dump_base_s": 5, "dump_s_per_mb": 0})
    assert certify(on_vms(instance, (SPOT, [0])), "blackout").verdict == verdict


@pytest.mark.parametrize(("limit", "verdict"), [(2, "survives"), (1, "does-not-survive")])
def test_vms_of_the_plan_run_on_and_count_against_the_limits(limit: int, verdict: str) -> None:
    # Lost at 99 s: t0 and t1 of 100 s by 210 s. The plan's own VM is busy to 150 s; a second one would do.
    instance = bag(210, [100, 100, 150], limits={"max_on_demand": limit})
    plan = on_vms(instance, (SPOT, [0]), (SPOT, [1]), (ON_DEMAND, [2]))
    assert certify(plan, "one-type").verdict == "does-not-survive"
    later = on_vms(instance.replace(deadline_s=250, d_spot_s=250), (SPOT, [0]), (SPOT, [1]), (ON_DEMAND, [2]))
    certificate = certify(later, "one-type")
    assert certificate.verdict == verdict
    if certificate.rescue is not None:
        # 50 s more of the plan's own VM instead of 100 s of a new one, and a new one for the other.
        assert sorted((vm.new, vm.ready_s, vm.end_s) for vm in certificate.rescue.vms) == [
            (False, 150, 250),
            (True, 99, 199),
        ]
        assert certificate.worst_cost_usd == pytest.approx(99 * 2 + 300 + 2 * 100 + 2 * 100)


@pytest.mark.parametrize(("memory_mb", "verdict"), [(512, "survives"), (513, "not-shown")])
def test_memory_is_exact_to_the_kilobyte(memory_mb: int, verdict: str) -> None:
    document = bag(150, [100, 100]).to_document()
    document["vm_types"][0] |= {"vcpus": 2}
    document["vm_types"][0]["offers"]["on-demand"]["limit"] = 1
    document["tasks"] = [{"id": "t0", "memory_mb": 512, "base_runtime_s": 50}]
    document["tasks"].append({"id": "t1", "memory_mb": memory_mb, "base_runtime_s": 55})
    plan = on_vms(Instance.from_document(document, "by hand"), (SPOT, [0]), (SPOT, [1]))
    # Lost at 49 s, both fit one VM at a time and end at 104 s; one after the other, they end at 154 s.
    assert certify(plan, "one-type").verdict == verdict


def test_a_d_spot_of_algorithm_1_is_no_promise() -> None:
    # It counts on 20 VMs at once, of which the type allows one: 30,000 core seconds on two cores.
    document = bag(3000, [300]).to_document()
    del document["d_spot_s"]
    document["vm_types"][0] |= {"vcpus": 2, "memory_mb": 4096}
    document["vm_types"][0]["offers"]["on-demand"]["limit"] = 1
    document["tasks"] = [{"id": "t", "memory_mb": 100, "base_runtime_s": 300, "count": 100}]
    document["limits"] = {"max_on_demand": 20}
    instance = Instance.from_document(document, "by hand")
    assert estimate_d_spot(instance) == 2100
    instance = instance.replace(d_spot_s=2100)
    plan = on_vms(instance, *[(SPOT, list(range(first, 100, 10))) for first in range(10)])
    assert check(instance, plan).feasible
    certificate = certify(plan, "one-type")
    assert certificate.verdict == "does-not-survive"
    assert certificate.worst_at_s == 299


def test_without_spot_vms_the_worst_case_is_the_plan() -> None:
    plan = on_vms(bag(200, [100]), (ON_DEMAND, [0]))
    for level in ("one-type", "blackout", "each"):
        certificate = certify(plan, level)  # type: ignore[arg-type]
        assert (certificate.verdict, certificate.worst_cost_usd) == ("survives", plan.cost_usd)
        assert (certificate.worst_at_s, certificate.rescue) == (None, None)


@pytest.mark.parametrize(
    ("deadline_s", "limits", "verdict"),
    [(209, {}, "survives"), (208, {}, "does-not-survive"), (300, {"max_on_demand": 1}, "not-shown")],
)
def test_twins_keep_the_deadline_if_vms_go_at_moments_of_their_own(
    deadline_s: int, limits: dict[str, int], verdict: str
) -> None:
    # Each VM ends at 100 s; the longest loss is 99 s, and a move takes 10 s.
    instance = bag(deadline_s, [100, 60, 40], migration_overhead_s=10, limits=limits)
    certificate = certify(on_vms(instance, (SPOT, [0]), (SPOT, [1, 2])), "each")
    assert certificate.verdict == verdict
    if verdict == "survives":
        # At 0 s: twins up to 209 s and 169 s on demand, where nothing of the spot VMs is paid yet.
        assert certificate.worst_cost_usd == pytest.approx(2 * 209 + 2 * 169)
        assert certificate.least_slack_s == 0


def test_the_record_of_a_file_holds_the_rescue_of_the_worst_moment() -> None:
    plan = on_vms(bag(300, [100, 50], migration_overhead_s=10), (SPOT, [0]), (ON_DEMAND, [1]))
    record = survival_of(plan, "one-type", without_usd=1.0)
    assert record.blackout_cost_usd == record.worst_cost_usd == pytest.approx(99 + 2 * 50 + 2 * 110)
    assert record.rescue is not None
    assert [(task.id, task.start_s, task.end_s) for task in record.rescue.tasks] == [("t0", 109, 209)]
    assert [(vm.id, vm.type, vm.new) for vm in record.rescue.vms] == [("one-on-demand-2", "one", True)]


def test_longest_first_is_the_order_that_survives() -> None:
    instance = bag(170, [20, 70])
    plan = on_vms(instance, (SPOT, [0, 1]))
    # Lost at 89 s, t1 would end at 159 s; first, it is lost at 69 s and then t0 at 89 s.
    assert certify(on_vms(instance.replace(deadline_s=158, d_spot_s=158), (SPOT, [0, 1])), "one-type").worst_at_s == 89
    ordered = longest_first_order(plan)
    assert ordered.task_start_s.tolist() == [70, 0]
    assert (ordered.cost_usd, ordered.makespan_s) == (plan.cost_usd, plan.makespan_s)


def keep_what_runs(seeds: range) -> None:
    """Order rests of random plans."""
    moved = 0
    for seed in seeds:
        plan = random_rest(seed)
        ordered = longest_first_order(plan)
        assert (ordered.cost_usd, ordered.makespan_s) == (plan.cost_usd, plan.makespan_s)
        moved += (ordered.task_start_s != plan.task_start_s).any()
        assert check(plan.instance, ordered).violations == (), seed
    assert moved > len(seeds) / 100


def test_orders_of_plans_from_a_state_keep_what_runs() -> None:
    keep_what_runs(range(60))


@soak(sample=300, whole=20_000)
def test_orders_of_thousands_of_plans_from_a_state_keep_what_runs(how_many: int) -> None:
    keep_what_runs(range(60, 60 + how_many))


def demand_bill(plan: Schedule, stated_usd: float, usd: float, seed: int) -> None:
    """Demand that a bill is right; of VMs that are lost while they are set up, the whole setup may be counted."""
    assert usd <= stated_usd * (1 + 1e-9), seed
    assert plan.instance.has_setups or usd == pytest.approx(stated_usd, rel=1e-9), seed


def judge_plan(plan: Schedule, seed: int) -> None:
    """Compare a plan's certificates with brute force over all moments."""
    for level in ("one-type", "blackout"):
        certificate = certify(plan, level)  # type: ignore[arg-type]
        stated = plan.to_document("by chance", survival_of(plan, level))  # type: ignore[arg-type]
        assert check(plan.instance, stated).violations == (), seed
        sets = level_sets(plan, level)
        moments = range(0 if plan.instance.machines else plan.instance.boot_overhead_s, plan.makespan_s + 1)
        if certificate.verdict == "survives":
            assert certificate.worst_cost_usd is not None
            worst_usd = plan.cost_usd
            for types in sets:
                for at_s in moments:
                    rescue = rescue_at(plan, types, at_s)
                    if rescue is not None and len(rescue.task):  # the one of this level, not the cheapest of both
                        named = types if level == "one-type" else spot_types(plan)
                        rescue = rescue_module._rescuer(plan)._certified(named, types, at_s)
                    assert rescue is not None
                    assert list(faults(plan, types, at_s, rescue)) == [], (seed, types, at_s)
                    worst_usd = max(worst_usd, cost_of_loss_usd(plan, types, at_s, rescue.cost_usd))
            demand_bill(plan, certificate.worst_cost_usd, worst_usd, seed)
            if certificate.rescue is not None:
                assert certificate.worst_at_s is not None
                worst = certificate.rescue
                assert list(faults(plan, worst.types, worst.at_s, worst)) == [], seed
                usd = cost_of_loss_usd(plan, worst.types, worst.at_s, worst.cost_usd)
                demand_bill(plan, certificate.worst_cost_usd, usd, seed)
        elif certificate.verdict == "does-not-survive":
            assert certificate.worst_at_s is not None
            assert not can_be_rescued(plan, certificate.worst_types, certificate.worst_at_s), seed


def judge_dated_plan(seed: int) -> set[str]:
    """Compare certificates of a plan of tasks with dates with brute force; return the verdicts."""
    plan, verdicts = dated_plan(seed), set()
    for level in ("one-type", "blackout"):
        certificate = certify(plan, level)  # type: ignore[arg-type]
        report = check(plan.instance, plan.to_document("by chance", survival_of(plan, level)), survive=level)  # type: ignore[arg-type]
        assert report.violations == (), seed
        assert report.survival is not None
        verdicts |= {certificate.verdict, f"checker: {report.survival.verdict}"}
        for found in (certificate, report.survival):
            if found.verdict == "does-not-survive":
                assert found.worst_at_s is not None
                assert not can_be_rescued(plan, tuple(found.worst_types or ()), found.worst_at_s), seed
        if certificate.verdict != "survives":
            continue
        assert certificate.worst_cost_usd is not None
        rescuer = rescue_module._rescuer(plan)
        for types in level_sets(plan, level):
            whole = types if level == "one-type" else rescuer.types
            moments = rescuer.moments(whole)
            for at_s in range(plan.makespan_s + 1):  # a rescue begins at once, or waits while nothing changes
                moment = next((moment for moment in moments if at_s <= moment.last_s), None)
                lost = left_of_lost(plan, types, at_s)
                if moment is None or not lost:
                    assert not lost
                    continue
                begin_s = max(at_s, moment.at_s)
                assert left_of_lost(plan, types, begin_s) == lost, (seed, types, at_s)
                rescue = rescuer._rescue_of(whole, types, moment, begin_s)
                assert list(faults(plan, types, begin_s, rescue)) == [], (seed, types, at_s)
                usd = cost_of_loss_usd(plan, types, at_s, rescue.cost_usd)
                assert usd <= certificate.worst_cost_usd * (1 + 1e-9), (seed, types, at_s)
    return verdicts


def test_certificates_of_tasks_with_dates_agree_with_brute_force() -> None:
    assert len({verdict for seed in range(15) for verdict in judge_dated_plan(seed)}) >= 4


@soak(sample=100, whole=5000)
def test_certificates_of_tasks_with_dates_agree_with_brute_force_on_thousands(how_many: int) -> None:
    for seed in range(15, 15 + how_many):
        judge_dated_plan(seed)


def test_certificates_agree_with_brute_force() -> None:
    for seed in range(10):
        judge_plan(random_plan(seed), seed)
        judge_plan(random_plan(seed, setups=True), seed)


def test_certificates_of_plans_from_a_state_agree_with_brute_force() -> None:
    for seed in range(15):
        judge_plan(random_rest(seed, setups=seed % 3 == 0), seed)


@soak(sample=150, whole=10_000)
def test_certificates_of_plans_from_a_state_agree_with_brute_force_on_thousands(how_many: int) -> None:
    for seed in range(15, 15 + how_many):
        judge_plan(random_rest(seed, setups=seed % 3 == 0), seed)


@pytest.mark.parametrize("how_many", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_what_is_left_of_a_plan_that_survives_survives_too(how_many: int) -> None:
    """Carried on as planned, no loss is worse than it was; nor is the bill, with what has been spent."""
    survived = 0
    for seed in range(how_many):
        plan = random_plan(seed)
        for level in ("one-type", "blackout"):
            whole = certify(plan, level)  # type: ignore[arg-type]
            if not whole.survives or whole.worst_cost_usd is None:
                continue
            for time_s in range(plan.makespan_s):
                state = State.planned(plan, time_s)
                rest = certify(carried_on(plan, state), level)  # type: ignore[arg-type]
                assert rest.survives, (seed, level, time_s)
                assert rest.worst_cost_usd is not None
                survived += 1
    assert survived > 7 * how_many


def test_a_machine_that_takes_no_more_tasks_counts_and_rescues_nothing() -> None:
    # Lost at 99 s, the task ends at 250 s on the machine, which is busy to 150 s; on a VM rented then, at 260 s.
    instance = bag(255, [100, 150], migration_overhead_s=10, limits={"max_on_demand": 1})
    running = [{"task": "t1", "core": 0, "start_s": 0}]
    machine = {"id": "m", "type": "one", "market": "on-demand", "running": running}
    for is_open, verdict in ((True, "survives"), (False, "does-not-survive")):
        rest = instance.replace(machines=[Machine.model_validate_json(json.dumps(machine | {"open": is_open}))])
        plan = Schedule(rest, [SPOT, ON_DEMAND], [0, 1], [0, 0], [0, 0], [False, False], ("new", "m"))
        assert certify(plan, "one-type").verdict == verdict
        judged = check(rest, plan, survive="one-type").survival
        assert judged is not None
        assert judged.verdict == verdict


def test_when_a_machine_that_takes_no_more_tasks_ends_another_vm_may_take_its_place() -> None:
    # The limit of one VM is the machine's until 5 s: then another may be rented for what is lost on spot.
    offers = {market: {"price_usd_per_hour": HOURLY, "limit": 1} for market in ("spot", "on-demand")}
    one = {"name": "one", "vcpus": 1, "memory_mb": 1024, "offers": offers}
    running = [{"task": "t0", "core": 0, "start_s": 0}]
    machine = {"id": "m", "type": "one", "market": "on-demand", "running": running, "open": False}
    rest = bag(100, [5, 10], vm_types=[one], machines=[machine])
    plan = Schedule(rest, [SPOT, ON_DEMAND], [1, 0], [0, 0], [0, 0], [False, False], ("new", "m"))
    assert certify(plan, "one-type").verdict != "does-not-survive"


def test_what_is_paid_for_already_is_not_paid_again_by_a_rescue() -> None:
    # Lost at 49 s, the rest of 100 s is done on the machine from 50 s to 150 s, and that is paid until 120 s.
    instance = bag(260, [100, 100], limits={"max_on_demand": 1})
    machines = [
        {"id": "s", "type": "one", "market": "spot", "paid_until_s": 30, "running": [("t0", -50)]},
        {"id": "m", "type": "one", "market": "on-demand", "paid_until_s": 120, "running": [("t1", -50)]},
    ]
    for machine in machines:
        machine["running"] = [{"task": task, "core": 0, "start_s": start_s} for task, start_s in machine["running"]]  # type: ignore[attr-defined]
    rest = instance.replace(machines=[Machine.model_validate_json(json.dumps(machine)) for machine in machines])
    plan = Schedule(rest, [SPOT, ON_DEMAND], [0, 1], [0, 0], [-50, -50], [False, False], ("s", "m"))
    certificate = certify(plan, "one-type")
    assert certificate.worst_at_s == 49
    assert certificate.worst_cost_usd == pytest.approx(19 + 2 * 30)
    judged = check(rest, plan, survive="one-type").survival
    assert judged is not None
    assert judged.worst_cost_usd == pytest.approx(19 + 2 * 30)


@soak(sample=100, whole=6000)
def test_certificates_agree_with_brute_force_on_thousands(how_many: int) -> None:
    for seed in range(10, 10 + how_many):
        judge_plan(random_plan(seed, setups=seed % 3 == 0), seed)


def test_hardly_any_verdict_of_a_tiny_plan_stays_open() -> None:
    opened = sum(certify(random_plan(seed), "blackout", cost=False).verdict == "not-shown" for seed in range(60))
    assert opened <= 2


@soak(sample=200, whole=4000)
def test_a_rescue_serves_other_moments_by_waiting_or_later(how_many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # No moment is looked at by itself, and none of the first pass again: what one rescue serves, it must serve.
    monkeypatch.setattr(rescue_module, "_REFINING", -1)
    monkeypatch.setattr(rescue_module._Rescuer, "_at_once", lambda *given: None)
    for seed in range(how_many):
        plan = (random_rest if seed % 2 else random_plan)(seed, setups=seed % 3 == 0)
        for level in ("one-type", "blackout"):
            certificate = certify(plan, level)  # type: ignore[arg-type]
            if not certificate.survives:
                continue
            assert certificate.worst_cost_usd is not None
            for types in level_sets(plan, level):
                first_s = 0 if plan.instance.machines else plan.instance.boot_overhead_s
                for at_s in range(first_s, plan.makespan_s + 1):
                    rescue = rescue_at(plan, types, at_s)
                    assert rescue is not None
                    assert list(faults(plan, types, at_s, rescue)) == [], (seed, types, at_s)
                    usd = cost_of_loss_usd(plan, types, at_s, rescue.cost_usd)
                    assert usd <= certificate.worst_cost_usd * (1 + 1e-9), (seed, types, at_s)


def test_a_job_that_is_saved_every_second_is_refined_so_often_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rescue serves thousands of seconds of a job of two days; each lacks more slack than the last one.

    Without a limit, the search for the least slack looked at every second, and at all blocks each time.
    """
    work_s, surveys, survey = 48 * 3600, [0], rescue_module._Rescuer._survey

    def counted(self: Any, *given: Any) -> Any:
        surveys[0] += 1
        return survey(self, *given)

    monkeypatch.setattr(rescue_module._Rescuer, "_survey", counted)
    monkeypatch.setattr(rescue_module, "_MOST_MOMENTS", 60)
    checkpoint = {"overhead_fraction": 1, "dump_base_s": 0, "dump_s_per_mb": 0}
    instance = bag(work_s + 1000, [work_s], checkpoint=checkpoint)
    certificate = certify(schedule_of_queues(instance, [Queue(instance.offers[0], [0])]), "blackout")
    assert certificate.verdict == "survives"
    assert surveys[0] <= 62
    overhead_s = max(instance.boot_overhead_s, instance.migration_overhead_s)
    assert certificate.least_slack_s is not None
    assert 0 <= certificate.least_slack_s <= 1000 - overhead_s


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 1000), marks=pytest.mark.slow)], ids=str)
def test_the_compiled_loop_finds_what_plain_python_finds(seeds: range) -> None:
    for seed in seeds:
        demand_the_same_rescues((random_rest if seed % 2 else random_plan)(seed, setups=seed % 3 == 0))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hads/J100", "memory/m30", "memory-bound/60-of-8", "distinct/200"])
def test_both_find_the_same_for_larger_bags(name: str) -> None:
    # memory-bound/60-of-8 does not survive: the survey goes on after seconds without a rescue.
    plan = solve(library_instance(name), "lpt", survive="none").schedule
    assert plan is not None
    demand_the_same_rescues(plan)


def test_what_takes_plain_python_too_long_is_left_to_the_compiled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = random_plan(1)
    expected = certify(plan, "blackout").worst_cost_usd
    asked: list[float] = []

    class Clock:
        """It takes a second to look at."""

        now_s = 0.0

        def perf_counter(self) -> float:
            self.now_s += 1.0
            asked.append(self.now_s)
            return self.now_s

    monkeypatch.setattr(rescue_questions, "time", Clock())
    monkeypatch.setattr(rescue_questions, "_spent", rescue_questions._Spent())
    monkeypatch.setattr(rescue_questions, "_is_at_hand", lambda: False)
    assert certify(replace(plan), "blackout").worst_cost_usd == expected
    assert rescue_questions._spent.plain_s >= rescue_questions._COMPILED_IN_S
    n_asked = len(asked)
    assert certify(replace(plan), "blackout").worst_cost_usd == expected
    assert len(asked) == n_asked  # plain Python is not tried again


@pytest.mark.parametrize(("limit_s", "over_after_s"), [(None, 10.0), (2.0, 0.2)])
def test_plain_python_has_a_tenth_of_the_time_that_is_left(
    limit_s: float | None, over_after_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now_s[0])
    with within(limit_s):
        until = rescue_questions._Until(10.0)
        now_s[0] = 100.0 + over_after_s - 0.01
        assert not until[0]
        now_s[0] = 100.0 + over_after_s + 0.01
        assert until[0]
        assert until.is_over


def test_who_stops_work_does_not_wait_for_plain_python() -> None:
    stop = threading.Event()
    with within(stop=stop):
        until = rescue_questions._Until(10.0)
        stop.set()
        with pytest.raises(LimitReached):
            until[0]
