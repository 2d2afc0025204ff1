"""The best policy that does not know the day, for one task: ``python -m spotbag_papers.bags.best_online``.

One task meets days of the laws of HADS, on a few spot types that go down and come back at multiples of a step of 30 s.
For those the best policy is known, by a dynamic programme (`online_programme`), and replayed beside the others, on the
same days. Printed are mean costs in cents, with 95 % intervals, and regrets over the clairvoyant bound in %; last,
how much of that of `on-time` is also that of the best policy on these days, which cannot be avoided.

``--types 2`` is how many spot types there are, ``--work 600,1350`` how long the task runs (of a deadline of 2,700 s);
``--runs 300``, ``--seed 7301`` and ``--scenarios`` choose other days.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.core.statistics import estimate
from spotbag.core.workers import each
from spotbag.instances.bags.day_draws import horizon_s, spot_types, uniform_numbers
from spotbag.instances.bags.scenarios import SCENARIOS
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.entries import Checkpoints, CloudName, Offer, Task, VmType
from spotbag.instances.instance import Instance
from spotbag.replay.bags.runs import replay_days
from spotbag.replay.bags.state import Policy, ReplayState, Vm
from spotbag.replay.engines import TERMINATED
from spotbag.replay.policies import Given
from spotbag.schedules.schedule import Schedule

from ..claims import show
from ..measuring import asked, print_table
from .on_time import BOTH_PAPERS
from .online_programme import LEFT, NOWHERE, THERE, OnlinePolicy, OnlineProblem, Seat

STEP_S = 30
_DEADLINE_S = 2700
_OVERHEAD_S = 180
_INTERVAL_STEPS = 10
_USD_PER_HOUR = {
    "c3.large": (0.0294, 0.105),
    "c4.large": (0.0308, 0.1),
    "c3.xlarge": (0.0596, 0.21),
    "c4.xlarge": (0.0673, 0.199),
}
"""Types of HADS, with their prices on both markets."""
_PUBLISHED = ("hads", "burst-hads")


@dataclass(frozen=True, slots=True)
class StepDays:
    """Days of the law of `PoissonScenario`, on which types go down and come back at multiples of a step only.

    Attributes
    ----------
    name : str
        E.g. ``hads/sc1``.
    k_h, k_r : float
        As those of `PoissonScenario`.
    step_s : int
        The step.
    """

    name: str
    k_h: float
    k_r: float
    step_s: int = STEP_S
    cloud: CloudName | None = None

    @property
    def fixed(self) -> bool:
        """Without hibernations every day is the same."""
        return self.k_h == 0

    @property
    def law(self) -> Mapping[str, float | None]:
        """Rates for policies that ask for them."""
        return {"type_interruptions_per_deadline": self.k_h, "type_resumes_per_deadline": self.k_r}

    def chance(self, events: float, deadline_s: int) -> float:
        """Chance of an event in a step, from the number expected within a deadline."""
        return -math.expm1(-events * self.step_s / deadline_s)

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Draw a day; see `Scenario.day`."""
        rates = self.k_h * self.step_s / instance.deadline_s, self.k_r * self.step_s / instance.deadline_s
        types, end_s = spot_types(instance), horizon_s(instance)
        n = 2 + 2 * end_s // self.step_s
        events = []
        for (_, name), draws in zip(types, uniform_numbers(seed, day, [index for index, _ in types], n), strict=True):
            now_s = instance.boot_overhead_s
            for number, draw in enumerate(-np.log1p(-draws)):
                rate = rates[number % 2]
                if rate == 0:
                    break
                now_s += self.step_s * max(math.ceil(draw / rate), 1)
                if now_s >= end_s:
                    break
                events.append(TimelineEvent(now_s, name, "resume" if number % 2 else "interrupt"))
        return Timeline(tuple(sorted(events, key=lambda event: event.time_s)), f"{self.name}, seed {seed}, day {day}")


