"""The runs of the A2HA paper: its jobs under the heuristic with many settings, and what no plan can beat."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any, TypeAlias, TypeVar

import numpy as np

from spotbag.core.quantities import SECONDS_PER_HOUR, ExactSeconds
from spotbag.core.statistics import Estimate
from spotbag.core.workers import each
from spotbag.instances.streams.draws import SampledJobs, draws
from spotbag.instances.streams.stream import Stream
from spotbag.replay.streams.engine import StreamReplay
from spotbag.replay.streams.policies.a2ha import TICK, A2ha, A2haSettings, LongTasks
from spotbag.replay.streams.policies.fixed_fleet import FixedFleet
from spotbag.replay.streams.state import StreamPolicy, StreamState, StreamVm

from ...claims import estimate_of
from ...paper import OnRuns, replayed
from ...statistics import Quantity, Sample, Statistic, less, sd_of
from ..least_makespan import least_makespan_within, least_units_by
from ..unit_bounds import HostLine, fewest_paid_units, one_host_per_task_line, serial_line
from .settings import (
    CONSERVATIVE,
    LONG_JOB,
    READINGS,
    SHORT_JOBS,
    STYLES,
    TWICE,
    A2haOptions,
    Ratios,
    Style,
    sweep_ratios,
)

_SECONDS_PER_MINUTE = 60

_SEEDS_A_BATCH = 10

AT_THE_START = "all at the start"
"""Variant of Table 2 in which no host has to be found necessary: the printed number from the start on."""

_NEVER_S = 10**6

FIG_4_TASKS = 25
"""Tasks after which the average run time is said to be near the final one."""

EARLY_TASKS = 10
"""Finished tasks after which the number of hosts is to be stable (section 3.3)."""


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
    first_task_s : int
        Run time of the task that was selected first.
    first_created_s : int or None
        When the first prediction created hosts; None if none did.
    first_hosts, early_hosts : int
        Hosts in all after that, and once `EARLY_TASKS` tasks had finished.
    later_paid_s, later_busy_s : int
        Paid seconds of all hosts after their first units, and those of them in which tasks ran.
    """

    hosts: int
    wall_s: int
    paid_units: int
    serial_s: int
    interrupted_tasks: int
    wasted_s: int
    continued_hosts: int
    unused_hosts: int = 0
    first_task_s: int = 0
    first_created_s: int | None = None
    first_hosts: int = 1
    early_hosts: int = 1
    later_paid_s: int = 0
    later_busy_s: int = 0

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


_Policy: TypeAlias = A2haSettings | Callable[[], StreamPolicy]
"""Settings of the heuristic, or what makes another policy."""
_Key = TypeVar("_Key")

Metric: TypeAlias = Callable[[A2haRun], float]

HOSTS = Quantity[A2haRun]("hosts", "hosts", 1, " hosts", lambda run: run.hosts)
WALL_H = Quantity[A2haRun]("wall_h", "wall time (h)", 2, " h", lambda run: run.wall_h)
SPEEDUP = Quantity[A2haRun]("speedup", "speedup", 1, "", lambda run: run.speedup)
PAYMENT_H = Quantity[A2haRun]("payment_h", "payment (h)", 1, " h", lambda run: run.paid_units)
QUANTITIES = (HOSTS, WALL_H, SPEEDUP, PAYMENT_H)
"""Averaged quantities, as Table 2 has them."""

TABLE_1 = (
    Quantity[A2haRun]("charged_h", "payment", 1, " h", PAYMENT_H.of),
    Quantity[A2haRun]("interrupted_tasks", "interrupted tasks", 1, "", lambda run: run.interrupted_tasks),
    Quantity[A2haRun]("wasted_min", "wasted time", 1, " min", lambda run: run.wasted_s / _SECONDS_PER_MINUTE),
    Quantity[A2haRun]("continued_hosts", "continued hosts", 1, "", lambda run: run.continued_hosts),
)
"""Quantities of Table 1, by the names of its printed columns."""

