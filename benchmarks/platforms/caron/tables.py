"""Figures of Caron & de Assuncao on our hybrid platform, and what is not in their paper.

The paper's own numbers are lost with its pictures: nothing is printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from spotbag.core.statistics import estimate

from ...paper_result import ComparisonRow, row_of
from ...paper_tables import Quantities, means, measured
from .assumptions import ROUND_ROBIN
from .bounds import CaronBounds, gap_percent
from .claims import AGAINST_ONE_ANOTHER, Lower, against_round_robin, counted, median_percent
from .runs import CaronRuns, Cell, Cells, cloud_use_percent
from .settings import FASTEST, METRICS, POLICIES, RULES, SETS, THEIRS, UNDISPLACED, Setting, Values
from .trees import TreeRuns

FIGURES, WHERE, OTHER_RULES = "Figs 2-7", "where", "rules"
GRID, PAIR, SIZES, CELLS, TREES = "grid", "A and B", "sizes", "grid cells", "trees"
GAPS, FRONTIER = "bounds", "frontier"
BOUND = "bound"


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


def number_name(setting: Setting) -> str:
    """Name of a number of jobs."""
    return f"{setting.number} jobs"


def grid_name(setting: Setting) -> str:
    """Name of a possible setting of the paper."""
    low, high = setting.budgets
    return f"{setting.number} jobs, {setting.processors} processors, budget {low:g}-{high:g}"


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


def _counts(table: str, grid: Cells, lower: Lower) -> Iterator[ComparisonRow]:
    counts = counted(grid, [lower])
    numbers = {
        "lower": counts["holds"],
        "higher": counts["does not hold"],
        "open": counts["not decided"],
        "alike": counts["alike"],
        "median_percent": median_percent(grid, lower),
    }
    for quantity, ours in numbers.items():
        yield row_of(table, lower.kind, lower.metric, lower.mine, quantity, ours)
