"""Recorded traces by hand: what counts of VMs and prices do to VMs and bills, to the cent."""

from __future__ import annotations

import pytest

from spotbag.instances.bags.availability_days import availability_of_document
from spotbag.instances.bags.price_days import price_scenario
from spotbag.instances.bags.spot_price_history import spot_prices_of_table
from spotbag.instances.bags.timeline import Timeline
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.runs import trace_day
from tests.helpers.audited_traces import found
from tests.helpers.tiny_days import bag, plan, vm_type

# Three VMs, of a limit of 3, with a task of 1,000 s each: $1 for each VM.
SCHEDULE = plan(
    bag({name: {"a": 1000} for name in "tuv"}, [vm_type("a", spot=3)], deadline_s=5000, d_spot_s=5000),
    ["a spot", "a spot", "a spot"],
    {name: (index, 0, 0) for index, name in enumerate("tuv")},
)


def outcome_of(day: Timeline, cloud: str = "papers") -> DayOutcome:
    outcome, trace = trace_day(SCHEDULE, "static", day, cloud=cloud)
    assert found(trace) == {}
    return outcome


def test_vms_beyond_the_count_of_a_trace_are_gone_until_it_rises() -> None:
    # 16 of 16, then 6, 11 and 16 again: 3 VMs, 1, 2 and 3. The last requested go first and come back last.
    document = {"gap_seconds": 400, "data": [16, 6, 11, 16, *[16] * 200]}
    scenario = availability_of_document(document, "t", "available", "all")
    outcome = outcome_of(scenario.day(SCHEDULE.instance, 0, 0))
    # The third VM worked for 400 s, waits from 400 to 1,200 s and goes on for 600 s.
    assert outcome.makespan_s == 1800
    assert outcome.cost_usd == pytest.approx(3.0)
    # Where VMs are terminated after two minutes, the two are billed to 520 s, and free in their first hour.
    ended = outcome_of(scenario.day(SCHEDULE.instance, 0, 0), "aws-terminate")
    assert ended.unfinished_tasks == 2
    assert ended.cost_usd == pytest.approx(1.0)


def test_bills_follow_a_recorded_history_of_prices() -> None:
    rows = ["2026-07-09T12:00:00Z,3.6", "2026-07-09T12:08:20Z,7.2", "2026-07-09T13:00:00Z,36"]
    table = "Timestamp,SpotPrice,InstanceType\n" + "".join(f"{row},a\n" for row in rows)
    history = spot_prices_of_table(table, "prices.csv")
    # 500 s at $0.001 and 500 s at $0.002, on three VMs.
    assert outcome_of(price_scenario(history, "p").day(SCHEDULE.instance, 0, 0)).cost_usd == pytest.approx(4.5)
    # 400 s later: 100 s and 900 s.
    later = price_scenario(history, "p", since="2026-07-09T12:06:40Z")
    assert outcome_of(later.day(SCHEDULE.instance, 5, 5)).cost_usd == pytest.approx(3 * (0.1 + 1.8))
