"""How often policies miss the deadline, and why: ``python -m spotbag.benchmarks.bags.deadline_misses``.

A thousand days of each scenario of HADS on each instance of both papers, the same days for every policy; each policy
also from the plan of its own paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...instances.bags.scenarios import SCENARIOS, find_scenario
from ...instances.library import library_instance
from ...replay.bags.policies import find_policy
from ...replay.bags.runs import replay_days, trace_day
from ...solvers.bags.solve import solve
from ...traces.bags.lateness import CAUSES, missed_because
from ..paper_tables import print_table

_DAYS = 1000
_WORKERS = 2
_INSTANCES = ("J60", "J80", "J100", "ED200")
_RUNS = (
    ("hads", "greedy", "static"),
    ("burst-hads", "ils", "static"),
    ("hads", "greedy", "hads+trigger-once"),
    ("hads", "greedy", "hads"),
    ("burst-hads", "ils", "hads"),
    ("hads", "greedy", "burst-hads"),
    ("burst-hads", "ils", "burst-hads"),
)
"""Family of instances, method of the plan, policy."""


def rows(causes: Counter[tuple[str, str]]) -> Iterator[Sequence[str]]:
    """Days of a thousand on which a policy misses the deadline; counts why into ``causes``."""
    scenarios = [name for name in SCENARIOS if name.startswith("hads/sc")]
    for family, method, policy in _RUNS:
        for name in _INSTANCES:
            schedule = solve(library_instance(f"{family}/{name}"), method).schedule
            assert schedule is not None
            cells = []
            for label in scenarios:
                scenario = find_scenario(label)
                days = replay_days(schedule, [policy], scenario, _DAYS, workers=_WORKERS, bounds=False)
                missed = [number for number, day in enumerate(days.outcomes[0]) if not day.meets_deadline]
                ends = [days.outcomes[0][number].makespan_s for number in missed]
                late = [end - schedule.instance.deadline_s for end in ends if end is not None]
                latest = "never" if len(late) < len(missed) else f"{max(late, default=0)} s"
                cells.append(f"{len(missed)} ({latest})" if missed else "0")
                for number in missed:
                    day = scenario.day(schedule.instance, 0, number)
                    trace = trace_day(schedule, find_policy(policy), day, day=number)[1]
                    causes.update((policy, cause) for cause in missed_because(trace))
            yield (f"{family}/{name} by {method}", policy, *cells)


def main() -> None:
    """Print the tables."""
    causes: Counter[tuple[str, str]] = Counter()
    scenarios = [name.removeprefix("hads/") for name in SCENARIOS if name.startswith("hads/sc")]
    title = f"days of {_DAYS:,} that miss the deadline (the latest end after it)"
    print_table(title, ("plan", "policy", *scenarios), rows(causes))
    policies = list(dict.fromkeys(policy for _, _, policy in _RUNS))
    table = [(cause, *(str(causes[policy, cause]) for policy in policies)) for cause in CAUSES]
    print_table("days with a task that was late because ...", ("cause", *policies), table)


if __name__ == "__main__":
    main()
