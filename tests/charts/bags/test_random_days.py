"""Charts and stories of random days of today's clouds: VMs do one thing at a time, and what is drawn is the bill."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from spotbag.charts.bags.bag_chart import BOOTING, RENTED
from spotbag.charts.bags.replay import HIBERNATED, STOPPED, WRITING, day_chart
from spotbag.charts.chart import Panel
from spotbag.core.errors import SpotbagError
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.clouds import Billing
from spotbag.instances.instance import Instance
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.runs import trace_day
from spotbag.replay.bags.state import Policy
from spotbag.traces.stories import describe_trace
from spotbag.traces.trace import Trace
from spotbag.traces.vm_history import read_history
from tests.helpers.random_days import Anything, random_cloud, random_cloud_day, random_plan
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak_of

POLICIES = ("static", "hads", "burst-hads", "anything")


def spans(panel: Panel) -> dict[int, list[tuple[float, float]]]:
    """What the VM of each lane does, in order of time."""
    found: dict[int, list[tuple[float, float]]] = {}
    for bar in panel.bars:
        if bar.look in (BOOTING, RENTED, HIBERNATED, STOPPED):
            found.setdefault(bar.lane, []).append((bar.start_s, bar.end_s))
    return {lane: sorted(bars) for lane, bars in found.items()}


def demand_sound_chart(trace: Trace) -> None:
    [panel] = day_chart(trace).panels
    for bars in spans(panel).values():
        assert all(before[1] == after[0] for before, after in pairwise(bars))
    cores: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for bar in panel.bars:
        assert 0 <= bar.start_s <= bar.end_s <= trace.end["t"]
        if bar.row is not None and bar.look != WRITING:
            cores.setdefault((bar.lane, bar.row), []).append((bar.start_s, bar.end_s))
    for runs in cores.values():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(runs)))
    history = read_history(trace)
    if Billing(**trace.run["billing"]) == Billing():
        names = [lane.label for lane in panel.lanes]
        rented = [bar for bar in panel.bars if bar.look == RENTED]
        cost = sum(history.cost_usd(names[bar.lane], int(bar.start_s), int(bar.end_s)) for bar in rented)
        assert cost == pytest.approx(trace.end["cost_usd"], abs=1e-9)


def demand_sound_story(trace: Trace) -> None:
    story = describe_trace(trace)
    moments = [int(found[1].replace(",", "")) for line in story if (found := re.match(r" *([\d,]+) s  ", line))]
    assert moments == sorted(moments)
    assert not any(re.search(r"(?<![\w-])-\d", line) for line in story), "a number of tasks below 0"


@soak_of(instance_documents(max_tasks=12, dates=True), st.integers(0, 2**32), sample=40, whole=2000)
def test_soak(document: dict[str, Any], seed: int) -> None:
    """Ten days of each plan, two of three billed by the second without more."""
    rng = np.random.default_rng(seed)
    try:
        schedule = random_plan(with_d_spot(Instance.from_document(document, "random")), rng)
    except SpotbagError:
        schedule = None
    assume(schedule is not None)
    assert schedule is not None
    for number in range(10):
        name = POLICIES[number % len(POLICIES)]
        policy: Policy = Anything(7) if name == "anything" else find_policy(name)
        cloud = random_cloud(rng)
        if number % 3:
            cloud = cloud.replace(name="plain", **_PLAIN)
        trace = trace_day(schedule, policy, random_cloud_day(schedule.instance, rng), cloud=cloud)[1]
        demand_sound_chart(trace)
        demand_sound_story(trace)


_PLAIN = {
    "minimum_s": 0,
    "block_s": 1,
    "first_hour_free": False,
    "hibernated_usd_per_gb_hour": 0.0,
    "stopped_usd_per_gb_hour": 0.0,
}
