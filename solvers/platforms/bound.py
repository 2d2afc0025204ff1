"""Lower bounds of the three metrics of a hybrid platform, and what one of them costs in another.

The metrics are those of Caron & de Assuncao (2016, section VI): total cost, total job execution time, total delay. Each
alone has a low bound (all jobs on free clusters, or each alone in the cloud), so a bound takes caps on the others.

Prices for them are the duals of a linear programme in which work flows.

Variables x_gks >= 0: processor-minutes of a group g of alike jobs in tier k and period s, and in the cloud. Periods are
runs of slots, and jobs that arrive one after the other and are of about the same size are taken for as many of their
mean. All work is done, periods and caps hold. A processor-minute at time t on processors p is charged

    execution time   (t - arrival + 30 size / p) / size     (a)
    delay            (t - deadline + 30 size / p) / size, if t > deadline

(times in seconds): a job that ends at C and never has more than p processors has done its work 30 size / p before C on
average, so (a) sums up to C - arrival or less. If a share y of it is late, that is ``y size <= p (C - deadline) / 60``,
it is done 30 y size / p before C on average, and charged ``y (C - deadline) + y (1 - y) 30 size / p <= C - deadline``.

What the programme puts together only makes the prices worse; what they prove is evaluated for the jobs as they are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from ...bounds.programme import TOLERANCE, Programme
from ...core.errors import InputError, Issue
from ...core.limits import LimitReached, Stop, checkpoint, within
from ...core.processes import interruptible
from ...core.quantities import MAX_SECONDS, FloatArray
from ...instances.platforms.entries import SLOT_S
from ...instances.platforms.platform import Platform
from ...models.platforms.dual import METRICS, Caps, Metric, Prices, dual_value
from ...models.platforms.fluid import MOST_SLOTS, PlatformFluid, least_cost_in_time, platform_fluid

_MOST_GROUPS = 400
_MOST_CELLS, _FEW_CELLS = 64_000, 12_000
_FEWEST_PERIODS, _MANY_PERIODS = 20, 100

_ALIKE = 10
"""Groups of jobs that arrive at about the same time."""

_STEEPEST = 1e4
"""Most that a capped metric is worth, in units in which each metric of some schedule is 1."""

_LOWEST = 1e-3
"""Smallest unit of a metric, relative to its value if all cells are used evenly."""


def fluid_prices(fluid: PlatformFluid, metric: Metric, caps: Caps) -> FluidPrices | None:
    """Solve the linear programme; None if the solver has no optimum in time.

    Parameters
    ----------
    fluid : PlatformFluid
        The jobs, and clusters.
    metric, caps
        As for `dual_value`.
    """
    return _Flow(fluid, metric, caps).solve()


@dataclass(frozen=True, slots=True)
class FluidPrices:
    """Duals of the linear programme.

    Attributes
    ----------
    choices : tuple of Prices
        Prices of periods spread over their slots: in steps, and in lines between the middles of periods.
    exceeded : tuple of str
        Metrics that exceed their caps, since the work would not flow otherwise.
    """

    choices: tuple[Prices, ...]
    exceeded: tuple[Metric, ...]


class _Groups:
    """Jobs alike that arrive one after the other, as so many of their mean.

    Attributes
    ----------
    work, size, arrival_s, deadline_s : array of float, shape (n_groups,)
        Processor-minutes of all, and means.
    """

    def __init__(self, fluid: PlatformFluid) -> None:
        n_jobs = len(fluid.size)
        group = np.arange(n_jobs)
        if n_jobs > _MOST_GROUPS:
            block = group * (_MOST_GROUPS // _ALIKE) // n_jobs
            order = np.lexsort((fluid.deadline_s - fluid.arrival_s, fluid.size, block))
            group[order] = np.arange(n_jobs) * _MOST_GROUPS // n_jobs
        count = np.bincount(group)
        self.work = np.bincount(group, weights=fluid.size)
        self.size = self.work / count
        self.arrival_s = np.bincount(group, weights=fluid.arrival_s) / count
        self.deadline_s = np.bincount(group, weights=fluid.deadline_s) / count


class _Flow:
    """The linear programme in which work flows from groups of jobs to tiers of clusters and to the cloud.

    Rows: work of groups, processor-minutes of tiers in periods, caps. Columns: cells of clusters, cells of the cloud,
    what exceeds the caps.
    """

    def __init__(self, fluid: PlatformFluid, metric: Metric, caps: Caps) -> None:
        self.fluid, self.metric, self.caps = fluid, metric, caps
        self.groups = _Groups(fluid)
        self.capped: list[Metric] = [name for name in METRICS if name in caps and name != metric]
        self.n_groups, self.n_tiers = len(self.groups.work), len(fluid.prices)
        # Slots with which periods begin; the last is the open slot.
        last = len(fluid.starts) - 1
        rows = self.n_groups * self.n_tiers
        n_periods = min(max(min(_MOST_CELLS // rows, _MANY_PERIODS), _FEW_CELLS // rows, _FEWEST_PERIODS), last)
        self.cuts = np.append(np.arange(n_periods) * last // max(n_periods, 1), last)
        self.n_periods = len(self.cuts)
        begin_s = fluid.starts[self.cuts] * SLOT_S
        end_s = np.append(begin_s[1:], begin_s[-1] + SLOT_S)  # of the open period, only the first minute
        open_yet = end_s > np.ceil(self.groups.arrival_s[:, None] / SLOT_S) * SLOT_S
        shape = self.n_groups, self.n_tiers, self.n_periods
        self.group, self.tier, self.period = np.nonzero(np.broadcast_to(open_yet[:, None, :], shape))
        self.time_s = (np.maximum(begin_s[self.period], self.groups.arrival_s[self.group]) + end_s[self.period]) / 2
        self.first_cap = self.n_groups + self.n_tiers * self.n_periods
        on_clusters, in_cloud = self._charges_on_clusters(), self._charges_in_cloud()
        self.charges = {name: np.concatenate([on_clusters[name], in_cloud[name]]) for name in METRICS}
        self.unit = float(self.groups.work.mean())
        self.scales = {name: self._scale(name) for name in METRICS}

    def _charges_on_clusters(self) -> dict[Metric, FloatArray]:
        groups, g, time_s = self.groups, self.group, self.time_s
        processors = np.array(self.fluid.processors, dtype=float)[self.tier]
        half_run_s = SLOT_S / 2 * groups.size[g] / processors
        late_s = np.where(time_s > groups.deadline_s[g], time_s - groups.deadline_s[g] + half_run_s, 0.0)
        return {
            "cost": np.array([float(price) for price in self.fluid.prices])[self.tier],
            "execution_time_s": (time_s - groups.arrival_s[g] + half_run_s) / groups.size[g],
            "delay_s": late_s / groups.size[g],
        }

    def _charges_in_cloud(self) -> dict[Metric, FloatArray]:
        run_s = self.fluid.cloud_run_s(self.caps.get("cost"))
        if run_s is None or self.fluid.cloud is None:
            return dict.fromkeys(METRICS, np.zeros(0))
        groups = self.groups
        shortest_s = groups.size * float((run_s / self.fluid.size).mean())
        late_s = np.maximum(shortest_s - (groups.deadline_s - groups.arrival_s), 0.0)
        return {
            "cost": np.full(self.n_groups, float(self.fluid.cloud.price)),
            "execution_time_s": shortest_s / groups.size,
            "delay_s": late_s / groups.size,
        }

    def solve(self) -> FluidPrices | None:
        """Return the prices that are the duals of the programme; None if the solver has no optimum in time.

        Its periods are longer than the slots for which prices are needed. So there are two choices, of which any may
        give the better bound: the price of a period in all its slots, or straight lines between the middles of periods.
        """
        try:
            programme = self._programme()
            if not programme.solve():
                return None
        except LimitReached:
            return None
        # The last columns are what exceeds the caps; rows are of groups, of tiers in periods, of caps.
        excess = programme.values[len(self.charges[self.metric]) :]
        with np.errstate(all="ignore"):
            duals = np.maximum(-programme.duals, 0.0) * self.scales[self.metric]
        of_caps = duals[self.first_cap :]
        worth = {name: float(dual) / self.scales[name] for name, dual in zip(self.capped, of_caps, strict=True)}
        # The last period is open: its processors have no limit, and no price.
        of_periods = duals[self.n_groups : self.first_cap].reshape(self.n_tiers, self.n_periods)[:, :-1] / self.unit
        starts, cuts = self.fluid.starts, self.cuts
        steps = np.repeat(of_periods, np.diff(cuts), axis=1)
        middles, between = (starts[cuts[:-1]] + starts[cuts[1:]]) / 2, (starts[:-1] + starts[1:]) / 2
        lines = [np.interp(between, middles, each) for each in of_periods] if len(middles) else of_periods
        found = (Prices(steps, worth), Prices(np.array(lines), worth))
        return FluidPrices(
            tuple(prices for prices in found if prices.finite),  # those of a badly scaled programme may not be
            tuple(name for name, above in zip(self.capped, excess.tolist(), strict=True) if above > TOLERANCE),
        )

    def _programme(self) -> Programme:
        n_capped, n_cells, scales = len(self.capped), len(self.charges[self.metric]), self.scales
        rooms = np.full((self.n_tiers, self.n_periods), np.inf)
        if self.n_periods > 1:
            rooms[:, :-1] = np.add.reduceat(self.fluid.capacity, self.cuts[:-1], axis=1) / self.unit
        limits = [float(self.caps[name]) / scales[name] for name in self.capped]
        n_rows = self.first_cap + n_capped
        lower = np.full(n_rows, -np.inf)
        lower[: self.n_groups] = self.groups.work / self.unit
        upper = np.concatenate([np.full(self.n_groups, np.inf), rooms.reshape(-1), limits])
        columns = np.arange(n_cells)
        on_clusters = columns[: len(self.group)]
        in_cloud = np.arange(n_cells - len(self.group))
        entries = [
            (np.append(self.group, in_cloud), columns, np.ones(n_cells)),
            (self.n_groups + self.tier * self.n_periods + self.period, on_clusters, np.ones(len(on_clusters))),
        ]
        for number, name in enumerate(self.capped):
            row = np.full(n_cells + 1, self.first_cap + number)
            charges = self.unit / scales[name] * self.charges[name]
            entries.append((row, np.append(columns, n_cells + number), np.append(charges, -1.0)))
        rows, of_columns, values = (np.concatenate(each) for each in zip(*entries, strict=True))
        checkpoint()
        programme = Programme(1.0)
        charge = self.unit / scales[self.metric] * self.charges[self.metric]
        programme.add_columns(np.append(charge, np.full(n_capped, _STEEPEST)))
        programme.add_rows(lower, upper, rows, of_columns, values)
        return programme

    def _scale(self, name: Metric) -> float:
        """Scale of a metric: its cap, unless that is very low."""
        usual = float(self.charges[name].mean()) * float(self.groups.work.sum())
        return max(float(self.caps.get(name, 0)), usual * _LOWEST) or 1.0


Proof: TypeAlias = Literal["prices", "alone", "in time", "caps"]
"""Proof of a bound.

