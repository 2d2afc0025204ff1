"""The runs of Wu et al.: one long job on traces of eight availabilities, under all policies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from spotbag.core.errors import InputError, Issue, input_error
from spotbag.core.quantities import NOISE, SECONDS_PER_HOUR, BoolArray
from spotbag.core.statistics import CONFIDENCE, Estimate
from spotbag.core.workers import each
from spotbag.replay.bags.policies.hads import Hads
from spotbag.replay.bags.policies.on_time import OnTime
from spotbag.replay.bags.policies.uniform_progress import GreedySpot, TimeSliced, UniformProgress
from spotbag.replay.bags.state import Policy

from ...data_files import Figures, read_figures
from ...paper import OnRuns, PaperOptions
from ...statistics import Statistic, mean_of, quotient
from .job import Job, Ran, drawn_trace, optimum, ran, recorded_trace, replayed, sliced, windows

ON_DEMAND, GREEDY, UNIFORM, OMNISCIENT = "on demand", "greedy-spot", "uniform-progress", "omniscient"
SLICED, KEPT, NOTHING = "Time Sliced", "time-sliced", "nothing"
ONLINE = (GREEDY, UNIFORM, SLICED)
"""Policies of the paper without knowledge of the future."""

Pair: TypeAlias = tuple[str, str]
"""Two policies, of which a number is the difference; `NOTHING` has none."""


FIGURES = read_figures(Figures, __package__, "figures.json")
"""Printed figures: of Table 3 (``policies``), Fig. 8 and section 6.2.

