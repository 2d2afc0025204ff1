"""Uniform Progress for a long job on spot and on-demand VMs (Wu et al. 2024), its greedy baseline, Time Sliced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from ....core.errors import InputError, Issue, SpotbagError
from ....instances.entries import RentalOffer
from ...policies import Rule, Rules
from ..state import Policy, ReplayState, Vm

_Choice: TypeAlias = Literal["idle", "spot", "on-demand"]
_TASK = 0


@dataclass(kw_only=True, eq=False)
class GreedySpot(Policy):
    """Run a job on a spot VM whenever there is one, and wait for one while the deadline allows.

    Once all the time that is left is needed on an on-demand VM, the job runs there to its end: the safety net of
    Uniform Progress, without its other rules.

    Parameters
    ----------
    tick_s : int
        The policy decides every ``tick_s`` seconds, and when a spot VM is lost or the capacity changes. The safety net
        counts in whole ticks.

    Notes
    -----
    The bag is one task with a spot and an on-demand offer of one VM type. The changeover delay *d* is
    `ReplayState.start_overhead_s`. What is saved is for the instance to say: as in the paper, everything, if its
    checkpoints take no time.
    """

    name = "greedy-spot"
    summary = "one long job: on spot VMs while there are any, on demand once the deadline asks for it"
    source = "Wu et al., Can't Be Late, NSDI 2024: the greedy baseline"
    dates: ClassVar[bool] = False
    rules: ClassVar[Rules] = {"tick-60": Rule({"tick_s": 60}, "decides every minute, not every ten")}

    tick_s: int = 600

    def __post_init__(self) -> None:
        """Have the name say how often it decides; refuse ticks that are none."""
        self.name = self.name_with_options()
        if type(self.tick_s) is not int or self.tick_s < 1:
            rule = "must be a whole number of seconds, 1 or more"
            raise InputError(type(self).name, [Issue("", rule, "tick_s", self.tick_s)])

    def woken(self, replay: ReplayState) -> None:
        """Decide at the start and at every tick. After the deadline, only what happens can change a decision."""
        self._decide(replay)
        next_s = (replay.now_s // self.tick_s + 1) * self.tick_s
        if next_s <= replay.instance.deadline_s:
            replay.wake_at(next_s)

    def capacity_changed(self, replay: ReplayState, vm_type: str) -> None:
        """Decide when spot VMs are back, or gone."""
        self._decide(replay)

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        """Decide when a spot VM pauses."""
        self._decide(replay)

    def lost(self, replay: ReplayState, vm: Vm) -> None:
        """Decide when a spot VM is gone."""
        self._decide(replay)

    def preempted(self, replay: ReplayState, vm: Vm, task: int) -> None:
        """Move the job whose last checkpoint on an on-demand VM is written, if that is still to be done."""
        self._decide(replay)

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Terminate a VM that the job has left."""
        replay.terminate(vm)

    def _decide(self, replay: ReplayState) -> None:
        """Choose where the job is to run now, and have it there."""
        spot, on_demand = _offers(self, replay)
        vm = next(vm for vm in reversed(replay.vms) if vm.n_left)
        if vm.dumps:
            return
        held: _Choice = "idle"
        if vm.alive or vm.draining:
            held = "spot" if vm.spot else "on-demand"
        # At the start, the policy is not bound to the VM on which the plan has put the job.
        on: _Choice = "idle" if replay.now_s == 0 else held
        choice = self._choice(replay, vm, on, held == "spot" or replay.can_start(spot))
        if choice in ("idle", held):
            return
        offer = spot if choice == "spot" else on_demand
        if replay.can_start(offer):
            _move(replay, vm, offer)

    def _choice(self, replay: ReplayState, vm: Vm, on: _Choice, available: bool) -> _Choice:
        """Choice for the job, a market or idle; spot only if spot VMs are available."""
        return self._safety_net(replay, vm, on) or ("spot" if available else "idle")

    def _safety_net(self, replay: ReplayState, vm: Vm, on: _Choice) -> _Choice | None:
        """On-demand if all the time that is left is needed; a job that already works on a spot VM stays there."""
        delays = 2
        if on == "spot":
            if vm.run_of(_TASK) is not None:
                return None
            delays = 1
        done_s, delay_s = _done_s(replay, vm), delays * replay.start_overhead_s
        for due_s, work_s in self._due(replay):
            left_ticks, needed_s = (due_s - replay.now_s) // self.tick_s, work_s - done_s + delay_s
            if done_s < work_s and -(-needed_s // self.tick_s) >= left_ticks:
                return "on-demand"
        return None

    def _due(self, replay: ReplayState) -> list[tuple[int, int]]:
        """Due times of the work, and how much of it is due then: all of it until the deadline."""
        return [(replay.instance.deadline_s, _work_s(replay))]


@dataclass(kw_only=True, eq=False)
class TimeSliced(GreedySpot):
    """Time Sliced: the greedy rules in slices of the time until the deadline, each with its share of the work.

    By the end of slice *i* of *n*, *i C0 / n* of the work are to be done, and the safety net is that of the slice. What
    is done beyond that is done of the next slice; a spot VM is used also when a slice has its share.

    Parameters
    ----------
    slices : int
        *n*; with 1, the policy is `GreedySpot`.

    Notes
    -----
    The paper has the job wait for spot VMs at the beginning of a slice, wherever it was. Here a VM that has a task is
    never terminated: an on-demand VM is left for a spot VM, and kept until there is one.
    """

    name = "time-sliced"
    summary = "one long job: greedy-spot in slices of the time until the deadline"
    source = "Wu et al., Can't Be Late, NSDI 2024: section 5.1"
    rules: ClassVar[Rules] = {
        **GreedySpot.rules,
        **{f"slices-{n}": Rule({"slices": n}, f"in {n} slices, not in 10") for n in (5, 20)},
    }

    slices: int = 10

    def __post_init__(self) -> None:
        """Refuse slices that are none."""
        super().__post_init__()
        if type(self.slices) is not int or self.slices < 1:
            raise InputError(type(self).name, [Issue("", "must be a whole number, 1 or more", "slices", self.slices)])

    def _due(self, replay: ReplayState) -> list[tuple[int, int]]:
        """Due times of the work, and how much is due then: by the end of the slice, also its share and those before."""
        [(deadline_s, work_s)] = super()._due(replay)
        ended = min(replay.now_s * self.slices // deadline_s + 1, self.slices)
        of_slice = ended * deadline_s // self.slices, -(-ended * work_s // self.slices)
        return [(deadline_s, work_s), of_slice]


@dataclass(kw_only=True, eq=False)
class UniformProgress(GreedySpot):
    """Uniform Progress: spread the work of a job evenly over the time until its deadline, on spot VMs if there are any.

    With *cp(t)* of the work *C0* done and a deadline *R0*, *ep(t) = t C0 / R0* is to be done. A job without a VM takes
    a spot VM if there is one, and else an on-demand VM if *cp(t) < ep(t)*; on a spot VM it stays until that is lost; on
    an on-demand VM it stays until there are spot VMs and *cp(t) > ep(t + 2d)*. The safety net stands before all of it.

    Parameters and notes are those of `GreedySpot`.
    """

    name = "uniform-progress"
    summary = "one long job: keeps in step with the time until the deadline, on spot VMs where it can"
    source = "Wu et al., Can't Be Late, NSDI 2024"

    def _choice(self, replay: ReplayState, vm: Vm, on: _Choice, available: bool) -> _Choice:
        """Choice for the job, a market or idle; spot only if spot VMs are available."""
        net = self._safety_net(replay, vm, on)
        if net is not None:
            return net
        behind_s = 2 * replay.start_overhead_s if on == "on-demand" else 0
        done, due = _done_s(replay, vm) * replay.instance.deadline_s, (replay.now_s + behind_s) * _work_s(replay)
        if on == "on-demand":
            return "spot" if available and due < done else "on-demand"
        if available:
            return "spot"
        return "on-demand" if done < due else "idle"


def _offers(policy: Policy, replay: ReplayState) -> tuple[RentalOffer, RentalOffer]:
    """The spot and the on-demand offer; refuses bags that are no job of the paper."""
    instance = replay.instance
    types = len(instance.vm_types)
    by_market = {offer.market: offer for offer in instance.offers}
    missing = ""
    if instance.n_tasks != 1:
        missing = f"it has {instance.n_tasks:,} tasks"
    elif instance.checkpoint is None:
        missing = (
            'it takes no checkpoints: "checkpoint": {"overhead_fraction": 0.1, "dump_base_s": 30} has it take some'
        )
    elif types != 1:
        missing = f"it has {types} VM types: --types, or vm_types of the instance, can leave one"
    elif len(by_market) != 2:
        missing = "its VM type is not offered on both markets"
    elif instance.vm_types[0].burstable is not None:
        missing = "its VM type is burstable"
    if not missing:
        return by_market["spot"], by_market["on-demand"]
    raise SpotbagError(
        f"{policy.name} is for one task with checkpoints, and one VM type that is not burstable with a spot and an "
        f"on-demand offer; {instance.name} is not that: {missing}"
    )


def _work_s(replay: ReplayState) -> int:
    """Work of the job in seconds."""
    return replay.runtime_s(_TASK, replay.instance.offers[0])


def _done_s(replay: ReplayState, vm: Vm) -> int:
    """Whole seconds of the work that are done, if nothing is lost; of a job whose VM was interrupted, what is saved."""
    work_s = _work_s(replay)
    if not vm.alive and not vm.draining:
        return round(replay.saved_if_moved(vm, _TASK) * work_s)
    saved_s = round(replay.tasks[_TASK].saved * work_s)
    placed = vm.run_of(_TASK)
    if placed is None:
        return saved_s
    run = placed[1]
    return saved_s + (work_s - saved_s) * (vm.uptime_s(replay.now_s) - run.start_s) // (run.end_s - run.start_s)


def _move(replay: ReplayState, vm: Vm, offer: RentalOffer) -> None:
    """Have the job go on at a new VM, with what is saved, and terminate the one that it leaves."""
    if vm.gives_tasks:
        replay.migrate(_TASK, vm, replay.start_vm(offer))
    else:
        placed = vm.run_of(_TASK)
        if placed is not None:
            replay.preempt(_TASK, vm, checkpoint=vm.uptime_s(replay.now_s) > placed[1].start_s)
            if vm.run_of(_TASK) is not None:
                return  # once its checkpoint is written, `preempted` is asked
        new = replay.start_vm(offer)
        replay.steal(_TASK, vm, new)
        replay.report_attempt(new, 1)
    if not vm.reclaimed:
        replay.terminate(vm)
