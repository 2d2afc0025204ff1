"""The method and the policy of the plug-in from Python: by name, as classes, and in two processes."""

from __future__ import annotations

from dataclasses import replace

from spotbag_example.method import SingleType
from spotbag_example.policy import Impatient

import spotbag
from spotbag.plugins import Instance, Outcome, Policy, Run


def as_it_comes(instance: Instance, run: Run) -> Outcome:
    """Plan without a class: the best single type, from the plan of the greedy on."""
    start = spotbag.solve(instance, "greedy", survive="none").schedule
    run.incumbent.take(start)
    return replace(SingleType().plan(instance, run), warnings=("made for an example",))


def main() -> None:
    """Plan and replay the bag of a library."""
    instance = spotbag.library_instance("hads/J60")
    for method in ("single-type", SingleType, SingleType(most_vms=3), as_it_comes):
        result = spotbag.solve(instance, method, time_limit_s=20.0)
        assert result.schedule is not None, result.message
        print(f"{result.method:24} {result.status:9} ${result.schedule.cost_usd:.4f} {result.schedule.makespan_s:5} s")
    plan = spotbag.solve(instance, "single-type").schedule
    assert plan is not None
    scenario = spotbag.find_scenario("hads/sc4")
    policies: list[str | Policy] = ["hads", "impatient", "impatient+fastest", Impatient(fastest=True)]
    for days in (
        spotbag.replay_days(plan, policies, scenario, runs=8),
        spotbag.replay_days(plan, policies, scenario, runs=8, workers=2),
    ):
        for summary in days.summaries():
            print(f"{summary.policy:24} ${summary.cost_usd.mean:.4f}, {summary.misses} days late")


if __name__ == "__main__":
    main()
