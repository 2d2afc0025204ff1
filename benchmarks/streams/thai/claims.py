"""What Thai et al. say of their results, and whether it holds in our replays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ....core.statistics import Estimate
from ....replay.streams.outcome import StreamOutcome
from ...claims import Claim, Verdict, is_above, is_below, is_within, judged, show
from .printed import Quantity, ThaiFigures, thai_figures
from .runs import KNOWN, UNKNOWN, ThaiRuns, cost_usd, late_tasks

ABOUT_POINTS = 5.0
"""What 'about' means for a number of percent: so many points up or down."""

ABOUT_PERCENT = 10.0
"""What 'almost identical' means for costs: so many percent of the other."""

NO_IDLE_PERCENT = 1.0
"""What 'no idle time' means: less than so many percent of the time in which the VMs were ready."""

_XLARGE = "m3.xlarge"

_WORDS: dict[Quantity, str] = {
    "cost_usd": "the cost",
    "late_tasks": "the number of late tasks",
    "violation_cost_usd": "the violation cost",
}

_WHY_DEARER = f"each phase wants a VM of every type, also {_XLARGE}, which is used on as long as it is in time (Fig. 4)"
_WHY_LATER = "the samples are few, and a job that gets too few VMs by them is late with many tasks (notes 3 and 4)"

_Found = tuple[str, Verdict]


def thai_claims(runs: ThaiRuns) -> Iterator[Claim]:
    """Judge the statements of section 6.3, in their order."""
    figures = thai_figures()
    for quantity in _WORDS:
        yield from _unknown_above_known(figures, runs, quantity)
    yield _more_late_tasks(figures, runs)
    yield _alike(runs)
    yield _cheapest(figures, runs)
    yield _dearest(figures, runs)
    yield _xlarge_2_worst(figures, runs)
    yield _xlarge_late(figures, runs)
    yield _twice(figures, runs)
    yield _mixed(runs)
    yield _xlarge_blocks(runs)
    yield _idle(figures, runs)
    yield _lateness(figures, runs)
    yield _no_idle(runs)


def _unknown_above_known(figures: ThaiFigures, runs: ThaiRuns, quantity: Quantity) -> Iterator[Claim]:
    """``unknown`` is above ``known``, and by about as much as the text says."""
    [stated] = [entry for entry in figures.ratios if (entry.policy, entry.quantity) == (UNKNOWN, quantity)]
    digits = 1 if quantity == "late_tasks" else 3
    less = runs.difference(UNKNOWN, KNOWN, quantity)
    numbers = (runs.approaches[policy].number(quantity) for policy in (UNKNOWN, KNOWN))
    ours = " against ".join("-" if number is None else show(number.estimate, digits) for number in numbers)
    text = f"unknown - known = {show(less, digits)}"
    yield judged(f"{_WORDS[quantity]} of unknown is above that of known", [(text, is_above(less))], ours)
    more = runs.ratio(UNKNOWN, KNOWN, quantity, "percent_more")
    yield judged(
        f"{_WORDS[quantity]} of unknown is about {stated.printed:g} % above (within {ABOUT_POINTS:g} points)",
        [(f"{show(more, 1)} %", is_within(more, stated.printed - ABOUT_POINTS, stated.printed + ABOUT_POINTS))],
        f"{show(more, 1)} %",
        _WHY_DEARER if quantity == "cost_usd" else _WHY_LATER,
    )


def _against(
    runs: ThaiRuns,
    policies: Sequence[str],
    others: Sequence[str],
    metric: Callable[[StreamOutcome], float],
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


def _means(runs: ThaiRuns, policies: Sequence[str], metric: Callable[[StreamOutcome], float], digits: int) -> str:
    return "; ".join(f"{policy} {show(runs.approaches[policy].mean(metric), digits)}" for policy in policies)


def _others(figures: ThaiFigures, *policies: str) -> list[str]:
    return [policy for policy in figures.policies if policy not in policies]


def _more_late_tasks(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    return judged(
        "every fixed setting has more late tasks than unknown",
        _against(runs, figures.fixed, [UNKNOWN], late_tasks, is_above, 1),
        _means(runs, [UNKNOWN, *figures.fixed], late_tasks, 1),
    )


def _alike(runs: ThaiRuns) -> Claim:
    alike = ("medium.8", "medium.10", "large.5")
    found: list[_Found] = []
    for policy in alike:
        more = runs.ratio(policy, UNKNOWN, "cost_usd", "percent_more")
        found.append((f"{policy} {show(more, 1)} %", is_within(more, -ABOUT_PERCENT, ABOUT_PERCENT)))
    return judged(
        f"medium.8, medium.10 and large.5 cost almost the same as unknown (within {ABOUT_PERCENT:g} %)",
        found,
        "$ " + _means(runs, [UNKNOWN, *alike], cost_usd, 3),
    )


def _cheapest(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    return judged(
        "large.4 is the cheapest of all",
        _against(runs, ["large.4"], _others(figures, "large.4"), cost_usd, is_below, 3),
        "$ " + _means(runs, ["large.4", KNOWN, "large.5"], cost_usd, 3),
        "a fixed setting pays whole blocks of all its VMs, so its cost jumps with the end of the last task (note 2)",
    )


def _dearest(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    xlarge = ("xlarge.2", "xlarge.3")
    return judged(
        "xlarge.2 and xlarge.3 are the dearest",
        _against(runs, xlarge, _others(figures, *xlarge), cost_usd, is_above, 3),
        "$ " + _means(runs, [*xlarge, UNKNOWN], cost_usd, 3),
    )


def _xlarge_2_worst(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    others = _others(figures, "xlarge.2")
    found = _against(runs, ["xlarge.2"], others, late_tasks, is_above, 1)
    for other in others:
        more = runs.difference("xlarge.2", other, "violation_cost_usd")
        found.append((f"violation cost, xlarge.2 - {other} = $ {show(more, 3)}", is_above(more)))
    violation = runs.approaches["xlarge.2"].violation_cost
    return judged(
        "xlarge.2 has the most late tasks and the highest violation cost",
        found,
        f"{_means(runs, ['xlarge.2'], late_tasks, 1)} late tasks, violation cost $ "
        + ("-" if violation is None else show(violation.estimate, 2)),
    )


def _xlarge_late(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    xlarge = ("xlarge.2", "xlarge.3")
    return judged(
        "xlarge.2 and xlarge.3 have the most late tasks",
        _against(runs, xlarge, _others(figures, *xlarge), late_tasks, is_above, 1),
        _means(runs, [*xlarge, "medium.8"], late_tasks, 1),
    )


def _twice(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    found: list[_Found] = []
    for policy in figures.fixed:
        more = runs.difference(policy, UNKNOWN, "violation_cost_usd", times=2)
        found.append((f"{policy} - 2 unknown = $ {show(more, 3)}", is_above(more)))
    times = {policy: runs.ratio(policy, UNKNOWN, "violation_cost_usd", "times") for policy in figures.fixed}
    return judged(
        "the violation cost of every fixed setting is at least twice that of unknown",
        found,
        "times: " + "; ".join(f"{policy} {show(ratio, 1)}" for policy, ratio in times.items()),
    )


def _types_used(run: StreamOutcome) -> float:
    return sum(number > 0 for number in run.blocks.values())


def _mixed(runs: ThaiRuns) -> Claim:
    found: list[_Found] = []
    for policy in (KNOWN, UNKNOWN):
        types = runs.approaches[policy].mean(_types_used)
        found.append((f"{policy} {show(types, 2)} types a run", is_above(types, 1)))
    ours = "; ".join(text for text, _ in found)
    return judged("known and unknown use VMs of several types (more than one a run)", found, ours)


def _xlarge_blocks(runs: ThaiRuns) -> Claim:
    blocks = {policy: [run.blocks[_XLARGE] for run in runs.approaches[policy].runs] for policy in (KNOWN, UNKNOWN)}
    none = sum(number > 0 for number in blocks[KNOWN])
    some = runs.approaches[UNKNOWN].mean(lambda run: run.blocks[_XLARGE])
    n_runs = len(blocks[KNOWN])
    return judged(
        f"known uses no {_XLARGE}, unknown uses some",
        [
            (f"known rents one in {none} of {n_runs} runs", "does not hold" if none else "holds"),
            (f"unknown {show(some, 2)} blocks", is_above(some)),
        ],
        f"known in {none} of {n_runs} runs; unknown {show(some, 2)} blocks a run",
    )


def _idle(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    fixed = [policy for policy in figures.fixed if policy != "xlarge.2"]
    return judged(
        "known and unknown have less idle time than the fixed settings (but xlarge.2, which is said to have none)",
        _against(runs, [KNOWN, UNKNOWN], fixed, lambda run: run.idle_s, is_below, 0),
        "s: " + _means(runs, [KNOWN, UNKNOWN, *fixed], lambda run: run.idle_s, 0),
        "a setting that is always behind is never idle",
    )


def _lateness(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    return judged(
        "known and unknown have less lateness than the fixed settings",
        _against(runs, [KNOWN, UNKNOWN], figures.fixed, lambda run: run.late_s, is_below, 0),
        "s: " + _means(runs, [KNOWN, UNKNOWN, *figures.fixed], lambda run: run.late_s, 0),
    )


def _no_idle(runs: ThaiRuns) -> Claim:
    share = runs.approaches["xlarge.2"].share_percent(lambda run: run.idle_s, lambda run: run.idle_s + run.busy_s)
    estimate = Estimate(0, None, None) if share is None else share.estimate
    return judged(
        f"xlarge.2 has no idle time (less than {NO_IDLE_PERCENT:g} % of the time in which its VMs are ready)",
        [(f"xlarge.2 {show(estimate, 3)} %", is_below(estimate, NO_IDLE_PERCENT))],
        f"{show(estimate, 3)} %, {show(runs.approaches['xlarge.2'].mean(lambda run: run.idle_s), 1)} s a run",
    )
