"""Figures of Caron & de Assuncao on our hybrid platform, and what is not in their paper.

The paper's own numbers are lost with its pictures: nothing is printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter, itemgetter

from spotbag.core.statistics import estimate

from ...paper_result import ComparisonRow, row_of
from ...paper_tables import POLICY, Lead, PaperColumn, PaperTable, Quantity, mean_of_runs, measured, ours_alone
from .assumptions import ROUND_ROBIN
from .bounds import CaronBounds, gap_percent
from .claims import AGAINST_ONE_ANOTHER, WORDS, Lower, against_round_robin, counted, median_percent
from .runs import CaronRuns, Cell, Cells, cloud_use_percent
from .settings import FASTEST, GRID_PROCESSORS, METRICS, POLICIES, RULES, SETS, THEIRS, UNDISPLACED, Setting, Values
from .trees import TreeRuns

FIGURES, WHERE, OTHER_RULES = "Figs 2-7", "where", "rules"
GRID, PAIR, SIZES, CELLS, TREES = "grid", "A and B", "sizes", "grid cells", "trees"
GAPS, FRONTIER = "bounds", "frontier"
BOUND = "bound"


def _mean(name: str, heading: str, digits: int) -> Quantity[Cell]:
    return mean_of_runs(name, heading, digits, itemgetter(name))


_METRICS = (
    _mean("cost", "cost", 0),
    _mean("execution_time_h", "execution time (h)", 1),
    _mean("delay_h", "delay (h)", 2),
)
_MORE = (
    _mean("late_jobs", "late jobs", 1),
    _mean("overspent_jobs", "jobs over budget", 1),
    _mean("overspend", "by", 0),
    _mean("bad_percent", "bad (%)", 1),
)
_CLOUD_USE = Quantity[Cell]("cloud_use_percent", "cloud, used (%)", 1, cloud_use_percent)
_DISPLACED = _mean("displaced", "displaced", 1)
_WORK = (
    _mean("dedicated_percent", "dedicated (%)", 1),
    _mean("allocated_percent", "allocated (%)", 1),
    _mean("cloud_percent", "cloud (%)", 1),
    _CLOUD_USE,
    _DISPLACED,
)


def _of_rows(name: str, heading: str, digits: int) -> Quantity[list[Values]]:
    return Quantity(name, heading, digits, lambda rows: estimate([row[name] for row in rows]))


_BOUNDED = _of_rows("delay_h", "delay (h)", 2), _of_rows("cost", "cost", 0), _of_rows("least_cost", "least cost", 0)
_GAP = Quantity[list[Values]]("cost_gap_percent", "gap (%)", 1, lambda rows: estimate(gap_percent(rows)))
_TREE = (
    Quantity[TreeRuns]("agents", "agents", 0, lambda tree: tree.shape.agents),
    Quantity[TreeRuns]("depth", "levels m", 0, lambda tree: tree.shape.depth),
    Quantity[TreeRuns]("mn", "mn", 0, lambda tree: tree.shape.depth * tree.shape.children),
    Quantity[TreeRuns]("messages", "messages", 0, lambda tree: tree.shape.messages),
    Quantity[TreeRuns]("sent", "messages", 1, lambda tree: estimate(tree.messages)),
    Quantity[TreeRuns]("comparisons", "offers compared", 1, lambda tree: estimate(tree.comparisons)),
    Quantity[TreeRuns]("busiest", "of the busiest agent", 0, lambda tree: tree.shape.busiest),
    Quantity[TreeRuns]("path", "one after another", 0, lambda tree: tree.shape.path),
    Quantity[TreeRuns]("same_percent", "placed alike (%)", 0, lambda tree: 100 * sum(tree.same) / len(tree.same)),
    Quantity[TreeRuns]("children", "children", 0, lambda tree: tree.shape.children),
    Quantity[TreeRuns]("cost", "cost", 0, lambda tree: estimate(tree.cost)),
    Quantity[TreeRuns]("execution_time_h", "execution time (h)", 1, lambda tree: estimate(tree.execution_time_h)),
    Quantity[TreeRuns]("delay_h", "delay (h)", 2, lambda tree: estimate(tree.delay_h)),
)
_NOT_SHOWN = ("messages", "children", "cost", "execution_time_h", "delay_h")


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
    variants = (*(policy + rules for policy in THEIRS for rules in ("", *RULES)), FASTEST, UNDISPLACED)
    for setting, cells in figures.items():
        for policy in POLICIES:
            yield from measured(_place(FIGURES, setting, policy), (*_METRICS, *_MORE), cells[policy])
            yield from measured(_place(WHERE, setting, policy), _WORK, cells[policy])
        for name in variants:
            yield from measured(_place(OTHER_RULES, setting, name), (*_METRICS, _DISPLACED, _CLOUD_USE), cells[name])


def _bounds(bounds: CaronBounds) -> Iterator[ComparisonRow]:
    """Gaps; the line below which nothing can lie, and where the policies are, with one draw of the jobs."""
    for setting, found in bounds.gaps.items():
        for policy, rows in found.items():
            yield from measured(_place(GAPS, setting, policy), (*_BOUNDED, _GAP), rows)
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


_JOBS = Lead("jobs", lambda row: row.scenario.replace("jobs", f"{row.job} jobs"))
_KIND, _METRIC = Lead("jobs", attrgetter("job")), Lead("what", lambda row: WORDS[row.scenario])

_COUNTS = (("lower", "lower", 0), ("higher", "higher", 0), ("open", "open", 0), ("median (%)", "median_percent", 0))

AGAINST_ROUND_ROBIN = PaperTable(
    GRID,
    "Against round robin, in the settings that the paper might have had: in how many a number is lower, higher, or\n"
    "neither by its 95 % interval (open), and the median difference; the paper's figures are lost, nothing is printed",
    ours_alone(
        *(
            PaperColumn(f"{letter}: {heading}", quantity, digits, policy)
            for letter, policy in zip("AB", THEIRS, strict=True)
            for heading, quantity, digits in _COUNTS
        )
    ),
    leads=(_KIND, _METRIC),
)


def _of_policies(name: str, title: str, *quantities: Quantity[Cell] | Quantity[list[Values]]) -> PaperTable:
    return PaperTable(name, title, ours_alone(*(quantity.column() for quantity in quantities)), (_JOBS, POLICY))


TABLES = (
    AGAINST_ROUND_ROBIN,
    PaperTable(
        SIZES,
        "The same of both policies by the processors of each cluster: in how many percent of the settings it is lower",
        ours_alone(*(PaperColumn(f"{number} (%)", f"lower_{number}_percent", 0) for number in GRID_PROCESSORS)),
        leads=(_KIND, _METRIC),
    ),
    PaperTable(
        PAIR,
        "Policy A (money-saving) and B (time-saving) against one another, likewise",
        ours_alone(*(PaperColumn(heading, quantity, digits) for heading, quantity, digits in _COUNTS)),
        leads=(_KIND, Lead("what", lambda row: f"{WORDS[row.scenario]} of {row.policy}")),
    ),
    _of_policies(
        FIGURES,
        "Figs 2 to 7, and the same of big jobs (the pictures are lost, and there is no table: nothing is printed)",
        *_METRICS,
        *_MORE[:3],
    ),
    _of_policies(
        WHERE,
        "Where the work is done, how much of what is paid in the cloud is used, jobs pushed out of queues",
        *_WORK,
    ),
    _of_policies(
        GAPS,
        "Lower bounds: least cost of any schedule with no more delay; gap: what could be saved at most",
        *_BOUNDED,
        _GAP,
    ),
    _of_policies(
        OTHER_RULES,
        "Other rules of local schedulers, not the paper's: +exact, clouds say what will be; +patient, jobs that are\n"
        "late anyhow are not displaced; +deadline, queues by deadline",
        *_METRICS,
        _CLOUD_USE,
        _DISPLACED,
    ),
    PaperTable(
        TREES,
        "The same resources and jobs below trees of agents; messages, candidates compared: for a placement",
        ours_alone(*(quantity.column() for quantity in _TREE if quantity.name not in _NOT_SHOWN)),
        leads=(
            Lead("resources", lambda row: row.job.split()[0]),
            Lead("most children n", lambda row: row.scenario.split()[0]),
        ),
    ),
)
