"""Days of today's clouds made by hand, with the arithmetic beside them; every one is audited.

A second of a spot VM costs $0.001, of an on-demand VM $0.003. Where a bag takes checkpoints, one of 5 s follows on
every 50 s of work, so a task of 100 s runs for 105 s. Moved to a new VM, it waits for 10 s.
"""

from __future__ import annotations

from typing import Any

import pytest
from tiny_days import bag, moments, plan, vm_type

from spotbag.audits.auditor import audit
from spotbag.instances.bags.timeline import QUIET, Timeline, TimelineEvent
from spotbag.instances.clouds import PAPERS, Cloud
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.outcome import DayOutcome, trace_of
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.policy import Policy
from spotbag.schedules.schedule import Schedule


def day(*events: TimelineEvent) -> Timeline:
    return Timeline(events, "by hand")


def replayed(
    schedule: Schedule, policy: Policy | str, timeline: Timeline = QUIET, cloud: Cloud = PAPERS
) -> tuple[DayOutcome, list[dict[str, Any]]]:
    """Replay and audit a day; return what it came to, and the records of what happened."""
    chosen = find_policy(policy) if isinstance(policy, str) else policy
    run = Replay(replay_plan(schedule), chosen, timeline, cloud, record=True)
    outcome = run.run()
    trace = trace_of(run.state, run.day, run.cloud, outcome)
    report = audit(trace, given=schedule.instance)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(outcome.cost_usd, abs=1e-9)
    return outcome, trace.events


# ------------------------------------------------------------- interruptions


@pytest.mark.parametrize(("end_s", "checkpoints"), [(14, 1), (15, 2)])
def test_a_last_checkpoint_that_saves_nothing_new_is_not_counted(end_s: int, checkpoints: int) -> None:
    """Checkpoints of 0.6 s, one after 0.6 / 0.05 s of work, which is 12 s but for the last bit.

    At 14 s, 12.6 s are for the first, and 0.6 s for the last, before which 0.8 s of work were done: no whole second.
    At 15 s it is one.
    """
    rule = {"overhead_fraction": 0.05, "dump_base_s": 0.6, "dump_s_per_mb": 0}
    schedule = plan(bag({"t": {"a": 100}}, [vm_type("a")], checkpoint=rule), ["a spot"], {"t": (0, 0, 0)})
    outcome, _ = replayed(schedule, "static", day(TimelineEvent(end_s - 2, "a", "terminate", notice_s=2)))
    assert outcome.checkpoints == checkpoints


def test_a_vm_that_gets_ready_where_there_is_no_room_gets_no_notice_in_that_second() -> None:
    """The type is down from 5 s on; at 10 s the VM is ready, and nobody gets 40 s more to drain: it hibernates."""
    instance = bag({"t": {"a": 100}}, [vm_type("a")], boot_overhead_s=10)
    timeline = day(
        TimelineEvent(5, "a", "hibernate"),
        TimelineEvent(10, "a", "capacity", vms=0, by="stop", notice_s=40),
        TimelineEvent(60, "a", "resume"),
    )
    outcome, records = replayed(plan(instance, ["a spot"], {"t": (0, 0, 10)}), "static", timeline)
    assert (moments(records, "notice"), moments(records, "stop")) == ([], [])
    assert moments(records, "ready") == moments(records, "hibernate") == [10]
    assert (moments(records, "start"), outcome.makespan_s) == ([60], 160)
