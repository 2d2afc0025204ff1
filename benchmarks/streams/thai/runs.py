"""The runs of Thai et al.: their stream under all approaches, and ``unknown`` with samples of several lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from spotbag.core.limits import LimitReached
from spotbag.core.statistics import Estimate
from spotbag.instances.streams.draws import draw_jobs
from spotbag.instances.streams.stream import Stream
from spotbag.replay.policies import Given
from spotbag.replay.streams.engine import StreamReplay
from spotbag.replay.streams.outcome import StreamOutcome, violation_cost_usd
from spotbag.replay.streams.policies.unknown import Sampling, Unknown, UnknownPaidBlocks
from spotbag.replay.streams.runs import replay_stream
from spotbag.replay.streams.state import StreamPolicy

from ...claims import estimate_of, span
from ...paper import OnRuns, replayed
from ...statistics import Quantity, Sample, Statistic, less, percent_more, quotient
from .settings import (
    KNOWN,
    UNKNOWN,
    QuantityName,
    RatioUnit,
    ThaiOptions,
    fixed_setting,
    thai_figures,
    thai_stream,
    without_type,
)

XLARGE = "m3.xlarge"
"""The VM type that ``known`` does without, and on which ``unknown`` must sample."""

WITHOUT_XLARGE = f"{UNKNOWN} without {XLARGE}"

VARIANTS = ("known-paid-blocks", "unknown-paid-blocks", "unknown-learning")
"""Variants of the policies: other readings of the paper, and our own."""

_SEEDS_A_BATCH = 4

Metric: TypeAlias = Callable[[StreamOutcome], float]

COST_USD = Quantity[StreamOutcome]("cost_usd", "cost", 3, " $", lambda run: run.cost_usd)
# What never finished is late as well.
LATE_TASKS = Quantity[StreamOutcome](
    "late_tasks", "late tasks", 1, "", lambda run: run.late_tasks + run.unfinished_tasks
)
IDLE_S = Quantity[StreamOutcome]("idle_s", "idle seconds of all VMs", 0, " s", lambda run: run.idle_s)
LATE_S = Quantity[StreamOutcome]("late_s", "seconds by which tasks are late", 0, " s", lambda run: run.late_s)


@dataclass(frozen=True)
class Approach(Sample[StreamOutcome]):
    """The runs of a policy.

    Attributes
    ----------
    runs : tuple of StreamOutcome
        One for each draw.
    policy : str
        The policy.
    """

    policy: str

    def number(self, quantity: QuantityName) -> Statistic | None:
        """A quantity of Table 3 or Fig. 3; no violation cost if no task is in time."""
        if quantity == "violation_cost_usd":
            return self.violation_cost
        return self.statistic(COST_USD if quantity == "cost_usd" else LATE_TASKS)

    @property
    def violation_cost(self) -> Statistic | None:
        """Violation cost of the mean cost and the mean number of late tasks (eq. 7 and 8); None if none is in time."""
        cost, late = self.statistic(COST_USD), self.statistic(LATE_TASKS)
        n_tasks = self.runs[0].n_tasks
        value = violation_cost_usd(cost.value, late.value, n_tasks)
        if value is None:
            return None
        in_time = n_tasks - late.value
        # A function of two means: what a run adds to them, times the derivatives, is what it adds to the function.
        by_cost, by_late = late.value / in_time, cost.value * n_tasks / in_time**2
        pairs = zip(cost.influence, late.influence, strict=True)
        return Statistic(value, tuple(by_cost * dollars + by_late * tasks for dollars, tasks in pairs))


@dataclass(frozen=True, slots=True)
class SampledRuns:
    """The runs of ``unknown`` with samples of a length.

    Attributes
    ----------
    runs : Approach
        The runs.
    excluded : tuple of int
        Of each run, pairs of an application and a VM type on which no sample finished: the type is not used for it.
    error_percent : tuple of float or None
        Of each run, by how many percent the run times that were learnt are off the true means, up or down, averaged
        over all other pairs.
    """

    runs: Approach
    excluded: tuple[int, ...]
    error_percent: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class ThaiRuns:
    """Replays behind the tables.

    Attributes
    ----------
    stream : Stream
        The jobs.
    approaches : dict of str to Approach
        By policy, in the order of Table 3.
    sweep : dict of float to SampledRuns
        By the length of the sampling phase.
    variants : dict of str to Approach
        `VARIANTS` by name.
    without_xlarge : Approach
        ``unknown`` where no m3.xlarge can be rented.
    """

    stream: Stream
    approaches: dict[str, Approach]
    sweep: dict[float, SampledRuns]
    variants: dict[str, Approach]
    without_xlarge: Approach

    def less(self, policy: str, other: str, metric: Metric) -> Estimate:
        """Mean of a policy less that of another, run by run."""
        return self.approaches[policy].less(self.approaches[other], metric)

    def difference(self, policy: str, against: str, quantity: QuantityName, times: float = 1.0) -> Estimate:
        """Mean of a policy less a multiple of that of another; also where the latter is 0, and there is no ratio."""
        return _difference(self.approaches[policy], self.approaches[against], quantity, times)

    def difference_without_xlarge(self, quantity: QuantityName) -> Estimate:
        """Mean of ``unknown`` less that where no m3.xlarge can be rented."""
        return _difference(self.approaches[UNKNOWN], self.without_xlarge, quantity)

    def span(self, policies: Sequence[str], quantity: Quantity[StreamOutcome]) -> str:
        """Lowest and highest mean of several policies, in words."""
        return span([self.approaches[policy].value(quantity) for policy in policies], quantity.digits)

    def ends_early(self, run: StreamOutcome) -> float:
        """Jobs of a run that end before the next one is submitted."""
        submitted_s = [job.submitted_s for job in self.stream.jobs_by_submission]
        return sum(job.last_finish_s < next_s for job, next_s in zip(run.jobs, submitted_s[1:], strict=False))

    def ratio(self, policy: str, against: str, quantity: QuantityName, unit: RatioUnit) -> Estimate:
        """Ratio of the means of two policies, in times or in percent above."""
        mine, other = self.approaches[policy].number(quantity), self.approaches[against].number(quantity)
        if unit == "percent_more":
            return estimate_of(percent_more(mine, other))
        return estimate_of(mine and other and quotient(mine, other))


def _difference(one: Approach, other: Approach, quantity: QuantityName, times: float = 1.0) -> Estimate:
    its = other.number(quantity)
    return estimate_of(less(one.number(quantity), its and its.scaled(times)))


def types_used(run: StreamOutcome) -> float:
    """VM types of which a run paid blocks."""
    return sum(number > 0 for number in run.blocks.values())


def n_thai_runs(options: ThaiOptions) -> int:
    """Number of draws in `thai_runs`: under all approaches, without m3.xlarge, for each length of the samples."""
    return options.runs * (2 + len(options.sampling_fractions))


def thai_runs(options: ThaiOptions, on_runs: OnRuns) -> ThaiRuns:
    """Replay the stream of the paper.

    Raises
    ------
    LimitReached
        If it is asked to stop: means of fewer runs than asked for would not be comparable.
    """
    figures = thai_figures()
    stream = thai_stream(options)
    adaptive = {policy: f"{policy}-paid-blocks" if options.paid_blocks else policy for policy in (KNOWN, UNKNOWN)}
    fixed = {policy: fixed_setting(stream, policy, options.fixed_vms_end) for policy in figures.fixed}
    given = {**adaptive, **fixed, **{policy: policy for policy in VARIANTS}}
    every = _approaches(stream, given, options, on_runs, "all approaches")
    [without_xlarge] = _approaches(
        without_type(stream, XLARGE), {WITHOUT_XLARGE: adaptive[UNKNOWN]}, options, on_runs, f"without {XLARGE}"
    ).values()
    return ThaiRuns(
        stream,
        {policy: every[policy] for policy in figures.policies},
        {fraction: _sampled(stream, fraction, options, on_runs) for fraction in options.sampling_fractions},
        {policy: every[policy] for policy in VARIANTS},
        without_xlarge,
    )


def _approaches(
    stream: Stream, given: Mapping[str, Given[StreamPolicy]], options: ThaiOptions, on_runs: OnRuns, label: str
) -> dict[str, Approach]:
    """Replay a stream under policies, each by the name of its approach."""
    found = replay_stream(
        stream,
        list(given.values()),
        options.runs,
        seed=options.seed,
        workers=options.workers,
        sampling=Sampling(options.sampling_fraction),
        on_run=lambda done: on_runs(done, label),
    )
    if found.interrupted:
        raise LimitReached
    return {policy: Approach(runs, policy) for policy, runs in zip(given, found.outcomes, strict=True)}


def sampling_name(fraction: float) -> str:
    """Name of a length of the sampling phase."""
    return f"sampling {100 * fraction:g} %"


def _sampled(stream: Stream, fraction: float, options: ThaiOptions, on_runs: OnRuns) -> SampledRuns:
    work = partial(_batch, stream, UnknownPaidBlocks if options.paid_blocks else Unknown, fraction)
    seeds = range(options.seed, options.seed + options.runs)
    done = replayed(work, seeds, options, on_runs, sampling_name(fraction), _SEEDS_A_BATCH)
    outcomes, excluded, errors = zip(*done, strict=True)
    return SampledRuns(Approach(outcomes, UNKNOWN), excluded, errors)


def _batch(
    stream: Stream, kind: type[Unknown], fraction: float, seeds: range
) -> Iterator[tuple[StreamOutcome, int, float | None]]:
    for seed in seeds:
        policy = kind(Sampling(fraction))
        outcome = StreamReplay(draw_jobs(stream, seed), policy).run()
        yield outcome, *_learnt(stream, policy)


def _learnt(stream: Stream, policy: Unknown) -> tuple[int, float | None]:
    """Knowledge of a policy about the applications on the types that can run them; see `SampledRuns`."""
    # From the last to the first, so that the first job of each application stays.
    first = {job.application: index for index, job in reversed(list(enumerate(stream.jobs_by_submission)))}
    excluded, errors = 0, []
    for application, index in first.items():
        for vm_type, learnt in zip(stream.type_names, policy.forecast.exact_runtime_s(index), strict=True):
            true = stream.average_s(application, vm_type)
            if true is not None and learnt is None:
                excluded += 1
            elif true is not None and learnt is not None:
                errors.append(float(100 * abs(learnt / true - 1)))
    return excluded, sum(errors) / len(errors) if errors else None
