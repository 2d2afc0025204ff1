"""A long job on spot and on-demand VMs by ticks, traces of availability, and the optimum of who knows them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spotbag.core.errors import input_error
from spotbag.core.json_documents import parse_json
from spotbag.core.quantities import SECONDS_PER_HOUR, BoolArray, FloatArray
from spotbag.core.text_files import read_text
from spotbag.instances.bags.availability_days import availability_of_document
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.clouds import Billing, Cloud
from spotbag.instances.entries import Checkpoints, Market, Offer, Task, VmType
from spotbag.instances.instance import Instance
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.runs import replay_day
from spotbag.replay.bags.state import Policy
from spotbag.schedules.schedule import Schedule

_TYPE = "v100"


class Ran(NamedTuple):
    """End of a job: its cost, hours of work on each market (without changeovers), and whether it was late."""

    cost_usd: float
    on_demand_h: float
    spot_h: float
    late: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A job, and how time is cut: all in whole seconds.

    Attributes
    ----------
    work_s, deadline_s, changeover_s, tick_s : int
        Its work, until when it is to be done, what each change of VM takes, and how often it is decided.
    dump_s : int
        What a checkpoint takes; ten times as long lies between two of them.
    spot_usd, on_demand_usd : float
        An hour of its VM on each market: those of a p3.2xlarge if absent.
    """

    work_s: int
    deadline_s: int
    changeover_s: int
    tick_s: int = 600
    dump_s: int = 0
    spot_usd: float = 0.9731
    on_demand_usd: float = 3.06

    @property
    def usd_per_hour(self) -> Mapping[Market, float]:
        """Prices by market."""
        return {"spot": self.spot_usd, "on-demand": self.on_demand_usd}

    @property
    def usd_per_tick(self) -> Mapping[str, float]:
        """Costs of a tick by market."""
        return {market: usd / SECONDS_PER_HOUR * self.tick_s for market, usd in self.usd_per_hour.items()}

    @property
    def ticks(self) -> int:
        """Whole ticks until the deadline."""
        return self.deadline_s // self.tick_s

    @property
    def plan(self) -> Schedule:
        """The job on a spot VM, from the beginning on."""
        offers = {market: Offer(price_usd_per_hour=usd, limit=1_000) for market, usd in self.usd_per_hour.items()}
        instance = Instance(
            name="one long job",
            deadline_s=self.deadline_s,
            d_spot_s=self.deadline_s,
            migration_overhead_s=self.changeover_s,
            checkpoint=Checkpoints(overhead_fraction=0.1, dump_base_s=self.dump_s),
            vm_types=(VmType(name=_TYPE, vcpus=1, memory_mb=62_464, offers=offers),),
            tasks=(Task(id="job", memory_mb=1_024, runtime_s={_TYPE: self.work_s}),),
        )
        spot = next(offer.index for offer in instance.offers if offer.market == "spot")
        one = np.zeros(1, dtype=np.int64)
        return Schedule(instance, one + spot, one, one, one + self.changeover_s, one > 0)

    @property
    def cloud(self) -> Cloud:
        """VMs are lost without notice, and are paid for by the tick."""
        return Cloud(name="ticks", interruption="terminate", billing=Billing(block_s=self.tick_s))


def day_of(available: BoolArray, tick_s: int) -> Timeline:
    """Make a day of a trace: spot VMs are lost and are back at ticks; behind its end, nothing changes any more."""
    # VMs can be had when a day begins: a trace that begins without any has an interruption at once.
    before = np.concatenate([[True], available[:-1]])
    events = [
        TimelineEvent(tick * tick_s, _TYPE, "resume" if available[tick] else "interrupt")
        for tick in np.flatnonzero(available != before).tolist()
    ]
    return Timeline(tuple(events), "a trace")


def drawn_trace(availability: float, ticks: int, seed: int, cycle_ticks: float = 24.0) -> BoolArray:
    """Draw a trace: up and down in turn, each for a geometrically distributed number of ticks.

    From one loss of the spot VMs to the next, there are so many on average.
    """
    # With the availability in the seed, traces of the same number are independent of each other.
    draws = np.random.default_rng([seed, round(1e6 * availability)])
    # Runs of ticks have no memory, so the trace is as available at its beginning as later.
    up = bool(draws.random() < availability)
    parts: list[BoolArray] = []
    while sum(len(part) for part in parts) < ticks:
        mean = max(cycle_ticks * (availability if up else 1 - availability), 1.0)
        parts.append(np.full(draws.geometric(1 / mean), up))
        up = not up
    trace: BoolArray = np.concatenate(parts)[:ticks]
    return trace


def replayed(job: Job, available: BoolArray, policy: Policy) -> DayOutcome:
    """Replay a job on a trace."""
    return replay_day(job.plan, policy, day_of(available, job.tick_s), cloud=job.cloud)


def ran(job: Job, outcome: DayOutcome) -> Ran:
    """Return the hours of work of a replay: each VM works from when a changeover is over."""
    work_s = {"spot": 0.0, "on-demand": 0.0}
    for bill in outcome.bills:
        work_s[bill.market] += max(bill.end_s - bill.ready_s - job.changeover_s, 0)
    hours = work_s["on-demand"] / SECONDS_PER_HOUR, work_s["spot"] / SECONDS_PER_HOUR
    return Ran(outcome.cost_usd, *hours, not outcome.meets_deadline)


