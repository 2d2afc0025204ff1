"""Findings of the replays of Thai et al. beyond the sentences of the paper."""

from __future__ import annotations

from collections.abc import Iterator

from ...claims import Claim, Verdict, is_above, is_below, judged, show
from .printed import Quantity, ThaiFigures, thai_figures
from .runs import XLARGE, ThaiRuns, cost_usd, late_tasks
from .settings import EXAMPLE_FRACTION, KNOWN, UNKNOWN

_WORST = "xlarge.2"


def thai_findings(runs: ThaiRuns) -> Iterator[Claim]:
    """Judge statements of ours on the same runs."""
    figures = thai_figures()
    yield _worst_of_table_3(figures, runs)
    yield _extra_cost_of_xlarge(runs)
    for policy, base in (("known-paid-blocks", KNOWN), ("unknown-paid-blocks", UNKNOWN)):
        yield _cheaper_and_in_time(f"to the letter of section 3.2, {base}", runs, policy, base)
    yield _cheaper_and_in_time(
        "if every finished task counts, unknown-paid-blocks", runs, "unknown-learning", "unknown-paid-blocks"
    )
    if EXAMPLE_FRACTION in runs.sweep:
        yield _longer_samples(runs)


def _worst_of_table_3(figures: ThaiFigures, runs: ThaiRuns) -> Claim:
    found: list[tuple[str, Verdict]] = []
    quantities: tuple[Quantity, ...] = ("late_tasks", "violation_cost_usd")
    for other in figures.policies:
        for quantity in quantities if other != _WORST else ():
            more = runs.difference(_WORST, other, quantity)
            found.append((f"{quantity}, {_WORST} - {other} = {show(more, 3)}", is_above(more)))
    late, violation = (runs.approaches[_WORST].number(quantity) for quantity in quantities)
    numbers = [
        "-" if number is None else show(number.estimate, digits)
        for number, digits in zip((late, violation), (1, 2), strict=True)
    ]
    return judged(
        f"{_WORST} has the most late tasks and the highest violation cost, as in Table 3",
        found,
        f"{numbers[0]} tasks, {numbers[1]} $",
    )


def _extra_cost_of_xlarge(runs: ThaiRuns) -> Claim:
    saved = runs.difference_without_xlarge("cost_usd")
    extra = runs.less(UNKNOWN, KNOWN, cost_usd)
    return judged(
        f"where no {XLARGE} can be rented, unknown costs less",
        [(f"{show(saved, 3)} $", is_above(saved))],
        f"{show(saved, 3)} of {show(extra, 3)} $ above known",
    )


def _cheaper_and_in_time(what: str, runs: ThaiRuns, policy: str, base: str) -> Claim:
    every = {**runs.approaches, **runs.variants}
    cost, late = (every[policy].less(every[base], metric) for metric in (cost_usd, late_tasks))
    return judged(
        f"{what} is cheaper, and has fewer late tasks",
        [(f"cost {show(cost, 3)} $", is_below(cost)), (f"late tasks {show(late, 1)}", is_below(late))],
        f"{show(cost, 3)} $, {show(late, 1)} tasks",
    )


def _longer_samples(runs: ThaiRuns) -> Claim:
    longest = max(runs.sweep)
    longer, example = (runs.sweep[fraction].runs for fraction in (longest, EXAMPLE_FRACTION))
    late, cost = longer.less(example, late_tasks), longer.less(example, cost_usd)
    lengths = [f"{100 * fraction:g} %" for fraction in (longest, EXAMPLE_FRACTION)]
    return judged(
        f"sampling for {lengths[0]} of the time costs more than for {lengths[1]}, and has fewer late tasks",
        [(f"cost {show(cost, 3)} $", is_above(cost)), (f"late tasks {show(late, 1)}", is_below(late))],
        f"{show(cost, 3)} $, {show(late, 1)} tasks",
    )
