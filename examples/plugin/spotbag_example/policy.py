"""A policy for bags: no patience with VMs that hibernate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spotbag.plugins import NEVER, Policy, RentalOffer, ReplayState, Rule, Vm


@dataclass
class Impatient(Policy):
    """Moves all tasks of a VM that hibernates to one new on-demand VM at once.

    Attributes
    ----------
    fastest : bool
        Whether the new VM is of the type that runs the tasks fastest, not of the cheapest.
    """

    name = "impatient"
    summary = "moves the tasks of a hibernated VM to a new on-demand VM at once"
    rules: ClassVar[dict[str, Rule]] = {
        "fastest": Rule({"fastest": True}, "new VMs are of the fastest type, not of the cheapest")
    }

    fastest: bool = False

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has hibernated."""
        tasks = vm.tasks()
        offers = [offer for offer in replay.instance.offers if self.suits(replay, offer, tasks)]
        if not tasks or not offers:
            return  # what is not moved waits until the VM resumes
        if self.fastest:
            offer = min(offers, key=lambda offer: sum(replay.duration_s(task, offer) for task in tasks) / offer.vcpus)
        else:
            offer = min(offers, key=lambda offer: offer.price_usd_per_hour)
        new = replay.start_vm(offer)
        for task in tasks:
            replay.migrate(task, vm, new)

    def lost(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that the cloud has terminated."""
        self.hibernated(replay, vm)

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has no task left."""
        replay.terminate(vm)

    def suits(self, replay: ReplayState, offer: RentalOffer, tasks: list[int]) -> bool:
        """True if an on-demand VM of an offer can be started, and can run all of these tasks."""
        return (
            offer.market == "on-demand"
            and replay.can_start(offer)
            and all(replay.memory_kb(task) <= offer.memory_kb for task in tasks)
            and all(replay.duration_s(task, offer) < NEVER for task in tasks)
        )
