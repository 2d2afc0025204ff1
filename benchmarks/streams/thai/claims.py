"""Claims of Thai et al. about their results, judged by replays.

Not judged, as no replay can: what section 6.2.1 and Fig. 1 say of the run times (inputs here: see `settings`), that the
fixed settings cost about the same by the hour and that m3.xlarge buys fewer VMs (arithmetic on Table 1), and what only
sums up sentences that are judged. The abstract, the introduction and the conclusion repeat section 6.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...claims import ABOUT, Case, Claim, Compare, about, above, below, exactly, span, tally, together
from ...data_files import Statements
from .printed import QUANTITIES, Quantity, thai_figures
from .runs import XLARGE, Metric, ThaiRuns, cost_usd, idle_s, late_s, late_tasks, types_used
from .settings import EXAMPLE_FRACTION, KNOWN, UNKNOWN

LESS_THAN_USD = 1.0
"""By which the settings that cost almost the same are said to be dearer, at most."""

NO_IDLE_PERCENT = 1.0
"""What 'no idle time' means: less than so many percent of the time in which the VMs were ready."""

WORST_TIMES = 700.0
"""By which factor the highest violation cost is said to be above that of ``unknown``."""

_ALIKE, _BOTH_XLARGE = ("medium.8", "medium.10", "large.5"), ("xlarge.2", "xlarge.3")
_SAID = Statements.read(__package__)


def thai_claims(runs: ThaiRuns) -> Iterator[Claim]:
    """Judge the statements of section 6.3, in their order.

    The costs of the fixed settings, and that one of them is never idle, are what the scale of our run times was chosen
    by: statements on them are marked as fitted.
    """
    yield from _table_3(runs)
    yield from _violation_costs(runs)
    yield from _blocks(runs)
    yield from _mis_utilisation(runs)


def _less(
    runs: ThaiRuns, compare: Compare, policies: Iterable[str], others: Sequence[str], metric: Metric, digits: int
) -> list[Case]:
    """Policies less others, run by run."""
    return [compare(f"{one} - {other}", runs.less(one, other, metric), digits) for one in policies for other in others]


def _others(*policies: str) -> list[str]:
    return [policy for policy in thai_figures().policies if policy not in policies]


def _is_times(
    runs: ThaiRuns, policy: str, against: str, quantity: Quantity, limits: tuple[float, float], ours: str
) -> Case:
    """Compare a mean: it is to be between two multiples of another, which may be 0: there is no ratio then."""
    low, high = (runs.difference(policy, against, quantity, times) for times in limits)
    return together(policy, [above(policy, low), below(policy, high)], ours)


def _above_known(runs: ThaiRuns, name: str, quantity: Quantity) -> Claim:
    """Claim on `unknown` against `known`."""
    stated = thai_figures().stated(UNKNOWN, quantity)
    more = above("", runs.ratio(UNKNOWN, KNOWN, quantity, "percent_more"), 1, "%")
    limits = 1 + (stated - ABOUT.points) / 100, 1 + (stated + ABOUT.points) / 100
    case = _is_times(runs, UNKNOWN, KNOWN, quantity, limits, more.ours)
    return _SAID.judge(name, case, stated=stated, points=ABOUT.points)


def _times(runs: ThaiRuns, policy: str, low: float, high: float) -> Case:
    """Late tasks against those of `unknown`, between two numbers of times, give or take some percent."""
    times = above(policy, runs.ratio(policy, UNKNOWN, "late_tasks", "times"), 1, "times")
    limits = low * (1 - ABOUT.percent / 100), high * (1 + ABOUT.percent / 100)
    return _is_times(runs, policy, UNKNOWN, "late_tasks", limits, times.ours)


def _table_3(runs: ThaiRuns) -> Iterator[Claim]:
    figures, mean = thai_figures(), runs.span
    printed = {approach.policy: approach for approach in figures.approaches}
    yield _above_known(runs, "cost-above-known", "cost_usd")
    yield _above_known(runs, "late-above-known", "late_tasks")
    alike = []
    for policy in _ALIKE:
        percent = runs.ratio(policy, UNKNOWN, "cost_usd", "percent_more")
        more = about(policy, percent, 1, "%", value=0.0, points=ABOUT.percent)
        dollars = below(policy, runs.less(policy, UNKNOWN, cost_usd), limit=LESS_THAN_USD)
        alike.append(together(policy, [more, dollars], more.ours))
    percents = [figures.ratio(policy, UNKNOWN, "cost_usd", "percent_more") for policy in _ALIKE]
    ours = span([case.mean for case in alike], 1, "%", "+")
    yield _SAID.judge("alike", alike, ours, most=LESS_THAN_USD, printed=span(percents, 1, "%", "+"))
    late = [printed[policy].late_tasks for policy in _ALIKE]
    yield _SAID.judge(
        "more-late-tasks",
        _less(runs, above, _ALIKE, [UNKNOWN], late_tasks, 1),
        f"{mean(_ALIKE, late_tasks, 1)} against {mean([UNKNOWN], late_tasks, 1)}",
        low=min(late),
        high=max(late),
        its=printed[UNKNOWN].late_tasks,
    )
    least, most, times = (figures.stated(policy, "late_tasks") for policy in ("large.5", "medium.8", "large.4"))
    limits = {"large.5": (least, least), "medium.10": (least, most), "medium.8": (most, most)}
    found = [_times(runs, policy, *limits[policy]) for policy in limits]
    ours = f"{found[0].ours.removesuffix(' times')} to {found[-1].ours}"
    yield _SAID.judge("times-late-tasks", found, ours, least=least, most=most, percent=ABOUT.percent)
    yield _SAID.judge(
        "cheapest",
        _less(runs, below, ["large.4"], _others("large.4"), cost_usd, 3),
        f"{mean(['large.4'], cost_usd, 3)} against {mean([KNOWN], cost_usd, 3)} $",
        printed=printed["large.4"].cost_usd,
        its=printed[KNOWN].cost_usd,
    )
    yield _SAID.judge("large-4-late", _times(runs, "large.4", times, times), times=times, percent=ABOUT.percent)
    for name, metric, digits, unit in (("dearest", cost_usd, 3, " $"), ("latest", late_tasks, 1, "")):
        found = _less(runs, above, _BOTH_XLARGE, _others(*_BOTH_XLARGE), metric, digits)
        ours = " and ".join(mean([policy], metric, digits) for policy in _BOTH_XLARGE) + unit
        yield _SAID.judge(name, found, ours, two=printed["xlarge.2"], three=printed["xlarge.3"])


def _violation_costs(runs: ThaiRuns) -> Iterator[Claim]:
    figures = thai_figures()
    yield _above_known(runs, "violation-above-known", "violation_cost_usd")
    mine, its = (figures.approach(policy) for policy in (UNKNOWN, KNOWN))
    yield _SAID.judge(
        "dearer-and-later",
        [
            above("cost", runs.less(UNKNOWN, KNOWN, cost_usd), 3, "$"),
            above("late tasks", runs.less(UNKNOWN, KNOWN, late_tasks)),
        ],
        lambda cases: f"{cases[0].ours}, {cases[1].ours} tasks more",
        cost=mine.cost_usd - its.cost_usd,
        late=mine.late_tasks - its.late_tasks,
    )

    def times(policy: str, limit: float) -> Case:
        ratio = above(policy, runs.ratio(policy, UNKNOWN, "violation_cost_usd", "times"), 1, "times")
        more = above(policy, runs.difference(policy, UNKNOWN, "violation_cost_usd", limit))
        return together(policy, [more], ratio.ours)

    yield _SAID.judge("twice", [times(policy, 2) for policy in figures.fixed], tally("settings"), n=len(figures.fixed))
    worst = max(figures.fixed, key=figures.violation_cost_usd)
    yield _SAID.judge("worst", times(worst, WORST_TIMES), times=WORST_TIMES, worst=worst)


def _blocks(runs: ThaiRuns) -> Iterator[Claim]:
    figures = thai_figures()
    types = {policy: runs.approaches[policy].mean(types_used) for policy in (KNOWN, UNKNOWN)}
    yield _SAID.judge("mixed", [above(policy, types[policy], 2, "types", limit=1) for policy in types])
    for policy, name in ((KNOWN, "known-without-xlarge"), (UNKNOWN, "unknown-with-xlarge")):
        used = [run.blocks[XLARGE] > 0 for run in runs.approaches[policy].runs]
        as_said = not any(used) if policy == KNOWN else all(used)
        yield _SAID.judge(name, exactly(policy, as_said, f"in {sum(used)} of {len(used)} runs"))
    printed = figures.violation_cost_usd(UNKNOWN) - figures.violation_cost_usd(KNOWN)
    more = runs.difference(UNKNOWN, KNOWN, "violation_cost_usd")
    yield _SAID.judge("outperformed", above("", more, 3, "$"), lambda cases: f"{cases[0].ours} lower", printed=printed)
    without = {name: runs.difference_without_xlarge(name) for name in QUANTITIES}
    lower = [
        above("cost", without["cost_usd"], 3, "$"),
        above("violation cost", without["violation_cost_usd"], 3, "$"),
    ]
    ours = f"{lower[0].ours} and {lower[1].ours} lower"
    yield _SAID.judge("due-to-xlarge", lower, ours, late=above("", without["late_tasks"]).ours)


def _mis_utilisation(runs: ThaiRuns) -> Iterator[Claim]:
    fixed, adaptive = thai_figures().fixed, (KNOWN, UNKNOWN)
    but_one = [policy for policy in fixed if policy != "xlarge.2"]
    yield _SAID.judge("less-idle", _less(runs, below, adaptive, but_one, idle_s, 0), tally("pairs"))
    yield _SAID.judge("less-late-time", _less(runs, below, adaptive, fixed, late_s, 0), tally("pairs"))
    early, idle_and_late = [], []
    for policy in fixed:
        found = runs.approaches[policy]
        ends = above(policy, found.mean(runs.ends_early), 2, "jobs")
        early.append(together(policy, [ends, above(policy, found.mean(late_tasks))], ends.ours))
        pairs = [case for metric in (idle_s, late_s) for case in _less(runs, above, [policy], adaptive, metric, 0)]
        idle, late = (runs.span([policy], metric, 0) for metric in (idle_s, late_s))
        idle_and_late.append(together(policy, pairs, f"{idle} s idle and {late} s late"))
    yield _SAID.judge("early", early, tally("settings"))
    yield _SAID.judge("idle-and-late", idle_and_late, tally("settings"))
    share = runs.approaches["xlarge.2"].share_percent(idle_s, lambda run: run.idle_s + run.busy_s)
    yield _SAID.judge("no-idle", below("", share, 3, "%", limit=NO_IDLE_PERCENT))
    others = _others("xlarge.2")
    most = max(runs.approaches[other].statistic(late_s).value for other in others)
    ours = f"{runs.span(['xlarge.2'], late_s, 0)} against {most:,.0f} s"
    yield _SAID.judge("much-late-time", _less(runs, above, ["xlarge.2"], others, late_s, 0), ours)


def thai_findings(runs: ThaiRuns) -> Iterator[Claim]:
    """Judge statements of ours on the same runs."""
    quantities: tuple[Quantity, ...] = ("late_tasks", "violation_cost_usd")
    found = [
        above(f"{quantity}, xlarge.2 - {other}", runs.difference("xlarge.2", other, quantity), 3)
        for other in _others("xlarge.2")
        for quantity in quantities
    ]
    late, violation = (
        above("", runs.approaches["xlarge.2"].number(name), n).ours for name, n in zip(quantities, (1, 2), strict=True)
    )
    yield _SAID.judge("worst-of-table-3", found, f"{late} tasks, {violation} $")
    saved = above("", runs.difference_without_xlarge("cost_usd"), 3)
    extra = above("", runs.less(UNKNOWN, KNOWN, cost_usd), 3)
    yield _SAID.judge("extra-cost-of-xlarge", saved, f"{saved.ours} of {extra.ours} $ above known")
    every = {**runs.approaches, **runs.variants}
    for what, policy, base in (
        ("to the letter of section 3.2, known", "known-paid-blocks", KNOWN),
        ("to the letter of section 3.2, unknown", "unknown-paid-blocks", UNKNOWN),
        ("if every finished task counts, unknown-paid-blocks", "unknown-learning", "unknown-paid-blocks"),
    ):
        cost, tasks = (every[policy].less(every[base], metric) for metric in (cost_usd, late_tasks))
        both = [below("cost", cost, 3, "$"), below("late tasks", tasks)]
        yield _SAID.judge("cheaper-and-in-time", both, _cost_and_tasks, what=what)
    if EXAMPLE_FRACTION in runs.sweep:
        longest = max(runs.sweep)
        longer, example = (runs.sweep[fraction].runs for fraction in (longest, EXAMPLE_FRACTION))
        cost, tasks = (longer.less(example, metric) for metric in (cost_usd, late_tasks))
        both = [above("cost", cost, 3, "$"), below("late tasks", tasks)]
        percents = {"longest": 100 * longest, "example": 100 * EXAMPLE_FRACTION}
        yield _SAID.judge("longer-samples", both, _cost_and_tasks, **percents)


def _cost_and_tasks(cases: Sequence[Case]) -> str:
    return f"{cases[0].ours}, {cases[1].ours} tasks"
