"""Claims of sections 4.3, 4.4 and the abstract of the A2HA paper, judged by replays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ....core.quantities import SECONDS_PER_HOUR
from ....core.statistics import Estimate, Statistic, estimate, mean_of
from ...claims import Claim, Verdict, all_hold, is_above, is_below, is_within, judged, show, verdict_in_words
from ...paper_result import NOTHING
from .comparisons import BY_ARITHMETIC, Found, judged_with, span, value
from .printed import LONG_QUANTITIES, A2haFigures, LongQuantity, PublishedLongCase
from .runs import (
    METRICS,
    SECONDS_PER_MINUTE,
    WORDS,
    A2haCell,
    A2haRun,
    A2haRuns,
    LongLines,
    line_values,
    optimal_by_paper,
)
from .settings import SHORT_JOBS, STYLES
from .speedup_claims import ABOUT_POINTS

_DIGITS = {"hosts": 1, "wall_h": 2, "speedup": 1, "payment_h": 1}

_MEASURED: tuple[LongQuantity, ...] = tuple(quantity for quantity in LONG_QUANTITIES if quantity != "hosts")
"""Of the lines of the heuristic in Table 2, whose numbers of hosts the rule for long tasks was fitted to."""


def table_claims(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    """Judge Tables 1 and 2 row by row, and the statements of sections 4.3 and 4.4 and the abstract."""
    for job in SHORT_JOBS:
        yield _table_1(figures, runs, job)
    yield _continued(figures, runs, "image", 15)
    yield _continued(figures, runs, "test-suite", 20)
    yield _significant(figures, runs)
    yield _mostly_wasted(runs)
    yield _line(
        figures.case("serial"), runs, lambda of: line_values(of.serial), lambda of: line_values(of.serial_at_once)
    )
    yield _line(
        figures.case("optimal"),
        runs,
        lambda of: optimal_by_paper(of.alone),
        lambda of: optimal_by_paper(of.alone_at_once),
    )
    yield _line(
        figures.case("1 per task"), runs, lambda of: line_values(of.alone), lambda of: line_values(of.alone_at_once)
    )
    for case in figures.heuristic_cases:
        yield _heuristic_line(case, runs)
    yield _hosts_of_table_2(figures, runs)
    yield _optimal_is_least(figures, runs)
    yield _best_and_dearest(figures, runs)
    yield _cheaper_than_alone(figures, runs)
    yield _near_optimal(figures, runs)
    yield _within_the_budget(figures, runs)


# ------------------------------------------------------------------------------------------------------ Table 1


def _table_1(figures: A2haFigures, runs: A2haRuns, job: str) -> Claim:
    """The paper prints no spread: within one standard deviation of our orderings is near, or what rounds to it."""
    cell, printed = runs.short(job, runs.style), figures.job(job)
    quantities: dict[str, tuple[float, Callable[[A2haRun], float], str]] = {
        "charged": (printed.charged_h, METRICS["payment_h"], " h"),
        "interrupted": (printed.interrupted_tasks, lambda run: run.interrupted_tasks, ""),
        "wasted": (printed.wasted_min, lambda run: run.wasted_s / SECONDS_PER_MINUTE, " min"),
        "continued": (printed.continued_hosts, lambda run: run.continued_hosts, ""),
    }
    found: list[Found] = []
    ours = []
    for name, (number, metric, unit) in quantities.items():
        mean, sd = cell.mean(metric), cell.sd(metric)
        reach = max(0.5, 0.0 if sd is None else sd.value)
        text = f"{name} {show(mean, 1)}{unit} (printed {number:g}, our standard deviation {reach:.1f})"
        found.append((text, is_within(mean, number - reach, number + reach)))
        ours.append(f"{mean.mean:.1f}{unit}")
    return judged(
        f"Table 1, {job}: charged time, interrupted tasks, wasted time, continued hosts",
        found,
        "; ".join(ours),
        "the printed numbers are to be within one standard deviation of our orderings; wasted time: note 5",
        source="section 4.3, Table 1",
        printed="; ".join(f"{number:g}{unit}" for number, _, unit in quantities.values()),
    )


def _continued_share(runs: A2haRuns, job: str) -> Estimate:
    share = runs.short(job, runs.style).share_percent(lambda run: run.continued_hosts, METRICS["payment_h"])
    return NOTHING if share is None else share.estimate


def _continued(figures: A2haFigures, runs: A2haRuns, job: str, percent: float) -> Claim:
    share, printed = _continued_share(runs, job), figures.job(job)
    return judged_with(
        f"continued hosts are {percent:g} % of the charged hours ({job})",
        [(f"{show(share, 1)} %", is_within(share, percent - ABOUT_POINTS, percent + ABOUT_POINTS))],
        f"{show(share, 1)} %",
        f"judged within {ABOUT_POINTS:g} points; the table has {printed.continued_hosts} of {printed.charged_h:g}",
        against="how long tasks run at the end of the hour depends on the distribution, which is not printed (note 1)",
        source="section 4.3, Table 1",
        printed=f"{percent:g} %",
    )


def _significant(figures: A2haFigures, runs: A2haRuns) -> Claim:
    printed = {job.job: job.continued_hosts / job.charged_h for job in figures.jobs}
    shares = {job: _continued_share(runs, job) for job in SHORT_JOBS}
    synthetic = shares.pop("synthetic")
    found: list[Found] = []
    for job, share in shares.items():
        more = Estimate(
            share.n,
            None if share.mean is None or synthetic.mean is None else share.mean - synthetic.mean,
            (share.half_width or 0.0) + (synthetic.half_width or 0.0),
        )
        found.append((f"{job} less synthetic: {show(more, 1)} points", is_above(more)))
    return judged(
        "continued hosts are many in the image job and the test suite, not in the synthetic job",
        found,
        "; ".join(f"{share.mean or 0.0:.1f}" for share in shares.values()) + f" against {synthetic.mean or 0.0:.1f} %",
        source="section 4.3, Table 1",
        printed="; ".join(f"{100 * printed[job]:.1f}" for job in shares)
        + f" against {100 * printed['synthetic']:.1f} %",
    )


def _mostly_wasted(runs: A2haRuns) -> Claim:
    found: list[Found] = []
    for job in ("image", "test-suite"):
        cell = runs.short(job, runs.style)
        busy = cell.share_percent(lambda run: run.later_busy_s, lambda run: run.later_paid_s)
        wasted = NOTHING if busy is None else Estimate(busy.estimate.n, 100 - busy.value, busy.estimate.half_width)
        found.append((f"{job} {show(wasted, 0)} %", is_above(wasted, 50)))
    return judged_with(
        "the second hour of continued hosts is mostly wasted",
        found,
        "; ".join(text.partition(" ")[2] for text, _ in found),
        "of all paid time after the first hours of hosts, that in which no task runs",
        source="section 4.3",
        printed="mostly",
    )


# ------------------------------------------------------------------------------------------------------ Table 2


def _off(
    case: PublishedLongCase, quantities: Sequence[LongQuantity], values: Callable[[LongQuantity], Estimate]
) -> list[Found]:
    """Tests of our means against the printed means and standard deviations."""
    found: list[Found] = []
    for quantity in quantities:
        printed, sd = case.mean(quantity), case.sd(quantity)
        if printed is not None and sd is not None:
            mean = values(quantity)
            # 256 and 154 hosts are printed with a deviation of 0: what rounds to it is the same.
            sd = max(sd, 0.5) if quantity == "hosts" else sd
            text = f"{WORDS[quantity]} {show(mean, _DIGITS[quantity])} (printed {printed:g}, deviation {sd:g})"
            found.append((text, is_within(mean, printed - sd, printed + sd)))
    return found


def _row_claim(
    case: PublishedLongCase,
    quantities: Sequence[LongQuantity],
    booting: Callable[[LongQuantity], Estimate],
    at_once: Callable[[LongQuantity], Estimate],
    why: str = "",
) -> Claim:
    """A row of Table 2 with the boot time of section 4, and without it beside."""
    shown = [quantity for quantity in quantities if case.mean(quantity) is not None and quantity != "speedup"]
    without = judged("", _off(case, quantities, at_once), "").verdict

    def numbers(values: Callable[[LongQuantity], Estimate]) -> str:
        return "; ".join(f"{values(quantity).mean or 0.0:.{_DIGITS[quantity]}f}" for quantity in shown)

    heading = " and ".join(WORDS[quantity] for quantity in shown) if len(shown) < 3 else "hosts, time and payment (h)"
    return judged_with(
        f"Table 2, {case.case}: {heading}",
        _off(case, quantities, booting),
        f"{numbers(booting)}; no boot {numbers(at_once)}",
        f"{why}judged with the 5 minutes to boot of section 4; of hosts that are ready at once it "
        f"{verdict_in_words(without)}",
        source="section 4.4, Table 2",
        printed="; ".join(f"{case.mean(quantity):.{_DIGITS[quantity]}f}" for quantity in shown),
    )


def _line(
    case: PublishedLongCase,
    runs: A2haRuns,
    booting: Callable[[LongLines], dict[str, float]],
    at_once: Callable[[LongLines], dict[str, float]],
) -> Claim:
    """A line that no prediction makes."""

    def mean(values_of: Callable[[LongLines], dict[str, float]], quantity: LongQuantity) -> Estimate:
        return estimate([values_of(lines)[quantity] for lines in runs.lines])

    return _row_claim(
        case,
        LONG_QUANTITIES,
        lambda quantity: mean(booting, quantity),
        lambda quantity: mean(at_once, quantity),
        f"{BY_ARITHMETIC}: sums of the run times of our draws; ",
    )


def _heuristic_line(case: PublishedLongCase, runs: A2haRuns) -> Claim:
    assert case.initial_hosts is not None
    key = runs.style, case.initial_hosts

    def mean(cells: dict[tuple[str, int], A2haCell], quantity: LongQuantity) -> Estimate:
        return cells[key].mean(METRICS[quantity])

    return _row_claim(
        case,
        _MEASURED,
        lambda quantity: mean(runs.long, quantity),
        lambda quantity: mean(runs.long_at_once, quantity),
    )


def _hosts_of_table_2(figures: A2haFigures, runs: A2haRuns) -> Claim:
    found: list[Found] = []
    ours = []
    for case in figures.heuristic_cases:
        assert case.initial_hosts is not None
        mean = runs.long[runs.style, case.initial_hosts].mean(METRICS["hosts"])
        reach = max(case.hosts_sd or 0.0, 0.5)
        found.append((f"{case.case} {show(mean, 1)}", is_within(mean, case.hosts - reach, case.hosts + reach)))
        ours.append(f"{mean.mean:.0f}")
    return judged_with(
        "Table 2, hosts of the three lines of the heuristic",
        found,
        "; ".join(ours),
        "the rule for long tasks was read from these numbers, as that of section 3.6 cannot lead to them (note 4)",
        source="section 4.4, Table 2",
        printed="; ".join(f"{case.hosts:.0f}" for case in figures.heuristic_cases),
        fitted=True,
    )


def _optimal_is_least(figures: A2haFigures, runs: A2haRuns) -> Claim:
    """Of the first orderings: what a plan pays at least that ends with the longest task."""
    printed = figures.case("optimal")
    serial_h = [lines.alone.serial_s / SECONDS_PER_HOUR for lines in runs.lines]
    dearer = [bound > hours for (_, bound), hours in zip(runs.fastest, serial_h, strict=False)]
    bound = estimate([float(bound) for _, bound in runs.fastest])
    known = estimate([float(units) for units, _ in runs.fastest])
    return Claim(
        "the optimal line has the least time at the least payment",
        "does not hold" if any(dearer) else "holds",
        f"least payment {show(bound, 0)} h",
        f"no plan that ends with the longest task of an ordering pays less, which is more than its run times in "
        f"{sum(dearer)} of {len(dearer)} orderings; {show(known, 0)} h were found. The line is no plan: "
        f"{printed.hosts:g} hosts pay for 3 started hours each, and no task can be cut to fill them (note 8)",
        "section 4.4, Table 2",
        f"{printed.payment_h:g} h",
    )


def _long(figures: A2haFigures, runs: A2haRuns, quantity: str) -> dict[str, Statistic]:
    return {
        f"{case.case}, {style}": runs.long[style, case.initial_hosts].statistic(METRICS[quantity])
        for case in figures.heuristic_cases
        for style in STYLES
        if case.initial_hosts is not None
    }


def _best_and_dearest(figures: A2haFigures, runs: A2haRuns) -> Claim:
    found: list[Found] = []
    for quantity in ("speedup", "payment_h"):
        alone = mean_of([line_values(lines.alone)[quantity] for lines in runs.lines])
        for name, statistic in _long(figures, runs, quantity).items():
            more = (alone - statistic).estimate
            found.append((f"{WORDS[quantity]}, {name}: {show(more, 1)}", is_above(more)))
    speedup, payment = (
        estimate([line_values(lines.alone)[quantity] for lines in runs.lines]) for quantity in ("speedup", "payment_h")
    )
    return judged(
        "one host per task has the best speedup and the highest payment",
        found,
        f"{show(speedup, 1)}; {show(payment, 1)} h",
        source="section 4.4, Table 2",
        printed="158; 512 h",
    )


def _cheaper_than_alone(figures: A2haFigures, runs: A2haRuns) -> Claim:
    alone = mean_of([float(lines.alone.paid_units) for lines in runs.lines])
    less = {name: (paid - alone).estimate for name, paid in _long(figures, runs, "payment_h").items()}
    saved = [-(each.mean or 0.0) / alone.value for each in less.values()]
    printed_h = figures.case("1 per task").payment_h
    printed = [1 - case.payment_h / printed_h for case in figures.heuristic_cases]
    return judged(
        "for long tasks the payment is below that of one host per task",
        [(f"{name}: {show(each, 1)} h", is_below(each)) for name, each in less.items()],
        f"{span((100 * share for share in saved), 0)} % less",
        source="sections 4.4 and 6",
        printed=f"{span((100 * share for share in printed), 0)} % less",
    )


def _near_optimal(figures: A2haFigures, runs: A2haRuns) -> Claim:
    printed, optimal = figures.case("100 initial"), figures.case("optimal")
    found: list[Found] = []
    for style in STYLES:
        wall = runs.long[style, 100].statistic(METRICS["wall_h"])
        for boot, values in (
            ("5 min boot", [lines.alone.wall_s for lines in runs.lines]),
            ("no boot", [lines.alone_at_once.wall_s for lines in runs.lines]),
        ):
            more = (wall - mean_of([seconds / SECONDS_PER_HOUR for seconds in values])).estimate
            found.append((f"{style}, longest task with {boot}: {show(more, 2)} h", is_below(more, 1.5)))
    wall_h = value(runs.long[runs.style, 100], "wall_h")
    longest_h = sum(lines.alone.wall_s for lines in runs.lines) / len(runs.lines) / SECONDS_PER_HOUR
    return judged(
        "with 100 initial hosts the time is less than 1.5 h above the optimal one",
        found,
        f"{wall_h - longest_h:.2f} h",
        source="section 4.4",
        printed=f"{printed.wall_h - optimal.wall_h:.2f} h",
    )


def _within_the_budget(figures: A2haFigures, runs: A2haRuns) -> Claim:
    """Of the least budget: what is below it is below every other, and none is printed."""
    least: list[Found] = []
    twice: list[Found] = []
    ours = []
    for job in SHORT_JOBS:
        least_h = figures.job(job).optimal_hosts
        for factor, cell, found in ((1, runs.short(job, runs.style), least), (2, runs.twice[job], twice)):
            paid = cell.mean(METRICS["payment_h"])
            found.append((f"{job} {show(paid, 1)} h of {factor * least_h}", is_below(paid, factor * least_h)))
            if factor == 1:
                ours.append(show(paid, 1))
    below = all_hold(verdict for _, verdict in least)
    verdict: Verdict = "holds" if below == "holds" else "not decided"
    numbers = "; ".join(text for text, _ in least)
    of_twice = "; ".join(text for text, _ in twice)
    return Claim(
        "the payment is below the predefined budget",
        verdict,
        "; ".join(ours) + " h",
        "no budget is printed. With the least, the optimal number of hosts for an hour, it "
        f"{verdict_in_words(below)} ({numbers}; Table 1 itself has "
        f"{'; '.join(f'{figures.job(job).charged_h:g}' for job in SHORT_JOBS)} h); with twice that, and hosts that "
        f"work for half of each hour, it {verdict_in_words(all_hold(verdict for _, verdict in twice))} ({of_twice})",
        "abstract, sections 1 and 3.1",
    )