- ``prices``: prices of processor-minutes and caps, from a linear programme of flowing work;
- ``alone``: each job as if it were alone;
- ``in time``: most work that clusters can do in time, or with little delay, from cheap to dear;
- ``caps``: no schedule keeps the caps.
"""

_IN_WORDS: dict[Metric, str] = {
    "cost": "cost",
    "execution_time_s": "execution time",
    "delay_s": "delay",
}

_COST_NOISE = Fraction(1, 10**12)
"""Costs are sums in floating-point numbers: caps on them are raised by this share."""


@dataclass(frozen=True, slots=True)
class PlatformBound:
    """A proven lower bound of a metric of all schedules that keep caps.

    Attributes
    ----------
    metric : {"cost", "execution_time_s", "delay_s"}
        What is bounded: total cost in the unit of cost, or seconds summed over the jobs.
    value : float
        No schedule that keeps the caps has less; infinite if it is proved that none keeps them.
    caps : mapping
        Most that metrics may be, by their names.
    how : {"prices", "alone", "in time", "caps"}
        What proves it; see `Proof`.
    reason : str
        Why no schedule keeps the caps; empty if some may.
    runtime_s : float
        Time it took.
    """

    metric: Metric
    value: float
    caps: Mapping[Metric, float] = field(default_factory=dict)
    how: Proof = "alone"
    reason: str = ""
    runtime_s: float = 0.0

    @property
    def feasible(self) -> bool:
        """False if it is proved that no schedule keeps the caps; True proves nothing."""
        return not self.reason


def platform_bound(
    platform: Platform,
    metric: Metric,
    *,
    cost_at_most: float | None = None,
    execution_time_s_at_most: float | None = None,
    delay_s_at_most: float | None = None,
    most_slots: int = MOST_SLOTS,
    time_limit_s: float | None = None,
    stop: Stop | None = None,
) -> PlatformBound:
    """Bound a metric of all schedules of a platform from below; see `models.platforms.fluid` for what is a schedule.

    Parameters
    ----------
    platform : Platform
        With its jobs.
    metric : {"cost", "execution_time_s", "delay_s"}
        What is bounded.
    cost_at_most, execution_time_s_at_most, delay_s_at_most : float, optional
        Caps: only schedules count whose metrics are no more.
    most_slots : int
        About how finely time is divided; it is valid for any.
    time_limit_s : float, optional
        When to stop looking for good prices.
    stop : Stop, optional
        Ends it before that; so do Ctrl-C and SIGTERM.

    Returns
    -------
    PlatformBound
        Whatever the solver does, its value is proved; that no schedule keeps the caps is reported there, too.

    Raises
    ------
    InputError
        If an argument is none of these.
    """
    started = time.perf_counter()
    caps: dict[Metric, float] = {}
    for name, cap in zip(METRICS, (cost_at_most, execution_time_s_at_most, delay_s_at_most), strict=True):
        if cap is not None:
            caps[name] = cap
    _check(metric, caps, most_slots, time_limit_s)
    with interruptible(stop, told=False), within(time_limit_s, begin=started):
        search = _Search(platform, platform_fluid(platform, most_slots), caps)
        value, how, reason = search.bound(metric)
    return PlatformBound(metric, value, caps, how, reason, time.perf_counter() - started)


def frontier(
    platform: Platform,
    x: Metric = "cost",
    y: Metric = "delay_s",
    points: int = 12,
    most_slots: int = MOST_SLOTS,
    stop: Stop | None = None,
) -> list[tuple[float, float]]:
    """Bound a metric from below for caps on another: from the least of x to the least with the least of y.

    Parameters
    ----------
    platform : Platform
        With its jobs.
    x, y : {"cost", "execution_time_s", "delay_s"}
        The metric that is capped, and the one that is bounded.
    points : int
        How many, 2 or more.
    most_slots : int
        As for `platform_bound`.
    stop : Stop, optional
        As for `platform_bound`: bounds that are left are what is known of larger caps, or at once.

    Returns
    -------
    list of (float, float)
        Caps on x, ascending, and bounds of y: no schedule is below and left of the steps through them. A bound is
        infinite if it is proved that no schedule has so little of x.

    Raises
    ------
    InputError
        If an argument is none of these.
    """
    _check(x, {}, most_slots, None)
    _check(y, {}, most_slots, None)
    if x == y:
        raise InputError("frontier", [Issue("", f"must differ from x ({x!r})", "y", y)])
    if points < 2:
        raise InputError("frontier", [Issue("", "must be 2 or more: the ends of the frontier", "points", points)])
    with interruptible(stop, told=False):
        fluid = platform_fluid(platform, most_slots)
        first = _Search(platform, fluid, {}).bound(x)[0]
        most = _Search(platform, fluid, {}).bound(y)[0]
        last = math.inf
        while math.isinf(last):  # proved not to be reached by any schedule
            last = _Search(platform, fluid, {y: most}).bound(x)[0]
            most = 2 * most + 1
        last = max(first, last)
        while math.isinf(_Search(platform, fluid, {x: last}).bound(y)[0]):
            last = 2 * last + 1
        caps = np.linspace(first, last, points).tolist()
        bounds = [_Search(platform, fluid, {x: cap}).bound(y)[0] for cap in reversed(caps)]
    # What holds for a larger cap holds for a smaller one.
    return list(zip(caps, np.maximum.accumulate(bounds)[::-1].tolist(), strict=True))


def _check(metric: str, caps: Mapping[Metric, float], most_slots: int, time_limit_s: float | None) -> None:
    issues = []
    if metric not in METRICS:
        issues.append(Issue("", f"must be one of {', '.join(METRICS)}", "metric", metric))
    issues += [
        Issue("", "must be a number >= 0; leave it out if there is no limit", f"{name}_at_most", cap)
        for name, cap in caps.items()
        if not (math.isfinite(cap) and cap >= 0)
    ]
    if most_slots < 1:
        issues.append(Issue("", "must be 1 or more", "most_slots", most_slots))
    if time_limit_s is not None and not time_limit_s > 0:
        issues.append(Issue("", "must be greater than 0, or None for no limit", "time_limit_s", time_limit_s))
    if issues:
        raise InputError("bound of a platform", issues)


class _NoScheduleError(Exception):
    """Proof against all schedules: none keeps the caps."""


class _Search:
    """Looks for the best bound of a metric under caps."""

    def __init__(self, platform: Platform, fluid: PlatformFluid, caps: Mapping[Metric, float]) -> None:
        self.platform, self.fluid = platform, fluid
        self.given = caps
        self.caps: dict[Metric, Fraction] = {
            name: Fraction(cap) * (1 + _COST_NOISE if name == "cost" else 1) for name, cap in caps.items()
        }
        self.priceless = Prices(np.zeros(fluid.capacity.shape), {})

    def bound(self, metric: Metric) -> tuple[float, Proof, str]:
        """Return the bound, what proves it, and why there is no schedule if there is none."""
        try:
            for name in self.caps:  # before prices are looked for: they take time
                self._compare(name, self._simple(name)[0])
            value, how, exceeded = self._best(metric)
            self._compare(metric, value)
            for name in exceeded:
                self._compare(name, self._best(name)[0])
        except _NoScheduleError as proof:
            return math.inf, "caps", str(proof)
        return _rounded_down(value, whole=metric != "cost"), how, ""

    def _compare(self, metric: Metric, value: Fraction) -> None:
        """Compare the bound of a metric with its cap."""
        if metric in self.caps and value > self.caps[metric]:
            least = _said(_rounded_down(value, whole=metric != "cost"))
            whole = f"the total {_IN_WORDS[metric]} of any schedule{self._with_caps(metric)}"
            raise _NoScheduleError(f"{whole} is at least {least}, not {_said(self.given[metric])}")

    def _with_caps(self, but: Metric | None = None) -> str:
        said = [f"a total {_IN_WORDS[name]} of at most {_said(cap)}" for name, cap in self.given.items() if name != but]
        return f" with {' and '.join(said)}" if said else ""

    def _simple(self, metric: Metric) -> tuple[Fraction, Proof]:
        """Bound a metric without prices."""
        alone = dual_value(self.fluid, metric, self.caps, self.priceless)
        if alone.value is None:
            raise _NoScheduleError(
                f"there is no schedule{self._with_caps()}: job {alone.stranded!r} exceeds that alone"
            )
        delay_s = self.caps.get("delay_s")
        if metric != "cost" or delay_s is None or delay_s > MAX_SECONDS:
            return alone.value, "alone"
        in_time = least_cost_in_time(self.platform, math.floor(delay_s))
        if in_time is None:
            late = "there is no schedule with a total delay of at most"
            raise _NoScheduleError(f"{late} {_said(self.given['delay_s'])}: the clusters cannot do all work in time")
        return (in_time, "in time") if in_time > alone.value else (alone.value, "alone")

    def _best(self, metric: Metric) -> tuple[Fraction, Proof, tuple[Metric, ...]]:
        """Return the best bound, what proves it, and which caps may be too low."""
        value, how = self._simple(metric)
        crowded = metric != "cost" and self.fluid.cloud is None  # otherwise nobody needs what another one uses
        if not self.fluid.ids or not self.fluid.prices or not (crowded or self.caps.keys() - {metric}):
            return value, how, ()
        exceeded: tuple[Metric, ...] = ()
        # Where caps are exceeded, their prices are arbitrary: those without caps may prove more.
        for caps in (self.caps, {}):
            found = fluid_prices(self.fluid, metric, caps)
            for prices in () if found is None else found.choices:
                proved = dual_value(self.fluid, metric, self.caps, prices).value
                if proved is not None and proved > value:
                    value, how = proved, "prices"
            exceeded += () if found is None else found.exceeded
            if not (exceeded and crowded):
                break
        return value, how, exceeded


def _rounded_down(value: Fraction, whole: bool) -> float:
    """Take the number below; seconds are whole, so the next whole number holds as well."""
    least = max(value, Fraction(0))
    if whole:
        return float(math.ceil(least))
    near = float(least)
    return math.nextafter(near, 0.0) if Fraction(near) > least else near


def _said(value: float) -> str:
    return f"{value:,.10g}"
