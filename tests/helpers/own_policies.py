"""Policies of one's own, for all systems: in a module that other processes can import."""

from __future__ import annotations

import spotbag
from spotbag.replay.bags.state import ReplayState, Vm
from spotbag.replay.platforms.candidate import Candidate, PlatformJob
from spotbag.replay.platforms.state import PlatformState
from spotbag.replay.streams.policies.known import Known
from spotbag.replay.streams.state import StreamState


class Bag(spotbag.Policy):
    """Follows the plan; counts the tasks that it has seen in this replay, and refuses any of an earlier one."""

    name = "mine"

    def __init__(self, seed: int = 0, label: str = "mine") -> None:
        self.name = label
        self.seed = seed
        self.seen: list[int] = []

    def finished(self, replay: ReplayState, vm: Vm, task: int) -> None:
        assert task not in self.seen, "this policy has gone through another replay"
        self.seen.append(task)

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        replay.terminate(vm)


class OfStream(Known):
    """``known``, which keeps what it knows in itself and so cannot go through two replays."""

    name = "mine"

    def __init__(self, seed: int = 0, label: str = "mine") -> None:
        super().__init__()
        self.name = label
        self.seed = seed
        self.begun = False

    def begin(self, replay: StreamState) -> None:
        assert not self.begun, "this policy has gone through another replay"
        self.begun = True
        super().begin(replay)


class OfPlatform(spotbag.PlatformPolicy):
    """The first offer; its jobs come in their order, once."""

    name = "mine"

    def __init__(self, seed: int = 0, label: str = "mine") -> None:
        self.name = label
        self.seed = seed
        self.seen: list[int] = []

    def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
        assert sender >= 0 or job.index not in self.seen, "this policy has gone through another replay"
        self.seen.append(job.index)
        return min(
            replay.offers(job, sender), key=lambda offer: (offer.cost, offer.end_s, offer.resource), default=None
        )