@dataclass(frozen=True, slots=True)
class OneTask:
    """A task, on some types.

    Attributes
    ----------
    types : int
        How many, of those of HADS.
    work_s : int
        How long the task runs on each of them.
    deadline_s, boot_s, overhead_s, interval_steps : int
        When it must end; what a new VM takes to boot, and until the task runs there; steps of work between two
        checkpoints, each of which takes a step.
    """

    types: int
    work_s: int
    deadline_s: int = _DEADLINE_S
    boot_s: int = 0
    overhead_s: int = _OVERHEAD_S
    interval_steps: int = _INTERVAL_STEPS

    @property
    def instance(self) -> Instance:
        """The bag."""
        prices = list(_USD_PER_HOUR.items())[: self.types]
        types = [
            VmType(
                name=name,
                vcpus=1,
                memory_mb=4096,
                offers={
                    "spot": Offer(price_usd_per_hour=spot, limit=5),
                    "on-demand": Offer(price_usd_per_hour=on_demand, limit=5),
                },
            )
            for name, (spot, on_demand) in prices
        ]
        return Instance(
            name="one task",
            deadline_s=self.deadline_s,
            d_spot_s=self.deadline_s,
            boot_overhead_s=self.boot_s,
            migration_overhead_s=self.overhead_s,
            checkpoint=Checkpoints(overhead_fraction=1 / self.interval_steps, dump_base_s=STEP_S),
            vm_types=tuple(types),
            tasks=(Task(id="task", memory_mb=1024, runtime_s={name: self.work_s for name, _ in prices}),),
        )

    def problem(self, days: StepDays) -> OnlineProblem:
        """The task in steps, on days of a law."""
        per_step = STEP_S / SECONDS_PER_HOUR
        prices = list(_USD_PER_HOUR.values())[: self.types]
        return OnlineProblem(
            steps=(self.deadline_s - self.boot_s) // STEP_S,
            work=self.work_s // STEP_S,
            interval=self.interval_steps,
            boot=self.boot_s // STEP_S,
            overhead=max(self.overhead_s, self.boot_s) // STEP_S,
            spot_usd=[spot * per_step for spot, _ in prices],
            on_demand_usd=min(on_demand for _, on_demand in prices) * per_step,
            goes_down=days.chance(days.k_h, self.deadline_s),
            comes_back=days.chance(days.k_r, self.deadline_s),
        )


class BestOnline(Policy):
    """Carries out the decisions of a dynamic programme.

    Parameters
    ----------
    best : OnlinePolicy
        The decisions; for a bag of one task, with as many spot types.
    """

    name = "best online"

    def __init__(self, best: OnlinePolicy) -> None:
        self._best = best

    def woken(self, replay: ReplayState) -> None:
        """Decide, step by step."""
        self._decide(replay)
        replay.wake_at(replay.now_s + STEP_S)

    def preempted(self, replay: ReplayState, vm: Vm, task: int) -> None:
        """Go on with what is saved."""
        self._decide(replay)

    def _decide(self, replay: ReplayState) -> None:
        instance, problem = replay.instance, self._best.problem
        step, rest = divmod(replay.now_s - instance.boot_overhead_s, STEP_S)
        # Preemptions may come between steps, and VMs boot before the first: the programme decides at its steps only.
        if rest or step < 0:
            return
        offers = [offer for offer in instance.offers if offer.market == "spot"]
        offers.append(replay.instance.offers[replay.regular[0]])
        numbers = {offer.index: number for number, offer in enumerate(offers)}
        [own] = [vm for vm in replay.vms if vm.n_left]
        others = [vm for vm in replay.vms if not vm.n_left and vm.state != TERMINATED]
        mask = sum(1 << number for number, offer in enumerate(offers[:-1]) if replay.types[offer.type_index].capacity)
        seat, left = _seat(replay, problem, own, numbers[own.offer_index])
        other = (numbers[others[0].offer_index], _starts(replay, others[0])) if others else (NOWHERE, 0)
        decision = self._best.decide(step, seat, other, mask, left)
        spare = others[0] if others else None
        if decision.move != NOWHERE:
            target = spare if decision.move == THERE else replay.start_vm(offers[decision.move])
            assert target is not None
            _move(replay, own, target)
        elif decision.saves and not own.dumps:
            replay.preempt(0, own, checkpoint=True)
        kept = {THERE: spare, LEFT: own}.get(decision.other)
        for vm in (*others, own):
            if vm is not kept and not vm.n_left:
                replay.terminate(vm)
        if decision.other >= 0:
            replay.start_vm(offers[decision.other])


