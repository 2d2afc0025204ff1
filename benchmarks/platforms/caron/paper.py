"""The paper of Caron and de Assuncao, 2016: its tables, what other assumptions change, and its page.

The paper's own numbers are lost with its pictures: nothing is printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from spotbag.core.statistics import estimate
from spotbag.instances.platforms.job_draws import JobSetKind

from ...data_files import read_changes, read_notes
from ...paper import Paper, Results, changed, read_columns
from ...paper import Setting as Replayed
from ...paper_tables import ComparisonRow, PaperTables, PublishedComparisonResult, Quantities, means, measured, row_of
from .claims import (
    AGAINST_ONE_ANOTHER,
    Comparison,
    Lower,
    against_round_robin,
    caron_claims,
    caron_findings,
    compared,
    counted,
    median_percent,
)
from .pictures import PICTURES
from .runs import (
    BOUNDED,
    CaronBounds,
    CaronRuns,
    Cell,
    Cells,
    bound_draws,
    caron_runs,
    cloud_use_percent,
    gap_percent,
    grid_settings,
    n_caron_runs,
)
from .settings import (
    BOUND,
    BUDGETS,
    BY_DEADLINE,
    CELLS,
    EXACT,
    FASTEST,
    FIGURES,
    FRONTIER,
    GAPS,
    GRID,
    GRID_BUDGETS,
    GRID_PROCESSORS,
    METRICS,
    MONEY,
    OTHER_RULES,
    PAIR,
    PATIENT,
    POLICIES,
    PROCESSORS,
    ROUND_ROBIN,
    RULES,
    SETS,
    SIZES,
    THEIRS,
    TIME,
    TREES,
    UNDISPLACED,
    WHERE,
    Assumptions,
    CaronOptions,
    Setting,
    Values,
    grid_name,
    number_name,
)
from .trees import TreeRuns


def _means(*names: str) -> Quantities[Cell]:
    return means({name: itemgetter(name) for name in names})


_METRICS = _means(*METRICS)
_FIGURES = _means(*METRICS, "late_jobs", "overspent_jobs", "overspend", "bad_percent")
_CLOUD_USE: Quantities[Cell] = {"cloud_use_percent": cloud_use_percent}
_DISPLACED = _means("displaced")
_WORK = {**_means("dedicated_percent", "allocated_percent", "cloud_percent"), **_CLOUD_USE, **_DISPLACED}
_BOUNDED: Quantities[Sequence[Values]] = {
    "delay_h": lambda rows: estimate([row["delay_h"] for row in rows]),
    "cost": lambda rows: estimate([row["cost"] for row in rows]),
    "least_cost": lambda rows: estimate([row["least_cost"] for row in rows]),
    "cost_gap_percent": lambda rows: estimate(gap_percent(rows)),
}
_TREE: Quantities[TreeRuns] = {
    "agents": lambda tree: tree.shape.agents,
    "depth": lambda tree: tree.shape.depth,
    "mn": lambda tree: tree.shape.depth * tree.shape.children,
    "messages": lambda tree: tree.shape.messages,
    "sent": lambda tree: estimate(tree.messages),
    "comparisons": lambda tree: estimate(tree.comparisons),
    "busiest": lambda tree: tree.shape.busiest,
    "path": lambda tree: tree.shape.path,
    "same_percent": lambda tree: 100 * sum(tree.same) / len(tree.same),
    "children": lambda tree: tree.shape.children,
    "cost": lambda tree: estimate(tree.cost),
    "execution_time_h": lambda tree: estimate(tree.execution_time_h),
    "delay_h": lambda tree: estimate(tree.delay_h),
}


def caron_rows(runs: CaronRuns) -> Iterator[ComparisonRow]:
    """Figs 2 to 7, and the same for big jobs, of which the paper has no figure."""
    yield from _grid(runs.grid)
    for setting, cells in runs.grid.items():
        for policy, cell in cells.items():
            where = CELLS, setting.kind, grid_name(setting), policy
            yield from measured(where, _METRICS, cell)
            for metric in METRICS if policy in THEIRS else ():
                yield row_of(*where, f"{metric}_less", cell.less(cells[ROUND_ROBIN], itemgetter(metric)))
    yield from _figures(runs.figures)
    if runs.bounds is not None:
        yield from _bounds(runs.bounds)
    for tree in runs.trees:
        place = TREES, f"{tree.shape.resources} resources", f"{tree.shape.children} children", ""
        yield from measured(place, _TREE, tree)


def _place(table: str, setting: Setting, policy: str) -> tuple[str, str, str, str]:
    return table, setting.kind, number_name(setting), policy


def _figures(figures: Cells) -> Iterator[ComparisonRow]:
    """The policies, and both of the paper by other rules of local schedulers."""
    other = {**_METRICS, **_DISPLACED, **_CLOUD_USE}
    variants = (*(policy + rules for policy in THEIRS for rules in ("", *RULES)), FASTEST, UNDISPLACED)
    for setting, cells in figures.items():
        for policy in POLICIES:
            yield from measured(_place(FIGURES, setting, policy), _FIGURES, cells[policy])
            yield from measured(_place(WHERE, setting, policy), _WORK, cells[policy])
        for name in variants:
            yield from measured(_place(OTHER_RULES, setting, name), other, cells[name])


def _bounds(bounds: CaronBounds) -> Iterator[ComparisonRow]:
    """Gaps; the line below which nothing can lie, and where the policies are, with one draw of the jobs."""
    for setting, found in bounds.gaps.items():
        for policy, rows in found.items():
            yield from measured(_place(GAPS, setting, policy), _BOUNDED, rows)
    for kind, line in bounds.frontiers.items():
        points = {f"{BOUND} {number}": point for number, point in enumerate(line, start=1)} | bounds.points[kind]
        for policy, (cost, delay_h) in points.items():
            place = _place(FRONTIER, Setting(kind, bounds.number), policy)
            yield row_of(*place, "cost", cost)
            yield row_of(*place, "delay_h", delay_h)


def _grid(grid: Cells) -> Iterator[ComparisonRow]:
    """Rows on the number of settings with a lower number: of both policies, also by the size of the clusters."""
    for kind in SETS:
        for metric in METRICS:
            lowers = against_round_robin(kind, metric)
            for lower in lowers:
                yield from _counts(GRID, grid, lower)
            for processors in sorted({setting.processors for setting in grid}):
                cells = {setting: found for setting, found in grid.items() if setting.processors == processors}
                counts = counted(cells, lowers)
                differing = counts.total() - counts["alike"]
                share = 100 * counts["holds"] / differing if differing else None
                yield row_of(SIZES, kind, metric, "", f"lower_{processors}_percent", share)
    for lower in AGAINST_ONE_ANOTHER:
        yield from _counts(PAIR, grid, lower)


_COUNTED: Mapping[str, Comparison] = {
    "lower": "holds",
    "higher": "does not hold",
    "open": "not decided",
    "alike": "alike",
}


def _counts(table: str, grid: Cells, lower: Lower) -> Iterator[ComparisonRow]:
    counts = counted(grid, [lower])
    place = table, lower.kind, lower.metric, lower.mine
    for quantity, comparison in _COUNTED.items():
        yield row_of(*place, quantity, counts[comparison])
    yield row_of(*place, "median_percent", median_percent(grid, lower))


# ---------------------------------------------------------------------------- assumptions, notes, page


def _lower_percent(result: PublishedComparisonResult, table: str, metric: str) -> str:
    """Percentage of the settings with the lower number, among those where two policies differ."""
    counts = dict.fromkeys([*_COUNTED][:3], 0.0)  # where they are alike, there is nothing to compare
    for row in result.rows:
        if (row.table, row.scenario) == (table, metric) and row.quantity in counts:
            counts[row.quantity] += row.ours.mean or 0.0
    total = sum(counts.values())
    return f"{100 * counts['lower'] / total:.0f}" if total else "-"


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
    return cell.value(itemgetter(quantity))


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
    columns=read_columns(__package__, lower_percent=_lower_percent),
    settings=_settings,
    pictures=PICTURES,
)
