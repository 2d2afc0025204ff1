"""Methods of one's own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import spotbag
from spotbag.plugins import (
    Incumbent,
    Instance,
    LimitReached,
    Method,
    ModelRefusal,
    Outcome,
    Queue,
    Run,
    Schedule,
    TracePoint,
    out_of_time,
    schedule_of_queues,
)


@dataclass(frozen=True)
class InTurn(Method):
    """Gives tasks to VMs in turn."""

    name = "in-turn"
    summary = "tasks in turn"

    vms: int = 2
    market: str = "spot"
    slack: float | None = None
    reverse: bool = False

    def plan(self, instance: Instance, run: Run) -> Outcome:
        """Make the plan."""
        offer = next(offer for offer in instance.offers if offer.market == self.market)
        queues = [Queue(offer, []) for _ in range(self.vms)]
        tasks = range(instance.n_tasks)
        for place, task in enumerate(reversed(tasks) if self.reverse else tasks):
            queues[place % self.vms].tasks.append(task)
        return Outcome(schedule_of_queues(instance, queues))


def in_turn(instance: Instance, run: Run) -> Outcome:
    """Give tasks to two VMs in turn."""
    return InTurn().plan(instance, run)


def says_hello(instance: Instance, run: Run) -> Outcome:
    """Report progress, and keep a plan before the time is over."""
    run.report(TracePoint(1, 2.0, 1.0), 10)
    run.incumbent.take(InTurn().plan(instance, run).schedule)
    raise LimitReached


def keeps_a_plan(instance: Instance, run: Run) -> Outcome:
    """Keep a plan, and return none."""
    run.incumbent.take(InTurn().plan(instance, run).schedule)
    return Outcome(None)


def keeps_a_better_plan(instance: Instance, run: Run) -> Outcome:
    """Keep a plan, and return a worse one when the time is over."""
    run.incumbent.take(InTurn(vms=2).plan(instance, run).schedule)
    while not out_of_time():
        pass
    return InTurn(vms=1).plan(instance, run)


def too_late(instance: Instance, run: Run) -> Outcome:
    """Make a plan whose tasks all start at the deadline."""
    plan = InTurn().plan(instance, run).schedule
    assert plan is not None
    return Outcome(replace(plan, task_start_s=plan.task_start_s + instance.deadline_s))


def keeps_a_late_plan(instance: Instance, run: Run) -> Outcome:
    """Keep a wrong plan, and return none."""
    run.incumbent.take(too_late(instance, run).schedule)
    return Outcome(None)


def of_another_bag(instance: Instance, run: Run) -> Outcome:
    """Return a plan of half of the bag."""
    return InTurn().plan(instance.replace(tasks=instance.tasks[:1]), run)


def of_a_copy(instance: Instance, run: Run) -> Outcome:
    """Return a plan of an instance that is equal."""
    return InTurn().plan(instance.replace(description="a copy"), run)


def boasts(instance: Instance, run: Run) -> Outcome:
    """Claim a bound above the plan."""
    plan = InTurn().plan(instance, run).schedule
    assert plan is not None
    return Outcome(plan, bound=plan.objective * 1.5)


def says_nan(instance: Instance, run: Run) -> Outcome:
    """Claim no number as a bound."""
    return Outcome(None, bound=float("nan"))


def forgets(instance: Instance, run: Run) -> Schedule | None:
    """Return no outcome."""
    return InTurn().plan(instance, run).schedule


def fails(instance: Instance, run: Run) -> Outcome:
    """Divide by zero."""
    return Outcome(None, bound=1 / (instance.n_tasks - instance.n_tasks))


def misspells(instance: Instance, run: Run) -> Outcome:
    """Ask for what there is not."""
    return Outcome(spotbag.solve(instance, "gredy").schedule)


def refuses(instance: Instance, run: Run) -> Outcome:
    """Take no instance."""
    raise ModelRefusal("in-turn takes no bags on Sundays")


class Nameless(Method):
    """Has no name."""

    def plan(self, instance: Instance, run: Run) -> Outcome:
        """Find nothing."""
        return Outcome(None)


@dataclass(frozen=True)
class Untyped(Nameless):
    """Has an option of a type that is not there."""

    name = "untyped"
    vms: Nowhere = 3  # type: ignore[name-defined]  # noqa: F821


class Greedy(Nameless):
    """Has a name that is taken."""

    name = "greedy"


class Planless(Method):
    """Has no plan."""

    name = "planless"


@dataclass(frozen=True)
class Refined(InTurn):
    """Checks its options."""

    name = "refined"

    def __post_init__(self) -> None:
        """Refuse an odd number of VMs."""
        if self.vms % 2:
            raise ValueError("an even number of VMs is wanted")


NO_METHOD = Incumbent()