Values: TypeAlias = dict[str, float]
"""Values of a line of Table 2, by the names of the metrics."""

LINES = ("serial", "optimal", "1 per task")
"""Lines of Table 2 that no prediction makes."""


@dataclass(frozen=True)
class A2haCell(Sample[A2haRun]):
    """A job under the heuristic with some settings: a run for each ordering."""

    def sd(self, metric: Metric) -> Statistic | None:
        """Standard deviation of a number over the orderings; None of a single one."""
        return sd_of(self.values(metric))

    def sd_value(self, metric: Metric) -> float:
        """Standard deviation of a number to be shown; 0 of a single ordering."""
        sd = self.sd(metric)
        return 0.0 if sd is None else sd.value

    def sd_less(self, other: A2haCell, metric: Metric) -> Estimate:
        """Standard deviation of a number less that of another cell, over the same orderings."""
        return estimate_of(less(self.sd(metric), other.sd(metric)))

    @cached_property
    def by_hosts(self) -> dict[int, list[A2haRun]]:
        """Runs by their number of hosts, fewest first."""
        numbers = sorted({run.hosts for run in self.runs})
        return {number: [run for run in self.runs if run.hosts == number] for number in numbers}


@dataclass(frozen=True, slots=True)
class Order:
    """The run times of a job in the order in which tasks are selected, as in Fig. 4: how well the first ones predict.

    Attributes
    ----------
    off_percent : float
        How far the average of the first tasks is off that of all, in either direction; as many tasks as Fig. 4 has.
    most_off_percent : float
        The same of the worst prediction from there on.
    """

    off_percent: float
    most_off_percent: float


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
    def later_percent(self) -> float:
        """Percentage by which the heuristic ends after the best plan of its payment."""
        return 100 * (self.run.wall_s / self.wall_s - 1)

    @property
    def dearer_percent(self) -> float:
        """Percentage by which the heuristic pays more than the best plan that ends as early."""
        return 100 * (self.run.paid_units / self.least_units - 1)

    @property
    def least_units_gap_percent(self) -> float:
        """Percentage by which that payment might be lower at most."""
        return 100 * (1 - self.least_units_bound / self.least_units)

    @property
    def gap_percent(self) -> float:
        """Percentage by which the wall time might be lower at most."""
        return 100 * (1 - self.bound_s / self.wall_s)


@dataclass(frozen=True, slots=True)
class A2haRuns:
    """Replays behind the tables.

    Attributes
    ----------
    sweep : dict of str to dict of (float, float) to A2haCell
        Of the jobs of short tasks: by job, then by creationRatio and increaseRatio.
    long : dict of (str, int) to A2haCell
        Table 2: by style, or `reading`, and number of initial hosts.
    long_at_once : dict of (str, int) to A2haCell
        The same if hosts are ready at once; also `AT_THE_START`.
    lines : dict of (str, bool) to tuple of dict
        By job, and whether hosts are ready at once: of each ordering, `lines_of` it.
    not_knowing : dict of (str, str) to tuple of NotKnowing
        By job and style; of the first orderings only.
    twice : dict of str to A2haCell
        Jobs of short tasks in the conservative style for a user who pays `TWICE` the least.
    orders : tuple of Order
        Of the image job, one for each ordering.
    fastest : tuple of (int, int)
        Of the first orderings of the long job: the least payment that was found for plans that end with the longest
        task, and one that no such plan is below.
    ends_only : A2haCell or None
        The long job with one initial host without section 3.4: predictions at the end of tasks only.
    style : str
        With which ratios statements are judged where the paper does not say which it took.
    """

    sweep: dict[str, dict[Ratios, A2haCell]]
    long: dict[tuple[str, int], A2haCell]
    long_at_once: dict[tuple[str, int], A2haCell]
    lines: dict[tuple[str, bool], tuple[dict[str, Values], ...]]
    not_knowing: dict[tuple[str, str], tuple[NotKnowing, ...]] = field(default_factory=dict)
    twice: dict[str, A2haCell] = field(default_factory=dict)
    orders: tuple[Order, ...] = ()
    fastest: tuple[tuple[int, int], ...] = ()
    ends_only: A2haCell | None = None
    style: Style = "conservative"

    def short(self, job: str, style: Style) -> A2haCell:
        """A job of short tasks in one of the styles."""
        return self.sweep[job][STYLES[style]]

    def line(self, name: str, quantity: str, job: str = LONG_JOB, *, at_once: bool = False) -> list[float]:
        """Values of one of `LINES`, of each ordering."""
        return [lines[name][quantity] for lines in self.lines[job, at_once]]


