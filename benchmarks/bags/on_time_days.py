"""Lateness of `on-time`, if any: ``python -m spotbag_papers.bags.on_time_days --days 600 --workers 2``.

Replays days of many bags, plans and scenarios, has the auditor judge each, and says on how many there was a rescue of
all tasks when the bag began, how many of those are late, and how many of the others. Then days that are made to be as
bad as can be: types go down at the worst second that the survival certificate of the plan names, or at the one at which
the rescue of `on-time` itself must begin, a second before or after, and again where that leads to; some of them are
back for a while. ``--seed``, ``--bags``, ``--methods`` and ``--scenarios`` choose others.

Also how many decisions the policy takes, and how many a second on one core, while all that it does is recorded.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from spotbag.audits.auditor import audit
from spotbag.core.workers import each
from spotbag.heuristics.bags.rescue import Certificate, certify
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.clouds import PAPERS, Cloud, find_cloud
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import ReplayPlan, replay_plan
from spotbag.replay.bags.policies.on_time import OnTime
from spotbag.replay.bags.record import trace_of
from spotbag.replay.bags.state import ReplayState

from ..measuring import asked, print_table
from .on_time import BAGS, METHODS, SCENARIOS
from .user_bags import planned

ADVERSARY = "adversary"
_BLOCK = 25
"""Days of a case: what is handed to a process at once."""
_MOST_BLOWS = 5
"""Most interruptions on a day of the adversary."""


class _Timed(OnTime):
    """The policy, and what its decisions take."""

    decisions = 0
    seconds = 0.0

    def answer(self, question: str, replay: ReplayState, *given: Any) -> None:
        begin = time.perf_counter()
        super().answer(question, replay, *given)
        self.seconds += time.perf_counter() - begin
        self.decisions += 1


class Case(NamedTuple):
    """A plan, and days that it meets."""

    bag: str
    method: str
    scenario: str
    first: int
    days: int
    seed: int


Tally: TypeAlias = Counter[str]
"""Numbers of replayed days by outcome: with a rescue (covered), late ones of these and of others, and those that the
auditor faults; decisions, and their microseconds."""


def judged(plan: ReplayPlan, day: Timeline, cloud: Cloud, law: object) -> tuple[Tally, list[int]]:
    """Replay a day, and have it audited; also the seconds at which the rescue would have had to begin."""
    policy = _Timed()
    replay = Replay(plan, policy, day, cloud, record=True, law=law)
    covered: bool | None = None
    latest_s = set()
    while replay.step():
        if covered is None:
            covered = replay.state.covered == 1
        if replay.state.unfinished:
            latest_s.add(replay.state.standby_latest_s)
    outcome = replay.outcome()
    correct = audit(trace_of(replay.state, replay.day, cloud, outcome, 0)).correct
    late = not outcome.meets_deadline
    found = Counter(days=1, covered=bool(covered), faulted=not correct, decisions=policy.decisions)
    found.update({"late covered" if covered else "late others": late, "microseconds": round(1e6 * policy.seconds)})
    return found, sorted(latest_s)


def adverse_days(plan: ReplayPlan, certificates: Sequence[Certificate], rng: np.random.Generator) -> Iterator[Tally]:
    """Replay a day again and again; each time, something more goes down when that is worst, or is back."""
    instance = plan.schedule.instance
    names = [vm_type.name for vm_type in instance.vm_types if "spot" in vm_type.offers]
    events: list[TimelineEvent] = []
    out: set[str] = set()
    for number in range(int(rng.integers(1, _MOST_BLOWS + 1))):
        found, latest_s = judged(plan, Timeline(tuple(events)), PAPERS, None)
        yield found
        last_s = events[-1].time_s if events else -1
        moments = [second for second in latest_s if last_s < second - 1 and second < instance.deadline_s]
        named = [found for found in certificates if found.worst_at_s is not None] if not number else []
        if named and rng.random() < 1 / 2:
            worst = named[int(rng.integers(len(named)))]
            at_s, down = int(worst.worst_at_s or 0), sorted(worst.worst_types)
        elif moments:
            at_s = int(rng.choice(moments))
            down = [name for name in names if name not in out and rng.random() < 2 / 3]
        else:
            return
        # A second early or late is where an off-by-one of the policy would show.
        at_s = max(at_s + int(rng.integers(-1, 2)), 0)
        back = [name for name in sorted(out) if rng.random() < 1 / 2]
        events += [TimelineEvent(at_s, name, "resume") for name in back]
        events += [TimelineEvent(at_s, name, "hibernate") for name in down]
        out = (out - set(back)) | set(down)
    yield judged(plan, Timeline(tuple(events)), PAPERS, None)[0]


def tally(case: Case) -> Tally:
    """Replay the days of a case."""
    schedule, total = planned(case.bag, case.method), Tally()
    plan = replay_plan(schedule)
    if case.scenario == ADVERSARY:
        certificates = [certify(schedule, "one-type"), certify(schedule, "blackout")]
        number = 0
        while total["days"] < case.days:
            rng = np.random.default_rng([case.seed, case.first, number])
            number += 1
            for found in adverse_days(plan, certificates, rng):
                total.update(found)
        return total
    drawn = find_scenario(case.scenario)
    cloud, law = find_cloud(getattr(drawn, "cloud", None) or PAPERS.name), getattr(drawn, "law", None)
    for day in range(case.first, case.first + case.days):
        total.update(judged(plan, drawn.day(schedule.instance, case.seed, day), cloud, law)[0])
    return total


def main() -> None:
    """Print the table."""
    scenarios = (*SCENARIOS, ADVERSARY)
    given = asked(__doc__, days=50, seed=3, bags=BAGS, methods=METHODS, scenarios=scenarios, workers=1)
    blocks = [(first, min(_BLOCK, given.days - first)) for first in range(0, given.days, _BLOCK)]
    places = product(given.bags, given.methods, given.scenarios, blocks)
    cases = [Case(bag, method, where, first, days, given.seed) for bag, method, where, (first, days) in places]
    by_row: dict[tuple[str, str], Tally] = defaultdict(Tally)
    total = Tally()
    for case, found in zip(cases, each(tally, cases, given.workers), strict=True):
        by_row[case.bag, case.scenario.partition("/")[0]].update(found)
        total.update(found)
    numbers = ("days", "covered", "late covered", "late others", "faulted")
    rows = [
        (
            *key,
            *(row[name] for name in numbers),
            row["decisions"] / row["days"],
            1e6 * row["decisions"] / row["microseconds"] if row["microseconds"] else "",
        )
        for key, row in [*by_row.items(), (("all", ""), total)]
    ]
    counts = ("days", "with a rescue at 0 s", "late of these", "late of others", "faulted by the auditor")
    means = ("decisions a day", "decisions a second")
    columns = {"bag": "", "days of": "", **dict.fromkeys(counts, ","), **dict.fromkeys(means, ",.0f")}
    print_table("days of on-time", columns, rows, words=2)


if __name__ == "__main__":
    main()
