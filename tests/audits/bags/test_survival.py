"""The judge of survival: by hand, at both sides of each second, and against every rescue of tiny plans."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import assume, given, settings

from spotbag.audits.bags.plan import check
from spotbag.audits.bags.survival import Judge, Twins
from spotbag.audits.bags.survival_claims import least_bill_usd
from spotbag.audits.bags.survival_losses import Losses
from spotbag.instances.entries import SurvivalLevel
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import ScheduleDocument, Survival
from tests.helpers.rescue_search import RescueSearch, spot_types, tiny_plans, tiny_rests
from tests.helpers.soaks import soak_of

SPOT, ON_DEMAND = 0.0005, 0.001
"""Dollars a second."""


def bag(n_tasks: int = 1, **changes: Any) -> Instance:
    """Tasks of 100 s, for one type with a core whose limit on demand is 2."""
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "by hand",
        "deadline_s": 1000,
        "vm_types": [vm_type("a")],
        "tasks": [{"id": f"t{number}", "memory_mb": 600, "base_runtime_s": 100} for number in range(n_tasks)],
        "objective": {"cost_weight": 1.0},
    }
    return Instance.from_document(document | changes, "by hand")


def vm_type(name: str, vcpus: int = 1, limit: int = 2, **fields: Any) -> dict[str, Any]:
    offers = {"spot": {"price_usd_per_hour": 1.8, "limit": 9}, "on-demand": {"price_usd_per_hour": 3.6, "limit": limit}}
    return {"name": name, "vcpus": vcpus, "memory_mb": 1000, "offers": offers, **fields}


def plan(*rows: str, **fields: Any) -> ScheduleDocument:
    """A plan of rows such as ``"a spot 0 100"``, each a task on a VM of its own."""
    vms, tasks = [], []
    for number, row in enumerate(rows):
        words = row.split()
        vms.append({"id": f"vm{number}", "type": words[0], "market": words[1]})
        start_s, end_s = map(int, words[2:])
        tasks.append({"id": f"t{number}", "vm": f"vm{number}", "core": 0, "start_s": start_s, "end_s": end_s})
    return ScheduleDocument(instance="by hand", vms=vms, tasks=tasks, **fields)


LAST_SECONDS = {
    "a task is done again": (bag(), plan("a spot 0 100"), 199, 99 * SPOT + 100 * ON_DEMAND, 99),
    "after the boot": (
        bag(boot_overhead_s=20),
        plan("a spot 20 120"),
        119 + 20 + 100,
        99 * SPOT + 100 * ON_DEMAND,
        119,
    ),
    "after the migration, paid from the boot on": (
        bag(boot_overhead_s=20, migration_overhead_s=30),
        plan("a spot 20 120"),
        119 + 30 + 100,
        99 * SPOT + 110 * ON_DEMAND,
        119,
    ),
    "after the setup, paid from the boot on": (
        bag(boot_overhead_s=20, migration_overhead_s=30, vm_types=[vm_type("a", setup_s=15)]),
        plan("a spot 35 135"),
        134 + 35 + 100,
        114 * SPOT + 115 * ON_DEMAND,
        134,
    ),
    # A checkpoint of 10 s after each 40 s of work: they are there at 50 s and at 100 s.
    "from its checkpoints": (
        bag(checkpoint={"overhead_fraction": 0.25, "dump_base_s": 10}),
        plan("a spot 0 120"),
        99 + 60,
        49 * SPOT + 100 * ON_DEMAND,
        49,
    ),
    "two on one VM": (
        bag(2, vm_types=[vm_type("a", limit=1)]),
        plan("a spot 0 100", "a spot 0 100"),
        299,
        2 * 99 * SPOT + 200 * ON_DEMAND,
        99,
    ),
    "on a VM of the plan, when it has ended": (
        bag(2, vm_types=[vm_type("a", limit=1)]),
        plan("a spot 0 100", "a on-demand 50 150"),
        250,
        99 * SPOT + 150 * ON_DEMAND + 100 * ON_DEMAND,
        99,
    ),
    "one after the other where memory binds": (
        bag(2, vm_types=[vm_type("a", vcpus=2, limit=1)]),
        plan("a spot 0 100", "a spot 0 100"),
        299,
        2 * 99 * SPOT + 200 * ON_DEMAND,
        99,
    ),
    "on a type that is slower": (
        bag(
            vm_types=[vm_type("a", burstable={"baseline_fraction": 1, "credits_per_hour": 0}), vm_type("b")],
            tasks=[{"id": "t0", "memory_mb": 1, "runtime_s": {"a": 100, "b": 150}}],
        ),
        plan("a spot 0 100"),
        99 + 150,
        99 * SPOT + 150 * ON_DEMAND,
        99,
    ),
}


@pytest.mark.parametrize("name", LAST_SECONDS)
def test_a_plan_survives_to_the_second(name: str) -> None:
    instance, document, deadline_s, worst_usd, at_s = LAST_SECONDS[name]
    enough = Judge(instance.replace(deadline_s=deadline_s), document.columns()).judge("one-type")
    assert enough.verdict == "survives"
    assert (enough.worst_cost_usd, enough.worst_at_s) == (pytest.approx(worst_usd), at_s)
    assert enough.blackout_cost_usd == enough.worst_cost_usd
    late = Judge(instance.replace(deadline_s=deadline_s - 1), document.columns()).judge("one-type")
    if name == "one after the other where memory binds":  # no bound counts how many have the memory at a time
        assert late.verdict == "not-shown"
        return
    assert late.verdict == "does-not-survive"
    assert late.reason


def test_memory_for_the_time_that_remains_is_a_bound() -> None:
    """What is lost needs 600 MB for 300 s, and 1,000 MB can be had for less than 180 s."""
    instance = bag(3, vm_types=[vm_type("a", vcpus=4, limit=1)], deadline_s=99 + 179)
    found = Judge(instance, plan("a spot 0 100", "a spot 0 100", "a spot 0 100").columns()).judge("blackout")
    assert (found.verdict, found.worst_at_s) == ("does-not-survive", 99)
    assert "memory" in (found.reason or "")


def test_two_types_survive_one_by_one_and_not_together() -> None:
    instance = bag(2, vm_types=[vm_type("a"), vm_type("b")], limits={"max_on_demand": 1}, deadline_s=250)
    judge = Judge(instance, plan("a spot 0 100", "b spot 0 100").columns())
    alone = judge.judge("one-type")
    assert (alone.verdict, alone.blackout_cost_usd) == ("survives", None)
    assert alone.worst_cost_usd == pytest.approx(99 * SPOT + 100 * ON_DEMAND + 100 * SPOT)
    together = judge.judge("blackout")
    assert (together.verdict, together.worst_types) == ("does-not-survive", ("a", "b"))
    assert judge.judge("each").verdict == "does-not-survive"


def test_each_is_shown_by_twins_for_which_there_is_room() -> None:
    columns = plan("a spot 0 100", "a spot 0 100").columns()
    assert Judge(bag(2, deadline_s=199), columns).judge("each").verdict == "survives"
    assert Judge(bag(2, deadline_s=198), columns).judge("each").verdict == "does-not-survive"
    narrow = bag(2, deadline_s=299, vm_types=[vm_type("a", limit=1)])
    assert Judge(narrow, columns).judge("each").verdict == "not-shown"
    assert Judge(narrow, columns).judge("blackout").verdict == "survives"


def test_a_plan_without_spot_vms_survives_for_what_it_costs() -> None:
    for level in ("one-type", "blackout", "each"):
        found = Judge(bag(), plan("a on-demand 0 100").columns()).judge(level)
        assert (found.verdict, found.worst_cost_usd) == ("survives", pytest.approx(100 * ON_DEMAND))


OVER_LIMIT = ("a spot 0 100", "a on-demand 0 100", "a on-demand 0 100")
"""A plan of machines that exist: of type a, two on demand, where its limit is 1."""


def over_limit(**changes: Any) -> Instance:
    """A state with these machines; beside them, one VM of type b may be rented, which takes half the time."""
    machines = [{"id": f"vm{n}", "type": "a", "market": row.split()[1]} for n, row in enumerate(OVER_LIMIT)]
    tasks = [{"id": f"t{number}", "memory_mb": 600, "runtime_s": {"a": 100, "b": 50}} for number in range(3)]
    types = [vm_type("a", limit=1), vm_type("b", limit=1)]
    return bag(vm_types=types, machines=machines, tasks=tasks, **changes)


def test_machines_over_the_limit_of_their_type_leave_those_of_another_to_rent() -> None:
    for limits in ({}, {"max_on_demand": 3}):
        for late_s, verdict in ((0, "survives"), (1, "does-not-survive")):
            instance = over_limit(limits=limits, deadline_s=99 + 50 - late_s)
            assert Judge(instance, plan(*OVER_LIMIT).columns()).judge("one-type").verdict == verdict
    full = over_limit(limits={"max_on_demand": 2}, deadline_s=199)
    assert Judge(full, plan(*OVER_LIMIT).columns()).judge("one-type").verdict == "does-not-survive"


def compare_with_every_rescue(case: tuple[Instance, ScheduleDocument]) -> None:
    instance, document = case
    assume(check(instance.replace(d_spot_s=instance.deadline_s), document).feasible)
    search, judge, types = RescueSearch(instance, document), Judge(instance, document.columns()), spot_types(document)
    for level, groups in (("one-type", [[name] for name in types]), ("blackout", [types] if types else [])):
        found = judge.judge(level)  # type: ignore[arg-type]
        if found.verdict == "does-not-survive":
            at_s = found.worst_at_s or 0
            assert math.isinf(search.least_usd(search.lost(found.worst_types or (), at_s), at_s))
            continue
        for group in groups:
            for at_s, usd in search.seconds(group):
                assert float(least_bill_usd(judge.losses, tuple(group), at_s)) <= usd * (1 + 1e-9)
                if found.verdict == "survives":
                    assert usd <= (found.worst_cost_usd or 0.0) * (1 + 1e-9), (level, group, at_s)


@settings(max_examples=6, deadline=None)
@given(tiny_plans())
def test_verdicts_and_bills_hold_against_every_rescue(case: tuple[Instance, ScheduleDocument]) -> None:
    compare_with_every_rescue(case)


@settings(max_examples=6, deadline=None)
@given(tiny_rests())
def test_verdicts_and_bills_hold_against_every_rescue_from_a_state(case: tuple[Instance, ScheduleDocument]) -> None:
    compare_with_every_rescue(case)


@soak_of(tiny_rests(), sample=100, whole=20_000)
def test_verdicts_and_bills_hold_against_every_rescue_from_many_states(case: tuple[Instance, ScheduleDocument]) -> None:
    compare_with_every_rescue(case)


@soak_of(tiny_plans(), sample=70, whole=20_000)
def test_verdicts_and_bills_hold_against_every_rescue_of_many(case: tuple[Instance, ScheduleDocument]) -> None:
    compare_with_every_rescue(case)


# -------------------------------------------------------------------------------------------------------- certificates

TRUE: dict[str, Any] = {
    "level": "one-type",
    "verdict": "survives",
    "worst_cost_usd": 2 * 99 * SPOT + 200 * ON_DEMAND,
    "worst_at_s": 99,
    "worst_types": ["a"],
    "least_slack_s": 1,
    "blackout_cost_usd": 2 * 99 * SPOT + 200 * ON_DEMAND,
    "rescue": {
        "at_s": 99,
        "types": ["a"],
        "vms": [{"id": "new", "type": "a", "new": True, "ready_s": 99, "end_s": 299, "cost_usd": 0.2}],
        "tasks": [
            {"id": "t0", "vm": "new", "core": 0, "start_s": 99, "end_s": 199},
            {"id": "t1", "vm": "new", "core": 0, "start_s": 199, "end_s": 299},
        ],
    },
}
"""The certificate of two tasks that are done again one after the other, on a VM that has not the memory for both."""


def rules_broken(instance: Instance, *rows: str, **survival: Any) -> set[str]:
    document = plan(*rows, survival=Survival.model_validate_json(json.dumps(survival)))
    return {violation.rule for violation in check(instance, document).violations}


NARROW = bag(2, deadline_s=300, vm_types=[vm_type("a", vcpus=2, limit=1)])
TWO_SPOT = ("a spot 0 100", "a spot 0 100")


def test_a_true_certificate_is_not_faulted() -> None:
    assert rules_broken(NARROW, *TWO_SPOT, **TRUE) == set()


def test_a_certificate_is_confirmed_where_it_holds() -> None:
    def confirmed(instance: Instance, worst_cost_usd: float | None, level: SurvivalLevel | None = None) -> bool:
        claimed = Survival(level="one-type", verdict="survives", worst_cost_usd=worst_cost_usd)
        return check(instance, plan(*TWO_SPOT, survival=claimed), survive=level).certificate == claimed

    assert confirmed(NARROW, 1.0)
    assert not confirmed(NARROW, 1.0, "blackout")
    assert not confirmed(NARROW, 0.198)
    assert not confirmed(NARROW.replace(deadline_s=298), 1.0)


def _rescue(vm: dict[str, Any] | None = None, second: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    rescue = TRUE["rescue"]
    changed = {
        "vms": [rescue["vms"][0] | (vm or {})],
        "tasks": [rescue["tasks"][0], rescue["tasks"][1] | (second or {})],
    }
    return TRUE | {"rescue": rescue | changed | fields}


def _without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in TRUE.items() if name not in names}


FALSE = {
    "a task is missing": ("rescue-task", _rescue(tasks=TRUE["rescue"]["tasks"][:1])),
    "a task is there twice": ("rescue-task", _rescue(second={"id": "t0"})),
    "a task is not lost": ("rescue-task", _rescue(second={"id": "other"})),
    "another type": ("rescue-task", _rescue(types=["b"])),
    "a VM is not known": ("rescue-vm", _rescue(vm={"new": False})),
    "a VM is spot": ("rescue-vm", _rescue(vm={"new": False, "id": "vm0"})),
    "a type is not known": ("rescue-vm", _rescue(vm={"type": "b"})),
    "a task is on no VM": ("rescue-vm", _rescue(second={"vm": "other"})),
    "a VM of the plan is new": ("rescue-vm", _rescue(vm={"id": "vm0"})),
    "a task is too short": ("rescue-time", _rescue(second={"end_s": 298})),
    "a task is too early": ("rescue-time", _rescue(second={"start_s": 98, "end_s": 198, "core": 1})),
    "a core runs two tasks": ("rescue-core", _rescue(second={"start_s": 150, "end_s": 250})),
    "a core is not there": ("rescue-core", _rescue(second={"core": 2})),
    "memory is not enough": ("rescue-memory", _rescue(second={"core": 1, "start_s": 100, "end_s": 200})),
    "one VM too many": (
        "rescue-limit",
        _rescue(vms=[TRUE["rescue"]["vms"][0], TRUE["rescue"]["vms"][0] | {"id": "more"}]),
    ),
    "too late": ("rescue-deadline", _rescue(second={"start_s": 201, "end_s": 301})),
    "a VM costs more": ("rescue-cost", _rescue(vm={"cost_usd": 0.19})),
    "a VM ends later": ("rescue-cost", _rescue(vm={"end_s": 298})),
    "a VM is paid later": ("rescue-cost", _rescue(vm={"ready_s": 98})),
    "the worst is dearer": ("rescue-cost", TRUE | {"worst_cost_usd": 0.298}),
    "what is left costs more": ("survival-claim", _without("rescue") | {"worst_cost_usd": 0.198}),
    "a blackout costs more": ("survival-claim", TRUE | {"blackout_cost_usd": 0.198}),
    "less slack": ("survival-claim", TRUE | {"least_slack_s": 102}),
    "it survives": ("survival-claim", {"level": "one-type", "verdict": "does-not-survive"}),
    "a plan without it is dearer": ("survival-claim", TRUE | {"cost_without_usd": 0.2}),
}


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_in_a_certificate_is_found(name: str) -> None:
    rule, claimed = FALSE[name]
    assert rule in rules_broken(NARROW, *TWO_SPOT, **claimed)


@pytest.mark.parametrize(
    ("dates", "verdict"),
    [({}, "survives"), ({"deadline_s": 199}, "survives"), ({"deadline_s": 198}, "does-not-survive")],
)
def test_a_task_that_is_lost_is_done_again_by_its_own_deadline(dates: dict[str, int], verdict: str) -> None:
    task = {"id": "t0", "memory_mb": 600, "base_runtime_s": 100}
    document = plan("a spot 0 100").columns()
    for level in ("one-type", "blackout"):
        assert Judge(bag(tasks=[task | dates]), document).judge(level).verdict == verdict  # type: ignore[arg-type]
    assert Judge(bag(tasks=[task | {"ready_s": 0}]), document).judge("each").verdict == "survives"
    assert Judge(bag(tasks=[task | {"deadline_s": 900}]), document).judge("each").verdict == "not-shown"
    no_spot = plan("a on-demand 0 100").columns()
    assert Judge(bag(tasks=[task | {"deadline_s": 900}]), no_spot).judge("each").verdict == "survives"


@pytest.mark.parametrize(
    ("dates", "start_s", "broken"),
    [
        ({"ready_s": 199, "deadline_s": 298}, 199, set()),
        ({"deadline_s": 298}, 201, {"rescue-deadline"}),
        ({"ready_s": 200}, 199, {"rescue-time"}),
    ],
)
def test_a_rescue_keeps_the_dates_of_its_tasks(dates: dict[str, int], start_s: int, broken: set[str]) -> None:
    """Lost at 99 s, t0 is done from 99 s on, and then t1 in 98 s, which is planned from 200 s on."""
    tasks = [
        {"id": "t0", "memory_mb": 600, "base_runtime_s": 100},
        {"id": "t1", "memory_mb": 600, "base_runtime_s": 98},
    ]
    tasks[1] |= dates
    narrow = bag(2, deadline_s=400, tasks=tasks, vm_types=[vm_type("a", limit=1)])
    end_s = start_s + 98
    vm = {"end_s": end_s, "cost_usd": (end_s - 99) * ON_DEMAND}
    rescue = _rescue(vm=vm, second={"start_s": start_s, "end_s": end_s}) | {"worst_cost_usd": 1.0}
    assert rules_broken(narrow, "a spot 0 100", "a spot 200 298", **rescue) - {"survival-claim"} == broken


def test_a_rescue_has_all_the_cores_that_its_tasks_need() -> None:
    tasks = [{"id": name, "memory_mb": 1, "base_runtime_s": 100, "cores": 2} for name in ("t0", "t1")]
    narrow = bag(deadline_s=300, tasks=tasks, vm_types=[vm_type("a", vcpus=3, limit=1)])
    assert rules_broken(narrow, *TWO_SPOT, **_rescue(second={"core": 2})) == set()
    at_once = _rescue(vm={"end_s": 199, "cost_usd": 0.1}, second={"core": 2, "start_s": 99, "end_s": 199})
    assert "rescue-core" in rules_broken(narrow, *TWO_SPOT, **at_once)


def test_a_certificate_of_a_plan_that_does_not_survive_is_false() -> None:
    claimed = {"level": "one-type", "verdict": "survives"}
    assert rules_broken(NARROW.replace(deadline_s=198), *TWO_SPOT, **claimed) == {"survival-claim"}


def test_a_certificate_may_say_that_a_moment_is_beyond_rescue_though_waiting_helps() -> None:
    """The definition knows no VM that the plan returns later; the judge takes it, where it may wait for it."""
    instance = bag(
        2,
        vm_types=[vm_type("a", limit=1), vm_type("b", burstable={"baseline_fraction": 1, "credits_per_hour": 60})],
        limits={"max_on_demand": 1},
        checkpoint={"overhead_fraction": 0.25, "dump_base_s": 10},
    )
    rows = "a spot 0 120", "b on-demand 0 100"
    assert Judge(instance, plan(*rows).columns()).judge("one-type").verdict == "survives"
    said = {"level": "one-type", "verdict": "does-not-survive", "worst_types": ["a"]}
    assert rules_broken(instance, *rows, **said, worst_at_s=49) == set()
    assert rules_broken(instance, *rows, **said, worst_at_s=119) == {"survival-claim"}


def test_a_blackout_that_is_not_survived_has_no_bill() -> None:
    instance = bag(2, vm_types=[vm_type("a"), vm_type("b")], limits={"max_on_demand": 1}, deadline_s=250)
    claimed = {"level": "one-type", "verdict": "survives", "worst_cost_usd": 1.0}
    rows = "a spot 0 100", "b spot 0 100"
    assert rules_broken(instance, *rows, **claimed) == set()
    assert rules_broken(instance, *rows, **claimed, blackout_cost_usd=1.0) == {"survival-claim"}


def test_a_rescue_counts_the_plan_s_own_vms() -> None:
    instance = bag(2, vm_types=[vm_type("a", limit=1)], deadline_s=250)
    rows = "a spot 0 100", "a on-demand 50 150"
    own = {"id": "vm1", "type": "a", "new": False, "ready_s": 150, "end_s": 250, "cost_usd": 0.1}
    task = {"id": "t0", "vm": "vm1", "core": 0, "start_s": 150, "end_s": 250}
    total = 99 * SPOT + 250 * ON_DEMAND
    rescue = {"at_s": 99, "types": ["a"], "vms": [own], "tasks": [task]}
    claimed = {"level": "blackout", "verdict": "survives", "worst_cost_usd": total, "rescue": rescue}
    assert rules_broken(instance, *rows, **claimed) == set()
    early = claimed | {"rescue": rescue | {"tasks": [task | {"start_s": 149, "end_s": 249}]}}
    assert "rescue-core" in rules_broken(instance, *rows, **early)
    new = own | {"id": "new", "new": True, "ready_s": 99, "end_s": 199}
    beside = claimed | {"rescue": rescue | {"vms": [new], "tasks": [task | {"vm": "new", "start_s": 99, "end_s": 199}]}}
    assert "rescue-limit" in rules_broken(instance, *rows, **beside)


def test_a_rescue_is_not_faulted_for_machines_over_the_limit_of_a_type_that_it_does_not_rent() -> None:
    def broken(name: str, seconds: int, **changes: Any) -> set[str]:
        usd = seconds * ON_DEMAND
        new = {"id": "new", "type": name, "new": True, "ready_s": 99, "end_s": 99 + seconds, "cost_usd": usd}
        task = {"id": "t0", "vm": "new", "core": 0, "start_s": 99, "end_s": 99 + seconds}
        rescue = {"at_s": 99, "types": ["a"], "vms": [new], "tasks": [task]}
        claimed = {"level": "one-type", "verdict": "survives", "worst_cost_usd": 1.0, "rescue": rescue}
        return rules_broken(over_limit(deadline_s=200, **changes), *OVER_LIMIT, **claimed)

    assert broken("b", 50) == set()
    assert broken("a", 100) == {"rescue-limit"}
    assert "rescue-limit" in broken("b", 50, limits={"max_on_demand": 2})


def test_what_the_checker_cannot_show_is_a_note() -> None:
    document = plan(*TWO_SPOT, survival=Survival(level="one-type", verdict="survives", worst_cost_usd=1.0))
    report = check(NARROW.replace(deadline_s=298), document)
    assert report.feasible
    assert any("could not show" in note for note in report.notes)


def test_a_plan_that_cannot_be_carried_out_is_not_judged() -> None:
    report = check(bag(2), plan("a spot 0 100"), survive="one-type")
    assert report.survival is not None
    assert report.survival.verdict == "not-shown"


@pytest.mark.parametrize("rule", [(1, 0), (0.1, 5), (0.07, 0.3), (1, 3), (0.5, 0.01), (0.1, 1e-7)])
@pytest.mark.parametrize("run_s", [1, 97, 100, 251])
def test_the_longest_loss_is_that_of_one_of_the_last_checkpoints(rule: tuple[float, float], run_s: int) -> None:
    checkpoint = {"overhead_fraction": rule[0], "dump_base_s": rule[1], "dump_s_per_mb": 0}
    instance = bag(tasks=[{"id": "t0", "memory_mb": 600, "runtime_s": {"a": run_s}}], checkpoint=checkpoint)
    duration_s = int(instance.duration_s[0, 0, 0])
    twins = Twins(Losses(instance, plan(f"a spot 7 {7 + duration_s}").columns()))
    assert twins._longest_loss_s(0) == max(twins._loss_s(0, at_s) for at_s in range(7, 7 + duration_s))


@pytest.mark.slow
def test_a_job_of_two_days_that_is_saved_every_second_is_judged_by_its_last_checkpoints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """172,799 checkpoints that take no time: whenever its VM is lost, the job ends later by the overhead of 10 s."""
    work_s, looked_at, left_s = 48 * 3600, [0], Losses.left_s

    def counted(self: Losses, row: int, at_s: int) -> list[int]:
        looked_at[0] += 1
        return left_s(self, row, at_s)

    monkeypatch.setattr(Losses, "left_s", counted)
    checkpoint = {"overhead_fraction": 1, "dump_base_s": 0, "dump_s_per_mb": 0}
    tasks = [{"id": "t0", "memory_mb": 600, "base_runtime_s": work_s}]
    for late_s, verdict in ((0, "survives"), (1, "does-not-survive")):
        instance = bag(tasks=tasks, checkpoint=checkpoint, migration_overhead_s=10, deadline_s=work_s + 10 - late_s)
        assert Judge(instance, plan(f"a spot 0 {work_s}").columns()).judge("each").verdict == verdict
    assert looked_at[0] < 100
