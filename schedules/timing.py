"""List scheduling of tasks on one VM, with exact memory; cost, makespan and objective of a plan."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from ..core.bill import begun_s
from ..core.capacities import fits
from ..core.errors import input_error
from ..core.quantities import FloatArray, IntArray
from ..core.wording import first_names
from ..instances.instance import Instance

Key = TypeVar("Key")


def require_no_dates(instance: Instance, what: str, way_out: str = "") -> None:
    """Refuse an instance whose tasks have dates, for code that ignores them. Bounds without dates hold with them.

    Parameters
    ----------
    instance : Instance
        The problem.
    what : str
        What knows no dates, such as ``a replay``.
    way_out : str
        What can be done instead.

    Raises
    ------
    InputError
        If a task has a release or a deadline of its own.
    """
    if not instance.has_dates:
        return
    dated = [
        name
        for name, begin, end in zip(instance.group_ids, instance.release_s, instance.due_s, strict=True)
        if begin or end != instance.deadline_s
    ]
    which = f" ({first_names(dated)})" if dated else ""
    raise input_error(
        instance.name,
        f"has tasks with a ready_s or a deadline_s of their own{which}, which {what} does not know: "
        + (way_out or "leave these out for it"),
    )


def require_no_setups(instance: Instance, what: str, way_out: str = "") -> None:
    """Refuse an instance whose VMs are set up after the boot, for code that ignores it; see `require_no_dates`."""
    if instance.has_setups:
        which = first_names([vm_type.name for vm_type in instance.vm_types if vm_type.setup_s])
        rule = f"has VM types with a setup_s ({which}), which {what} does not know: "
        raise input_error(instance.name, rule + (way_out or "leave these out for it"))


def time_zero_s(instance: Instance) -> int:
    """Return the second from which searches and models count: new VMs have booted; the first if there are machines."""
    return 0 if instance.machines else instance.boot_overhead_s


class VmRents(NamedTuple):
    """Bills of the VMs of a plan, as arrays of shape (n_vms,).

    Attributes
    ----------
    usd_per_s, opening_usd : array of float
        Price of a second, and cost of a VM once it has a task.
    ready_s, paid_until_s, block_s : array of int
        When it can run tasks, until when it is paid by the opening or by a state, and blocks that are billed from then.
    """

    usd_per_s: FloatArray
    opening_usd: FloatArray
    ready_s: IntArray
    paid_until_s: IntArray
    block_s: IntArray

    def cost_usd(self, vm: Any, until_s: Any) -> Any:
        """Return the bill of a VM, or of some, until a moment: nothing before it is ready."""
        usd = self.usd_per_s[vm] * begun_s(self.block_s[vm], until_s, self.paid_until_s[vm])
        return usd + (until_s > self.ready_s[vm]) * self.opening_usd[vm]


def vm_rents(instance: Instance, vm_offer: IntArray, vm_machine: IntArray) -> VmRents:
    """Return the bills of VMs from their offers, and the machines that they are, or -1."""
    rents = instance.rents
    # Indexed by arrays, these are copies: what is written for machines below changes nothing of the instance.
    opening_usd, paid_s = rents.opening_usd[vm_offer], rents.paid_s[vm_offer]
    ready_s = instance.ready_s[vm_offer]
    paid_until_s, exists = ready_s + paid_s, vm_machine >= 0
    if exists.any():
        machine = vm_machine[exists]
        ready_s[exists], paid_until_s[exists] = (
            instance.machine_ready_s[machine],
            instance.machine_paid_until_s[machine],
        )
        opening_usd[exists] = instance.machine_opening_usd[machine]
    return VmRents(rents.usd_per_s[vm_offer], opening_usd, ready_s, paid_until_s, rents.block_s[vm_offer])


def makespan_s(task_end_s: IntArray) -> int:
    """End of the last task, counted from the start of the application."""
    return int(task_end_s.max(initial=0))


def objective_weights(instance: Instance) -> tuple[float, float]:
    """Value of a dollar and of a second of makespan, in units of the objective."""
    weight = instance.cost_weight
    return weight / instance.cost_scale_usd, (1 - weight) / instance.makespan_scale_s


def objective_value(instance: Instance, cost_usd: float, makespan_s: float) -> float:
    """Weighted sum of cost and makespan, both in units of their scales (Burst-HADS eq. 1 and 8).

    For the goals ``cheapest`` and ``fastest``, the cost or the makespan itself.
    """
    weight = instance.cost_weight
    return weight * cost_usd / instance.cost_scale_usd + (1 - weight) * makespan_s / instance.makespan_scale_s


def held_objective(instance: Instance) -> float:
    """Cost of machines for the tasks that run on them, in units of the objective."""
    return objective_weights(instance)[0] * held_usd(instance)


def held_usd(instance: Instance) -> float:
    """Cost of machines for the tasks that run on them, in dollars."""
    if not instance.machines:
        return 0.0
    price = instance.offer_price_usd_per_s[instance.machine_offer]
    return float((price * (instance.machine_held_s - instance.machine_paid_until_s)).sum())


class VmTimeline:
    """The cores and memory of a VM over time; tasks are appended one by one.

    A task starts at the earliest time at which a core is free for good (nothing is put into gaps before tasks that
    are placed already) and the memory suffices for the whole time it runs. It goes to the core that has been idle for
    the shortest time then, the lowest-numbered one at a tie.

    Parameters
    ----------
    vcpus : int
        Number of cores.
    memory_kb : int, optional
        Memory; None if it cannot bind, which makes everything faster.
    ready_s : int
        When the VM is ready.

    Attributes
    ----------
    core_free_s : list of int
        When each core is free for good.
    earliest_core_s, end_s : int
        When the first core is free, before which no task starts; end of the last task.
    """

    __slots__ = ("_memory_kb", "_times", "_used_kb", "core_free_s", "earliest_core_s", "end_s")

    def __init__(self, vcpus: int, memory_kb: int | None, ready_s: int = 0) -> None:
        self.core_free_s = [ready_s] * vcpus
        self.earliest_core_s = ready_s
        self.end_s = ready_s
        self._memory_kb = memory_kb
        # Memory in use as a step function: _used_kb[k] from _times[k] until _times[k + 1], the last is 0 forever.
        self._times = [ready_s]
        self._used_kb = [0]

    @classmethod
    def of_cores(cls, core_free_s: list[int]) -> VmTimeline:
        """Return the timeline of a VM whose memory cannot bind, from when each of its cores is free for good."""
        timeline = cls.__new__(cls)
        timeline._memory_kb, timeline._times, timeline._used_kb = None, [], []
        timeline._set_cores(core_free_s)
        return timeline

    def earliest_start_s(self, memory_kb: int, duration_s: int, since_s: int = 0) -> int | None:
        """Earliest start of a task, not before ``since_s``; None if the VM's memory is too small for the task."""
        start = self.earliest_core_s if self.earliest_core_s > since_s else since_s
        if self._memory_kb is None:
            return start
        room = self._memory_kb - memory_kb
        if not fits(room):
            return None
        times, used = self._times, self._used_kb
        # Where a step leaves no room, no start before its end can do: the search goes on from there.
        step = bisect_right(times, start) - 1
        end = start + duration_s
        while step < len(times) and times[step] < end:
            if not fits(room - used[step]):
                start = times[step + 1]
                end = start + duration_s
            step += 1
        return start

    def append(self, start_s: int, memory_kb: int, duration_s: int) -> int:
        """Place a task at a start that `earliest_start_s` gave; return its core."""
        cores = self.core_free_s
        core = latest_s = -1
        for index, free_s in enumerate(cores):
            if free_s <= start_s and (core < 0 or free_s > latest_s):
                core, latest_s = index, free_s
        if core < 0:
            raise ValueError(f"no core is free at {start_s} s")
        end_s = cores[core] = start_s + duration_s
        self.earliest_core_s = min(cores)
        if end_s > self.end_s:
            self.end_s = end_s
        if self._memory_kb is not None:
            self._occupy(start_s, end_s, memory_kb)
        return core

    def place(self, core: int, start_s: int, end_s: int, memory_kb: int) -> None:
        """Enter a task that has its core and times already; of a core, in the order of time."""
        self.core_free_s[core] = end_s
        self._set_cores(self.core_free_s)
        if self._memory_kb is not None:
            self._occupy(max(start_s, self._times[0]), end_s, memory_kb)

    def advance(self, now_s: int) -> None:
        """Let time pass: nothing that is appended from now on starts earlier."""
        if self.earliest_core_s < now_s:
            self._set_cores([free_s if free_s > now_s else now_s for free_s in self.core_free_s])

    def copy(self) -> VmTimeline:
        """Return a timeline that goes on from here on its own."""
        twin = VmTimeline.__new__(VmTimeline)
        twin.core_free_s = self.core_free_s.copy()
        twin.earliest_core_s = self.earliest_core_s
        twin.end_s = self.end_s
        twin._memory_kb = self._memory_kb
        twin._times = self._times.copy()
        twin._used_kb = self._used_kb.copy()
        return twin

    def _set_cores(self, core_free_s: list[int]) -> None:
        self.core_free_s = core_free_s
        self.earliest_core_s = min(core_free_s)
        self.end_s = max(core_free_s)

    def _occupy(self, start_s: int, end_s: int, memory_kb: int) -> None:
        first = self._breakpoint(start_s)
        last = self._breakpoint(end_s)
        for step in range(first, last):
            self._used_kb[step] += memory_kb
        # No task starts before the first free core any more: what lies before it is forgotten.
        past = bisect_right(self._times, self.earliest_core_s) - 1
        if past > 0:
            del self._times[:past]
            del self._used_kb[:past]

    def _breakpoint(self, time_s: int) -> int:
        """Index of the step that begins at a time; a new one is inserted where none does."""
        step = bisect_left(self._times, time_s)
        if step == len(self._times) or self._times[step] != time_s:
            self._times.insert(step, time_s)
            self._used_kb.insert(step, self._used_kb[step - 1])
        return step


def with_free_slots(n_slots: int, named: Mapping[Key, tuple[int, ...]], need: Mapping[Key, int]) -> dict[Key, Any]:
    """All slots of the tasks of a VM: those that are named of each, and the lowest free ones as far as that is too few.

    Of 4 slots, a task of 2 that has slot 2, and one of 2 of which none is named, have ``(2, 0)`` and ``(1, 3)``.
    """
    taken = {slot for slots in named.values() for slot in slots}
    free = iter([slot for slot in range(n_slots) if slot not in taken])
    return {task: (*slots, *islice(free, max(need[task] - len(slots), 0))) for task, slots in named.items()}
