"""One job on spot and on-demand VMs, tick by tick: the rules of Wu et al. (NSDI 2024), without the engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

IDLE, SPOT, ON_DEMAND = range(3)


@dataclass(frozen=True, slots=True)
class Job:
    """Work, deadline, changeover delay and tick, all in whole seconds."""

    work_s: int
    deadline_s: int
    changeover_s: int
    tick_s: int


@dataclass(frozen=True, slots=True)
class Ran:
    """Ticks billed on each market, when the job ended, and how often it began anew."""

    spot_ticks: int
    on_demand_ticks: int
    end_s: int
    changeovers: int


def simulate(job: Job, available: Sequence[bool], slices: int = 0, waits: bool = False) -> Ran:
    """Run a job under Uniform Progress, or the greedy rules in so many slices; behind the trace, nothing changes.

    With ``waits``, a job that is not in need leaves an on-demand VM at once, also for none.
    """
    on, pending_s, done_s, tick, changeovers = IDLE, 0, 0, 0, 0
    billed = [0, 0, 0]
    while True:
        spot = available[min(tick, len(available) - 1)]
        before = IDLE if on == SPOT and not spot else on
        on = _chosen(job, tick * job.tick_s, done_s, spot, before, pending_s, slices)
        if on == IDLE and before == ON_DEMAND and not waits:
            on = ON_DEMAND
        if on != before:
            pending_s = job.changeover_s if on != IDLE else 0
            changeovers += on != IDLE
        billed[on] += 1
        if on != IDLE:
            work_s = max(job.tick_s - pending_s, 0)
            if work_s >= job.work_s - done_s:
                end_s = tick * job.tick_s + pending_s + job.work_s - done_s
                return Ran(billed[SPOT], billed[ON_DEMAND], end_s, changeovers)
            done_s += work_s
            pending_s = max(pending_s - job.tick_s, 0)
        tick += 1


def _chosen(job: Job, now_s: int, done_s: int, spot: bool, on: int, pending_s: int, slices: int) -> int:
    work_s, deadline_s, d_s = job.work_s, job.deadline_s, job.changeover_s
    n = max(slices, 1)
    ends = [(k * deadline_s // n, math.ceil(Fraction(k * work_s, n))) for k in range(1, n + 1)]
    end_s, share_s = next((end for end in ends if Fraction(now_s * n, deadline_s) < ends.index(end) + 1), ends[-1])
    for due_s, wanted_s in ((deadline_s, work_s), (end_s, share_s)):
        ticks_left = (due_s - now_s) // job.tick_s
        if done_s < wanted_s:
            if on != SPOT and -(-(wanted_s - done_s + 2 * d_s) // job.tick_s) >= ticks_left:
                return ON_DEMAND
            if (on != SPOT or pending_s) and -(-(wanted_s - done_s + d_s) // job.tick_s) >= ticks_left:
                return ON_DEMAND
    if slices:
        return SPOT if spot else IDLE
    if on == ON_DEMAND:
        return SPOT if spot and (now_s + 2 * d_s) * work_s < done_s * deadline_s else ON_DEMAND
    if spot:
        return SPOT
    return ON_DEMAND if done_s * deadline_s < now_s * work_s else IDLE
