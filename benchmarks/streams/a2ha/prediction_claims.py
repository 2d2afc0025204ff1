"""Claims of section 3 of the A2HA paper on predictions, Figs 4 and 6, judged by replays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from ....core.quantities import SECONDS_PER_HOUR
from ....core.statistics import estimate
from ....models.streams.paid_units import hosts_by_formula
from ...claims import Claim, Verdict, is_above, is_below, judged, show, tally
from .comparisons import BY_ARITHMETIC, Found, judged_with, percent_of_runs, value
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
    yield _average_is_near(figures, runs)
    yield _prediction_is_stable(figures, runs)
    yield _final_prediction(figures)
    yield _too_many_at_first(figures, runs)
    yield _faster(runs, "hosts", "the more hosts")
    yield _faster(runs, "wall_h", "the shorter the time")
    yield _created_hosts(figures)
    yield _full_ratio(figures)
    yield _early_hosts(figures, runs, "final")
    yield _early_hosts(figures, runs, "optimal")
    yield _first_hosts_are_necessary(figures, runs)
    yield _late_without_ticks(runs)


def _average_is_near(figures: A2haFigures, runs: A2haRuns) -> Claim:
    share = estimate([100.0 * (order.off_percent <= _NEAR_PERCENT) for order in runs.orders])
    off = estimate([order.off_percent for order in runs.orders])
    return judged_with(
        f"after {figures.prediction.tasks} random tasks their average is close to the final one (image)",
        [(f"{show(share, 0)} %", is_above(share, _MOST))],
        f"{show(share, 0)} % of orderings",
        source="section 3.2, Fig. 4a",
        printed="close",
        why=f"close is {_NEAR_PERCENT} %, as in section 4.1; on average it is {show(off, 1)} % off",
    )


def _prediction_is_stable(figures: A2haFigures, runs: A2haRuns) -> Claim:
    worst = [order.most_off_percent for order in runs.orders]
    share = estimate([100.0 * (off <= _NEAR_PERCENT) for off in worst])
    half = estimate([100.0 * (off <= _NEAR_PERCENT / 2) for off in worst])
    return judged_with(
        f"from about {figures.prediction.tasks} tasks on the predicted number of hosts is stable (image)",
        [(f"{show(share, 0)} %", is_above(share, _MOST))],
        f"{show(share, 0)} % of orderings",
        source="section 3.2, Fig. 4b",
        printed="stable",
        why=f"stable is that no later prediction is more than {_NEAR_PERCENT} % off; within {_NEAR_PERCENT // 2} % "
        f"it is in {show(half, 0)} % of the orderings",
    )


def _final_prediction(figures: A2haFigures) -> Claim:
    image, printed = figures.job("image"), figures.prediction.final_hosts
    serial_s = image.n_tasks * image.mean_s
    hosts = math.floor(serial_s / SECONDS_PER_HOUR + 0.5)
    return Claim(
        "the prediction ends with the number of hosts that all tasks need (image)",
        "holds" if hosts == printed else "does not hold",
        f"{hosts}",
        f"{BY_ARITHMETIC}: {image.n_tasks} tasks of {image.mean_s:g} s in hosts that work for 60 minutes, as section "
        f"3.1 has it; section 4 has 55 and "
        f"{hosts_by_formula(image.n_tasks, image.mean_s)} hosts",
        "section 3.2, Fig. 4b",
        f"{printed}",
    )


def _too_many_at_first(figures: A2haFigures, runs: A2haRuns) -> Claim:
    """Without the creationRatio, of orderings whose first task is longer than the average."""
    image = figures.job("image")
    cell = runs.sweep["image"][1.0, 1.0]
    longer = [run for run in cell.runs if run.first_task_s > image.mean_s]
    share = estimate([100.0 * (run.first_hosts > image.optimal_hosts) for run in longer])
    others = [run.first_hosts > image.optimal_hosts for run in cell.runs if run.first_task_s <= image.mean_s]
    return judged_with(
        "if the first tasks are longer than the average, too many hosts are created at first (image)",
        [(f"{show(share, 0)} %", is_above(share, _MOST))],
        f"{show(share, 0)} % of orderings",
        source="section 3.2, Fig. 4b",
        printed=f"{figures.prediction.first_hosts}, not {figures.prediction.final_hosts}",
        why=f"too many are more than {image.optimal_hosts}, with a creationRatio of 1; of the orderings whose first "
        f"task is no longer than the average, {sum(others)} of {len(others)} have as many",
    )


def _faster(runs: A2haRuns, quantity: str, words: str) -> Claim:
    """Neighbours at the creationRatio of Fig. 6a."""
    metric = METRICS[quantity]
    found: list[Found] = []
    for job in SHORT_JOBS:
        for low, high in pairwise(RATIOS[1:]):
            less = runs.sweep[job][0.5, high].less(runs.sweep[job][0.5, low], metric)
            verdict = is_below(less) if quantity == "wall_h" else is_above(less)
            found.append((f"{job}, {high:g} - {low:g}: {WORDS[quantity]} {show(less, 3)}", verdict))
    ends = [value(runs.sweep["image"][0.5, increase], quantity) for increase in (RATIOS[1], RATIOS[-1])]
    return judged(
        f"from a creationRatio of 0.5, the higher the increaseRatio, {words} (all jobs)",
        found,
        f"{tally(found)} steps; image {ends[0]:.2f} to {ends[1]:.2f}" + (" h" if quantity == "wall_h" else ""),
        source="section 3.3, Fig. 6a",
    )


def _created_hosts(figures: A2haFigures) -> Claim:
    printed = figures.prediction
    hosts = math.ceil(printed.first_hosts * printed.creation_ratio)
    return Claim(
        f"of {printed.first_hosts} predicted hosts, a creationRatio of {printed.creation_ratio:g} creates "
        f"{printed.created_hosts}",
        "holds" if hosts == printed.created_hosts else "does not hold",
        f"{hosts}",
        f"{BY_ARITHMETIC}: {printed.first_hosts * printed.creation_ratio:g} is rounded up in line 14 of Fig. 5",
        "section 3.3, Fig. 6b",
        f"{printed.created_hosts}",
    )


def _full_ratio(figures: A2haFigures) -> Claim:
    """By line 16 of Fig. 5: each finished task leaves a part of what is missing to 1."""
    printed = figures.prediction
    ratios = {
        increase: 1 - (1 - printed.creation_ratio) * (1 - increase) ** printed.full_ratio_tasks
        for increase in _FIG_6_INCREASES
    }
    near = all(ratio >= 1 - _NEAR_PERCENT / 100 for ratio in ratios.values())
    return Claim(
        f"after about {printed.full_ratio_tasks} tasks a creationRatio of {printed.creation_ratio:g} has become 1",
        "holds" if near else "does not hold",
        " to ".join(f"{ratios[increase]:.2f}" for increase in (_FIG_6_INCREASES[0], _FIG_6_INCREASES[-1])),
        f"{BY_ARITHMETIC}: it comes near 1 and never gets there; the increaseRatio is not said: "
        + ", ".join(f"{ratio:.4f} with {increase:g}" for increase, ratio in ratios.items()),
        "section 3.3, Fig. 6b",
        "1",
    )


def _early_hosts(figures: A2haFigures, runs: A2haRuns, what: str) -> Claim:
    tasks, optimal = figures.prediction.full_ratio_tasks, figures.job("image").optimal_hosts
    cell = runs.short("image", runs.style)

    def is_near(early: int, hosts: int) -> bool:
        return abs(early / (hosts if what == "final" else optimal) - 1) <= _NEAR_PERCENT / 100

    share = percent_of_runs(cell, lambda run: is_near(run.early_hosts, run.hosts))
    early = cell.mean(lambda run: run.early_hosts)
    to = f"final {show(cell.mean(METRICS['hosts']), 1)}" if what == "final" else f"optimal {optimal}"
    return judged_with(
        f"from about {tasks} tasks on the number of hosts is close to the {what} one (image)",
        [(f"{show(share, 0)} %", is_above(share, _MOST))],
        f"{show(share, 0)} % of orderings",
        source="section 3.3, Fig. 6b",
        printed="close",
        why=f"within {_NEAR_PERCENT} %; {show(early, 1)} hosts after {tasks} tasks on average, the {to}",
    )


def _first_hosts_are_necessary(figures: A2haFigures, runs: A2haRuns) -> Claim:
    found: list[Found] = []
    ours = []
    for job in SHORT_JOBS:
        cell, optimal = runs.short(job, runs.style), figures.job(job).optimal_hosts
        more = sum(run.first_hosts > optimal for run in cell.runs)
        verdict: Verdict = "does not hold" if more else "holds"
        found.append((f"{job} {more} of {len(cell.runs)} orderings have more than {optimal}", verdict))
        ours.append(f"{more}")
    return judged(
        "a creationRatio below 1 guarantees that the hosts created first are not more than necessary",
        found,
        "; ".join(ours) + f" of {len(runs.short('image', runs.style).runs)} orderings",
        source="section 3.3",
        printed="none",
    )


def _late_without_ticks(runs: A2haRuns) -> Claim:
    """Of the long job with one initial host; without any prediction, hosts come with the end."""

    def first_h(cell: A2haCell) -> list[float]:
        found = [run.wall_s if run.first_created_s is None else run.first_created_s for run in cell.runs]
        return [seconds / SECONDS_PER_HOUR for seconds in found]

    assert runs.ends_only is not None
    without, with_ = first_h(runs.ends_only), first_h(runs.long[runs.style, 1])
    more = estimate([late - early for late, early in zip(without, with_, strict=True)])
    return judged_with(
        "with predictions at the end of tasks only, it takes long until hosts are created for long tasks",
        [(f"{show(more, 1)} h later", is_above(more, 1.0))],
        f"{show(estimate(without), 0)} h; else {estimate(with_).mean:.1f} h",
        source="section 3.4",
        why="long is an hour and more; when the first task ends, section 3.6 refuses so many hosts at once, and does "
        "until half of the tasks are left",
    )
