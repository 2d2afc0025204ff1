"""The runs of the A2HA paper: its jobs under the heuristic with many settings, and what no plan can beat."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeAlias, TypeVar

from ....core.processes import each
from ....core.statistics import Statistic, sd_of
from ....instances.streams.draws import SampledJobs, draws
from ....instances.streams.stream import Stream
from ....instances.streams.stream_files import library_stream
from ....models.streams.paid_units import HostLine, fewest_paid_units, one_host_per_task_line, serial_line
from ....replay.streams.engine import StreamReplay
from ....replay.streams.policies.a2ha import A2ha, A2haSettings, LongTasks
from ....replay.streams.policies.fixed_fleet import FixedFleet
from ....replay.streams.policy import StreamPolicy
from ....replay.streams.state import StreamState
from ....replay.streams.vm import StreamVm
from ....solvers.streams.paid_units import least_makespan_within, least_units_by
from ...paper import OnRuns, PaperOptions
from ...sample import Sample

SHORT_JOBS = ("image", "synthetic", "test-suite")
LONG_JOB = "long"
RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""creationRatio and increaseRatio in the sweeps; the paper does not say which it took."""

SECONDS_PER_HOUR = 3600
SECONDS_PER_MINUTE = 60

_OPTIMUM_RUNS = 10
"""Orderings for which the least wall time is sought."""

_SEEDS_A_BATCH = 10

Ratios: TypeAlias = tuple[float, float]
CONSERVATIVE: Ratios = (0.5, 0.5)
AGGRESSIVE: Ratios = (0.75, 0.75)
STYLES: dict[str, Ratios] = {"conservative": CONSERVATIVE, "aggressive": AGGRESSIVE}
"""creationRatio and increaseRatio of section 4.2."""

READINGS: tuple[LongTasks, ...] = ("new", "total")
"""Rules for long tasks that Table 2 is also replayed with, in the conservative style."""

TWICE = 2.0
"""The budget factor of the user of section 3.1."""

AT_THE_START = "all at the start"
"""What Table 2 shows if no host has to be found necessary: the printed number of hosts from the start on."""


@dataclass(frozen=True, slots=True)
class A2haOptions(PaperOptions):
    """What is replayed.

    Attributes
    ----------
    optimum_s : float
        Seconds for the least wall time of one ordering, at most.
    """

    optimum_s: float = 20.0

    @property
    def seeds(self) -> range:
        """One for each ordering."""
        return range(self.seed, self.seed + self.runs)

    @property
    def optimum_seeds(self) -> range:
        """Those for which the least wall time is sought."""
        return self.seeds[:_OPTIMUM_RUNS]


@dataclass(frozen=True, slots=True)
class A2haRun:
    """An ordering under the heuristic.

    Attributes
    ----------
    hosts : int
        Hosts in all.
    wall_s : int
        End of the last task.
    paid_units : int
        Paid hours of all hosts.
    serial_s : int
        Run time of all tasks.
    interrupted_tasks, wasted_s, continued_hosts : int
        What Table 1 counts: tasks that lost their host, the time that they had run, hosts of more than a unit.
    unused_hosts : int
        Hosts that never ran a task: it was gone when they were ready.
    """

    hosts: int
    wall_s: int
    paid_units: int
    serial_s: int
    interrupted_tasks: int
    wasted_s: int
    continued_hosts: int
    unused_hosts: int = 0

    @property
    def wall_h(self) -> float:
        """End of the last task in hours."""
        return self.wall_s / SECONDS_PER_HOUR

    @property
    def speedup(self) -> float:
        """Run time of all tasks by wall time."""
        return self.serial_s / self.wall_s

    @property
    def efficiency_percent(self) -> float:
        """Speedup by hosts."""
        return 100 * self.speedup / self.hosts


_Maker: TypeAlias = Callable[[], StreamPolicy]
_Key = TypeVar("_Key")

Metric: TypeAlias = Callable[[A2haRun], float]

METRICS: dict[str, Metric] = {
    "hosts": lambda run: run.hosts,
    "wall_h": lambda run: run.wall_h,
    "speedup": lambda run: run.speedup,
    "payment_h": lambda run: run.paid_units,
}
"""What is averaged, by the names of Table 2."""

