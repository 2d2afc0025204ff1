"""The paper of Caron and de Assuncao, 2016, whose own numbers are lost; what other assumptions change, and its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

from spotbag.core.statistics import estimate
from spotbag.instances.platforms.job_draws import JobSetKind

from ...data_files import read_changes, read_notes
from ...paper import Paper, Results, changed
from ...paper import Setting as Replayed
from ...paper_result import PublishedComparisonResult
from ...paper_tables import PaperTables
from .assumptions import ROUND_ROBIN, Assumptions
from .bounds import BOUNDED, CaronBounds, bound_draws, gap_percent
from .claims import Comparison, Lower, caron_claims, caron_findings, compared
from .pictures import PICTURES
from .runs import CaronRuns, Cell, caron_runs, cloud_use_percent, grid_settings, n_caron_runs
from .settings import (
    BUDGETS,
    BY_DEADLINE,
    EXACT,
    FASTEST,
    GRID_BUDGETS,
    GRID_PROCESSORS,
    METRICS,
    MONEY,
    PATIENT,
    PROCESSORS,
    SETS,
    THEIRS,
    TIME,
    CaronOptions,
    Setting,
    Values,
)
from .tables import GRID, PAIR, caron_rows


def _lower_percent(result: PublishedComparisonResult, table: str, metric: str) -> str:
    """Percentage of the settings with the lower number, among those where two policies differ."""
    counts = dict.fromkeys(("lower", "higher", "open"), 0.0)
    for row in result.rows:
        if (row.table, row.scenario) == (table, metric) and row.quantity in counts:
            counts[row.quantity] += row.ours.mean or 0.0
    total = sum(counts.values())
    return f"{100 * counts['lower'] / total:.0f}" if total else "-"


_COLUMNS = {
    "cost lower (%)": partial(_lower_percent, table=GRID, metric="cost"),
    "time lower (%)": partial(_lower_percent, table=GRID, metric="execution_time_h"),
    "delay lower (%)": partial(_lower_percent, table=GRID, metric="delay_h"),
    "A cheaper than B (%)": partial(_lower_percent, table=PAIR, metric="cost"),
}


def _settings(options: CaronOptions) -> Sequence[Replayed[CaronOptions]]:
    """Settings of other replays, with the judged runs alone, and few trees: these stay as they are."""
    few_trees = {resources: (fan_outs[0], fan_outs[-1]) for resources, fan_outs in options.fan_outs.items()}
    changes = []
    for assumption, value, given in read_changes(__package__):
        if "assumptions" in given:
            given = {"budgets": (BUDGETS,), "assumptions": Assumptions(**given["assumptions"])}
        changes.append((assumption, value, given))
    return changed(replace(options, only_statements=True, fan_outs=few_trees), options.runs, changes)


MEAN_SIZE: Mapping[JobSetKind, float] = {"small": 90.0, "big": 1500.0, "mixed": 795.0}
"""Processor-minutes of a job on average, and of those that arrive in a minute."""

_CLUSTERS = 2
"""Clusters of the platform, both of a size."""

_POLICIES = {
    "A": MONEY,
    "B": TIME,
    "patient A": MONEY + PATIENT,
    "patient B": TIME + PATIENT,
    "round robin": ROUND_ROBIN,
}
"""Names of policies in notes."""


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


def caron_facts(results: Results) -> dict[str, Any]:
    """Return the values of the page's template."""
    result = next(iter(results.values()))
    options = CaronOptions(runs=result.about["runs"], numbers=tuple(result.about["numbers"]))
    worth = round(PROCESSORS ** min(setting.options.assumptions.speed_up_exponent for setting in _settings(options)))
    return {
        "worth": worth,
        "worth_price": f"{PROCESSORS / worth:.1f}",
        "largest": {f"{max(options.numbers)} jobs"},
        "two_numbers": {f"{number} jobs" for number in sorted(options.numbers)[::2][-2:]},
        "grid_settings": len(grid_settings(options)) // len(SETS),
        "grid_draws": options.draws_over_the_grid,
        "grid_processors": _listed(map(str, GRID_PROCESSORS)),
        "grid_numbers": _listed(map(str, options.numbers)),
        "grid_budgets": _listed(_range(budgets) for budgets in GRID_BUDGETS),
        "processors": PROCESSORS,
        "own_budgets": _range(BUDGETS),
        "bound_draws": bound_draws(options),
    }


def _range(budgets: tuple[float, float]) -> str:
    low, high = budgets
    return f"{low:g} to {high:g}"


def _listed(words: Iterable[str]) -> str:
    """Several words, the last one after an "or"."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


PAPER: Paper[CaronOptions, CaronRuns] = Paper(
    key="caron",
    name="Caron & de Assuncao",
    package=__package__,
    options=CaronOptions,
    runs_are="draws of each set of jobs",
    n_runs=n_caron_runs,
    replay=caron_runs,
    rows=caron_rows,
    claims=caron_claims,
    findings=caron_findings,
    notes=caron_notes,
    tables=PaperTables.read(__package__),
    facts=caron_facts,
    columns=_COLUMNS,
    settings=_settings,
    pictures=PICTURES,
)
