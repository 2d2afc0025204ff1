"""Events of spot VMs in their first allocation cycle (HADS, section 5.3.4 and Fig. 13), read from a trace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from spotbag.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class FirstCycle:
    """A day.

    Attributes
    ----------
    thieves, once_at_first : int
        Spot VMs that stole; those of them that stole once only, in their first allocation cycle.
    done, done_thieves : int
        Spot VMs that had executed all their planned tasks when their first cycle ended; those of them that stole then.
    stolen : Counter
        Tasks that spot VMs stole, by VM type.
    vms : Counter
        Spot VMs, by type.
    """

    thieves: int
    once_at_first: int
    done: int
    done_thieves: int
    stolen: Counter[str]
    vms: Counter[str]


@dataclass(slots=True)
class _Vm:
    """A spot VM of the plan: when it was ready, what it has slept, when it stole."""

    type: str
    planned: int
    ready_s: int = 0
    slept_s: int = 0
    asleep_since_s: int | None = None
    finished: int = 0
    lost: bool = False
    steals_s: list[int] = field(default_factory=list)
    done_s: int | None = None
    stole_when_done: bool = False
    stolen: int = 0

    def uptime_s(self, now_s: int) -> int:
        return now_s - self.ready_s - self.slept_s


def first_cycle(trace: Trace, cycle_s: int) -> FirstCycle:
    """Read the first allocation cycle of a plan's spot VMs from a trace.

    Parameters
    ----------
    trace : Trace
        The day.
    cycle_s : int
        Length of an allocation cycle.

    Notes
    -----
    A VM has executed its planned tasks if it ended all of them itself; at that moment it tries to steal.
    """
    vms = {vm["vm"]: _Vm(vm["type"], sum(map(len, vm["cores"]))) for vm in trace.run["plan"] if vm["market"] == "spot"}
    for event in trace.events:
        _count(vms, event)
    done = [vm for vm in vms.values() if vm.done_s is not None and vm.done_s < cycle_s]
    stolen: Counter[str] = Counter()
    for vm in vms.values():
        stolen[vm.type] += vm.stolen
    return FirstCycle(
        thieves=sum(bool(vm.steals_s) for vm in vms.values()),
        once_at_first=sum(len(vm.steals_s) == 1 and vm.steals_s[0] < cycle_s for vm in vms.values()),
        done=len(done),
        done_thieves=sum(vm.stole_when_done for vm in done),
        stolen=stolen,
        vms=Counter(vm.type for vm in vms.values()),
    )


def _count(vms: dict[str, _Vm], event: dict[str, Any]) -> None:
    """Take an event into account."""
    kind, now_s = event["event"], event["t"]
    vm = vms.get(event.get("from" if kind == "migrate" else "vm", ""))
    if vm is None:
        return
    if kind == "ready":
        vm.ready_s = now_s
    elif kind == "hibernate":
        vm.asleep_since_s = now_s
    elif kind == "resume" and vm.asleep_since_s is not None:
        vm.slept_s += now_s - vm.asleep_since_s
        vm.asleep_since_s = None
    elif kind == "finish":
        vm.finished += 1
    elif kind == "migrate":
        vm.lost = True
    elif kind == "steal-attempt":
        whole = not vm.lost and vm.finished == vm.planned and vm.done_s is None
        if whole:
            vm.done_s = vm.uptime_s(now_s)
            vm.stole_when_done = event["stolen"] > 0
        if event["stolen"]:
            vm.steals_s.append(vm.uptime_s(now_s))
            vm.stolen += event["stolen"]