WORDS = {"hosts": "hosts", "wall_h": "wall time (h)", "speedup": "speedup", "payment_h": "payment (h)"}
"""What that is called in sentences."""


@dataclass(frozen=True)
class A2haCell(Sample[A2haRun]):
    """A job under the heuristic with some settings: a run for each ordering."""

    def sd(self, metric: Metric) -> Statistic | None:
        """Standard deviation of a number over the orderings; None of a single one."""
        return sd_of(self.values(metric))

    @cached_property
    def by_hosts(self) -> dict[int, list[A2haRun]]:
        """Runs by their number of hosts, fewest first."""
        numbers = sorted({run.hosts for run in self.runs})
        return {number: [run for run in self.runs if run.hosts == number] for number in numbers}


@dataclass(frozen=True, slots=True)
class LongLines:
    """What Table 2 compares with, for one ordering: in its own terms, where hosts are ready at once, and in ours.

    Attributes
    ----------
    serial, alone : HostLine
        One host for all tasks, one for each.
    serial_at_once, alone_at_once : HostLine
        The same if hosts are ready at once.
    """

    serial: HostLine
    alone: HostLine
    serial_at_once: HostLine
    alone_at_once: HostLine

    @property
    def longest_s(self) -> int:
        """The longest task."""
        return self.alone_at_once.wall_s


@dataclass(frozen=True, slots=True)
class NotKnowing:
    """An ordering under the heuristic, and the best that those who know the run times make of the same payment.

    Attributes
    ----------
    run : A2haRun
        The heuristic.
    fewest_units : int
        What any plan pays at least.
    least_units, least_units_bound : int
        The least payment of a plan that was found to end as early as the heuristic, and what none does it for less.
    hosts, wall_s, bound_s : int
        The best plan that was found within the payment of the heuristic, and what none within it beats.
    """

    run: A2haRun
    fewest_units: int
    least_units: int
    least_units_bound: int
    hosts: int
    wall_s: int
    bound_s: int

    @property
    def gap_percent(self) -> float:
        """How much less the wall time could be at most."""
        return 100 * (1 - self.bound_s / self.wall_s)


@dataclass(frozen=True, slots=True)
class A2haRuns:
    """All runs that the tables are made of.

    Attributes
    ----------
    sweep : dict of str to dict of (float, float) to A2haCell
        Of the jobs of short tasks: by job, then by creationRatio and increaseRatio.
    long : dict of (str, int) to A2haCell
        Table 2: by style, or `reading`, and number of initial hosts.
    long_at_once : dict of (str, int) to A2haCell
        The same if hosts are ready at once; also `AT_THE_START`.
    lines : tuple of LongLines
        One for each ordering of the long tasks.
    not_knowing : dict of (str, str) to tuple of NotKnowing
        By job and style; of the first orderings only.
    short_lines : dict of str to tuple of LongLines
        The same lines of the jobs of short tasks.
    twice : dict of str to A2haCell
        Jobs of short tasks in the conservative style for a user who pays `TWICE` the least.
    """

    sweep: dict[str, dict[Ratios, A2haCell]]
    long: dict[tuple[str, int], A2haCell]
    long_at_once: dict[tuple[str, int], A2haCell]
    lines: tuple[LongLines, ...]
    not_knowing: dict[tuple[str, str], tuple[NotKnowing, ...]] = field(default_factory=dict)
    short_lines: dict[str, tuple[LongLines, ...]] = field(default_factory=dict)
    twice: dict[str, A2haCell] = field(default_factory=dict)

    def short(self, job: str, style: str) -> A2haCell:
        """A job of short tasks in one of the styles."""
        return self.sweep[job][STYLES[style]]


def reading(rule: LongTasks) -> str:
    """What the conservative style is called with another rule for long tasks."""
    return f'conservative, rule "{rule}"'


def sweep_ratios() -> Iterator[Ratios]:
    """Both ratios of the sweeps, creationRatio first; at a creationRatio of 1 there is nothing to increase."""
    for creation in RATIOS:
        for increase in RATIOS if creation < 1 else RATIOS[-1:]:
            yield creation, increase


def n_a2ha_runs(options: A2haOptions) -> int:
    """How many orderings `a2ha_runs` works on: once for each job and way to look at it."""
    return (2 * len(SHORT_JOBS) + 2) * options.runs + (len(SHORT_JOBS) + 1) * len(options.optimum_seeds)


