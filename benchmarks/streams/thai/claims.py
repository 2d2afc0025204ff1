"""Claims of Thai et al. about their results, judged by replays.

Not judged, as no replay can: what section 6.2.1 and Fig. 1 say of the run times (inputs here: see `settings`), that the
fixed settings cost about the same by the hour and that m3.xlarge buys fewer VMs (arithmetic on Table 1), and what only
sums up sentences that are judged. The abstract, the introduction and the conclusion repeat section 6.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ....core.statistics import Estimate
from ....replay.streams.outcome import StreamOutcome
from ...claims import Claim, Verdict, all_hold, is_above, is_below, is_within, judged, show, tally
from .printed import Quantity, ThaiFigures, thai_figures
from .runs import XLARGE, ThaiRuns, cost_usd, idle_s, late_s, late_tasks
from .settings import KNOWN, UNKNOWN

ABOUT_POINTS = 5.0
"""What a number of percent means: so many points up or down."""

ABOUT_PERCENT = 10.0
"""What a number of times means, and 'almost identical' costs: so many percent up or down."""

LESS_THAN_USD = 1.0
"""By which the settings that cost almost the same are said to be dearer, at most."""

NO_IDLE_PERCENT = 1.0
"""What 'no idle time' means: less than so many percent of the time in which the VMs were ready."""

WORST_TIMES = 700.0
"""By which factor the highest violation cost is said to be above that of ``unknown``."""

_LESS, _MORE = 1 - ABOUT_PERCENT / 100, 1 + ABOUT_PERCENT / 100
_ALIKE = ("medium.8", "medium.10", "large.5")
_NAMES_ALIKE = "medium.8, medium.10 and large.5"
_BOTH_XLARGE = ("xlarge.2", "xlarge.3")
_TEXT, _TABLE_3, _FIG_3, _FIG_4, _FIG_5 = "section 6.3", "Table 3", "Fig. 3", "Fig. 4", "Fig. 5"

_ABOVE_KNOWN: dict[Quantity, tuple[str, str, str]] = {
    "cost_usd": ("unknown costs {} % more than known", _TABLE_3, f"each phase wants an {XLARGE} too (note 4)"),
    "late_tasks": ("unknown has {} % more late tasks than known", _TABLE_3, "the samples are few (notes 3 and 5)"),
    "violation_cost_usd": (
        "the violation cost of unknown is {} % above that of known",
        _FIG_3,
        "it is made of the late tasks (notes 3 and 5)",
    ),
}
"""By quantity: what is said, where, and why it may not be so."""

_LATE_FOR_WANT_OF_SAMPLES = (
    "unknown is late where its few samples make tasks look too short (note 3); large.5 has time to spare (note 1)"
)
_NEAR_THE_LIMIT = "so near 0 that other draws can leave it open (last line of Sensitivity)"

_Found = tuple[str, Verdict]
_Metric = Callable[[StreamOutcome], float]


def thai_claims(runs: ThaiRuns) -> Iterator[Claim]:
    """Judge the statements of section 6.3, in their order.

    The costs of the fixed settings, and that one of them is never idle, are what the scale of our run times was chosen
    by: statements on them are marked as fitted.
    """
    figures = thai_figures()
    for quantity in ("cost_usd", "late_tasks"):
        yield _percent_above_known(figures, runs, quantity)
    yield _alike(figures, runs)
    yield _more_late_tasks(figures, runs)
    yield _times_the_late_tasks(figures, runs)
    yield _cheapest(figures, runs)
    yield _large_4_late(figures, runs)
    yield _dearest(figures, runs)
    yield _xlarge_late(figures, runs)
    yield _percent_above_known(figures, runs, "violation_cost_usd")
    yield _dearer_and_later(figures, runs)
    yield _twice(figures, runs)
    yield _worst(figures, runs)
    yield _mixed(runs)
    yield _known_without_xlarge(runs)
    yield _unknown_with_xlarge(runs)
    yield _outperformed(figures, runs)
    yield _due_to_xlarge(runs)
    yield _idle(figures, runs)
    yield _lateness(figures, runs)
    yield _early(figures, runs)
    yield _idle_and_late(figures, runs)
    yield _no_idle(runs)
    yield _much_late_time(figures, runs)


# ---------------------------------------------------------------------------- unknown and known


def _is_times(runs: ThaiRuns, policy: str, against: str, quantity: Quantity, low: float, high: float) -> Verdict:
    """Verdict on a mean between two multiples of that of another policy."""
    above, below = (runs.difference(policy, against, quantity, times) for times in (low, high))
    return all_hold([is_above(above), is_below(below)])


def _percent_above_known(figures: ThaiFigures, runs: ThaiRuns, quantity: Quantity) -> Claim:
    [stated] = [entry for entry in figures.ratios if (entry.policy, entry.quantity) == (UNKNOWN, quantity)]
    statement, source, why_not = _ABOVE_KNOWN[quantity]
    more = runs.ratio(UNKNOWN, KNOWN, quantity, "percent_more")
    ours = f"{show(more, 1)} %"
    low, high = (1 + (stated.printed + points) / 100 for points in (-ABOUT_POINTS, ABOUT_POINTS))
    return judged(
        statement.format(f"{stated.printed:g}"),
        [(ours, _is_times(runs, UNKNOWN, KNOWN, quantity, low, high))],
        ours,
        why_not,
        source=source,
        printed=f"{stated.printed:g} %",
    )


def _dearer_and_later(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    cost, late = runs.less(UNKNOWN, KNOWN, cost_usd), runs.less(UNKNOWN, KNOWN, late_tasks)
    printed = [figures.approach(policy) for policy in (UNKNOWN, KNOWN)]
    return judged(
        "unknown costs more than known, and has more late tasks",
        [(f"cost {show(cost, 3)} $", is_above(cost)), (f"late tasks {show(late, 1)}", is_above(late))],
        f"{show(cost, 3)} $, {show(late, 1)} tasks more",
        source=_TEXT,
        printed=f"{printed[0].cost_usd - printed[1].cost_usd:.2f} $, "
        f"{printed[0].late_tasks - printed[1].late_tasks:.1f} tasks more",
    )


def _outperformed(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    more = runs.difference(UNKNOWN, KNOWN, "violation_cost_usd")
    printed = figures.violation_cost_usd(UNKNOWN) - figures.violation_cost_usd(KNOWN)
    return judged(
        "known outperforms unknown (violation cost)",
        [(f"{show(more, 3)} $", is_above(more))],
        f"{show(more, 3)} $ lower",
        source=_TEXT,
        printed=f"{printed:.3f} $ lower",
    )


def _due_to_xlarge(runs: ThaiRuns) -> Claim:
    cost, violation = (runs.difference_without_xlarge(quantity) for quantity in ("cost_usd", "violation_cost_usd"))
    late = runs.difference_without_xlarge("late_tasks")
    return judged(
        f"{XLARGE} is why: without it, the cost and the violation cost of unknown are lower",
        [
            (f"cost {show(cost, 3)} $ lower", is_above(cost)),
            (f"violation cost {show(violation, 3)} $ lower", is_above(violation)),
        ],
        f"{show(cost, 3)} and {show(violation, 3)} $ lower",
        f"late tasks of unknown less those without it: {show(late, 1)}, which outweighs the lower cost; "
        f"{_NEAR_THE_LIMIT}",
        source=_TEXT,
    )


# ---------------------------------------------------------------------------- unknown and the fixed settings


def _against(
    runs: ThaiRuns,
    policies: Sequence[str],
    others: Sequence[str],
    metric: _Metric,
    decide: Callable[[Estimate], Verdict],
    digits: int,
) -> list[_Found]:
    """Policies less others, run by run."""
    found = []
    for policy in policies:
        for other in others:
            less = runs.less(policy, other, metric)
            found.append((f"{policy} - {other} = {show(less, digits)}", decide(less)))
    return found


def _others(figures: ThaiFigures, *policies: str) -> list[str]:
    return [policy for policy in figures.policies if policy not in policies]


def _mean(runs: ThaiRuns, policy: str, metric: _Metric) -> float:
    return runs.approaches[policy].statistic(metric).value


def _range(runs: ThaiRuns, policies: Sequence[str], metric: _Metric, digits: int) -> str:
    """Lowest and highest mean of several policies."""
    means = [_mean(runs, policy, metric) for policy in policies]
    texts = [f"{mean:,.{digits}f}" for mean in (min(means), max(means))]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def _alike(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    found: list[_Found] = []
    percents = []
    for policy in _ALIKE:
        more = runs.ratio(policy, UNKNOWN, "cost_usd", "percent_more")
        dollars = runs.less(policy, UNKNOWN, cost_usd)
        verdict = all_hold([is_within(more, -ABOUT_PERCENT, ABOUT_PERCENT), is_below(dollars, LESS_THAN_USD)])
        found.append((f"{policy} {show(more, 1)} %", verdict))
        percents.append(more.mean)
    printed = [figures.ratio(policy, UNKNOWN, "cost_usd", "percent_more") for policy in _ALIKE]
    return judged(
        f"{_NAMES_ALIKE} cost almost the same as unknown, less than {LESS_THAN_USD:g} $ more",
        found,
        _ends([percent for percent in percents if percent is not None], "%"),
        source=_TABLE_3,
        printed=_ends(printed, "%"),
        fitted=True,
    )


def _ends(values: Sequence[float], unit: str) -> str:
    """Lowest and highest of some numbers."""
    texts = [f"{value:+.1f}" for value in (min(values), max(values))]
    return f"{texts[0] if texts[0] == texts[1] else ' to '.join(texts)} {unit}"


def _more_late_tasks(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    found = _against(runs, _ALIKE, [UNKNOWN], late_tasks, is_above, 1)
    printed = [figures.approach(policy).late_tasks for policy in _ALIKE]
    return judged(
        f"{_NAMES_ALIKE} have significantly more late tasks than unknown",
        found,
        f"{_range(runs, _ALIKE, late_tasks, 1)} against {_mean(runs, UNKNOWN, late_tasks):.1f}",
        f"{_LATE_FOR_WANT_OF_SAMPLES}; {_NEAR_THE_LIMIT}",
        source=_TABLE_3,
        printed=f"{min(printed)} to {max(printed)} against {figures.approach(UNKNOWN).late_tasks}",
    )


def _times_the_late_tasks(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    stated = {ratio.policy: ratio.printed for ratio in figures.ratios if ratio.quantity == "late_tasks"}
    least, most = stated["large.5"], stated["medium.8"]
    limits = {"large.5": (least, least), "medium.10": (least, most), "medium.8": (most, most)}
    found: list[_Found] = []
    times = []
    for policy, (low, high) in limits.items():
        ratio = runs.ratio(policy, UNKNOWN, "late_tasks", "times")
        verdict = _is_times(runs, policy, UNKNOWN, "late_tasks", low * _LESS, high * _MORE)
        found.append((f"{policy} {show(ratio, 1)}", verdict))
        times.append(show(ratio, 1))
    return judged(
        f"{_NAMES_ALIKE} have {least:g} to {most:g} times the late tasks of unknown",
        found,
        f"{times[0]} to {times[-1]} times",
        "unknown has more late tasks than printed (note 5)",
        source=_TABLE_3,
        printed=f"{least:g} to {most:g} times",
    )


def _cheapest(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    printed = [figures.approach(policy).cost_usd for policy in ("large.4", KNOWN)]
    return judged(
        "large.4 costs least of all, less than known",
        _against(runs, ["large.4"], _others(figures, "large.4"), cost_usd, is_below, 3),
        f"{_mean(runs, 'large.4', cost_usd):.3f} against {_mean(runs, KNOWN, cost_usd):.3f} $",
        "the cost of a fixed setting jumps with the end of its last task (note 2)",
        source=_TABLE_3,
        printed=f"{printed[0]:.2f} against {printed[1]:.2f} $",
        fitted=True,
    )


def _large_4_late(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    [stated] = [ratio.printed for ratio in figures.ratios if ratio.policy == "large.4"]
    times = runs.ratio("large.4", UNKNOWN, "late_tasks", "times")
    verdict = _is_times(runs, "large.4", UNKNOWN, "late_tasks", stated * _LESS, stated * _MORE)
    return judged(
        f"large.4 has {stated:g} times the late tasks of unknown",
        [(f"{show(times, 1)} times", verdict)],
        f"{show(times, 1)} times",
        "unknown has more late tasks than printed (note 5)",
        source=_TABLE_3,
        printed=f"{stated:g} times",
    )


def _pair(runs: ThaiRuns, metric: _Metric, digits: int) -> str:
    return " and ".join(f"{_mean(runs, policy, metric):,.{digits}f}" for policy in _BOTH_XLARGE)


def _dearest(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    printed = [figures.approach(policy).cost_usd for policy in _BOTH_XLARGE]
    return judged(
        "xlarge.2 and xlarge.3 are the most expensive",
        _against(runs, _BOTH_XLARGE, _others(figures, *_BOTH_XLARGE), cost_usd, is_above, 3),
        f"{_pair(runs, cost_usd, 3)} $",
        source=_TABLE_3,
        printed=f"{printed[0]:.2f} and {printed[1]:.2f} $",
        fitted=True,
    )


def _xlarge_late(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    printed = [figures.approach(policy).late_tasks for policy in _BOTH_XLARGE]
    return judged(
        "xlarge.2 and xlarge.3 have the most late tasks",
        _against(runs, _BOTH_XLARGE, _others(figures, *_BOTH_XLARGE), late_tasks, is_above, 1),
        _pair(runs, late_tasks, 1),
        source=_TABLE_3,
        printed=f"{printed[0]:.1f} and {printed[1]:.1f}",
    )


def _twice(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    found: list[_Found] = []
    for policy in figures.fixed:
        more = runs.difference(policy, UNKNOWN, "violation_cost_usd", 2)
        times = runs.ratio(policy, UNKNOWN, "violation_cost_usd", "times")
        found.append((f"{policy} {show(times, 1)} times", is_above(more)))
    return judged(
        "every fixed setting has at least twice the violation cost of unknown",
        found,
        tally(found, "settings"),
        "unknown has more late tasks than printed (note 5)",
        source=f"abstract, {_FIG_3}",
        printed=f"{len(figures.fixed)} of {len(figures.fixed)} settings",
    )


def _worst(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    worst = max(figures.fixed, key=figures.violation_cost_usd)
    times = runs.ratio(worst, UNKNOWN, "violation_cost_usd", "times")
    more = runs.difference(worst, UNKNOWN, "violation_cost_usd", WORST_TIMES)
    return judged(
        f"the highest violation cost is more than {WORST_TIMES:g} times that of unknown",
        [(f"{show(times, 1)} times", is_above(more))],
        f"{show(times, 1)} times",
        f"of {worst}; unknown has more late tasks than printed (note 5)",
        source=_FIG_3,
        printed=f"> {WORST_TIMES:g} times",
    )


# ---------------------------------------------------------------------------- blocks


def _types_used(run: StreamOutcome) -> float:
    return sum(number > 0 for number in run.blocks.values())


def _mixed(runs: ThaiRuns) -> Claim:
    found: list[_Found] = []
    for policy in (KNOWN, UNKNOWN):
        types = runs.approaches[policy].mean(_types_used)
        found.append((f"{policy} {show(types, 2)} types a run", is_above(types, 1)))
    means = [f"{_mean(runs, policy, _types_used):.2f}" for policy in (KNOWN, UNKNOWN)]
    return judged(
        "known and unknown use VMs of different types",
        found,
        " and ".join(means) + " types",
        source=_FIG_4,
        printed="> 1 type",
    )


def _runs_with_xlarge(runs: ThaiRuns, policy: str) -> tuple[int, int]:
    """Runs in which a policy rents `XLARGE`, and all runs."""
    blocks = [run.blocks[XLARGE] for run in runs.approaches[policy].runs]
    return sum(number > 0 for number in blocks), len(blocks)


def _known_without_xlarge(runs: ThaiRuns) -> Claim:
    some, n_runs = _runs_with_xlarge(runs, KNOWN)
    ours = f"in {some} of {n_runs} runs"
    return judged(
        f"known uses no {XLARGE}",
        [(f"known rents one {ours}", "does not hold" if some else "holds")],
        ours,
        source=_FIG_4,
        printed="0 blocks",
    )


def _unknown_with_xlarge(runs: ThaiRuns) -> Claim:
    some, n_runs = _runs_with_xlarge(runs, UNKNOWN)
    ours = f"in {some} of {n_runs} runs"
    return judged(
        f"unknown has to rent {XLARGE} for its samples",
        [(f"unknown rents one {ours}", "holds" if some == n_runs else "does not hold")],
        ours,
        source=_FIG_4,
        printed="> 0 blocks",
    )


# ---------------------------------------------------------------------------- mis-utilisation


def _idle(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    fixed = [policy for policy in figures.fixed if policy != "xlarge.2"]
    found = _against(runs, [KNOWN, UNKNOWN], fixed, idle_s, is_below, 0)
    return judged(
        "known and unknown are less idle than the fixed settings but xlarge.2",
        found,
        tally(found, "pairs"),
        "a setting that is nearly always behind is hardly idle",
        source=_FIG_5,
        printed="very low",
    )


def _lateness(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    found = _against(runs, [KNOWN, UNKNOWN], figures.fixed, late_s, is_below, 0)
    return judged(
        "known and unknown have less late time than the fixed settings",
        found,
        tally(found, "pairs"),
        _LATE_FOR_WANT_OF_SAMPLES,
        source=_FIG_5,
        printed="very low",
    )


def _most(statement: str, found: Sequence[_Found], source: str, why_not: str = "") -> Claim:
    """Judge a statement on most of several settings: more than half of them."""
    needed = len(found) // 2 + 1
    against = sum(verdict == "does not hold" for _, verdict in found)
    bear_out = sum(verdict == "holds" for _, verdict in found)
    verdict: Verdict = "not decided"
    if bear_out >= needed:
        verdict = "holds"
    elif len(found) - against < needed:
        verdict = "does not hold"
    but = ", ".join(text for text, found_verdict in found if found_verdict != "holds")
    reason = "" if verdict == "holds" else "; ".join(part for part in (f"not so {but}", why_not) if part)
    return Claim(statement, verdict, tally(found, "settings"), reason, source, "most")


def _ends_early(runs: ThaiRuns) -> _Metric:
    """Jobs of a run that end before the next one is submitted."""
    submitted_s = [job.submitted_s for job in runs.stream.jobs_by_submission]
    return lambda run: sum(job.last_finish_s < next_s for job, next_s in zip(run.jobs, submitted_s[1:], strict=False))


def _early(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    found: list[_Found] = []
    for policy in figures.fixed:
        early = runs.approaches[policy].mean(_ends_early(runs))
        late = runs.approaches[policy].mean(late_tasks)
        found.append((f"{policy} {show(early, 2)} jobs", all_hold([is_above(early), is_above(late)])))
    return _most(
        "most fixed settings end some jobs before the next is submitted, and are late with others", found, _FIG_5
    )


def _idle_and_late(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    found: list[_Found] = []
    for policy in figures.fixed:
        pairs = [runs.less(policy, other, metric) for metric in (idle_s, late_s) for other in (KNOWN, UNKNOWN)]
        idle, late = _mean(runs, policy, idle_s), _mean(runs, policy, late_s)
        found.append((f"{policy} {idle:,.0f} s idle and {late:,.0f} s late", all_hold(map(is_above, pairs))))
    return _most("most fixed settings are idle for long, and late for long", found, _FIG_5)


def _no_idle(runs: ThaiRuns) -> Claim:
    share = runs.approaches["xlarge.2"].share_percent(idle_s, lambda run: run.idle_s + run.busy_s)
    estimate = Estimate(0, None, None) if share is None else share.estimate
    return judged(
        "xlarge.2 has no idle time",
        [(f"xlarge.2 {show(estimate, 3)} %", is_below(estimate, NO_IDLE_PERCENT))],
        f"{show(estimate, 3)} %",
        source=_FIG_5,
        printed="0",
        fitted=True,
    )


def _much_late_time(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    others = _others(figures, "xlarge.2")
    return judged(
        "xlarge.2 has a very high late time",
        _against(runs, ["xlarge.2"], others, late_s, is_above, 0),
        f"{_mean(runs, 'xlarge.2', late_s):,.0f} against {max(_mean(runs, other, late_s) for other in others):,.0f} s",
        source=_FIG_5,
        printed="very high",
    )