def recorded_trace(path: Path, one_means: str | None, job: Job) -> BoolArray:
    """Read a recorded trace of one type by the ticks of a job, at least as long as that may take."""
    scenario = availability_of_document(parse_json(read_text(path), str(path)), str(path), one_means)
    data = scenario.data
    if isinstance(data, Mapping) or scenario.counts or scenario.gap_s != job.tick_s or len(data) < job.ticks:
        rule = f"must be a trace of 0 and 1, of one VM type by {job.tick_s} s, of at least {job.ticks} entries"
        raise input_error(str(path), rule)
    return scenario.available()


def windows(trace: BoolArray, ticks: int, runs: int) -> list[BoolArray]:
    """Cut windows out of a trace, from the first to the last, evenly spaced."""
    starts = [round(run * (len(trace) - ticks) / max(runs - 1, 1)) for run in range(runs)]
    return [trace[start : start + ticks] for start in starts]


def sliced(job: Job, available: Sequence[bool], slices: int) -> Ran:
    """Run a job under Time Sliced to the letter of the paper, tick by tick.

    A job that is not in need waits for a spot VM also where it was on an on-demand VM, which no policy of a replay can
    have it do.
    """
    on, pending_s, done_s, tick, usd = "", 0, 0, 0, 0.0
    work_h, tick_usd = {"spot": 0.0, "on-demand": 0.0}, job.usd_per_tick
    while done_s < job.work_s:
        now_s, spot = tick * job.tick_s, bool(available[min(tick, len(available) - 1)])
        kept = "" if on == "spot" and not spot else on
        ended = min(now_s * slices // job.deadline_s + 1, slices)
        dues = (job.deadline_s, job.work_s), (ended * job.deadline_s // slices, -(-ended * job.work_s // slices))
        delays = 2 if kept != "spot" else 1 if pending_s else None
        chosen = "spot" if spot else ""
        if delays is not None and any(_in_need(job, now_s, due, done_s, delays) for due in dues):
            chosen = "on-demand"
        if chosen != kept:
            pending_s = job.changeover_s
        on = chosen
        if on:
            usd += tick_usd[on]
            work_s = min(max(job.tick_s - pending_s, 0), job.work_s - done_s)
            end_s = now_s + pending_s + work_s
            work_h[on] += work_s / SECONDS_PER_HOUR
            done_s, pending_s = done_s + work_s, max(pending_s - job.tick_s, 0)
        tick += 1
    return Ran(usd, work_h["on-demand"], work_h["spot"], end_s > job.deadline_s)


def _in_need(job: Job, now_s: int, due: tuple[int, int], done_s: int, delays: int) -> bool:
    """True if the work that is due until a moment needs all the time until then, in whole ticks."""
    left_s = due[1] - done_s
    return left_s > 0 and -(-(left_s + delays * job.changeover_s) // job.tick_s) >= (due[0] - now_s) // job.tick_s


# ------------------------------------------------------------------------- optimum


def optimum(job: Job, available: BoolArray, unit_s: int = 60) -> Ran:
    """Return the cheapest run of a job that ends in time, with the trace known beforehand; infinitely dear if none.

    At each tick the job goes on where it is, changes to a new VM or to none; as in the replay, a change takes
    ``changeover_s`` from its tick on, and ticks that have begun are paid for. All times must be multiples of
    ``unit_s``.
    """
    if any(seconds % unit_s for seconds in (job.work_s, job.deadline_s, job.changeover_s, job.tick_s)):
        raise ValueError(f"the times of the job must be multiples of {unit_s} s")
    work, delay, tick = (seconds // unit_s for seconds in (job.work_s, job.changeover_s, job.tick_s))
    usd = job.usd_per_tick
    nothing = np.full((2, work + 1), math.inf)
    # By units of work done, for each VM (or none) and what is left of its changeover: the least cost, and the units
    # on demand that it has.
    least: dict[tuple[str, int], FloatArray] = {("", 0): nothing.copy()}
    least["", 0][:, 0] = 0.0
    ended = nothing[:, 0]
    for now in range(-(-job.deadline_s // job.tick_s)):
        best = nothing
        for found in least.values():
            best = np.where(found[0] < best[0], found, best)
        after: dict[tuple[str, int], FloatArray] = {("", 0): best}
        begun = {(market, delay): best for market in usd}
        for (market, left), found in [*begun.items(), *((key, found) for key, found in least.items() if key[0])]:
            if market == "spot" and not available[now]:
                continue
            done = min(max(tick - left, 0), max(job.deadline_s // unit_s - now * tick - left, 0))
            paid = found + np.array([[usd[market]], [done if market == "on-demand" else 0]])
            if done:
                place = max(work - done, 0) + int(np.argmin(paid[0, max(work - done, 0) :]))
                # The tick of the end is paid for as a whole, but what is beyond the end is no work.
                spare = np.array([0.0, place + done - work if market == "on-demand" else 0.0])
                ended = min(ended, paid[:, place] - spare, key=lambda end: float(end[0]))
            moved = nothing.copy()
            moved[:, done:] = paid[:, : work + 1 - done]
            key = market, max(left - tick, 0)
            after[key] = np.where(moved[0] < after[key][0], moved, after[key]) if key in after else moved
        least = after
    on_demand_s = float(ended[1]) * unit_s
    return Ran(float(ended[0]), on_demand_s / SECONDS_PER_HOUR, (job.work_s - on_demand_s) / SECONDS_PER_HOUR)
