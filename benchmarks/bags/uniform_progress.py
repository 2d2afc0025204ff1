"""Policies of two decades on one long job: ``python -m spotbag_papers.bags.uniform_progress``.

48 h of work, to be done within 52 or 70 h, on one VM with a spot and an on-demand offer; each change of VM takes 0.05
or 0.2 h. Spot VMs come and go as in traces that are drawn for several availabilities, and all policies meet the same
ones. The optimum knows the trace beforehand: a dynamic programme over ticks, minutes of work and what is left of a
changeover. ``--runs 100`` is the number of traces for each availability.

``--dump-s 30`` has checkpoints take 30 s, every 300 s of work; the optimum is then one that needs none.

``--traces FOLDER`` takes recorded traces of availability instead (JSON with ``gap_seconds`` and ``data``, as at
github.com/skypilot-org/spot-traces; ``--one-means`` says what a 1 is): each in ``--runs`` windows, evenly spaced.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spotbag.core.json_documents import parse_json
from spotbag.core.quantities import SECONDS_PER_HOUR, BoolArray, FloatArray
from spotbag.core.text_files import read_text
from spotbag.core.workers import each
from spotbag.instances.bags.availability_days import availability_of_document
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.clouds import Billing, Cloud
from spotbag.instances.entries import Checkpoints, Market, Offer, Task, VmType
from spotbag.instances.instance import Instance
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.policies.hads import Hads
from spotbag.replay.bags.policies.on_time import OnTime
from spotbag.replay.bags.policies.uniform_progress import GreedySpot, UniformProgress
from spotbag.replay.bags.policy import Policy
from spotbag.replay.bags.runs import replay_day
from spotbag.schedules.schedule import Schedule

from ..paper_tables import print_table

SPOT_USD, ON_DEMAND_USD = 0.9731, 3.06
"""An hour of a p3.2xlarge on the two markets."""
WORK_H = 48
DEADLINES_H = (52, 70)
CHANGEOVERS_H = (0.05, 0.2)
AVAILABILITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
TICK_S = 600
_CYCLE_TICKS = 24
"""Mean ticks from one loss of the spot VMs to the next: 4 h."""
_UNIT_S = 60
_TYPE = "v100"
_WORKERS = 2


@dataclass(frozen=True, slots=True)
class Job:
    """A job, and how time is cut: all in whole seconds.

    Attributes
    ----------
    work_s, deadline_s, changeover_s, tick_s : int
        Its work, until when it is to be done, what each change of VM takes, and how often it is decided.
    dump_s : int
        What a checkpoint takes; ten times as long lies between two of them.
    """

    work_s: int
    deadline_s: int
    changeover_s: int
    tick_s: int = TICK_S
    dump_s: int = 0

    @property
    def ticks(self) -> int:
        """Whole ticks until the deadline."""
        return self.deadline_s // self.tick_s

    @property
    def plan(self) -> Schedule:
        """The job on a spot VM, from the beginning on."""
        offers = {market: Offer(price_usd_per_hour=usd, limit=1_000) for market, usd in _PRICES.items()}
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
    before = np.concatenate([[True], available[:-1]])
    events = [
        TimelineEvent(tick * tick_s, _TYPE, "resume" if available[tick] else "interrupt")
        for tick in np.flatnonzero(available != before).tolist()
    ]
    return Timeline(tuple(events), "a trace")


def drawn_trace(availability: float, ticks: int, seed: int) -> BoolArray:
    """Draw a trace: up and down in turn, each for a geometrically distributed number of ticks."""
    draws = np.random.default_rng([seed, round(1e6 * availability)])
    up = bool(draws.random() < availability)
    parts: list[BoolArray] = []
    while sum(len(part) for part in parts) < ticks:
        mean = max(_CYCLE_TICKS * (availability if up else 1 - availability), 1.0)
        parts.append(np.full(draws.geometric(1 / mean), up))
        up = not up
    trace: BoolArray = np.concatenate(parts)[:ticks]
    return trace


def replayed(job: Job, available: BoolArray, policy: Policy) -> DayOutcome:
    """Replay a job on a trace."""
    return replay_day(job.plan, policy, day_of(available, job.tick_s), cloud=job.cloud)


# ------------------------------------------------------------------------- optimum


def optimum_usd(job: Job, available: BoolArray, unit_s: int = _UNIT_S) -> float:
    """Return the least cost of a job that ends in time, with the trace known beforehand; infinite if it cannot.

    At each tick the job goes on where it is, changes to a new VM or to none; as in the replay, a change takes
    ``changeover_s`` from its tick on, and ticks that have begun are paid for. All times must be multiples of
    ``unit_s``.
    """
    if any(seconds % unit_s for seconds in (job.work_s, job.deadline_s, job.changeover_s, job.tick_s)):
        raise ValueError(f"the times of the job must be multiples of {unit_s} s")
    work, delay, tick = (seconds // unit_s for seconds in (job.work_s, job.changeover_s, job.tick_s))
    usd: dict[str, float] = {market: hour * job.tick_s / SECONDS_PER_HOUR for market, hour in _PRICES.items()}
    nothing = np.full(work + 1, math.inf)
    # Least cost by units of work done, for each VM (or none) and what is left of its changeover.
    least: dict[tuple[str, int], FloatArray] = {("", 0): nothing.copy()}
    least["", 0][0] = 0.0
    ended = math.inf
    for now in range(-(-job.deadline_s // job.tick_s)):
        best = np.minimum.reduce(list(least.values()))
        after: dict[tuple[str, int], FloatArray] = {("", 0): best}
        begun = {(market, delay): best for market in usd}
        for (market, left), cost in [*begun.items(), *((key, cost) for key, cost in least.items() if key[0])]:
            if market == "spot" and not available[now]:
                continue
            done = min(max(tick - left, 0), max(job.deadline_s // unit_s - now * tick - left, 0))
            paid = cost + usd[market]
            if done:
                ended = min(ended, float(paid[max(work - done, 0) :].min()))
            moved = nothing.copy()
            moved[done:] = paid[: work + 1 - done]
            key = market, max(left - tick, 0)
            after[key] = np.minimum(after[key], moved) if key in after else moved
        least = after
    return ended


_PRICES: Mapping[Market, float] = {"spot": SPOT_USD, "on-demand": ON_DEMAND_USD}


# -------------------------------------------------------------------------- tables


@dataclass(frozen=True, slots=True)
class Traces:
    """Traces of about the same availability, as long as the job may take."""

    name: str
    windows: tuple[BoolArray, ...]


def drawn_traces(availability: float, ticks: int, runs: int) -> Traces:
    """Draw some traces."""
    return Traces(f"{availability:.1f}", tuple(drawn_trace(availability, ticks, seed) for seed in range(runs)))


def recorded_traces(path: Path, one_means: str, ticks: int, runs: int) -> Traces:
    """Read a recorded trace, of one type, and cut windows out of it."""
    scenario = availability_of_document(parse_json(read_text(path), str(path)), str(path), one_means)
    data = scenario.data
    if isinstance(data, Mapping) or scenario.counts or scenario.gap_s != TICK_S or len(data) < ticks:
        raise SystemExit(
            f"{path}: must be a trace of 0 and 1, of one VM type by {TICK_S} s, of at least {ticks} entries"
        )
    whole = scenario.available()
    starts = [round(run * (len(whole) - ticks - 1) / max(runs - 1, 1)) for run in range(runs)]
    return Traces(path.stem, tuple(whole[start : start + ticks] for start in starts))


POLICIES = (UniformProgress, GreedySpot, Hads, OnTime)


@dataclass(frozen=True, slots=True)
class _Case:
    job: Job
    available: BoolArray

    def figures(self) -> tuple[float, list[DayOutcome]]:
        return optimum_usd(self.job, self.available), [replayed(self.job, self.available, kind()) for kind in POLICIES]


def rows(job: Job, traces: Sequence[Traces]) -> Iterator[list[str]]:
    """Return a line for each kind of traces: means over them."""
    for kind in traces:
        cases = [_Case(job, available) for available in kind.windows]
        results = list(each(_Case.figures, cases, workers=_WORKERS))
        line = [kind.name, f"{np.mean(kind.windows):.2f}", f"{np.mean([usd for usd, _ in results]):.2f}"]
        late = []
        for place in range(len(POLICIES)):
            days = [outcomes[place] for _, outcomes in results]
            line.append(f"{np.mean([day.cost_usd for day in days]):.2f}")
            late.append(str(sum(not day.meets_deadline for day in days)))
        yield [*line, " ".join(late)]


def main() -> None:
    """Print a table for each deadline and changeover delay."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--dump-s", type=int, default=0)
    parser.add_argument("--traces", type=Path, metavar="FOLDER")
    parser.add_argument("--one-means", choices=("available", "preempted"), default="preempted")
    asked = parser.parse_args()
    on_demand = WORK_H * ON_DEMAND_USD
    headings = ["trace", "available", "optimum $", *(f"{kind.name} $" for kind in POLICIES), "late"]
    for deadline_h in DEADLINES_H:
        for changeover_h in CHANGEOVERS_H:
            work_s, deadline_s, changeover_s = (
                round(count * SECONDS_PER_HOUR) for count in (WORK_H, deadline_h, changeover_h)
            )
            job = Job(work_s, deadline_s, changeover_s, dump_s=asked.dump_s)
            if asked.traces is None:
                traces = [drawn_traces(availability, job.ticks, asked.runs) for availability in AVAILABILITIES]
            else:
                paths = sorted(asked.traces.glob("*.json"))
                traces = [recorded_traces(path, asked.one_means, job.ticks, asked.runs) for path in paths]
            title = f"deadline {deadline_h} h, changeover {changeover_h} h, on demand {on_demand:.2f} $"
            print_table(title, headings, rows(job, traces), words=1)


if __name__ == "__main__":
    main()