def reading(rule: LongTasks) -> str:
    """Name of the conservative style with another rule for long tasks."""
    return f'conservative, rule "{rule}"'


def n_a2ha_runs(options: A2haOptions) -> int:
    """Number of orderings in `a2ha_runs`: counted for each job and each kind of run."""
    return (2 * len(SHORT_JOBS) + 3) * options.runs + (len(SHORT_JOBS) + 1) * len(options.optimum_seeds)


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
    streams = {job: options.stream(job) for job in (*SHORT_JOBS, LONG_JOB)}
    heuristic, long = options.heuristic, streams[LONG_JOB]

    def replays(stream: Stream, makers: Mapping[_Key, _Policy], label: str) -> dict[_Key, A2haCell]:
        work = partial(_batch, stream, tuple(makers.values()))
        done = replayed(work, options.seeds, options, on_runs, label, _SEEDS_A_BATCH)
        return {key: A2haCell(runs) for key, runs in zip(makers, zip(*done, strict=True), strict=True)}

    # Short jobs: all combinations of the ratios, of which the figures show some.
    swept = {ratios: heuristic(ratios) for ratios in sweep_ratios()}
    sweep = {job: replays(streams[job], swept, job) for job in SHORT_JOBS}
    # With twice the budget, to see how far the budget binds.
    generous = {TWICE: heuristic(CONSERVATIVE, budget_factor=TWICE)}
    twice = {job: replays(streams[job], generous, f"{job}, twice the budget")[TWICE] for job in SHORT_JOBS}
    cases, others = _long_settings(long_cases, options)
    # Table 2 counts no time to boot, so the same cases are replayed with hosts that are ready at once.
    ready = long.model_copy(update={"creation_overhead_s": 0})
    start = {
        (AT_THE_START, initial): partial(AtTheStart, AT_THE_START, 0, hosts) for initial, hosts in long_cases.items()
    }
    ends_only = {_NEVER_S: heuristic(STYLES[options.style], period_s=_NEVER_S)}
    both = product(streams, (False, True))
    lines = {(job, at_once): _lines(streams[job], options, at_once=at_once) for job, at_once in both}
    found = A2haRuns(
        sweep,
        replays(long, cases | others, LONG_JOB),
        replays(ready, cases | start, "long, hosts ready at once"),
        lines,
        twice=twice,
        orders=tuple(order_of(sampled) for sampled in draws(streams["image"], options.seeds)),
        fastest=tuple(_fastest(sampled) for sampled in draws(long, options.optimum_seeds)),
        ends_only=replays(long, ends_only, "long, running tasks not looked at")[_NEVER_S],
        style=options.style,
    )
    return replace(found, not_knowing=_not_knowing(streams, found, min(long_cases), options, on_runs))


def _long_settings(
    long_cases: Iterable[int], options: A2haOptions
) -> tuple[dict[tuple[str, int], _Policy], dict[tuple[str, int], _Policy]]:
    """Settings of the printed cases of Table 2, and other readings of the rule for long tasks."""
    cases: dict[tuple[str, int], _Policy] = {
        (style, initial): options.heuristic(ratios, initial_hosts=initial)
        for initial in long_cases
        for style, ratios in STYLES.items()
    }
    others: dict[tuple[str, int], _Policy] = {
        (reading(rule), initial): options.heuristic(CONSERVATIVE, initial_hosts=initial, long_tasks=rule)
        for initial in long_cases
        for rule in READINGS
    }
    return cases, others


