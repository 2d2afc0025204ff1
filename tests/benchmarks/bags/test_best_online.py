"""The best policy for one task that does not know the day: its value, and that it does what it says in the engine."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cache, partial

import pytest

from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.replay.bags.plan import checked
from spotbag.replay.bags.runs import replay_day, replay_days
from spotbag_papers.bags.best_online import STEP_S, BestOnline, OneTask, StepDays, plan_on
from spotbag_papers.bags.online_programme import OnlinePolicy, OnlineProblem


def _days(task: OneTask, days: StepDays, steps: int) -> Iterator[tuple[float, Timeline]]:
    """All days of a few steps, with their chances."""
    down, back = (days.chance(rate, task.deadline_s) for rate in (days.k_h, days.k_r))
    names = [vm_type.name for vm_type in task.instance.vm_types]
    for paths in itertools.product(itertools.product([True, False], repeat=steps), repeat=len(names)):
        chance, events = 1.0, []
        for name, path in zip(names, paths, strict=True):
            for step, (before, now) in enumerate(zip((True, *path), path, strict=False), 1):
                changes = down if before else back
                chance *= changes if before != now else 1 - changes
                if before != now:
                    events.append(TimelineEvent(task.boot_s + step * STEP_S, name, "resume" if now else "interrupt"))
        if chance > 0:
            yield chance, Timeline(tuple(sorted(events, key=lambda event: event.time_s)))


@pytest.mark.parametrize(
    ("task", "days"),
    [
        (OneTask(1, 120, 270, 0, 60, 2), StepDays("often", 4.0, 4.0)),
        (OneTask(1, 120, 330, 30, 60, 2), StepDays("for good", 4.0, 0.0)),
        (OneTask(1, 120, 300, 60, 60, 1), StepDays("boots", 4.0, 8.0)),
        (OneTask(2, 60, 150, 0, 30, 1), StepDays("two types", 4.0, 2.0)),
        pytest.param(OneTask(1, 120, 330, 0, 60, 2), StepDays("more often", 4.0, 4.0), marks=pytest.mark.slow),
        pytest.param(OneTask(2, 60, 180, 0, 30, 1), StepDays("two types, later", 4.0, 2.0), marks=pytest.mark.slow),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_value_is_the_mean_over_all_days_in_the_engine(task: OneTask, days: StepDays) -> None:
    """All days of a few steps, weighed with their chances: the engine bills what was promised, and none is late."""
    best = OnlinePolicy(task.problem(days))
    plan = checked(plan_on(task, best.first))
    usd = chances = 0.0
    for chance, day in _days(task, days, best.problem.steps - 1):
        outcome = replay_day(plan, BestOnline(best), day)
        assert outcome.meets_deadline
        chances += chance
        usd += chance * outcome.cost_usd
    assert chances == pytest.approx(1, abs=1e-9)
    assert usd == pytest.approx(best.usd, rel=1e-9)


def _least_usd(problem: OnlineProblem, most_vms: int = 2) -> float:
    """Least mean cost by trying all decisions, with at most so many VMs at a time."""
    n = len(problem.spot_usd)
    usd_of = (*problem.spot_usd, problem.on_demand_usd)
    boots = problem.overhead - problem.boot

    def advance(starts: int, up: bool) -> int:
        return starts - 1 if starts > boots or (starts and up) else starts

    def masks(mask: int) -> Iterator[tuple[float, int]]:
        for after in range(1 << n):
            chance = 1.0
            for offer in range(n):
                was, now = mask >> offer & 1, after >> offer & 1
                change = problem.goes_down if was else problem.comes_back
                chance *= change if was != now else 1 - change
            if chance:
                yield chance, after

    @cache
    def step(
        left_s: int, mask: int, offer: int, starts: int, unsaved: int, work: int, vms: tuple[tuple[int, int], ...]
    ) -> float:
        """Cost from here on, once it is decided where the task is and which other VMs there are."""
        if left_s == 0:
            return math.inf
        up = [bool(mask >> number & 1) for number in range(n)] + [True]
        there = [(offer, starts), *vms]
        usd = math.fsum(usd_of[number] for number, begins in there if up[number] and begins <= boots)
        others = tuple(sorted((number, advance(begins, up[number])) for number, begins in vms))
        ways = []
        if starts or not up[offer]:
            ways.append((advance(starts, up[offer]), unsaved, work))
        else:
            if unsaved == problem.interval and offer < n:
                ways.append((0, 0, work))
            else:
                ways.append((0, unsaved + 1, work - 1))
            if unsaved:
                ways.append((0, 0, work))
        return usd + min(
            0.0
            if left == 0
            else math.fsum(chance * decide(left_s - 1, after, offer, *way, others) for chance, after in masks(mask))
            for way in ways
            for left in (way[2],)
        )

    @cache
    def decide(
        left_s: int, mask: int, offer: int, starts: int, unsaved: int, work: int, vms: tuple[tuple[int, int], ...]
    ) -> float:
        """Cost from here on, before it is decided."""
        new = [(number, problem.overhead) for number in range(n + 1) if number == n or mask >> number & 1]
        # Seats, with the VMs that there are beside.
        seats = [((offer, starts, unsaved, work), vms)]
        if offer < n or unsaved == 0:
            lost = unsaved if offer < n else 0
            for number, begins in {*vms, *new}:
                if begins > boots or number == n or mask >> number & 1:
                    beside = [*vms, (offer, starts)]
                    if (number, begins) in vms:
                        beside.remove((number, begins))
                    seats.append(((number, begins, 0, work + lost), tuple(beside)))
        least = math.inf
        for seat, beside in seats:
            for n_others in range(most_vms):
                for others in itertools.combinations([*beside, *new], n_others):
                    least = min(least, step(left_s, mask, *seat, tuple(sorted(others))))
        return least

    return min(decide(problem.steps, (1 << n) - 1, offer, 0, 0, problem.work, ()) for offer in range(n + 1))


def _problem(steps: int, work: int, interval: int, boot: int, overhead: int, *usd: float) -> OnlineProblem:
    return OnlineProblem(steps, work, interval, boot, overhead, usd[:-1], usd[-1], 0.3, 0.4)


@pytest.mark.parametrize(
    "problem",
    [
        _problem(8, 3, 1, 0, 2, 1.0, 4.0),
        _problem(8, 3, 2, 1, 2, 1.0, 3.0),
        _problem(7, 2, 2, 1, 1, 2.0, 3.0),
        _problem(6, 3, 1, 0, 0, 1.0, 9.0),
        _problem(4, 2, 1, 0, 1, 1.0, 1.2, 4.0),
        _problem(8, 3, 2, 1, 2, 1.0, 1.1, 9.0),
        pytest.param(_problem(12, 4, 2, 0, 2, 1.0, 1.1, 4.0), marks=pytest.mark.slow),
    ],
)
def test_value_is_that_of_trying_all_decisions(problem: OnlineProblem) -> None:
    """With at most two VMs at a time, and chances of 0.3 and 0.4 in each step."""
    assert OnlinePolicy(problem).usd == pytest.approx(_least_usd(problem), rel=1e-12)


def test_value_of_a_task_that_can_only_be_on_demand() -> None:
    """Of 3 steps, 3 are work: on a spot VM that may be lost it would be late, so it costs 3 x 4."""
    assert OnlinePolicy(_problem(3, 3, 5, 0, 1, 1.0, 4.0)).usd == pytest.approx(12)


def test_value_by_hand_of_a_wait() -> None:
    """Two steps of work, four in all, nothing is saved, moves take a step, spot VMs never return.

    On the spot VM for 1: with 0.7 it is up for the second step as well, and all costs 2. With 0.3 it is lost after the
    first one, and two steps are to be done again on demand, after one that is paid as well: 1 + 3 x 4 = 13. In the mean
    0.7 x 2 + 0.3 x 13 = 5.3; on demand from the beginning on it would be 8.
    """
    problem = OnlineProblem(4, 2, 5, 0, 1, [1.0], 4.0, 0.3, 0.0)
    assert OnlinePolicy(problem).usd == pytest.approx(5.3)


def test_no_policy_is_better_and_no_bound_is_above() -> None:
    """On the same days: bound <= best online, and nothing beats it by more than chance does."""
    task, days = OneTask(2, 300, 1200, 0, 90, 4), StepDays("hads/sc5", 3, 2.5)
    best = OnlinePolicy(task.problem(days))
    policies = [partial(BestOnline, best), "on-time", "hads"]
    replayed = replay_days(plan_on(task, best.first), policies, days, 30, seed=11)
    for day, bound in enumerate(replayed.bounds_usd):
        assert bound is not None
        assert bound <= replayed.outcomes[0][day].cost_usd
    own, *others = [summary.cost_usd for summary in replayed.summaries()]
    assert own.mean == pytest.approx(best.usd, abs=own.half_width)
    for other in others:
        assert other.mean + other.half_width > best.usd


def test_days_have_the_law_of_the_chain() -> None:
    """Of all steps in which a type is up, 1 - exp(-k_h / 90) end with its going down; the other way round likewise."""
    days, instance = StepDays("often", 40.0, 60.0), OneTask(2, 600).instance
    ups = downs = up_steps = down_steps = 0
    for number in range(10):
        now, up = {"c3.large": 0, "c4.large": 0}, {"c3.large": True, "c4.large": True}
        for event in days.day(instance, 5, number).events:
            steps, rest = divmod(event.time_s - now[event.vm_type], STEP_S)
            assert rest == 0
            assert up[event.vm_type] == (event.kind == "interrupt")
            now[event.vm_type] = event.time_s
            if up[event.vm_type]:
                downs, up_steps = downs + 1, up_steps + steps
            else:
                ups, down_steps = ups + 1, down_steps + steps
            up[event.vm_type] = not up[event.vm_type]
    for events, steps, rate in ((downs, up_steps, 40), (ups, down_steps, 60)):
        chance = 1 - math.exp(-rate / 90)
        assert events / steps == pytest.approx(chance, abs=4 * math.sqrt(chance * (1 - chance) / steps))
