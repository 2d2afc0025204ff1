"""The rescue of a survival certificate, carried out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..policy import Policy
from ..state import ReplayState
from ..vm import Vm
from .migration import Places, migrate_anyway, retry_stranded

if TYPE_CHECKING:
    from ....heuristics.bags.rescue import Rescue as PlannedRescue


class Rescue(Policy):
    """Follow the plan; when spot VMs go down, do at once on demand what they have lost, and never count on them again.

    What goes down goes the way of the survival certificate (`certify`): the deadline is kept at no more than the
    worst-case cost, whether VMs come back or not, if the plan survives it. A plan that is to survive ``each`` has a
    twin on demand for whatever spot VM goes down whenever. Otherwise the promise is for types which go down at one
    moment, once. It holds for bills by the second. Whatever else happens, and what does not survive, the tasks of each
    VM go to where they end first, longest tasks first. A VM ends with its last task, also one that is hibernated. VMs
    that have notice, are stopped or terminated are rescued like those that hibernate.
    """

    name = "rescue"
    summary = "does on demand what spot VMs lose, as the survival certificate has it, and ends these VMs"

    def __init__(self) -> None:
        self._first = True

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Terminate a VM with its last task."""
        retry_stranded(replay)
        if vm.idle:
            replay.terminate(vm)

    def noticed(self, replay: ReplayState, vm: Vm) -> None:
        """Rescue what will be lost, as if it were lost now: so the promise holds."""
        self._answer(replay, vm)

    def lost(self, replay: ReplayState, vm: Vm) -> None:
        """Rescue what is lost."""
        self._answer(replay, vm)

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        """Rescue what is lost."""
        self._answer(replay, vm)

    def resumed(self, replay: ReplayState, vm: Vm) -> None:
        """A VM takes tasks again that have no place."""
        retry_stranded(replay)

    def terminated(self, replay: ReplayState, vm: Vm) -> None:
        """A place is free for tasks that had none."""
        retry_stranded(replay)

    def _answer(self, replay: ReplayState, vm: Vm) -> None:
        if not vm.n_left:
            _end(replay, [vm])
            return
        lost = [vm for vm in replay.vms if vm.gives_tasks and vm.n_left]
        rescue = self._planned(replay, lost)
        self._first = False
        if rescue is None:
            _to_where_they_end_first(replay, lost)
        else:
            _carry_out(replay, rescue)

    def _planned(self, replay: ReplayState, lost: list[Vm]) -> PlannedRescue | None:
        """Return the rescue that the certificate has for the loss of some VMs; None if it does not name that."""
        from ....heuristics.bags.rescue import rescue_at, rescue_by_twins  # here, so that other policies do not load it

        schedule, now_s = replay.plan.schedule, replay.now_s
        twins = rescue_by_twins(schedule, [vm.index for vm in lost], now_s)
        if twins is not None or not self._first:
            return twins
        types = {vm.offer.vm_type.name for vm in lost}
        others = (vm for vm in replay.vms if vm.spot and not vm.gives_tasks and vm.n_left)
        whole_types = types.isdisjoint(vm.offer.vm_type.name for vm in others)
        return rescue_at(schedule, types, now_s) if whole_types else None


def _carry_out(replay: ReplayState, rescue: PlannedRescue) -> None:
    """Request the VMs of a rescue and move the tasks, by their starts: so each starts as planned, or earlier."""
    named = {vm.name: vm for vm in replay.vms}
    targets = [replay.start_vm(vm.offer) if vm.new else named[vm.id] for vm in rescue.vms]
    sources = {task: vm for vm in replay.vms if vm.gives_tasks for task in vm.tasks()}
    for task, number in zip(rescue.task.tolist(), rescue.task_vm.tolist(), strict=True):
        replay.migrate(task, sources[task], targets[number])
    _end(replay, sources.values())


def _to_where_they_end_first(replay: ReplayState, lost: list[Vm]) -> None:
    """Move the tasks of VMs to where each ends first, longest first."""
    places = Places(replay)
    for vm in lost:
        by_length = sorted(vm.tasks(), key=lambda task: -replay.work.runtime_s(task, vm.offer_index))
        migrate_anyway(replay, vm, by_length, places)
    _end(replay, lost)


def _end(replay: ReplayState, vms: Iterable[Vm]) -> None:
    """Terminate VMs that have no task left and are waiting to come back."""
    for vm in dict.fromkeys(vms):
        if vm.halted and not vm.n_left:
            replay.terminate(vm)