def _batch(stream: Stream, policies: Sequence[_Policy], seeds: range) -> Iterator[list[A2haRun]]:
    for sampled in draws(stream, seeds):
        # A policy has a state: it is made anew for each ordering.
        yield [_run(sampled, WatchedA2ha(of) if isinstance(of, A2haSettings) else of()) for of in policies]


def _run(sampled: SampledJobs, policy: StreamPolicy) -> A2haRun:
    replay = StreamReplay(sampled, policy)
    outcome = replay.run()
    assert outcome.makespan_s is not None, "the last host never stops while there are tasks"
    counts = outcome.policy_counts
    seen: dict[str, Any] = {}
    if isinstance(policy, WatchedA2ha):
        paid_s, busy_s = policy.later_units(replay)
        seen = {
            "first_task_s": run_times_s(sampled)[policy.order[0]],
            "first_created_s": policy.first_created_s,
            "first_hosts": policy.first_hosts,
            "early_hosts": policy.early_hosts,
            "later_paid_s": paid_s,
            "later_busy_s": busy_s,
        }
    return A2haRun(
        hosts=len(outcome.bills),
        wall_s=int(outcome.makespan_s),  # whole seconds, as the run times
        paid_units=sum(outcome.blocks.values()),
        serial_s=sum(run_times_s(sampled)),
        interrupted_tasks=int(counts.get("interrupted_tasks", 0)),
        wasted_s=int(counts.get("wasted_s", 0)),
        continued_hosts=int(counts.get("continued_hosts", 0)),
        unused_hosts=int(counts.get("unused_hosts", 0)),
        **seen,
    )


def order_of(sampled: SampledJobs) -> Order:
    """Errors of averages over the first tasks of an ordering, against the average of all."""
    policy = WatchedA2ha(A2haSettings())
    StreamReplay(sampled, policy).step()  # the job is submitted
    seconds = np.array(run_times_s(sampled))[list(policy.order)]
    averages = np.cumsum(seconds) / np.arange(1, len(seconds) + 1)
    off_percent = 100 * np.abs(averages[FIG_4_TASKS - 1 :] / averages[-1] - 1)
    return Order(float(off_percent[0]), float(off_percent.max()))


def run_times_s(sampled: SampledJobs) -> list[int]:
    """Run time of each task on the only type of host."""
    found: list[int] = sampled.instance.runtime_s[sampled.instance.task_group, 0].tolist()
    return found


def lines_of(serial: HostLine, alone: HostLine) -> dict[str, Values]:
    """`LINES` of Table 2: one host for all tasks, one for each, and what the paper calls optimal.

    That is as if tasks could be cut to fill as many hosts as end with the longest of them.
    """
    lines: dict[str, Values] = {
        name: {
            "hosts": line.hosts,
            "wall_h": line.wall_s / SECONDS_PER_HOUR,
            "speedup": line.speedup,
            "payment_h": line.paid_units,
        }
        for name, line in zip(LINES, (serial, alone, alone), strict=True)
    }
    lines["optimal"] |= {"hosts": math.ceil(alone.speedup), "payment_h": alone.serial_s / SECONDS_PER_HOUR}
    return lines


def _lines(stream: Stream, options: A2haOptions, *, at_once: bool) -> tuple[dict[str, Values], ...]:
    found, unit_s, boot_s = [], stream.block_s, 0 if at_once else stream.creation_overhead_s
    for seconds in map(run_times_s, draws(stream, options.seeds)):
        found.append(lines_of(serial_line(seconds, unit_s, boot_s), one_host_per_task_line(seconds, unit_s, boot_s)))
    return tuple(found)


def _fastest(sampled: SampledJobs) -> tuple[int, int]:
    """Least payment of plans that end with the longest task, and a lower bound of it."""
    seconds, stream = run_times_s(sampled), sampled.stream
    alone = one_host_per_task_line(seconds, stream.block_s, stream.creation_overhead_s)
    return least_units_by(seconds, stream.block_s, stream.creation_overhead_s, alone.wall_s, alone.paid_units)


