"""The policy ``known``: jobs whose run times are known on average (Thai et al., sections 3 and 5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from ...engines import NONE
from ..policy import StreamPolicy
from ..state import StreamState, StreamVm
from .forecast import Forecast
from .scheduling import reassign, schedule_job

REASSIGNMENT_PERIOD_S = 15
"""How often Algorithm 3 is performed; the paper says "periodically"."""

PERIOD: Final = NONE
"""Datum of the wakes of Algorithm 3: no VM."""


class Known(StreamPolicy):
    """Rent by Algorithm 1 and Model 6 on the average run times, move late tasks by Algorithm 3.

    VMs are released at the end of a block if they have no task then.

    Attributes
    ----------
    new_blocks : bool
        Whether tasks are appended to existing VMs though another block must be paid for them.
    """

    name = "known"
    summary = "knows average run times; rents the cheapest VMs that suffice (Thai et al.)"
    new_blocks: ClassVar[bool] = True

    def __init__(self) -> None:
        self.forecast: Forecast
        self._watching = False

    def begin(self, replay: StreamState) -> None:
        """Take over the average run times of all applications."""
        self.forecast = Forecast(replay)
        for application in replay.stream.applications:
            averages = [replay.stream.average_s(application.name, name) for name in replay.stream.type_names]
            self.forecast.learn(application.name, averages)

    def submitted(self, replay: StreamState, job: int) -> None:
        """Schedule the job (Algorithm 1)."""
        self.schedule(replay, job, replay.sampled.tasks(job))

    def schedule(self, replay: StreamState, job: int, tasks: Iterable[int]) -> None:
        """Assign tasks of a job, and watch over them."""
        schedule_job(replay, self.forecast, job, tasks, self.new_blocks)
        self.watch(replay)

    def watch(self, replay: StreamState, idle_until_s: float = 0) -> None:
        """Perform Algorithm 3 from time to time while there are tasks that wait."""
        if not self._watching and any(vm.queue for vm in replay.alive.values()):
            self._watching = True
            replay.wake_each(REASSIGNMENT_PERIOD_S, PERIOD, idle_until_s)

    def woken(self, replay: StreamState, datum: int) -> None:
        """Perform Algorithm 3; where it moves nothing, neither does it before anything happens or gets late."""
        if datum == PERIOD:
            self._watching = False
            moved = reassign(replay, self.forecast)
            self.watch(replay, 0 if moved else self.forecast.unchanged_until_s())

    def block_ended(self, replay: StreamState, vm: StreamVm) -> None:
        """Release the VM: another block would be paid for nothing."""
        replay.terminate(vm)


class KnownPaidBlocks(Known):
    """As ``known``, but existing VMs get tasks only within blocks that are paid: section 3.2 to the letter."""

    name = "known-paid-blocks"
    summary = "as known; VMs take new jobs in blocks that are paid anyhow only"
    new_blocks = False
