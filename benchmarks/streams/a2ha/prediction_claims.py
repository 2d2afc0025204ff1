"""Claims of section 3 of the A2HA paper on predictions, Figs 4 and 6, judged by replays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.core.statistics import Estimate, estimate
from spotbag.models.streams.paid_units import hosts_by_formula

from ...claims import Claim, above, below, exactly, show, tally
from .comparisons import SAID, percent_of_runs, value
from .printed import A2haFigures
from .runs import METRICS, WORDS, A2haCell, A2haRuns
from .settings import RATIOS, SHORT_JOBS

_NEAR_PERCENT = 20
"""What 'close' means: as far off as section 4.1 has the number of hosts of this job."""

_MOST = 50
"""What holds for more than so many percent of the orderings is the rule."""

_FIG_6_INCREASES = (0.25, 0.5, 0.75)


def prediction_claims(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    """Judge the statements of sections 3.2 to 3.4, in their order."""
    yield from _first_tasks(figures, runs)
    yield from _faster(runs)
    yield from _created(figures)
    yield from _early_hosts(figures, runs)
    yield from _first_hosts(figures, runs)


def _rule(name: str, share: Estimate, **texts: Any) -> Claim:
    """Claim on most orderings."""
    case = above("", share, 0, "%", limit=_MOST)
    return SAID.judge(name, case, f"{case.ours} of orderings", near=_NEAR_PERCENT, **texts)


def _first_tasks(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    """Section 3.2, Fig. 4."""
    image, printed = figures.job("image"), figures.prediction
    near = estimate([100.0 * (order.off_percent <= _NEAR_PERCENT) for order in runs.orders])
    off = estimate([order.off_percent for order in runs.orders])
    yield _rule("average-is-near", near, tasks=printed.tasks, off=show(off, 1))
    worst = [order.most_off_percent for order in runs.orders]
    stable, half = (estimate([100.0 * (off <= _NEAR_PERCENT / part) for off in worst]) for part in (1, 2))
    texts = {"half_near": _NEAR_PERCENT // 2, "half": show(half, 0)}
    yield _rule("prediction-is-stable", stable, tasks=printed.tasks, **texts)
    hosts = math.floor(image.n_tasks * image.mean_s / SECONDS_PER_HOUR + 0.5)
    yield SAID.judge(
        "final-prediction",
        exactly("", hosts == printed.final_hosts, f"{hosts}"),
        printed=printed.final_hosts,
        tasks=image.n_tasks,
        mean_s=image.mean_s,
        by_formula=hosts_by_formula(image.n_tasks, image.mean_s),
    )
    # Without the creationRatio, of orderings whose first task is longer than the average.
    cell = runs.sweep["image"][1.0, 1.0]
    is_longer = {
        longer: [run for run in cell.runs if (run.first_task_s > image.mean_s) == longer] for longer in (True, False)
    }
    too_many = {longer: [run.first_hosts > image.optimal_hosts for run in found] for longer, found in is_longer.items()}
    texts = {"first": printed.first_hosts, "final": printed.final_hosts, "optimal": image.optimal_hosts}
    share = estimate([100.0 * many for many in too_many[True]])
    yield _rule("too-many-at-first", share, some=sum(too_many[False]), others=len(too_many[False]), **texts)


def _faster(runs: A2haRuns) -> Iterator[Claim]:
    """Neighbours at the creationRatio of Fig. 6a."""
    for name, quantity, compare, unit in (
        ("more-hosts-from-half", "hosts", above, ""),
        ("shorter-from-half", "wall_h", below, " h"),
    ):
        found = []
        for job in SHORT_JOBS:
            for low, high in pairwise(RATIOS[1:]):
                less = runs.sweep[job][0.5, high].less(runs.sweep[job][0.5, low], METRICS[quantity])
                found.append(compare(f"{job}, {high:g} - {low:g}: {WORDS[quantity]}", less, 3))
        ends = [value(runs.sweep["image"][0.5, increase], quantity) for increase in (RATIOS[1], RATIOS[-1])]
        yield SAID.judge(name, found, f"{tally()(found)} steps; image {ends[0]:.2f} to {ends[1]:.2f}{unit}")


def _created(figures: A2haFigures) -> Iterator[Claim]:
    """Fig. 6b; by line 16 of Fig. 5, each finished task leaves a part of what is missing to a ratio of 1."""
    printed = figures.prediction
    product, tasks = printed.first_hosts * printed.creation_ratio, printed.full_ratio_tasks
    hosts = math.ceil(product)
    yield SAID.judge(
        "created-hosts",
        exactly("", hosts == printed.created_hosts, f"{hosts}"),
        predicted=printed.first_hosts,
        ratio=printed.creation_ratio,
        printed=printed.created_hosts,
        product=product,
    )
    ratios = {of: 1 - (1 - printed.creation_ratio) * (1 - of) ** tasks for of in _FIG_6_INCREASES}
    near = all(ratio >= 1 - _NEAR_PERCENT / 100 for ratio in ratios.values())
    ours = " to ".join(f"{ratios[of]:.2f}" for of in (_FIG_6_INCREASES[0], _FIG_6_INCREASES[-1]))
    by_increase = ", ".join(f"{ratio:.4f} with {of:g}" for of, ratio in ratios.items())
    texts = {"tasks": tasks, "ratio": printed.creation_ratio, "ratios": by_increase}
    yield SAID.judge("full-ratio", exactly("", near, ours), **texts)


def _early_hosts(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    tasks, optimal = figures.prediction.full_ratio_tasks, figures.job("image").optimal_hosts
    cell = runs.short("image", runs.style)
    texts = {
        "tasks": tasks,
        "optimal": optimal,
        "early": show(cell.mean(lambda run: run.early_hosts), 1),
        "final": show(cell.mean(METRICS["hosts"]), 1),
    }
    near = _NEAR_PERCENT / 100
    final = percent_of_runs(cell, lambda run: abs(run.early_hosts / run.hosts - 1) <= near)
    yield _rule("early-near-final", final, **texts)
    best = percent_of_runs(cell, lambda run: abs(run.early_hosts / optimal - 1) <= near)
    yield _rule("early-near-optimal", best, **texts)


def _first_hosts(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    found, numbers = [], []
    n_runs = len(runs.short("image", runs.style).runs)
    for job in SHORT_JOBS:
        optimal = figures.job(job).optimal_hosts
        more = sum(run.first_hosts > optimal for run in runs.short(job, runs.style).runs)
        found.append(exactly(job, not more, f"{more} of {n_runs} orderings have more than {optimal}"))
        numbers.append(f"{more}")
    yield SAID.judge("first-are-necessary", found, f"{'; '.join(numbers)} of {n_runs} orderings")

    # Of the long job with one initial host; without any prediction, hosts come with the end.
    def first_h(cell: A2haCell) -> list[float]:
        seconds = [run.wall_s if run.first_created_s is None else run.first_created_s for run in cell.runs]
        return [one / SECONDS_PER_HOUR for one in seconds]

    assert runs.ends_only is not None
    without, with_ = first_h(runs.ends_only), first_h(runs.long[runs.style, 1])
    more_h = estimate([late - early for late, early in zip(without, with_, strict=True)])
    ours = f"{show(estimate(without), 0)} h; else {estimate(with_).mean:.1f} h"
    yield SAID.judge("late-without-ticks", above("", more_h, 1, "h later", limit=1.0), ours)