def _not_knowing(
    streams: Mapping[str, Stream], runs: A2haRuns, initial: int, options: A2haOptions, on_runs: OnRuns
) -> dict[tuple[str, str], tuple[NotKnowing, ...]]:
    """For each job, style and the first orderings, what can be had for the payment of the heuristic.

    Of the long job, only for one number of first hosts: it takes long.
    """
    found: dict[tuple[str, str], tuple[NotKnowing, ...]] = {}
    for job, stream in streams.items():
        cells = [runs.long[style, initial] if job == LONG_JOB else runs.short(job, style) for style in STYLES]
        cases = [(seed, [cell.runs[place] for cell in cells]) for place, seed in enumerate(options.optimum_seeds)]
        done: list[list[NotKnowing]] = []
        for plans in each(partial(_best_plans, stream, options.optimum_s), cases, options.workers):
            done.append(plans)
            on_runs(1, f"{job}, least wall time")
        found |= {(job, style): pairs for style, pairs in zip(STYLES, zip(*done, strict=True), strict=True)}
    return found


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


# ---------------------------------------------------------------------------- policies


class WatchedA2ha(A2ha):
    """The heuristic, which also notes what came when; of a single job.

    Attributes
    ----------
    order : tuple of int
        Tasks in the order in which they were selected at random.
    first_created_s : int or None
        When the first prediction created hosts; None if none did.
    first_hosts : int
        Hosts in all after that.
    early_hosts : int
        Hosts in all once `EARLY_TASKS` tasks have finished.
    """

    def __init__(self, settings: A2haSettings) -> None:
        super().__init__(settings)
        self.order: tuple[int, ...] = ()
        self.first_created_s: ExactSeconds | None = None
        self.first_hosts = settings.initial_hosts
        self.early_hosts = settings.initial_hosts
        self._busy_s: dict[int, ExactSeconds] = {}

    def submitted(self, replay: StreamState, job: int) -> None:
        """Note the order of the tasks."""
        super().submitted(replay, job)
        self.order = tuple(reversed(self._tasks))

    def finished(self, replay: StreamState, vm: StreamVm, task: int, took_s: ExactSeconds) -> None:
        """Record the hosts created after the first tasks, and the predictions."""
        super().finished(replay, vm, task, took_s)
        if self._finished <= EARLY_TASKS:
            self.early_hosts = len(replay.vms)
        self._look(replay)

    def woken(self, replay: StreamState, datum: int) -> None:
        """Record the predictions, or the work of a host in its first unit."""
        # All other wake-ups are of hosts, by their numbers; the first is the end of the first unit.
        if datum != TICK and datum not in self._busy_s:
            vm = replay.vms[datum]
            self._busy_s[datum] = vm.busy_s + (0 if vm.task is None else replay.now_s - vm.started_s)
        super().woken(replay, datum)
        self._look(replay)

    def _look(self, replay: StreamState) -> None:
        if self.first_created_s is None and len(replay.vms) > self._initial:
            self.first_created_s = replay.now_s
            self.first_hosts = len(replay.vms)

    def later_units(self, replay: StreamState) -> tuple[ExactSeconds, ExactSeconds]:
        """Paid seconds of all hosts after their first units, and those of them in which tasks ran."""
        paid_s: ExactSeconds = 0
        busy_s: ExactSeconds = 0
        for vm in replay.vms:
            # Only hosts that were watched at the end of their first unit have one after it.
            if vm.terminated_s - vm.requested_s > self._first_unit_s:
                paid_s += replay.paid_until_s(vm, vm.terminated_s) - vm.requested_s - self._first_unit_s
                busy_s += vm.busy_s - self._busy_s[vm.index]
        return paid_s, busy_s


class AtTheStart(FixedFleet):
    """Fleet of hosts created at the start, which stop with their unit once there are no tasks for them."""

    def block_ended(self, replay: StreamState, vm: StreamVm) -> None:
        """Stop the host."""
        replay.terminate(vm)
