"""The heuristic of A2HA with what its paper says of single moments: the first prediction, ten tasks, second hours."""

from __future__ import annotations

from spotbag.core.quantities import ExactSeconds
from spotbag.replay.streams.policies.a2ha import TICK, A2ha, A2haSettings
from spotbag.replay.streams.policies.fixed_fleet import FixedFleet
from spotbag.replay.streams.state import StreamState, StreamVm

EARLY_TASKS = 10
"""Finished tasks after which the number of hosts is to be stable (section 3.3)."""


class WatchedA2ha(A2ha):
    """The heuristic, which also notes what came when; of a single job.

    Attributes
    ----------
    order : tuple of int
        Tasks in the order in which they were selected at random.
    first_created_s : int or None
        When the first prediction created hosts; None if none did.
    first_hosts : int
        Hosts in all after that.
    early_hosts : int
        Hosts in all once `EARLY_TASKS` tasks have finished.
    """

    def __init__(self, settings: A2haSettings) -> None:
        super().__init__(settings)
        self.order: tuple[int, ...] = ()
        self.first_created_s: ExactSeconds | None = None
        self.first_hosts = settings.initial_hosts
        self.early_hosts = settings.initial_hosts
        self._busy_s: dict[int, ExactSeconds] = {}

    def submitted(self, replay: StreamState, job: int) -> None:
        """Note the order of the tasks."""
        super().submitted(replay, job)
        self.order = tuple(reversed(self._tasks))

    def finished(self, replay: StreamState, vm: StreamVm, task: int, took_s: ExactSeconds) -> None:
        """Record the hosts created after the first tasks, and the predictions."""
        super().finished(replay, vm, task, took_s)
        if self._finished <= EARLY_TASKS:
            self.early_hosts = len(replay.vms)
        self._look(replay)

    def woken(self, replay: StreamState, datum: int) -> None:
        """Record the predictions, or the work of a host in its first unit."""
        if datum != TICK and datum not in self._busy_s:
            vm = replay.vms[datum]
            self._busy_s[datum] = vm.busy_s + (0 if vm.task is None else replay.now_s - vm.started_s)
        super().woken(replay, datum)
        self._look(replay)

    def _look(self, replay: StreamState) -> None:
        if self.first_created_s is None and len(replay.vms) > self._initial:
            self.first_created_s = replay.now_s
            self.first_hosts = len(replay.vms)

    def later_units(self, replay: StreamState) -> tuple[ExactSeconds, ExactSeconds]:
        """Paid seconds of all hosts after their first units, and those of them in which tasks ran."""
        paid_s: ExactSeconds = 0
        busy_s: ExactSeconds = 0
        for vm in replay.vms:
            if vm.terminated_s - vm.requested_s > self._first_unit_s:
                paid_s += replay.paid_until_s(vm, vm.terminated_s) - vm.requested_s - self._first_unit_s
                busy_s += vm.busy_s - self._busy_s[vm.index]
        return paid_s, busy_s


class AtTheStart(FixedFleet):
    """Fleet of hosts created at the start, which stop with their unit once there are no tasks for them."""

    def block_ended(self, replay: StreamState, vm: StreamVm) -> None:
        """Stop the host."""
        replay.terminate(vm)
