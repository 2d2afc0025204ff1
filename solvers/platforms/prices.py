"""Prices for the bounds of hybrid platforms: the duals of a linear programme in which work flows.

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

from dataclasses import dataclass

import numpy as np

from ...bounds.programme import TOLERANCE, Programme
from ...core.limits import LimitReached, checkpoint
from ...core.quantities import FloatArray
from ...instances.platforms.entries import SLOT_S
from ...models.platforms.dual import METRICS, Caps, Metric, Prices
from ...models.platforms.fluid import PlatformFluid

_MOST_GROUPS = 400
_MOST_CELLS, _FEW_CELLS = 64_000, 12_000
_FEWEST_PERIODS, _MANY_PERIODS = 20, 100

_ALIKE = 10
"""Groups of jobs that arrive at about the same time."""

_STEEPEST = 1e4
"""Most that a capped metric is worth, in units in which each metric of some schedule is 1."""

_LOWEST = 1e-3
"""Smallest unit of a metric, relative to what it comes to if all cells are used evenly."""


def fluid_prices(fluid: PlatformFluid, metric: Metric, caps: Caps) -> FluidPrices | None:
    """Solve the linear programme; None if the solver has no optimum in time.

    Parameters
    ----------
    fluid : PlatformFluid
        The jobs, and clusters.
    metric, caps
        As for ``platform_dual.dual_value``.
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
    """Jobs that arrive one after the other and are alike, as so many of their mean.

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
    """The linear programme.

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
        """Solve the programme; None if the solver has no optimum in time."""
        try:
            programme = self._programme()
            if not programme.solve():
                return None
        except LimitReached:
            return None
        excess = programme.values[len(self.charges[self.metric]) :]
        with np.errstate(all="ignore"):
            duals = np.maximum(-programme.duals, 0.0) * self.scales[self.metric]
        of_caps = duals[self.first_cap :]
        worth = {name: float(dual) / self.scales[name] for name, dual in zip(self.capped, of_caps, strict=True)}
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
