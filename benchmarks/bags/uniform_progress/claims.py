"""Claims of Wu et al. about their results, judged by replays.

Not judged, as nothing here is replayed of it: Partial Lookahead and the oracle of the next lifetime, jobs on several
VMs, uncertain run times and delays, and the three workloads of section 7 (27 to 84 % saved), which need recorded traces
of preemptions. Theorems 1 and 2 are proven in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator

from spotbag.core.statistics import Statistic

from ...claims import ABOUT, Case, Claim, about, above, below, exactly, spread, tally, with_intervals
from ...data_files import Statements
from .runs import (
    FIGURES,
    GREEDY,
    KEPT,
    NOTHING,
    OMNISCIENT,
    ON_DEMAND,
    ONLINE,
    SLICED,
    UNIFORM,
    UniformProgressRuns,
)

ABOUT_H = 2.0
"""What a number of hours means: so many up or down."""

LEAST_TIMES = 1.6
"""What *2 times* and *nearly 2 times* mean: no less than this."""

_SAID = Statements.read(__package__)


def uniform_progress_claims(runs: UniformProgressRuns) -> Iterator[Claim]:
    """Judge the statements of the paper, in their order."""
    usual = runs.usual()
    for name, times in (("average", usual.times()), ("bad", usual.bad_times(GREEDY, UNIFORM))):
        yield _SAID.judge(name, above("", times, 2, "times", limit=LEAST_TIMES), least=LEAST_TIMES)
    yield _sliced_saves(runs)
    yield from _table_3(runs.at())
    yield from _deadlines(runs, usual)
    yield from _delays(runs)
    late = sum(result.late for window in runs.windows for result in window.results.values())
    yield _SAID.judge("in-time", exactly("late", late == 0, f"{late} late"))


def uniform_progress_findings(runs: UniformProgressRuns) -> Iterator[Claim]:
    """Judge statements of ours: other ways to carry out the job."""
    found = runs.at()
    for name, policy in (("kept", KEPT), ("on-time", "on-time")):
        yield _SAID.judge(name, below("", found.less(policy, UNIFORM), 2, "$"))


def _sliced_saves(runs: UniformProgressRuns) -> Claim:
    low, high = FIGURES.sliced_saves_percent
    tight = [fraction for fraction in runs.options.fractions if fraction > runs.options.tight]
    of_v100 = {name: found for name, found in runs.cases(tight).items() if "v100_1" in name}
    cases = []
    for name, found in of_v100.items():
        more = found.ratio((GREEDY, SLICED), (ON_DEMAND, GREEDY), factor=100.0)
        cases.append(about(name, more, 0, "%", value=(low + high) / 2, points=(high - low) / 2))
    return _SAID.judge("sliced-saves", cases, spread, least=low, most=high)


def _table_3(found: UniformProgressRuns) -> Iterator[Claim]:
    printed = {row.policy: row for row in FIGURES.policies}
    names = {"greedy": GREEDY, "uniform": UNIFORM, "omniscient": OMNISCIENT}
    for name, policy in names.items():
        row = printed[policy]
        cases = [
            about("on demand", found.mean(policy, "on_demand_h"), 1, "h", value=row.on_demand_h, points=ABOUT_H),
            about("on spot VMs", found.mean(policy, "spot_h"), 1, "h", value=row.spot_h, points=ABOUT_H),
        ]
        values = {"on_demand": row.on_demand_h, "spot": row.spot_h, "points": ABOUT_H}
        yield _SAID.judge(f"hours-{name}", cases, with_intervals, **values)
    for name, policy in list(names.items())[:-1]:
        percent = printed[policy].spot_util_percent
        case = about("", found.utilisation_percent(policy), 1, "%", value=percent, points=ABOUT.points)
        yield _SAID.judge(f"utilisation-{name}", case, percent=percent, points=ABOUT.points)
    more = found.ratio((UNIFORM, GREEDY), (OMNISCIENT, NOTHING), "spot_h", factor=100.0)
    points = FIGURES.longer_on_spot_points
    case = about("", more, 1, "points", value=points, points=ABOUT.points)
    yield _SAID.judge("longer", case, points_more=points, points=ABOUT.points)
    less = found.ratio((UNIFORM, GREEDY), (OMNISCIENT, GREEDY), "spot_h", factor=100.0)
    percent = FIGURES.less_gap_percent  # twice the reach: a gap is a difference of two shares
    case = about("", less, 1, "%", value=percent, points=2 * ABOUT.points)
    yield _SAID.judge("gap-of-spot", case, percent=percent, points=2 * ABOUT.points)


def _deadlines(runs: UniformProgressRuns, usual: UniformProgressRuns) -> Iterator[Claim]:
    cases = runs.cases(runs.options.fractions)
    below_greedy = [above(name, found.less(GREEDY, UNIFORM), 2, "$") for name, found in cases.items()]
    yield _SAID.judge("surpasses", below_greedy, tally("cases"))
    categories = usual.categories()
    for name, within in categories.items():
        case = above("", usual.times(within), 2, "times", limit=LEAST_TIMES)
        yield _SAID.judge(name, case, least=LEAST_TIMES)
    for statement, own, compare in (("largest-gap", "high-tight", above), ("smallest-gap", "high-loose", below)):
        gaps = []
        for policy in ONLINE:
            mine = usual.gap_percent(policy, categories[own])
            others = {name: usual.gap_percent(policy, within) for name, within in categories.items() if name != own}
            gaps += [compare(f"{policy}, {name}", _apart(mine, its), 1, "points") for name, its in others.items()]
        yield _SAID.judge(statement, gaps, spread)
    for statement, one, other in (("sliced-below-greedy", GREEDY, SLICED), ("sliced-above-uniform", SLICED, UNIFORM)):
        of_category = [
            above(name, _apart(usual.gap_percent(one, within), usual.gap_percent(other, within)), 1, "points")
            for name, within in categories.items()
        ]
        yield _SAID.judge(statement, of_category, with_intervals)


def _delays(runs: UniformProgressRuns) -> Iterator[Claim]:
    delays_h = sorted(runs.options.changeovers_h)
    found = [runs.at(changeover_h=delay_h) for delay_h in delays_h]
    cases: list[Case] = []
    for policy in (*ONLINE, OMNISCIENT):
        savings = [windows.saving_percent(policy) for windows in found]
        steps = zip(delays_h[1:], savings, savings[1:], strict=False)
        cases += [above(f"{policy}, {delay_h:g} h", _apart(one, other), 1, "points") for delay_h, one, other in steps]
    yield _SAID.judge("longer-delays", cases, spread)
    dearer = [windows.less(GREEDY, UNIFORM) for windows in found]
    usd = zip(delays_h[1:], dearer, dearer[1:], strict=False)
    yield _SAID.judge(
        "approaches", [above(f"{delay_h:g} h", one - other, 2, "$") for delay_h, one, other in usd], with_intervals
    )


def _apart(one: Statistic | None, other: Statistic | None) -> Statistic | None:
    """Return the difference of two statistics of the same traces."""
    return None if one is None or other is None else one - other
