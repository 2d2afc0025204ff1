"""The figures of Caron & de Assuncao on our hybrid platform; the paper's own numbers are lost with its pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from ....core.statistics import Estimate, estimate
from ...paper_result import ComparisonRow, estimate_of, exactly
from .bounds import CaronBounds, gap_percent
from .claims import COMPARISONS, counted, grid_statements
from .runs import CaronRuns, Cell, cloud_use_percent
from .settings import METRICS, POLICIES, ROUND_ROBIN, RULES, THEIRS, Setting
from .trees import TreeRuns

FIGURES, WHERE, OTHER_RULES = "Figs 2-7", "where", "rules"
GRID, CELLS, TREES = "grid", "grid cells", "trees"
GAPS, FRONTIER = "bounds", "frontier"
BOUND = "bound"

_MORE = ("late_jobs", "overspent_jobs", "overspend", "bad_percent")
_WORK = ("dedicated_percent", "allocated_percent", "cloud_percent")


def caron_rows(runs: CaronRuns) -> Iterator[ComparisonRow]:
    """Figs 2 to 7, and the same for big jobs, of which the paper has no figure; nothing is printed."""
    yield from _figures(runs)
    yield from _gaps(runs.bounds)
    yield from _frontiers(runs.bounds)
    yield from _variants(runs)
    yield from _grid(runs)
    yield from _trees(runs.trees)


def number_name(setting: Setting) -> str:
    """What a number of jobs is called."""
    return f"{setting.number} jobs"


def _row(table: str, setting: Setting, policy: str, quantity: str, ours: Estimate) -> ComparisonRow:
    return ComparisonRow(table, setting.kind, number_name(setting), policy, quantity, None, ours)


def _figures(runs: CaronRuns) -> Iterator[ComparisonRow]:
    for setting, cells in runs.figures.items():
        for policy in POLICIES:
            for quantity in (*METRICS, *_MORE):
                yield _row(FIGURES, setting, policy, quantity, cells[policy].mean(itemgetter(quantity)))
    for setting, cells in runs.figures.items():
        for policy in POLICIES:
            for quantity in _WORK:
                yield _row(WHERE, setting, policy, quantity, cells[policy].mean(itemgetter(quantity)))
            yield _row(WHERE, setting, policy, "cloud_use_percent", _cloud_use(cells[policy]))
            yield _row(WHERE, setting, policy, "displaced", cells[policy].mean(itemgetter("displaced")))


def _cloud_use(cell: Cell) -> Estimate:
    return estimate_of(cloud_use_percent(cell))


def _gaps(bounds: CaronBounds) -> Iterator[ComparisonRow]:
    for setting, found in bounds.gaps.items():
        for policy, rows in found.items():
            for quantity in ("delay_h", "cost", "least_cost"):
                yield _row(GAPS, setting, policy, quantity, estimate([row[quantity] for row in rows]))
            yield _row(GAPS, setting, policy, "cost_gap_percent", estimate(gap_percent(rows)))


def _frontiers(bounds: CaronBounds) -> Iterator[ComparisonRow]:
    """The line below which nothing can lie, and where the policies are, with one draw of the jobs."""
    for kind, line in bounds.frontiers.items():
        setting = Setting(kind, bounds.number)
        points = [(f"{BOUND} {number}", point) for number, point in enumerate(line, start=1)]
        for policy, (cost, delay_h) in [*points, *bounds.points[kind].items()]:
            yield _row(FRONTIER, setting, policy, "cost", exactly(cost))
            yield _row(FRONTIER, setting, policy, "delay_h", exactly(delay_h))


def _variants(runs: CaronRuns) -> Iterator[ComparisonRow]:
    """Both policies as printed, and by other rules of local schedulers."""
    for setting, cells in runs.figures.items():
        for policy in THEIRS:
            for name in (policy, *(policy + rules for rules in RULES)):
                for quantity in (*METRICS, "displaced"):
                    yield _row(OTHER_RULES, setting, name, quantity, cells[name].mean(itemgetter(quantity)))
                yield _row(OTHER_RULES, setting, name, "cloud_use_percent", _cloud_use(cells[name]))


def grid_name(setting: Setting) -> str:
    """What a setting that the paper might have had is called."""
    low, high = setting.budgets
    return f"{setting.number} jobs, {setting.processors} processors, budget {low:g}-{high:g}"


def _grid(runs: CaronRuns) -> Iterator[ComparisonRow]:
    for lower in grid_statements():
        counts = counted(runs.grid, lower)
        [kind] = lower.kinds
        for name in COMPARISONS:
            quantity = name.replace(" ", "_")
            against = f"{lower.metric} below {lower.other}"
            yield ComparisonRow(GRID, kind, against, lower.mine, quantity, None, exactly(counts[name]))
    for setting, cells in runs.grid.items():
        for policy, cell in cells.items():
            for quantity in METRICS:
                ours = cell.mean(itemgetter(quantity))
                yield ComparisonRow(CELLS, setting.kind, grid_name(setting), policy, quantity, None, ours)
                if policy in THEIRS:
                    less = cell.less(cells[ROUND_ROBIN], itemgetter(quantity))
                    yield ComparisonRow(CELLS, setting.kind, grid_name(setting), policy, f"{quantity}_less", None, less)


def _trees(trees: Sequence[TreeRuns]) -> Iterator[ComparisonRow]:
    for tree in trees:
        shape = tree.shape
        numbers = {
            "agents": exactly(shape.agents),
            "depth": exactly(shape.depth),
            "children": exactly(shape.children),
            "mn": exactly(shape.depth * shape.children),
            "messages": exactly(shape.messages),
            "sent": estimate(tree.messages),
            "comparisons": estimate(tree.comparisons),
            "busiest": exactly(shape.busiest),
            "path": exactly(shape.path),
            "same_percent": exactly(100 * sum(tree.same) / len(tree.same)),
            "cost": estimate(tree.cost),
            "execution_time_h": estimate(tree.execution_time_h),
            "delay_h": estimate(tree.delay_h),
        }
        for quantity, ours in numbers.items():
            name = f"{shape.resources} resources"
            yield ComparisonRow(TREES, name, f"{shape.children} children", "", quantity, None, ours)
