"""Reasons behind our figures of Caron & de Assuncao: the numbers of `notes.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from spotbag.core.statistics import estimate
from spotbag.instances.platforms.job_draws import JobSetKind

from ...paper import read_notes
from .assumptions import ROUND_ROBIN
from .bounds import BOUNDED, CaronBounds, gap_percent
from .claims import Comparison, Lower, compared
from .runs import CaronRuns, Cell, cloud_use_percent
from .settings import (
    BUDGETS,
    BY_DEADLINE,
    EXACT,
    FASTEST,
    METRICS,
    MONEY,
    PATIENT,
    PROCESSORS,
    SETS,
    THEIRS,
    TIME,
    Setting,
    Values,
)

MEAN_SIZE: Mapping[JobSetKind, float] = {"small": 90.0, "big": 1500.0, "mixed": 795.0}
"""Processor-minutes of a job on average, and of those that arrive in a minute."""

_CLUSTERS = 2

_POLICIES = {
    "A": MONEY,
    "B": TIME,
    "patient A": MONEY + PATIENT,
    "patient B": TIME + PATIENT,
    "round robin": ROUND_ROBIN,
}
"""What notes call policies."""


def load_percent(setting: Setting) -> float:
    """Load: arriving work as a percentage of the capacity of both clusters."""
    return 100 * MEAN_SIZE[setting.kind] / (_CLUSTERS * setting.processors)


def caron_notes(runs: CaronRuns) -> Iterator[str]:
    """Reasons, each with numbers; none if only statements are judged."""
    if runs.bounds is None:
        return iter(())
    largest: dict[str, _Largest] = {kind: _largest(runs, kind) for kind in SETS}
    trees = [tree.shape for tree in runs.trees]
    small = largest["small"].cells
    use = {policy: cloud_use_percent(small[policy]) for policy in (*THEIRS, ROUND_ROBIN)}
    used = ", ".join(f"{name} {share.value:.0f} %" for name, share in use.items() if share is not None)
    values: dict[str, Any] = {
        **largest,
        "deep": max(trees, key=lambda shape: (shape.resources, shape.depth)),
        "flat": max(trees, key=lambda shape: (shape.resources, -shape.depth)),
        "cloud_use": used or "none is paid",
        "exact": _changes(largest, EXACT),
        "by_deadline": _changes(largest, BY_DEADLINE),
        "n_alike": sum(
            all(cells[TIME].values(metric) == cells[FASTEST].values(metric) for metric in map(itemgetter, METRICS))
            for cells in runs.figures.values()
        ),
        "n_settings": len(runs.figures),
    }
    return read_notes(__package__, values | _not_printed(runs) | _overload(runs) | _gaps(runs.bounds))


@dataclass(frozen=True)
class _Largest:
    """The largest set of a kind: number of jobs, cells by policy, and means of some policies by name."""

    number: int
    cells: Mapping[str, Cell]

    def __getitem__(self, name: str) -> Values:
        """Return the means of a policy that notes name, and the minutes that a job takes."""
        cell = self.cells[_POLICIES[name]]
        means = {quantity: _mean(cell, quantity) for quantity in cell.runs[0]}
        return means | {"job_min": 60 * means["execution_time_h"] / self.number}


def _largest(runs: CaronRuns, kind: JobSetKind) -> _Largest:
    setting = max((setting for setting in runs.figures if setting.kind == kind), key=lambda setting: setting.number)
    return _Largest(setting.number, runs.figures[setting])


def _mean(cell: Cell, quantity: str) -> float:
    return cell.statistic(itemgetter(quantity)).value


def _not_printed(runs: CaronRuns) -> dict[str, Any]:
    sizes = sorted({setting.processors for setting in runs.grid})
    budgets = sorted({setting.budgets for setting in runs.grid})
    return {
        "processors": PROCESSORS,
        "budget_from": BUDGETS[0],
        "budget_to": BUDGETS[1],
        "loads": ", ".join(f"{kind} {load_percent(Setting(kind, 1)):.0f} %" for kind in ("small", "mixed", "big")),
        "grid_processors": ", ".join(map(str, sizes)),
        "grid_budgets": ", ".join(f"{low:g} to {high:g}" for low, high in budgets),
    }


def _overload(runs: CaronRuns) -> dict[str, Any]:
    """Number of comparisons with the lower cost, by the policy's share of work in the cloud."""
    found: dict[bool, Counter[Comparison]] = {False: Counter(), True: Counter()}
    for setting, cells in runs.grid.items():
        for policy in THEIRS:
            more = _mean(cells[policy], "cloud_percent") > _mean(cells[ROUND_ROBIN], "cloud_percent")
            found[more][compared(cells, Lower(setting.kind, "cost", policy, ROUND_ROBIN))] += 1
    shares = {more: f"{counts['holds']} of {counts.total() - counts['alike']}" for more, counts in found.items()}
    return {"less_cloud": shares[False], "more_cloud": shares[True]}


def _changes(largest: Mapping[str, _Largest], rule: str) -> str:
    """Changes of cost and execution time of both policies by a rule, and of delay for queues by deadline."""
    parts = []
    for kind in ("mixed", "big"):
        for policy in THEIRS:
            before, after = largest[kind].cells[policy], largest[kind].cells[policy + rule]
            cost, time_h = (_change(before, after, quantity) for quantity in ("cost", "execution_time_h"))
            delay = f"delay {_mean(after, 'delay_h'):,.1f} instead of {_mean(before, 'delay_h'):,.1f} h, "
            part = f"{largest[kind].number} {kind} jobs, {policy}: cost {cost}, "
            parts.append(f"{part}{delay if rule == BY_DEADLINE else ''}execution time {time_h}")
    return "; ".join(parts)


def _change(before: Cell, after: Cell, quantity: str) -> str:
    old, new = (_mean(cell, quantity) for cell in (before, after))
    return f"{100 * (new / old - 1):+.0f} %" if old else f"{new:,.0f} instead of 0"


def _gaps(bounds: CaronBounds) -> dict[str, Any]:
    most = max(setting.number for setting in bounds.gaps)
    parts = []
    for setting, found in bounds.gaps.items():
        if setting.number == most:
            gaps = (estimate(gap_percent(found[policy])).mean or 0.0 for policy in BOUNDED)
            listed = ", ".join(f"{policy} {gap:.0f} %" for policy, gap in zip(BOUNDED, gaps, strict=True))
            parts.append(f"{setting.kind}: {listed}")
    return {"most": most, "gaps": "; ".join(parts)}