def a2ha_runs(long_cases: Mapping[int, int], options: A2haOptions, on_runs: OnRuns) -> A2haRuns:
    """Replay the jobs of the paper.

    Parameters
    ----------
    long_cases : mapping of int to int
        Of Table 2, the hosts in all by the number of initial hosts.
    options : A2haOptions
        What is replayed.
    on_runs : callable
        Told how many orderings have just been done, and of what.

    Returns
    -------
    A2haRuns
        All runs.

    Raises
    ------
    LimitReached
        If it is asked to stop: means of fewer runs than asked for would not be comparable.
    """
    streams = {job: library_stream(f"a2ha/{job}") for job in (*SHORT_JOBS, LONG_JOB)}
    swept: dict[Ratios, _Maker] = {ratios: partial(A2ha, A2haSettings(*ratios)) for ratios in sweep_ratios()}
    sweep = {job: _replayed(streams[job], swept, options, partial(_tell, on_runs, job)) for job in SHORT_JOBS}
    generous: dict[float, _Maker] = {TWICE: partial(A2ha, A2haSettings(*CONSERVATIVE, budget_factor=TWICE))}
    twice = {
        job: _replayed(streams[job], generous, options, partial(_tell, on_runs, f"{job}, twice the budget"))[TWICE]
        for job in SHORT_JOBS
    }
    cases: dict[tuple[str, int], _Maker] = {
        (style, initial): partial(A2ha, A2haSettings(*ratios, initial_hosts=initial))
        for initial in long_cases
        for style, ratios in STYLES.items()
    }
    readings: dict[tuple[str, int], _Maker] = {
        (reading(rule), initial): partial(A2ha, A2haSettings(*CONSERVATIVE, initial_hosts=initial, long_tasks=rule))
        for initial in long_cases
        for rule in READINGS
    }
    at_once = streams[LONG_JOB].model_copy(update={"creation_overhead_s": 0})
    long = _replayed(streams[LONG_JOB], cases | readings, options, partial(_tell, on_runs, LONG_JOB))
    start = {
        (AT_THE_START, initial): partial(_AtTheStart, AT_THE_START, 0, hosts) for initial, hosts in long_cases.items()
    }
    long_at_once = _replayed(at_once, cases | start, options, partial(_tell, on_runs, "long, hosts ready at once"))
    lines = {job: tuple(_lines(sampled) for sampled in draws(stream, options.seeds)) for job, stream in streams.items()}
    short_lines = {job: lines[job] for job in SHORT_JOBS}
    one_initial = {style: long[style, min(long_cases)] for style in STYLES}
    not_knowing: dict[tuple[str, str], tuple[NotKnowing, ...]] = {}
    for job, stream in streams.items():
        cells = one_initial if job == LONG_JOB else {style: sweep[job][ratios] for style, ratios in STYLES.items()}
        found = _not_knowing(stream, list(cells.values()), options, partial(_tell, on_runs, f"{job}, least wall time"))
        not_knowing |= {(job, style): pairs for style, pairs in zip(cells, found, strict=True)}
    return A2haRuns(sweep, long, long_at_once, lines[LONG_JOB], not_knowing, short_lines, twice)


def _tell(on_runs: OnRuns, label: str, done: int) -> None:
    on_runs(done, label)


class _AtTheStart(FixedFleet):
    """Hosts that are all created at the start, and stop with their unit once there are no tasks for them."""

    def block_ended(self, replay: StreamState, vm: StreamVm) -> None:
        """Stop the host."""
        replay.terminate(vm)


def _replayed(
    stream: Stream, makers: Mapping[_Key, _Maker], options: A2haOptions, on_done: Callable[[int], None]
) -> dict[_Key, A2haCell]:
    """Replay all orderings under all policies."""
    seeds = options.seeds
    batches = [seeds[first : first + _SEEDS_A_BATCH] for first in range(0, len(seeds), _SEEDS_A_BATCH)]
    work = partial(_batch, stream, tuple(makers.values()))
    done: list[list[A2haRun]] = []
    for rows in each(work, batches, options.workers):
        done += rows
        on_done(len(rows))
    return {key: A2haCell(runs) for key, runs in zip(makers, zip(*done, strict=True), strict=True)}


