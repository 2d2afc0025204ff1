"""Replays of many days without a record: the same as `Replay`, in compiled loops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.compiled import is_ready
from ...instances.bags.timeline import Timeline, TimelineEvent
from ...instances.clouds import PAPERS, Billing, Cloud
from ...instances.durations import BASELINE, FULL_SPEED
from ...instances.instance import Instance
from ...traces.bags.records import MIGRATION_KINDS
from ..vms import VmBill
from . import state_kernel as kernel
from .engine_kernel import replay
from .fleet import is_free, with_rest_usd
from .outcome import COUNTED, DayOutcome
from .plan import ReplayPlan
from .policies.burst_hads import BurstHads
from .policies.hads import Hads
from .policies.rescue import Rescue
from .policies.static import OnDemand, Static
from .policy import Policy

if TYPE_CHECKING:
    from ...heuristics.bags.rescue import Rescue as PlannedRescue

_CODES: dict[type[Policy], int] = {
    Static: kernel.STATIC,
    Hads: kernel.HADS,
    BurstHads: kernel.BURST_HADS,
    Rescue: kernel.RESCUE,
    OnDemand: kernel.ON_DEMAND,
}
_KINDS = {"hibernate": kernel.HIBERNATE, "stop": kernel.STOP, "terminate": kernel.TERMINATE}
_KINDS |= {"resume": kernel.RESUME, "capacity": kernel.CAPACITY}
_MORE_VMS = 32
_MOST_TYPES = 62
_COMPILES_FOR = 1_000_000
"""Tasks of all replays for which the loops are compiled, which takes as long as the other engine takes for so many."""


class CompiledReplays:
    """The days of a plan.

    Not where memory binds, under policies whose decisions are not compiled, and on days on which prices change.

    Parameters
    ----------
    plan : ReplayPlan
        The plan.
    """

    def __init__(self, plan: ReplayPlan) -> None:
        self.plan = plan
        instance = plan.instance
        self._able = _fits(instance)
        self._types = {vm_type.name: index for index, vm_type in enumerate(instance.vm_types)}
        self._tasks, queues = _planned(plan)
        groups = np.zeros(len(plan.work.memory_kb), dtype=kernel.GROUPS)
        groups["interval_s"], groups["dump_s"] = instance.checkpoint_interval_s, instance.dump_s
        cheapest = np.array([offer.index for offer in plan.work.on_demand_offers], dtype=np.int64)
        self._fixed = {
            "offers": _offers(plan),
            "groups": groups,
            "work": _work(plan),
            "cheapest": cheapest,
            "queues": queues,
        }
        self._planned_names = [vm.name for vm in plan.vms]
        self._last: tuple[Timeline | None, Cloud, Any] = (None, PAPERS, None)
        self._rescues: dict[tuple[int, int], _Rescue] = {}
        self._allocate(len(plan.vms) + _MORE_VMS, 4 * instance.n_tasks + 16 * len(plan.vms) + 256)

    def outcome(self, policy: Policy, day: Timeline, cloud: Cloud) -> DayOutcome | None:
        """Replay a day.

        Parameters
        ----------
        policy : Policy
            What answers to events.
        day : Timeline
            The day. What it leaves open is as on the cloud.
        cloud : Cloud
            What interruptions are, and how VMs are billed.

        Returns
        -------
        DayOutcome or None
            As `Replay` has it; None if that has to do it, or to tell what is wrong.
        """
        if not self.can_replay(policy, day):
            return None
        rules = self._rules(policy, cloud.billing)
        if self._last[0] is not day or self._last[1] is not cloud:  # mostly, several policies meet a day
            self._last = day, cloud, self._day(day.resolved(cloud).events)
        events = self._last[2]
        rescue = _NO_RESCUE
        while True:
            context = self._start(rules, events, rescue)
            why = replay(context)
            if why == kernel.NEEDS_RESCUE:
                rescue = self._rescue(int(context[0]["lost_types"]), int(context[0]["now_s"]))
                continue
            if why == kernel.TOO_MANY_VMS:
                self._allocate(2 * self._most_vms, self._most_events)
            elif why == kernel.TOO_MANY_EVENTS:
                self._allocate(self._most_vms, 2 * self._most_events)
            elif why != kernel.DONE:
                return None
            else:
                return self._outcome(policy, context, cloud.billing)

    def can_replay(self, policy: Policy, day: Timeline) -> bool:
        """Whether a day can be replayed in compiled loops."""
        if not self._able or type(policy) not in _CODES:
            return False
        if isinstance(policy, Rescue) and self.plan.instance.survive == "each":  # one rescue a day is known there
            return False
        return day is self._last[0] or all(event.kind != "price" for event in day.events)

    def _rules(self, policy: Policy, billing: Billing) -> dict[str, int]:
        instance = self.plan.instance
        return {
            "boot_s": instance.boot_overhead_s,
            "overhead_s": max(instance.boot_overhead_s, instance.migration_overhead_s),
            "cycle_s": instance.allocation_cycle_s,
            "deadline_s": instance.deadline_s,
            "max_spot": _or_none(instance.limits.max_spot),
            "max_on_demand": _or_none(instance.limits.max_on_demand),
            "takes_checkpoints": self.plan.work.takes_checkpoints,
            "policy": _CODES[type(policy)],
            "spare_all": isinstance(policy, Hads) and policy.spare_time == "all",
            "recompute": isinstance(policy, Hads) and policy.recompute,
            "all_steal": isinstance(policy, Hads) and policy.thieves == "all",
            "idle_limit_s": _or_none(policy.idle_limit_s),
            "minimum_s": billing.minimum_s,
            "block_s": billing.block_s,
        }

    def _day(self, events: Sequence[TimelineEvent]) -> Any:
        """Return the records of the events of a day."""
        types = self._types
        rows = [
            (
                event.time_s,
                types[event.vm_type],
                _KINDS[event.kind],
                _or_none(event.vm),
                -1.0 if event.share is None else event.share,
                event.notice_s or 0,
                _or_none(event.vms),
                kernel.NONE if event.by is None else _KINDS[event.by],
            )
            for event in events
        ]
        return np.array(rows, dtype=kernel.DAY)

    def _allocate(self, most_vms: int, most_events: int) -> None:
        """Make the arrays of a replay, which serve for all days."""
        self._most_vms, self._most_events = most_vms, most_events
        n_cores, n_tasks = int(self._fixed["offers"]["vcpus"].max()), self.plan.instance.n_tasks
        list_length, sketch_length = 2 * most_vms + 2, kernel.SKETCH + n_cores
        self._arrays = {
            **self._fixed,
            "vms": np.zeros(most_vms, dtype=kernel.VMS),
            "cores": np.zeros((most_vms, n_cores), dtype=kernel.CORES),
            "tasks": self._tasks.copy(),
            "events": np.zeros(most_events, dtype=kernel.EVENTS),
            "types": np.zeros(len(self._types), dtype=kernel.TYPES),
            "rented": np.zeros(len(self._fixed["offers"]), dtype=np.int64),
            "helpers": np.zeros((most_vms, most_vms), dtype=np.int64),
            "lists": np.zeros((kernel.LISTS, list_length), dtype=np.int64),
            "scratch": np.zeros((kernel.SCRATCH, n_tasks), dtype=np.int64),
            "asked": np.zeros((2, len(self._fixed["groups"])), dtype=np.int64),
            # One for each VM that there is, as many for new ones at most, and one with another use.
            "sketches": np.zeros((2 * most_vms + 2, sketch_length), dtype=np.int64),
        }
        sizes = {"n_" + name: len(self._fixed[name]) for name in ("offers", "groups", "cheapest", "queues")}
        sizes |= {
            "n_tasks": n_tasks,
            "unfinished": n_tasks,
            "most_vms": most_vms,
            "most_cores": n_cores,
            "most_events": most_events,
            "list_length": list_length,
            "sketch_length": sketch_length,
        }
        # As plain numbers, which are copied as fast as memory is.
        self._at_first = [
            (_numbers(self._arrays["tasks"]), _numbers(self._tasks)),
            (_numbers(self._arrays["vms"]), 0),
            (_numbers(self._arrays["rented"]), 0),
            (_numbers(self._arrays["types"]), kernel.NONE),
        ]
        self._context = np.zeros(1, dtype=kernel.REPLAY)
        for name, array in self._arrays.items():
            self._context[name] = array.ctypes.data
        for name, value in sizes.items():
            self._context[name] = value

    def _start(self, rules: dict[str, int], day: Any, rescue: _Rescue) -> Any:
        """Set the arrays to the start of a day; return the record that holds all."""
        self._arrays |= {"day": day, "rescue_vms": rescue.vms, "rescue_tasks": rescue.tasks}  # kept alive
        for numbers, at_first in self._at_first:
            numbers[:] = at_first
        context = self._context.copy()
        row = context[0]
        row["day"], row["n_day"] = day.ctypes.data, len(day)
        if rescue.known:
            for name in ("rescue_vms", "rescue_tasks"):
                row[name], row["n_" + name] = self._arrays[name].ctypes.data, len(self._arrays[name])
            for name, value in rescue.values.items():
                row[name] = value
        for name, value in rules.items():
            row[name] = value
        return context

    def _rescue(self, types: int, now_s: int) -> _Rescue:
        """Return the rescue of what is lost at a moment at which some types (the bits of a number) go down."""
        from ...heuristics.bags.rescue import rescue_at  # here, so that other policies do not load it

        if (types, now_s) not in self._rescues:
            lost = [name for name, index in self._types.items() if types >> index & 1]
            planned = rescue_at(self.plan.schedule, lost, now_s)
            self._rescues[types, now_s] = _FAILED if planned is None else self._rescue_arrays(planned)
        return self._rescues[types, now_s]

    def _rescue_arrays(self, planned: PlannedRescue) -> _Rescue:
        vms = np.array(
            [(vm.offer.index, kernel.NONE if vm.new else self._planned_names.index(vm.id)) for vm in planned.vms],
            dtype=kernel.RESCUE_VMS,
        )
        tasks = np.zeros(len(planned.task), dtype=kernel.RESCUE_TASKS)
        tasks["task"], tasks["place"] = planned.task, planned.task_vm
        return _Rescue(vms, tasks, True, {"rescue_found": 1, "rescue_known": 1})

    # --------------------------------------------------------------------- outcome

    def _outcome(self, policy: Policy, context: Any, billing: Billing) -> DayOutcome:
        now = dict(zip(kernel.REPLAY.names or (), context[0].item(), strict=True))
        bills = self._bills(self._arrays["vms"][: now["n_vms"]], billing)
        deadline_s = self.plan.instance.deadline_s
        return DayOutcome(
            policy=policy.name,
            cost_usd=math.fsum([bill.cost_usd for bill in bills]),
            makespan_s=None if now["unfinished"] else now["last_finish_s"],
            deadline_s=deadline_s,
            unfinished_tasks=now["unfinished"],
            migrations={kind: now["migrated_" + kind] for kind in MIGRATION_KINDS},
            hibernations_by_migration={kind: now["hibernations_" + kind] for kind in MIGRATION_KINDS},
            events=now["events_handled"],
            bills=bills,
            cpu_time_saved_s=now["cpu_time_saved_s"],
            **{name: now[name] for name in COUNTED},
        )

    def _bills(self, vms: Any, billing: Billing) -> tuple[VmBill, ...]:
        """Bill of each VM; see `Fleet.bills`."""
        names, offers = list(self._planned_names), self.plan.instance.offers
        taken = set(names)
        bills = []
        for k, row in enumerate(vms[_BILLED].tolist()):
            index, ready, terminated, sessions, first_ready, first_end, first_lost, *rest = row
            worked, billed, first_billed, hibernated, stopped, rented = rest
            offer = offers[index]
            if k == len(names):
                number = rented + 1
                while (name := f"{offer.vm_type.name}-{offer.market}-{number}") in taken:
                    number += 1
                names.append(name)
                taken.add(name)
            ready_s = first_ready if sessions else ready
            if sessions and is_free(billing, offer, first_ready, first_end, first_lost):
                billed -= first_billed
            cost = with_rest_usd(offer.price_usd_per_s * billed, billing, offer, hibernated, stopped)
            rested = max(terminated - ready_s - hibernated - worked, 0) if sessions else 0
            bills.append(
                VmBill(names[k], offer.vm_type.name, offer.market, ready_s, terminated, hibernated, cost, rested)
            )
        return tuple(bills)


_BILLED = [
    *("offer", "ready_s", "terminated_s", "sessions", "first_ready_s", "first_end_s", "first_lost"),
    *("worked_s", "billed_s", "first_billed_s", "hibernated_s", "stopped_s", "rented_before"),
]


class _Rescue(NamedTuple):
    """A rescue as the compiled policy has it, or that there is none, or that it is not known yet."""

    vms: Any = np.zeros(0, dtype=kernel.RESCUE_VMS)
    tasks: Any = np.zeros(0, dtype=kernel.RESCUE_TASKS)
    known: bool = False
    values: Mapping[str, int] = MappingProxyType({})


_NO_RESCUE = _Rescue()
_FAILED = _Rescue(known=True, values={"rescue_known": 1})


def is_worth_while(plan: ReplayPlan, kinds: Sequence[type[Policy]], days: int) -> bool:
    """Whether so many days of a plan under some policies are done earlier in compiled loops."""
    if not _fits(plan.instance):
        return False
    replays = days * sum(kind in _CODES for kind in kinds)
    return replays > 0 and (is_ready(replay) or replays * plan.instance.n_tasks >= _COMPILES_FOR)


def _fits(instance: Instance) -> bool:
    """Whether compiled loops know all that there is in an instance."""
    return bool(np.all(instance.memory_never_binds)) and len(instance.vm_types) <= _MOST_TYPES


def _numbers(records: Any) -> Any:
    """Return the memory of an array of records as whole numbers."""
    return records.view(np.int64)


def _or_none(value: int | None) -> int:
    return kernel.NONE if value is None else value


def _offers(plan: ReplayPlan) -> Any:
    """Return the records of the offers."""
    offers = np.zeros(len(plan.instance.offers), dtype=kernel.OFFERS)
    for entry, offer in zip(offers, plan.instance.offers, strict=True):
        entry["usd_per_hour"], entry["type"] = offer.price_usd_per_hour, offer.type_index
        entry["spot"], entry["vcpus"] = offer.market == "spot", offer.vcpus
        entry["limit"] = offer.vm_type.offers[offer.market].limit
        entry["sustained"], entry["baseline"] = plan.work.sustained[offer.index], 1.0
        burst = offer.vm_type.burstable
        if burst is not None:
            entry["burstable"], entry["baseline"] = 1, burst.baseline_fraction
            entry["first_credits"], entry["most_credits"] = burst.initial_credits, burst.credit_cap
            entry["credits_per_hour"] = burst.credits_per_hour
    return offers


def _work(plan: ReplayPlan) -> Any:
    """Return the records of what groups take on offers."""
    instance = plan.instance
    types = [offer.type_index for offer in instance.offers]
    work = np.zeros(instance.duration_s.shape[:2], dtype=kernel.WORK)
    work["full_s"], work["baseline_s"] = instance.duration_s[:, :, FULL_SPEED], instance.duration_s[:, :, BASELINE]
    work["runtime_s"] = instance.runtime_s[:, types]
    work["checkpoints"] = instance.checkpoint_count[:, types]
    return work


def _planned(plan: ReplayPlan) -> tuple[Any, Any]:
    """Return the records of the tasks, linked as they wait, and each core of the plan with its first and last task."""
    tasks = np.zeros(plan.instance.n_tasks, dtype=kernel.TASKS)
    tasks["group"], tasks["next"] = plan.work.group_of, kernel.NONE
    queues = []
    for number, vm in enumerate(plan.vms):
        for core, runs in enumerate(vm.cores):
            for run, after in zip_longest(runs, runs[1:]):
                entry = tasks[run.task]
                entry["start_s"], entry["end_s"], entry["mode"] = run.start_s, run.end_s, run.mode
                entry["vm"], entry["core"] = number, core
                if after is not None:
                    entry["next"] = after.task
            ends = (runs[0].task, runs[-1].task) if runs else (kernel.NONE, kernel.NONE)
            queues.append((vm.offer.index, core, *ends, len(runs)))
    return tasks, np.array(queues, dtype=kernel.QUEUES)
