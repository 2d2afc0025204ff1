"""Claims of sections 4.3, 4.4 and the abstract of the A2HA paper, judged by replays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.core.statistics import Estimate, Statistic, estimate, mean_of

from ...claims import (
    ABOUT,
    Case,
    Claim,
    about,
    above,
    all_hold,
    below,
    claim,
    estimate_of,
    span,
    verdict_in_words,
    with_intervals,
)
from .comparisons import SAID, value
from .printed import LONG_QUANTITIES, A2haFigures, LongQuantity, PublishedLongCase
from .runs import (
    METRICS,
    SECONDS_PER_MINUTE,
    WORDS,
    A2haRun,
    A2haRuns,
    LongLines,
    line_values,
    optimal_by_paper,
)
from .settings import SHORT_JOBS, STYLES

_DIGITS = {"hosts": 1, "wall_h": 2, "speedup": 1, "payment_h": 1}

_MEASURED: tuple[LongQuantity, ...] = tuple(quantity for quantity in LONG_QUANTITIES if quantity != "hosts")
"""Of the lines of the heuristic in Table 2, whose numbers of hosts the rule for long tasks was fitted to."""

_LINES: dict[str, tuple[Callable[[LongLines], dict[str, float]], Callable[[LongLines], dict[str, float]]]] = {
    "serial": (lambda of: line_values(of.serial), lambda of: line_values(of.serial_at_once)),
    "optimal": (lambda of: optimal_by_paper(of.alone), lambda of: optimal_by_paper(of.alone_at_once)),
    "1 per task": (lambda of: line_values(of.alone), lambda of: line_values(of.alone_at_once)),
}
"""Lines of Table 2 that no prediction makes: with time to boot, and without."""

_Means = Callable[[LongQuantity], Estimate]


def table_claims(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    """Judge Tables 1 and 2 row by row, and the statements of sections 4.3 and 4.4 and the abstract."""
    yield from (_table_1(figures, runs, what) for what in _TABLE_1)
    yield from _continued(figures, runs)
    yield from _table_2(figures, runs)
    yield _optimal_is_least(figures, runs)
    yield from _long_tasks(figures, runs)
    yield _within_the_budget(figures, runs)


# ------------------------------------------------------------------------------------------------------ Table 1


_TABLE_1: dict[str, tuple[str, Callable[[A2haRun], float], str, str]] = {
    "charged time": ("charged_h", METRICS["payment_h"], "h", ""),
    "interrupted tasks": ("interrupted_tasks", lambda run: run.interrupted_tasks, "", ""),
    "wasted time": ("wasted_min", lambda run: run.wasted_s / SECONDS_PER_MINUTE, "min", "wasted time: note 5"),
    "continued hosts": ("continued_hosts", lambda run: run.continued_hosts, "", ""),
}
"""Columns of Table 1, with the reasons why ours may differ."""


def _table_1(figures: A2haFigures, runs: A2haRuns, what: str) -> Claim:
    """The paper prints no spread: within one standard deviation of our orderings is near, or what rounds to it."""
    name, metric, unit, cause = _TABLE_1[what]
    found, printed = [], []
    for job in SHORT_JOBS:
        cell, number = runs.short(job, runs.style), getattr(figures.job(job), name)
        sd = cell.sd(metric)
        reach = max(0.5, 0.0 if sd is None else sd.value)
        near = f"{unit} (printed {number:g}, our standard deviation {reach:.1f})".strip()
        found.append(about(job, cell.mean(metric), 1, near, value=number, points=reach))
        printed.append(f"{number:g}")
    ours = "; ".join(f"{case.mean:.1f}" for case in found)
    shown = f"{'; '.join(printed)} {unit}".strip()
    return SAID.judge("table-1", found, f"{ours} {unit}".strip(), what=what, printed=shown, cause=cause)


def _continued(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    cells = {job: runs.short(job, runs.style) for job in SHORT_JOBS}
    shares = {
        job: estimate_of(cell.share_percent(lambda run: run.continued_hosts, METRICS["payment_h"]))
        for job, cell in cells.items()
    }
    for job, percent in (("image", 15), ("test-suite", 20)):
        printed = figures.job(job)
        yield SAID.judge(
            "continued",
            about("", shares[job], 1, "%", value=percent, points=ABOUT.points),
            percent=percent,
            job=job,
            points=ABOUT.points,
            hosts=printed.continued_hosts,
            charged=printed.charged_h,
        )
    synthetic = shares.pop("synthetic")
    found = []
    for job, share in shares.items():
        mean = None if share.mean is None or synthetic.mean is None else share.mean - synthetic.mean
        more = Estimate(share.n, mean, (share.half_width or 0.0) + (synthetic.half_width or 0.0))
        found.append(above(f"{job} less synthetic:", more, 1, "points"))
    percents = {job.job: 100 * job.continued_hosts / job.charged_h for job in figures.jobs}
    ours, theirs = (
        "; ".join(f"{of[job]:.1f}" for job in shares) + f" against {of['synthetic']:.1f} %"
        for of in ({job: share.mean or 0.0 for job, share in {**shares, "synthetic": synthetic}.items()}, percents)
    )
    yield SAID.judge("significant", found, ours, printed=theirs)
    wasted = []
    for job in shares:
        busy = cells[job].share_percent(lambda run: run.later_busy_s, lambda run: run.later_paid_s)
        idle = busy and Statistic(100 - busy.value, busy.influence)
        wasted.append(above(job, idle, 0, "%", limit=50))
    yield SAID.judge("mostly-wasted", wasted, with_intervals)


# ------------------------------------------------------------------------------------------------------ Table 2


def _table_2(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    def means(values_of: Callable[[LongLines], dict[str, float]]) -> _Means:
        return lambda quantity: estimate([values_of(lines)[quantity] for lines in runs.lines])

    why = "arithmetic decides it, no replay: sums of the run times of our draws; "
    for name, (booting, at_once) in _LINES.items():
        yield _line(figures.case(name), LONG_QUANTITIES, means(booting), means(at_once), why)
    hosts = []
    for case in figures.heuristic_cases:
        assert case.initial_hosts is not None
        key = runs.style, case.initial_hosts
        booting, at_once = (
            lambda quantity, cell=cells[key]: cell.mean(METRICS[quantity]) for cells in (runs.long, runs.long_at_once)
        )
        yield _line(case, _MEASURED, booting, at_once)
        reach = max(case.hosts_sd or 0.0, 0.5)
        hosts.append(about(case.case, booting("hosts"), 1, value=case.hosts, points=reach))
    ours = "; ".join(f"{case.mean:.0f}" for case in hosts)
    printed = "; ".join(f"{case.hosts:.0f}" for case in figures.heuristic_cases)
    yield SAID.judge("hosts-of-table-2", hosts, ours, printed=printed)


def _line(
    case: PublishedLongCase, quantities: Sequence[LongQuantity], booting: _Means, at_once: _Means, why: str = ""
) -> Claim:
    """A row of Table 2, which is of hosts that are ready at once, and with the boot time of section 4 beside."""
    shown = [quantity for quantity in quantities if case.mean(quantity) is not None and quantity != "speedup"]

    def numbers(values: _Means) -> str:
        return "; ".join(f"{values(quantity).mean or 0.0:.{_DIGITS[quantity]}f}" for quantity in shown)

    with_boot = claim("", _near(case, quantities, booting)).verdict
    few = " and ".join(WORDS[quantity] for quantity in shown)
    return SAID.judge(
        "table-2-line",
        _near(case, quantities, at_once),
        f"{numbers(at_once)}; 5 min boot {numbers(booting)}",
        case=case.case,
        heading=few if len(shown) < 3 else "hosts, time and payment (h)",
        printed="; ".join(f"{case.mean(quantity):.{_DIGITS[quantity]}f}" for quantity in shown),
        why=why,
        without=verdict_in_words(with_boot),
    )


def _near(case: PublishedLongCase, quantities: Sequence[LongQuantity], values: _Means) -> list[Case]:
    """Tests of our means against the printed means and standard deviations."""
    found = []
    for quantity in quantities:
        printed, sd = case.mean(quantity), case.sd(quantity)
        if printed is not None and sd is not None:
            # 256 and 154 hosts are printed with a deviation of 0: what rounds to it is the same.
            sd = max(sd, 0.5) if quantity == "hosts" else sd
            unit = f"(printed {printed:g}, deviation {sd:g})"
            found.append(about(WORDS[quantity], values(quantity), _DIGITS[quantity], unit, value=printed, points=sd))
    return found


def _optimal_is_least(figures: A2haFigures, runs: A2haRuns) -> Claim:
    """Of the first orderings: what a plan pays at least that ends with the longest task."""
    printed = figures.case("optimal")
    serial_h = [lines.alone.serial_s / SECONDS_PER_HOUR for lines in runs.lines]
    dearer = [bound > hours for (_, bound), hours in zip(runs.fastest, serial_h, strict=False)]
    known, least = (above("", estimate([float(pair[side]) for pair in runs.fastest]), 0).ours for side in (0, 1))
    return SAID.decided(
        "optimal-is-least",
        "does not hold" if any(dearer) else "holds",
        f"least payment {least} h",
        payment=printed.payment_h,
        hosts=printed.hosts,
        dearer=sum(dearer),
        n=len(dearer),
        known=known,
    )


def _long_tasks(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    lines_alone = [line_values(lines.alone) for lines in runs.lines]
    alone = {name: mean_of([line[name] for line in lines_alone]) for name in ("speedup", "payment_h")}
    others = {
        name: {
            f"{case.case}, {style}": runs.long[style, case.initial_hosts].statistic(METRICS[name])
            for case in figures.heuristic_cases
            for style in STYLES
            if case.initial_hosts is not None
        }
        for name in alone
    }
    found = [
        above(f"{WORDS[name]}, {of}:", alone[name] - statistic)
        for name in alone
        for of, statistic in others[name].items()
    ]
    shown = [above("", alone[name]).ours for name in alone]
    yield SAID.judge("best-and-dearest", found, f"{shown[0]}; {shown[1]} h")
    paid = alone["payment_h"]
    less = [below(f"{of}:", statistic - paid, 1, "h") for of, statistic in others["payment_h"].items()]
    printed_h = figures.case("1 per task").payment_h
    printed = span([100 * (1 - case.payment_h / printed_h) for case in figures.heuristic_cases])
    saved = span([-100 * (case.mean or 0.0) / paid.value for case in less])
    yield SAID.judge("cheaper-than-alone", less, f"{saved} % less", printed=printed)
    walls = {
        "5 min boot": [lines.alone.wall_s / SECONDS_PER_HOUR for lines in runs.lines],
        "no boot": [lines.alone_at_once.wall_s / SECONDS_PER_HOUR for lines in runs.lines],
    }
    near = [
        below(
            f"{style}, longest task with {boot}:",
            runs.long[style, 100].statistic(METRICS["wall_h"]) - mean_of(hours),
            2,
            "h",
            limit=1.5,
        )
        for style in STYLES
        for boot, hours in walls.items()
    ]
    above_h = value(runs.long[runs.style, 100], "wall_h") - mean_of(walls["5 min boot"]).value
    stated = figures.case("100 initial").wall_h - figures.case("optimal").wall_h
    yield SAID.judge("near-optimal-time", near, f"{above_h:.2f} h", printed=stated)


def _within_the_budget(figures: A2haFigures, runs: A2haRuns) -> Claim:
    """Of the least budget: what is below it is below every other, and none is printed."""
    budgets = {job: figures.job(job).optimal_hosts for job in SHORT_JOBS}
    least, twice = (
        [
            below(job, cells[job].mean(METRICS["payment_h"]), 1, f"h of {factor * hours}", limit=factor * hours)
            for job, hours in budgets.items()
        ]
        for factor, cells in ((1, {job: runs.short(job, runs.style) for job in SHORT_JOBS}), (2, runs.twice))
    )
    verdict = all_hold(least)
    return SAID.decided(
        "within-the-budget",
        "holds" if verdict == "holds" else "not decided",
        "; ".join(case.ours.partition(" h")[0] for case in least) + " h",
        below=verdict_in_words(verdict),
        below_twice=verdict_in_words(all_hold(twice)),
        least="; ".join(map(str, least)),
        twice="; ".join(map(str, twice)),
        charged="; ".join(f"{figures.job(job).charged_h:g}" for job in SHORT_JOBS),
    )