def _starts(replay: ReplayState, vm: Vm) -> int:
    """Steps until a task can run on a VM."""
    return max(vm.first_start_s - vm.uptime_s(replay.now_s), 0) // STEP_S


def _seat(replay: ReplayState, problem: OnlineProblem, vm: Vm, offer: int) -> tuple[Seat, int]:
    """Place of the task, and steps of its work that are left if it stays."""
    left = round(problem.work * (1 - replay.saved.get(0, 0.0)))
    placed = vm.run_of(0)
    if placed is None:
        return Seat(offer, _starts(replay, vm), 0), left
    steps = (vm.uptime_s(replay.now_s) - placed[1].start_s) // STEP_S
    if not vm.spot:
        return Seat(offer, 0, int(steps > 0)), left - steps
    checkpoints, unsaved = divmod(steps, problem.interval + 1)
    return Seat(offer, 0, unsaved), left - checkpoints * problem.interval - unsaved


def _move(replay: ReplayState, source: Vm, target: Vm) -> None:
    """Move the task, with what is saved."""
    if source.gives_tasks:
        replay.migrate(0, source, target)
        return
    if source.run_of(0) is not None:
        replay.preempt(0, source)
    replay.steal(0, source, target)


class Cell(NamedTuple):
    """A task, and the days that it meets."""

    task: OneTask
    scenario: str
    runs: int
    seed: int


def row(cell: Cell) -> list[str]:
    """Find the best policy of a cell, and replay it beside the others."""
    scenario = SCENARIOS[cell.scenario]
    assert scenario.k_h is not None
    assert scenario.k_r is not None
    days = StepDays(cell.scenario, scenario.k_h, scenario.k_r)
    best = OnlinePolicy(cell.task.problem(days))
    policies: list[Given[Policy]] = [partial(BestOnline, best), "on-time", *_PUBLISHED]
    replayed = replay_days(plan_on(cell.task, best.first), policies, days, cell.runs, seed=cell.seed)
    bounds = [bound for bound in replayed.bounds_usd if bound is not None]
    bound_usd = sum(bounds) / len(bounds)
    costs = [[day.cost_usd for day in outcomes] for outcomes in replayed.outcomes]
    regrets = [sum(of_policy) / len(of_policy) - bound_usd for of_policy in costs]
    late = [str(sum(not day.meets_deadline for day in outcomes)) for outcomes in replayed.outcomes]
    return [
        cell.scenario,
        f"{cell.task.work_s:,}",
        f"{100 * bound_usd:.2f}",
        f"{100 * best.usd:.2f}",
        *(show(estimate([100 * usd for usd in of_policy]), 2) for of_policy in costs),
        *(f"{100 * regret / bound_usd:.0f}" for regret in regrets),
        f"{100 * regrets[0] / regrets[1]:.0f}",
        " ".join(late),
    ]


def plan_on(task: OneTask, offer: int) -> Schedule:
    """Plan the task on a VM of a spot type, or of the cheapest on-demand offer, from the beginning on."""
    instance = task.instance
    offers = [found for found in instance.offers if found.market == "spot"]
    regular = [found for found in instance.offers if found.market == "on-demand"]
    offers.append(min(regular, key=lambda found: found.price_usd_per_hour))
    one = np.zeros(1, dtype=np.int64)
    return Schedule(instance, one + offers[offer].index, one, one, one + task.boot_s, one > 0)


def main() -> None:
    """Print the table."""
    given = asked(__doc__, types=2, work=(600, 1350), runs=300, seed=7301, scenarios=BOTH_PAPERS, workers=1)
    if not 1 <= given.types <= len(_USD_PER_HOUR):
        raise SystemExit(f"--types: {given.types} is not from 1 to {len(_USD_PER_HOUR)}")
    tasks = [OneTask(given.types, work_s) for work_s in given.work]
    cells = [Cell(task, name, given.runs, given.seed) for task in tasks for name in given.scenarios]
    names = ("best online", "on-time", *_PUBLISHED)
    headings = ["days", "work (s)", "bound", "best online", "replayed", *names[1:]]
    headings += [*(f"{name} %" for name in names), "unavoidable %", "late"]
    print_table("mean cost (US cents), and regret", headings, each(row, cells, given.workers), words=1)


if __name__ == "__main__":
    main()
