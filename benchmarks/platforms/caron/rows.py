"""The figures of Caron & de Assuncao on our hybrid platform; the paper's own numbers are lost with its pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from ....core.statistics import Estimate, estimate
from ...paper_result import NOTHING, ComparisonRow, estimate_of, exactly
from .assumptions import ROUND_ROBIN
from .bounds import CaronBounds, gap_percent
from .claims import AGAINST_ONE_ANOTHER, Lower, against_round_robin, counted, median_percent
from .runs import CaronRuns, Cell, Cells, cloud_use_percent
from .settings import FASTEST, METRICS, POLICIES, RULES, SETS, THEIRS, UNDISPLACED, Setting
from .trees import TreeRuns

FIGURES, WHERE, OTHER_RULES = "Figs 2-7", "where", "rules"
GRID, PAIR, SIZES, CELLS, TREES = "grid", "A and B", "sizes", "grid cells", "trees"
GAPS, FRONTIER = "bounds", "frontier"
BOUND = "bound"

_MORE = ("late_jobs", "overspent_jobs", "overspend", "bad_percent")
_WORK = ("dedicated_percent", "allocated_percent", "cloud_percent")


def caron_rows(runs: CaronRuns) -> Iterator[ComparisonRow]:
    """Figs 2 to 7, and the same for big jobs, of which the paper has no figure; nothing is printed."""
    yield from _grid(runs.grid)
    yield from _cells(runs.grid)
    yield from _figures(runs)
    if runs.bounds is not None:
        yield from _gaps(runs.bounds)
        yield from _frontiers(runs.bounds)
    yield from _variants(runs)
    yield from _trees(runs.trees)


def number_name(setting: Setting) -> str:
    """Name of a number of jobs."""
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
        for name in (*(policy + rules for policy in THEIRS for rules in ("", *RULES)), FASTEST, UNDISPLACED):
            for quantity in (*METRICS, "displaced"):
                yield _row(OTHER_RULES, setting, name, quantity, cells[name].mean(itemgetter(quantity)))
            yield _row(OTHER_RULES, setting, name, "cloud_use_percent", _cloud_use(cells[name]))


def grid_name(setting: Setting) -> str:
    """Name of a possible setting of the paper."""
    low, high = setting.budgets
    return f"{setting.number} jobs, {setting.processors} processors, budget {low:g}-{high:g}"


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
                share = exactly(100 * counts["holds"] / differing) if differing else NOTHING
                yield ComparisonRow(SIZES, kind, metric, "", f"lower_{processors}_percent", None, share)
    for lower in AGAINST_ONE_ANOTHER:
        yield from _counts(PAIR, grid, lower)


def _counts(table: str, grid: Cells, lower: Lower) -> Iterator[ComparisonRow]:
    counts = counted(grid, [lower])
    middle = median_percent(grid, lower)
    numbers = {
        "lower": exactly(counts["holds"]),
        "higher": exactly(counts["does not hold"]),
        "open": exactly(counts["not decided"]),
        "alike": exactly(counts["alike"]),
        "median_percent": NOTHING if middle is None else exactly(middle),
    }
    for quantity, ours in numbers.items():
        yield ComparisonRow(table, lower.kind, lower.metric, lower.mine, quantity, None, ours)


def _cells(grid: Cells) -> Iterator[ComparisonRow]:
    for setting, cells in grid.items():
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