def _batch(stream: Stream, makers: Sequence[_Maker], seeds: Sequence[int]) -> list[list[A2haRun]]:
    return [[_run(sampled, make()) for make in makers] for sampled in draws(stream, seeds)]


def _run(sampled: SampledJobs, policy: StreamPolicy) -> A2haRun:
    outcome = StreamReplay(sampled, policy).run()
    assert outcome.makespan_s is not None, "the last host never stops while there are tasks"
    counts = outcome.policy_counts
    return A2haRun(
        hosts=len(outcome.bills),
        wall_s=outcome.makespan_s,
        paid_units=sum(outcome.blocks.values()),
        serial_s=sum(run_times_s(sampled)),
        interrupted_tasks=counts.get("interrupted_tasks", 0),
        wasted_s=counts.get("wasted_s", 0),
        continued_hosts=counts.get("continued_hosts", 0),
        unused_hosts=counts.get("unused_hosts", 0),
    )


def run_times_s(sampled: SampledJobs) -> list[int]:
    """Run time of each task on the only type of host."""
    found: list[int] = sampled.instance.runtime_s[sampled.instance.task_group, 0].tolist()
    return found


def _lines(sampled: SampledJobs) -> LongLines:
    seconds = run_times_s(sampled)
    boot_s = sampled.stream.creation_overhead_s
    unit_s = sampled.stream.block_s
    return LongLines(
        serial_line(seconds, unit_s, boot_s),
        one_host_per_task_line(seconds, unit_s, boot_s),
        serial_line(seconds, unit_s, 0),
        one_host_per_task_line(seconds, unit_s, 0),
    )


def _not_knowing(
    stream: Stream, cells: Sequence[A2haCell], options: A2haOptions, on_done: Callable[[int], None]
) -> list[tuple[NotKnowing, ...]]:
    """For each cell and the first orderings, what can be had for the payment of the heuristic."""
    seeds = options.optimum_seeds
    cases = [(seed, [cell.runs[number] for cell in cells]) for number, seed in enumerate(seeds)]
    work = partial(_best_plans, stream, options.optimum_s)
    done: list[list[NotKnowing]] = []
    for found in each(work, cases, options.workers):
        done.append(found)
        on_done(1)
    return list(zip(*done, strict=True))


def _best_plans(stream: Stream, time_limit_s: float, case: tuple[int, Sequence[A2haRun]]) -> list[NotKnowing]:
    seed, runs = case
    [sampled] = draws(stream, [seed])
    seconds = run_times_s(sampled)
    unit_s, boot_s = stream.block_s, stream.creation_overhead_s
    fewest = fewest_paid_units(seconds, unit_s, boot_s)
    found = []
    for run in runs:
        best = least_makespan_within(seconds, unit_s, boot_s, run.paid_units, time_limit_s=time_limit_s)
        assert best.wall_s is not None, "the heuristic pays as much"
        assert best.lower_bound_s is not None
        # What the heuristic does is a plan within its payment, too, should time have run out.
        hosts, wall_s = min((len(best.hosts), best.wall_s), (run.hosts, run.wall_s), key=lambda plan: plan[1])
        least_units = least_units_by(seconds, unit_s, boot_s, run.wall_s, run.paid_units)
        found.append(NotKnowing(run, fewest, *least_units, hosts, wall_s, best.lower_bound_s))
    return found


def optimal_by_paper(lines: LongLines) -> dict[str, float]:
    """The row "optimal" of Table 2: as if tasks could be cut to fill as many hosts as end with the longest of them."""
    serial_s = lines.serial_at_once.serial_s
    speedup = serial_s / lines.longest_s
    return {
        "hosts": math.ceil(speedup),
        "wall_h": lines.longest_s / SECONDS_PER_HOUR,
        "speedup": speedup,
        "payment_h": serial_s / SECONDS_PER_HOUR,
    }


def line_values(line: HostLine) -> dict[str, float]:
    """A reference line by the names of Table 2."""
    return {
        "hosts": line.hosts,
        "wall_h": line.wall_s / SECONDS_PER_HOUR,
        "speedup": line.speedup,
        "payment_h": line.paid_units,
    }
