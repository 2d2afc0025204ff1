"""How often deadlines are missed, and what it costs: the cells of the tables."""

from __future__ import annotations

from dataclasses import replace

from spotbag import find_scenario, library_instance, replay_days, solve
from spotbag.traces.bags.lateness import CAUSES, RESCUE_GONE
from spotbag_papers.bags.deadline_misses import AS_PRINTED, AS_READ, PolicyMisses, cause_lines, price_cells
from spotbag_papers.bags.paper_days import Cell, Misses


def test_the_price_takes_the_mean_below_as_uncertain_too() -> None:
    """Twice the cost on every day: 100 % more, whatever the days are."""
    schedule = solve(library_instance("hads/J60"), "greedy").schedule
    assert schedule is not None
    days = replay_days(schedule, ["hads"], find_scenario("hads/sc4"), runs=5, bounds=False).outcomes[0]
    assert len({day.cost_usd for day in days}) > 1
    twice = tuple(replace(day, cost_usd=2 * day.cost_usd) for day in days)
    printed, read = (
        PolicyMisses("plan", "group", policy, {"sc4": Cell(of, "J60", "sc4", policy)})
        for policy, of in ((AS_PRINTED, twice), (AS_READ, days))
    )
    assert price_cells(printed, read) == ["100.0 ± 0.0"]


def test_causes_are_counted_for_each_d_spot() -> None:
    groups = ("D_spot of Algorithm 1", "D_spot 1,888 s")
    rows = [PolicyMisses(f"plan {n}", groups[n // 2], AS_PRINTED) for n in range(3)]
    for n, row in enumerate(rows):
        row.causes[RESCUE_GONE] = 1000 * (n + 1)
    lines = list(cause_lines(rows))
    assert [line[:2] for line in lines] == [(group, cause) for group in groups for cause in CAUSES]
    assert [line[2] for line in lines if line[1] == RESCUE_GONE] == ["3,000", "3,000"]
    assert {cell for line in lines for cell in line[3:]} == {"0"}


def test_as_many_days_decide_as_show_that_one_in_a_hundred_misses_at_most() -> None:
    enough = next(days for days in range(1000) if 0.99**days < 0.05)
    assert Misses(enough, ()).verdict == "holds"
    assert Misses(enough - 1, ()).verdict == "not decided"
    assert Misses(enough, (1,)).verdict == "does not hold"
