"""Claims of Wu et al. about their results, judged by replays.

Not judged, as nothing here is replayed of it: Partial Lookahead and the oracle of the next lifetime, jobs on several
VMs, uncertain run times and delays, and the three workloads of section 7 (27 to 84 % saved), which need recorded traces
of preemptions. Theorems 1 and 2 are proven in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...claims import Claim, Found, about, exactly, spread, tally, with_intervals
from ...data_files import Statements
from ...statistics import Statistic
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

SAID = Statements.read(__package__)


def uniform_progress_claims(runs: UniformProgressRuns) -> Iterator[Claim]:
    """Judge the statements of the paper, in their order."""
    usual = runs.usual()
    yield SAID.judge("average", usual.times())
    yield SAID.judge("bad", usual.bad_times(GREEDY, UNIFORM))
    tight = runs.cases([fraction for fraction in runs.options.fractions if fraction > runs.options.tight])
    of_v100 = {name: found for name, found in tight.items() if "v100_1" in name}
    more = {name: of.ratio((GREEDY, SLICED), (ON_DEMAND, GREEDY), factor=100.0) for name, of in of_v100.items()}
    yield SAID.judge("sliced-saves", more, spread)
    yield from _table_3(runs.at())
    yield from _deadlines(runs, usual)
    yield from _delays(runs)
    late = sum(result.late for window in runs.windows for result in window.results.values())
    yield SAID.judge("in-time", exactly("late", late == 0, f"{late} late"))


def uniform_progress_findings(runs: UniformProgressRuns) -> Iterator[Claim]:
    """Judge statements of ours: other ways to carry out the job."""
    found = runs.at()
    for name, policy in (("kept", KEPT), ("on-time", "on-time")):
        yield SAID.judge(name, found.less(policy, UNIFORM))


def _table_3(found: UniformProgressRuns) -> Iterator[Claim]:
    printed = {row.policy: row for row in FIGURES.policies}
    for name, policy in (("greedy", GREEDY), ("uniform", UNIFORM), ("omniscient", OMNISCIENT)):
        row, points = printed[policy], SAID.texts[f"hours-{name}"]["points"]
        cases = [
            about("on demand", found.mean(policy, "on_demand_h"), 1, "h", value=row.on_demand_h, points=points),
            about("on spot VMs", found.mean(policy, "spot_h"), 1, "h", value=row.spot_h, points=points),
        ]
        yield SAID.judge(f"hours-{name}", cases, with_intervals)
    yield SAID.judge("utilisation-greedy", found.utilisation_percent(GREEDY))
    yield SAID.judge("utilisation-uniform", found.utilisation_percent(UNIFORM))
    yield SAID.judge("longer", found.ratio((UNIFORM, GREEDY), (OMNISCIENT, NOTHING), "spot_h", factor=100.0))
    yield SAID.judge("gap-of-spot", found.ratio((UNIFORM, GREEDY), (OMNISCIENT, GREEDY), "spot_h", factor=100.0))


def _deadlines(runs: UniformProgressRuns, usual: UniformProgressRuns) -> Iterator[Claim]:
    cases = runs.cases(runs.options.fractions)
    yield SAID.judge("surpasses", {name: of.less(GREEDY, UNIFORM) for name, of in cases.items()}, tally("cases"))
    categories = usual.categories()
    for name, within in categories.items():
        yield SAID.judge(name, usual.times(within))
    gaps = {
        policy: {name: usual.gap_percent(policy, within) for name, within in categories.items()} for policy in ONLINE
    }
    for statement, own in (("largest-gap", "high-tight"), ("smallest-gap", "high-loose")):
        apart = {
            f"{policy}, {name}": _apart(gaps[policy][own], gaps[policy][name])
            for policy in ONLINE
            for name in categories
            if name != own
        }
        yield SAID.judge(statement, apart, spread)
    for statement, one, other in (("sliced-below-greedy", GREEDY, SLICED), ("sliced-above-uniform", SLICED, UNIFORM)):
        apart = {name: _apart(gaps[one][name], gaps[other][name]) for name in categories}
        yield SAID.judge(statement, apart, with_intervals)


def _delays(runs: UniformProgressRuns) -> Iterator[Claim]:
    delays_h = sorted(runs.options.changeovers_h)
    found = [runs.at(changeover_h=delay_h) for delay_h in delays_h]
    fewer: dict[str, Found] = {}
    for policy in (*ONLINE, OMNISCIENT):
        savings = [windows.saving_percent(policy) for windows in found]
        steps = zip(delays_h[1:], savings, savings[1:], strict=False)
        fewer |= {f"{policy}, {delay_h:g} h": _apart(one, other) for delay_h, one, other in steps}
    yield SAID.judge("longer-delays", fewer, spread)
    dearer = [windows.less(GREEDY, UNIFORM) for windows in found]
    usd = zip(delays_h[1:], dearer, dearer[1:], strict=False)
    yield SAID.judge("approaches", {f"{delay_h:g} h": one - other for delay_h, one, other in usd}, with_intervals)


def _apart(one: Statistic | None, other: Statistic | None) -> Statistic | None:
    """Return the difference of two statistics of the same traces."""
    return None if one is None or other is None else one - other