The ``availabilities`` are those of the recorded traces, which are published.
"""


@dataclass(frozen=True, slots=True)
class UniformProgressOptions(PaperOptions):
    """Settings of the replays.

    Attributes
    ----------
    runs : int
        Traces of each availability.
    work_h, fractions, changeovers_h : float, tuples of float
        Work of the job; work over the time until the deadline; what a change of VM takes, the first of these for all
        fractions, the others for that of Table 3.
    cycle_h : float
        Mean time from one loss of the spot VMs to the next.
    dump_s : int
        What a checkpoint takes; ten times as long lies between two of them.
    slices : tuple of int
        Numbers of slices, of which the best is taken for each trace and deadline.
    tight, high : float
        Job fraction above which a deadline is tight, and spot fraction above which there are many spot VMs.
    bad_percentile, resamples : float, int
        Where among the gaps *bad cases* begin, and the number of samples by which its interval is found.
    traces, one_means : str, optional
        Folder of recorded traces in place of drawn ones, and what a 1 means in them, which must be said.

    Raises
    ------
    InputError
        If recorded traces are to have a seed, or drawn ones a meaning.
    """

    runs: int = 40
    work_h: float = 48.0
    fractions: tuple[float, ...] = (0.65, 0.7, FIGURES.job_fraction, 0.9)
    changeovers_h: tuple[float, ...] = (0.2, 0.05, 0.4)
    cycle_h: float = 4.0
    dump_s: int = 0
    slices: tuple[int, ...] = (2, 5, 10, 20, 50)
    tight: float = 0.75
    high: float = 0.5
    bad_percentile: float = 75.0
    resamples: int = 400
    traces: str | None = None
    one_means: str | None = None

    def __post_init__(self) -> None:
        """Refuse settings of recorded traces without traces, and of drawn ones with them."""
        if self.traces is not None and self.seed:
            rule = "cannot be given with traces: recorded ones are not drawn"
            raise InputError("uniform-progress", [Issue("", rule, "seed", self.seed)])
        if self.traces is None and self.one_means is not None:
            rule = "is about recorded traces: give traces as well"
            raise InputError("uniform-progress", [Issue("", rule, "one_means", self.one_means)])

    def job(self, fraction: float, changeover_h: float) -> Job:
        """Return the job with a deadline of whole ticks."""
        work_s = self.work_h * SECONDS_PER_HOUR
        job = Job(round(work_s), round(work_s / fraction), round(changeover_h * SECONDS_PER_HOUR), dump_s=self.dump_s)
        # Decisions are made at ticks: rounding down would take time from the job.
        return replace(job, deadline_s=-(-job.deadline_s // job.tick_s) * job.tick_s)

    def drawn(self, job: Job) -> dict[str, list[BoolArray]]:
        """Return the traces of a job by their names: drawn, or windows of recorded ones."""
        if self.traces is not None:
            recorded = {path.stem: recorded_trace(path, self.one_means, job) for path in self._paths(self.traces)}
            return {name: windows(trace, job.ticks, self.runs) for name, trace in recorded.items()}
        seeds, cycle_ticks = range(self.seed, self.seed + self.runs), self.cycle_h * SECONDS_PER_HOUR / job.tick_s
        return {
            name: [drawn_trace(availability, job.ticks, seed, cycle_ticks) for seed in seeds]
            for name, availability in FIGURES.availabilities.items()
        }

    @staticmethod
    def _paths(folder: str) -> list[Path]:
        """Files of recorded traces in a folder."""
        if not Path(folder).is_dir():
            raise input_error(folder, "is no folder: recorded traces are files in one")
        paths = sorted(Path(folder).glob("*.json"))
        if not paths:
            raise input_error(folder, "has no recorded trace: no file that ends in .json")
        return paths

    @property
    def n_traces(self) -> int:
        """Number of traces of which windows are run."""
        return len(FIGURES.availabilities if self.traces is None else self._paths(self.traces))


@dataclass(frozen=True, slots=True)
class Window:
    """A trace, a deadline and a changeover delay, and what became of the job.

    Attributes
    ----------
    trace, run : str, int
        Name of the trace, and which of its windows it is; those of the same number make one observation.
    fraction, changeover_h : float
        Of the job.
    spot_fraction : float
        Part of the ticks at which there are spot VMs.
    results : mapping of str to Ran
        By policy.
    """

    trace: str
    run: int
    fraction: float
    changeover_h: float
    spot_fraction: float
    results: Mapping[str, Ran]


Number: TypeAlias = Literal["cost_usd", "on_demand_h", "spot_h"]
"""A field of `Ran`."""
Within: TypeAlias = Callable[[Window], bool]


def everywhere(window: Window) -> bool:
    """True for all windows."""
    return True


@dataclass(frozen=True)
class UniformProgressRuns:
    """Runs of some windows, each under all policies.

    Attributes
    ----------
    windows : sequence of Window
        The windows.
    options : UniformProgressOptions
        How they were made.
    """

    windows: Sequence[Window]
    options: UniformProgressOptions

    def of(self, wanted: Within) -> UniformProgressRuns:
        """Return the windows that are wanted."""
        return replace(self, windows=[window for window in self.windows if wanted(window)])

    def usual(self) -> UniformProgressRuns:
        """Return the windows of all job fractions with the usual changeover delay."""
        return self.of(lambda window: window.changeover_h == self.options.changeovers_h[0])

    def at(self, fraction: float = FIGURES.job_fraction, changeover_h: float | None = None) -> UniformProgressRuns:
        """Return the windows of a job fraction and a changeover delay, the usual one if absent."""
        delay_h = self.options.changeovers_h[0] if changeover_h is None else changeover_h
        return self.of(lambda window: (window.fraction, window.changeover_h) == (fraction, delay_h))

    def cases(self, fractions: Sequence[float]) -> dict[str, UniformProgressRuns]:
        """Return the windows of each trace and job fraction, by their names."""
        usual, names = self.usual(), dict.fromkeys(window.trace for window in self.windows)
        keys = [(name, fraction) for name in names for fraction in fractions]
        return {
            f"{name} {fraction:g}": usual.of(lambda one, key=(name, fraction): (one.trace, one.fraction) == key)  # type: ignore[misc]
            for name, fraction in keys
        }

    def less(self, one: str, other: str, number: Number = "cost_usd", within: Within = everywhere) -> Statistic:
        """Mean of a number less that under another policy, run by run over all traces; 0 outside of some windows."""
        sums: dict[int, float] = defaultdict(float)
        for window in self.windows:
            mine, its = (getattr(window.results[policy], number) for policy in (one, other))
            sums[window.run] += mine - its if within(window) else 0.0
        # Windows of a number are one observation: their sums are scaled so that the mean is that over all windows.
        return mean_of([total * len(sums) / len(self.windows) for total in sums.values()])

    def mean(self, policy: str, number: Number = "cost_usd") -> Statistic:
        """Mean of a number under a policy."""
        return self.less(policy, NOTHING, number)

    def ratio(
        self, one: Pair, other: Pair, number: Number = "cost_usd", *, within: Within = everywhere, factor: float = 1.0
    ) -> Statistic | None:
        """Mean difference of two policies over that of two others, times a factor; None if the latter is 0."""
        return quotient(self.less(*one, number, within), self.less(*other, number, within), factor)

    def times(self, within: Within = everywhere) -> Statistic | None:
        """Gap of the greedy policy to the optimum over that of Uniform Progress."""
        return self.ratio((GREEDY, OMNISCIENT), (UNIFORM, OMNISCIENT), within=within)

    def saving_percent(self, policy: str) -> Statistic | None:
        """Percentage of the on-demand cost that a policy saves."""
        return self.ratio((ON_DEMAND, policy), (ON_DEMAND, NOTHING), factor=100.0)

    def gap_percent(self, policy: str, within: Within = everywhere) -> Statistic | None:
        """Cost above the optimum, in percent of the on-demand cost."""
        return self.ratio((policy, OMNISCIENT), (ON_DEMAND, NOTHING), within=within, factor=100.0)

    def utilisation_percent(self, policy: str) -> Statistic | None:
        """Hours of work on spot VMs, in percent of those of the optimum."""
        return self.ratio((policy, NOTHING), (OMNISCIENT, NOTHING), "spot_h", factor=100.0)

    def bad_times(self, one: str, other: str) -> Estimate:
        """Upper quartile of the gaps of a policy over that of another, with an interval by resampling of runs."""
        by_run: dict[int, list[Mapping[str, Ran]]] = defaultdict(list)
        for window in self.windows:
            by_run[window.run].append(window.results)
        # For both policies, each run's gaps on all traces: runs are independent, windows of the same number are not.
        gaps = np.array(
            [
                [
                    [found[policy].cost_usd - found[OMNISCIENT].cost_usd for found in of_run]
                    for of_run in by_run.values()
                ]
                for policy in (one, other)
            ]
        )
        n, percentile = len(by_run), self.options.bad_percentile
        # Always the same resamples: a page must not change from one run to the next.
        draws = np.random.default_rng(0).integers(n, size=(self.options.resamples, n))
        mine, its = np.percentile(gaps[:, draws], percentile, axis=(2, 3))
        # A resample may have no gap at all.
        low, high = np.quantile(mine / np.maximum(its, NOISE), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        found, others = np.percentile(gaps, percentile, axis=(1, 2))
        return Estimate(n, float(found / others), float(high - low) / 2)

    def categories(self) -> dict[str, Within]:
        """Return the four of Fig. 12, by spot fraction and deadline."""
        return {
            f"{'high' if high else 'low'}-{'tight' if tight else 'loose'}": partial(self._is_of, (high, tight))
            for high in (False, True)
            for tight in (False, True)
        }

    def _is_of(self, category: tuple[bool, bool], window: Window) -> bool:
        return (window.spot_fraction > self.options.high, window.fraction > self.options.tight) == category


@dataclass(frozen=True, slots=True)
class _Case:
    job: Job
    available: BoolArray
    slices: tuple[int, ...]
    besides: bool

    def results(self) -> dict[str, Ran]:
        """Run the job under all policies; under those that the paper does not have only where that is asked for."""
        job, available = self.job, self.available
        policies: list[Policy] = [GreedySpot(tick_s=job.tick_s), UniformProgress(tick_s=job.tick_s)]
        if self.besides:
            policies += [*(TimeSliced(tick_s=job.tick_s, slices=n) for n in self.slices), OnTime(), Hads()]
        results = {policy.name: ran(job, replayed(job, available, policy)) for policy in policies}
        hours = job.work_s / SECONDS_PER_HOUR
        results |= {ON_DEMAND: Ran(hours * job.on_demand_usd, hours, 0.0), NOTHING: Ran(0.0, 0.0, 0.0)}
        results[OMNISCIENT] = optimum(job, available)
        return results | {f"{SLICED} {n}": sliced(job, available.tolist(), n) for n in self.slices}


def uniform_progress_runs(options: UniformProgressOptions, on_runs: OnRuns) -> UniformProgressRuns:
    """Run the job in all settings."""
    first, *others = options.changeovers_h
    cells = [(fraction, first) for fraction in options.fractions]
    cells += [(FIGURES.job_fraction, changeover_h) for changeover_h in others]
    found: list[Window] = []
    for fraction, changeover_h in cells:
        job = options.job(fraction, changeover_h)
        besides = (fraction, changeover_h) == (FIGURES.job_fraction, first)
        for name, traces in options.drawn(job).items():
            cases = [_Case(job, trace, options.slices, besides) for trace in traces]
            results = list(each(_Case.results, cases, workers=options.workers))
            _take_best(results, options.slices)
            found += [
                Window(name, run, fraction, changeover_h, float(trace.mean()), result)
                for run, (trace, result) in enumerate(zip(traces, results, strict=True))
            ]
            on_runs(len(traces), name)
    return UniformProgressRuns(found, options)


def _take_best(results: Sequence[dict[str, Ran]], slices: Sequence[int]) -> None:
    """Results of the best number of slices on the traces of a name are those of both readings of Time Sliced."""
    readings = {SLICED: [f"{SLICED} {n}" for n in slices], KEPT: [TimeSliced(slices=n).name for n in slices]}
    for policy, names in readings.items():
        if names[0] in results[0]:
            best = min(names, key=lambda name: sum(result[name].cost_usd for result in results))
            for result in results:
                result[policy] = result[best]


def n_windows(options: UniformProgressOptions) -> int:
    """Return the number of windows to run."""
    cells = len(options.fractions) + len(options.changeovers_h) - 1
    return cells * options.n_traces * options.runs
