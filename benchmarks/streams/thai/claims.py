"""Claims of Thai et al. about their results, judged by replays.

Not judged, as no replay can: what section 6.2.1 and Fig. 1 say of the run times (inputs here: see `settings`), that the
fixed settings cost about the same by the hour and that m3.xlarge buys fewer VMs (arithmetic on Table 1), and what only
sums up sentences that are judged. The abstract, the introduction and the conclusion repeat section 6.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...claims import ABOUT, Case, Claim, Found, about, above, below, exactly, span, tally, together
from ...data_files import Statements
from .runs import COST_USD, IDLE_S, LATE_S, LATE_TASKS, XLARGE, Metric, ThaiRuns, types_used
from .settings import EXAMPLE_FRACTION, KNOWN, QUANTITIES, UNKNOWN, QuantityName, thai_figures

LESS_THAN_USD = 1.0
"""Most dollars by which the settings that cost almost the same are said to be dearer."""

WORST_TIMES = 700.0
"""Factor by which the highest violation cost is said to be above that of ``unknown``."""

_ALIKE, _BOTH_XLARGE = ("medium.8", "medium.10", "large.5"), ("xlarge.2", "xlarge.3")
SAID = Statements.read(__package__)


def thai_claims(runs: ThaiRuns) -> Iterator[Claim]:
    """Judge the statements of section 6.3, in their order.

    The costs of the fixed settings, and that one of them is never idle, are what the scale of our run times was chosen
    by: statements on them are marked as fitted.
    """
    yield from _table_3(runs)
    yield from _violation_costs(runs)
    yield from _blocks(runs)
    yield from _mis_utilisation(runs)


def _less(runs: ThaiRuns, policies: Iterable[str], others: Sequence[str], metric: Metric) -> dict[str, Found]:
    """Policies less others, run by run."""
    return {f"{one} - {other}": runs.less(one, other, metric) for one in policies for other in others}


def _others(*policies: str) -> list[str]:
    return [policy for policy in thai_figures().policies if policy not in policies]


def _is_times(
    runs: ThaiRuns, policy: str, against: str, quantity: QuantityName, limits: tuple[float, float], ours: str
) -> Case:
    """Compare a mean: it is to be between two multiples of another, which may be 0: there is no ratio then."""
    low, high = (runs.difference(policy, against, quantity, times) for times in limits)
    return together(policy, [above(policy, low), below(policy, high)], ours)


def _above_known(runs: ThaiRuns, name: str, quantity: QuantityName) -> Claim:
    """Claim on `unknown` against `known`."""
    stated = thai_figures().stated(UNKNOWN, quantity)
    more = above("", runs.ratio(UNKNOWN, KNOWN, quantity, "percent_more"), 1, "%")
    limits = 1 + (stated - ABOUT.points) / 100, 1 + (stated + ABOUT.points) / 100
    return SAID.judge(name, _is_times(runs, UNKNOWN, KNOWN, quantity, limits, more.ours))


def _times(runs: ThaiRuns, policy: str, low: float, high: float) -> Case:
    """Late tasks against those of `unknown`, between two numbers of times, give or take some percent."""
    times = above(policy, runs.ratio(policy, UNKNOWN, "late_tasks", "times"), 1, "times")
    limits = low * (1 - ABOUT.percent / 100), high * (1 + ABOUT.percent / 100)
    return _is_times(runs, policy, UNKNOWN, "late_tasks", limits, times.ours)


def _table_3(runs: ThaiRuns) -> Iterator[Claim]:
    figures, mean = thai_figures(), runs.span
    yield _above_known(runs, "cost-above-known", "cost_usd")
    yield _above_known(runs, "late-above-known", "late_tasks")
    alike = []
    for policy in _ALIKE:
        percent = runs.ratio(policy, UNKNOWN, "cost_usd", "percent_more")
        more = about(policy, percent, 1, "%", value=0.0, points=ABOUT.percent)
        dollars = below(policy, runs.less(policy, UNKNOWN, COST_USD), limit=LESS_THAN_USD)
        alike.append(together(policy, [more, dollars], more.ours))
    yield SAID.judge("alike", alike, span([case.mean for case in alike], 1, "%", "+"))
    ours = f"{mean(_ALIKE, LATE_TASKS)} against {mean([UNKNOWN], LATE_TASKS)}"
    yield SAID.judge("more-late-tasks", _less(runs, _ALIKE, [UNKNOWN], LATE_TASKS), ours)
    least, most, times = (figures.stated(policy, "late_tasks") for policy in ("large.5", "medium.8", "large.4"))
    limits = {"large.5": (least, least), "medium.10": (least, most), "medium.8": (most, most)}
    found = [_times(runs, policy, *limits[policy]) for policy in limits]
    yield SAID.judge("times-late-tasks", found, f"{found[0].ours.removesuffix(' times')} to {found[-1].ours}")
    ours = f"{mean(['large.4'], COST_USD)} against {mean([KNOWN], COST_USD)} $"
    yield SAID.judge("cheapest", _less(runs, ["large.4"], _others("large.4"), COST_USD), ours)
    yield SAID.judge("large-4-late", _times(runs, "large.4", times, times))
    for name, quantity in (("dearest", COST_USD), ("latest", LATE_TASKS)):
        ours = quantity.text(*(runs.approaches[policy] for policy in _BOTH_XLARGE), between=" and ") + quantity.unit
        yield SAID.judge(name, _less(runs, _BOTH_XLARGE, _others(*_BOTH_XLARGE), quantity), ours)


def _violation_costs(runs: ThaiRuns) -> Iterator[Claim]:
    figures = thai_figures()
    yield _above_known(runs, "violation-above-known", "violation_cost_usd")
    cases = [
        above("cost", runs.less(UNKNOWN, KNOWN, COST_USD), 3, "$"),
        above("late tasks", runs.less(UNKNOWN, KNOWN, LATE_TASKS)),
    ]
    yield SAID.judge("dearer-and-later", cases, f"{cases[0].ours}, {cases[1].ours} tasks more")

    def times(policy: str, limit: float) -> Case:
        ratio = above(policy, runs.ratio(policy, UNKNOWN, "violation_cost_usd", "times"), 1, "times")
        more = above(policy, runs.difference(policy, UNKNOWN, "violation_cost_usd", limit))
        return together(policy, [more], ratio.ours)

    yield SAID.judge("twice", [times(policy, 2) for policy in figures.fixed], tally("settings"))
    worst = max(figures.fixed, key=figures.violation_cost_usd)
    yield SAID.judge("worst", times(worst, WORST_TIMES), worst=worst)


def _blocks(runs: ThaiRuns) -> Iterator[Claim]:
    yield SAID.judge("mixed", {policy: runs.approaches[policy].mean(types_used) for policy in (KNOWN, UNKNOWN)})
    for policy, name in ((KNOWN, "known-without-xlarge"), (UNKNOWN, "unknown-with-xlarge")):
        used = [run.blocks[XLARGE] > 0 for run in runs.approaches[policy].runs]
        as_said = not any(used) if policy == KNOWN else all(used)
        yield SAID.judge(name, exactly(policy, as_said, f"in {sum(used)} of {len(used)} runs"))
    more = runs.difference(UNKNOWN, KNOWN, "violation_cost_usd")
    yield SAID.judge("outperformed", more, lambda cases: f"{cases[0].ours} lower")
    without = {name: runs.difference_without_xlarge(name) for name in QUANTITIES}
    lower = SAID.cases("due-to-xlarge", {"cost": without["cost_usd"], "violation cost": without["violation_cost_usd"]})
    late = above("", without["late_tasks"]).ours
    yield SAID.judge("due-to-xlarge", lower, f"{lower[0].ours} and {lower[1].ours} lower", late=late)


def _mis_utilisation(runs: ThaiRuns) -> Iterator[Claim]:
    fixed, adaptive = thai_figures().fixed, (KNOWN, UNKNOWN)
    but_one = [policy for policy in fixed if policy != "xlarge.2"]
    yield SAID.judge("less-idle", _less(runs, adaptive, but_one, IDLE_S), tally("pairs"))
    yield SAID.judge("less-late-time", _less(runs, adaptive, fixed, LATE_S), tally("pairs"))
    early, idle_and_late = [], []
    for policy in fixed:
        found = runs.approaches[policy]
        ends = above(policy, found.mean(runs.ends_early), 2, "jobs")
        early.append(together(policy, [ends, above(policy, found.mean(LATE_TASKS))], ends.ours))
        more = [less for metric in (IDLE_S, LATE_S) for less in _less(runs, [policy], adaptive, metric).items()]
        idle, late = (runs.span([policy], metric) for metric in (IDLE_S, LATE_S))
        pairs = [above(label, number, 0) for label, number in more]
        idle_and_late.append(together(policy, pairs, f"{idle} s idle and {late} s late"))
    yield SAID.judge("early", early, tally("settings"))
    yield SAID.judge("idle-and-late", idle_and_late, tally("settings"))
    yield SAID.judge("no-idle", runs.approaches["xlarge.2"].share_percent(IDLE_S, lambda run: run.idle_s + run.busy_s))
    others = _others("xlarge.2")
    most = max(runs.approaches[other].value(LATE_S) for other in others)
    ours = f"{runs.span(['xlarge.2'], LATE_S)} against {most:,.0f} s"
    yield SAID.judge("much-late-time", _less(runs, ["xlarge.2"], others, LATE_S), ours)


def thai_findings(runs: ThaiRuns) -> Iterator[Claim]:
    """Judge statements of ours on the same runs."""
    quantities: tuple[QuantityName, ...] = ("late_tasks", "violation_cost_usd")
    found = {
        f"{quantity}, xlarge.2 - {other}": runs.difference("xlarge.2", other, quantity)
        for other in _others("xlarge.2")
        for quantity in quantities
    }
    late, violation = (
        above("", runs.approaches["xlarge.2"].number(name), n).ours for name, n in zip(quantities, (1, 2), strict=True)
    )
    yield SAID.judge("worst-of-table-3", found, f"{late} tasks, {violation} $")
    [saved] = SAID.cases("extra-cost-of-xlarge", runs.difference_without_xlarge("cost_usd"))
    extra = above("", runs.less(UNKNOWN, KNOWN, COST_USD), 3)
    yield SAID.judge("extra-cost-of-xlarge", saved, f"{saved.ours} of {extra.ours} $ above known")
    every = {**runs.approaches, **runs.variants}
    for what, policy, base in (
        ("to the letter of section 3.2, known", "known-paid-blocks", KNOWN),
        ("to the letter of section 3.2, unknown", "unknown-paid-blocks", UNKNOWN),
        ("if every finished task counts, unknown-paid-blocks", "unknown-learning", "unknown-paid-blocks"),
    ):
        cost, tasks = (every[policy].less(every[base], metric) for metric in (COST_USD, LATE_TASKS))
        both = [below("cost", cost, 3, "$"), below("late tasks", tasks)]
        yield SAID.judge("cheaper-and-in-time", both, _cost_and_tasks, what=what)
    if EXAMPLE_FRACTION in runs.sweep:
        longest = max(runs.sweep)
        longer, example = (runs.sweep[fraction].runs for fraction in (longest, EXAMPLE_FRACTION))
        cost, tasks = (longer.less(example, metric) for metric in (COST_USD, LATE_TASKS))
        both = [above("cost", cost, 3, "$"), below("late tasks", tasks)]
        yield SAID.judge("longer-samples", both, _cost_and_tasks, longest=100 * longest, example=100 * EXAMPLE_FRACTION)


def _cost_and_tasks(cases: Sequence[Case]) -> str:
    return f"{cases[0].ours}, {cases[1].ours} tasks"
