"""Claims of sections 4.2 and 6 of the A2HA paper on speedup, hosts and both styles, judged by replays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.core.statistics import Estimate, mean_of, quotient
from spotbag.core.wording import counted

from ...claims import ABOUT, Case, Claim, about, above, below, exactly, span, spread, with_intervals
from .comparisons import (
    SAID,
    TWO_JOBS,
    percent_of_runs,
    same_hosts_difference,
    sd_less,
    speedup_elasticity,
)
from .printed import USABLE_S, A2haFigures
from .runs import METRICS, WORDS, A2haCell, A2haRun, A2haRuns
from .settings import STYLES, Ratios

_NEARLY_TWICE = (1.8, 2.2)
"""What 'close to twice' means."""

_VARIATION_PERCENT = (46, 61)

_THIRTEEN = 13

_FEW = 5
"""Of 200 orderings, a difference of so many can be chance: 5 to 0 has a probability of 1 in 16."""

_USER: tuple[Ratios, ...] = tuple((creation, increase) for creation in (0.5, 0.75) for increase in (0.5, 0.75))
"""Ratios between which a user may choose."""


def speedup_claims(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    """Judge the statements of section 4.2, in their order, and of section 6 on both styles."""
    yield _variations(runs)
    yield from _thirteen(runs)
    percent = 100 * USABLE_S / SECONDS_PER_HOUR
    most = about("", percent, 1, "%", value=90.0, points=ABOUT.points)
    yield SAID.judge("most-efficient", most, points=ABOUT.points)
    yield from _styles(figures, runs)
    yield from _alike(runs)
    yield from _in_par(runs)
    yield from _prices(runs)


def _cells(runs: A2haRuns) -> Iterator[tuple[str, A2haCell]]:
    """Both jobs in both styles."""
    for job in TWO_JOBS:
        for style in STYLES:
            yield f"{job} {style}", runs.short(job, style)


def _variations(runs: A2haRuns) -> Claim:
    """Claim on the excess of hosts over the speedup; the paper leaves open what varies."""
    low, high = _VARIATION_PERCENT

    def excess(run: A2haRun) -> float:
        return 100 * (run.hosts / run.speedup - 1)

    cells = dict(_cells(runs))
    shares = {name: percent_of_runs(cell, lambda run: low <= excess(run) <= high) for name, cell in cells.items()}
    means = [cell.mean(excess).mean for cell in cells.values()]
    by_hosts = span([cell.mean(lambda run: run.efficiency_percent).mean for cell in cells.values()], 0)
    found = [above(f"{name}, of orderings:", share, 0, "%", limit=50) for name, share in shares.items()]
    return SAID.judge("variations", found, f"{span(means[:2], 0)}; {span(means[2:], 0)} %", by_hosts=by_hosts)


def _thirteen(runs: A2haRuns) -> Iterator[Claim]:
    """The synthetic job; the image job needs 18 hosts."""
    speedups = {
        style: [run.speedup for run in runs.short("synthetic", style).by_hosts.get(_THIRTEEN, [])] for style in STYLES
    }
    n = " and ".join(f"{len(found)}" for found in speedups.values())
    means = {style: mean_of(found) if found else None for style, found in speedups.items()}
    between = [about(style, mean, 2, value=9.5, points=0.5) for style, mean in means.items()]
    yield SAID.judge("thirteen-speedup", between, _and, n=n)
    percents = {
        style: mean_of([100 * one / _THIRTEEN for one in found]) if found else None for style, found in speedups.items()
    }
    near = [about(style, mean, 1, value=70.0, points=ABOUT.points) for style, mean in percents.items()]
    yield SAID.judge("thirteen-efficiency", near, f"{_and(near)} %", points=ABOUT.points)


def _and(cases: Sequence[Case]) -> str:
    return " and ".join(case.ours for case in cases)


def _styles(figures: A2haFigures, runs: A2haRuns) -> Iterator[Claim]:
    pairs = {job: (runs.short(job, "aggressive"), runs.short(job, "conservative")) for job in TWO_JOBS}
    more = [above(job, same_hosts_difference(*pair), 2) for job, pair in pairs.items()]
    yield SAID.judge("better-for-the-same", more, _plus(more))
    wider = [
        above(f"{job}: standard deviations, aggressive - conservative", sd_less(*pair, METRICS["hosts"]), 2)
        for job, pair in pairs.items()
    ]
    ranges = {job: [span(cell.by_hosts) for cell in pair] for job, pair in pairs.items()}
    yield SAID.judge("narrower", wider, "; ".join(f"{inner} in {outer}" for outer, inner in ranges.values()))
    hosts = [
        above(f"{job}: aggressive - conservative", one.less(other, METRICS["hosts"]), 2)
        for job, (one, other) in pairs.items()
    ]
    yield SAID.judge("more-hosts", hosts, _plus(hosts))
    # In some cases: in any of them.
    low, high = _NEARLY_TWICE
    times = {job: [run.hosts / figures.job(job).optimal_hosts for run in pair[0].runs] for job, pair in pairs.items()}
    near = [sum(low <= one <= high for one in found) for found in times.values()]
    ours = f"{'; '.join(map(str, near))} of {len(times['image'])} orderings"
    most = " and ".join(f"{max(found):.2f} times ({job})" for job, found in times.items())
    yield SAID.judge("twice-optimal", exactly("", any(near), ours), low=low, high=high, most=most)


def _plus(cases: Sequence[Case]) -> str:
    return "; ".join(f"+{case.ours}" for case in cases)


def _alike(runs: A2haRuns) -> Iterator[Claim]:
    """The fewest of all orderings; where one style has fewer in few orderings only, that can be chance."""
    found, ours, speedups, least = [], [], [], []
    for job in TWO_JOBS:
        fewest = {style: min(runs.short(job, style).by_hosts) for style in STYLES}
        limit, both = max(fewest.values()), " and ".join(str(fewest[style]) for style in ("conservative", "aggressive"))
        some = sum(run.hosts < limit for style in STYLES for run in runs.short(job, style).runs)
        text = f"{both}, {counted(some, 'ordering')} below {limit}"
        found.append(Case(job, text, "not decided") if 0 < some <= _FEW else exactly(job, not some, text))
        ours.append(both)
        slow, fast = (min(run.speedup for run in runs.short(job, style).runs) for style in STYLES)
        speedups.append(below(job, 100 * abs(fast / slow - 1), 1, "% apart", limit=ABOUT.points))
        least.append(f"{slow:.2f} and {fast:.2f}")
    yield SAID.judge("fewest-alike", found, "; ".join(ours), few=_FEW)
    yield SAID.judge("least-speedup-alike", speedups, "; ".join(least), points=ABOUT.points)


def _in_par(runs: A2haRuns) -> Iterator[Claim]:
    for name, quantity in (("in-par", "hosts"), ("in-par-payment", "payment_h")):
        found = [above(f"{of}:", speedup_elasticity(cell, METRICS[quantity]), 2, "%") for of, cell in _cells(runs)]
        yield SAID.judge(name, found, spread)
    # With all four pairs of ratios between which the paper lets a user choose.
    always, least = [], []
    for job in TWO_JOBS:
        efficiencies = [run.efficiency_percent for ratios in _USER for run in runs.sweep[job][ratios].runs]
        low = sum(percent <= 50 for percent in efficiencies)
        least.append(f"{min(efficiencies):.1f}")
        always.append(exactly(f"{job}:", not low, f"{low} of {len(efficiencies)} orderings have 50 % or less"))
    yield SAID.judge("always-half", always, f"least {'; '.join(least)} %")


def _prices(runs: A2haRuns) -> Iterator[Claim]:
    found, paid, changes = [], [], []
    for job in TWO_JOBS:
        aggressive, conservative = (runs.short(job, style) for style in ("aggressive", "conservative"))
        for quantity in ("payment_h", "speedup"):
            more = above(f"{job}: {WORDS[quantity]}", aggressive.less(conservative, METRICS[quantity]), 2)
            found.append(more)
            paid += [more] if quantity == "payment_h" else []
        high, low = (
            quotient(cell.statistic(METRICS["payment_h"]), cell.statistic(METRICS["speedup"]))
            for cell in (aggressive, conservative)
        )
        assert high is not None
        assert low is not None
        ratio = quotient(high, low, 100.0)
        assert ratio is not None
        change = Estimate(ratio.estimate.n, ratio.value - 100, ratio.estimate.half_width)
        changes.append(about(job, change, 1, value=0.0, points=ABOUT.points))
    yield SAID.judge("pays-more-for-time", found, f"{_plus(paid)} h")
    yield SAID.judge("proportional", changes, f"{with_intervals(changes)} %", points=ABOUT.points)
