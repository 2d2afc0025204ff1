"""The paper of Wu et al., 2024: its tables on our traces, its statements, and what other assumptions change.

Not judged, as nothing here is replayed of it: Partial Lookahead and the oracle of the next lifetime, jobs on several
VMs, uncertain run times and delays, and the three workloads of section 7 (27 to 84 % saved), which need recorded traces
of preemptions. Theorems 1 and 2 are proven in the paper.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from ...claims import Claim, Found, about, exactly, spread, tally, with_intervals
from ...data_files import Statements, read_changes, read_notes
from ...paper import Paper, Setting, changed, read_columns
from ...paper_tables import ComparisonRow, PaperTables, Quantities, measured, row_of
from ...statistics import less
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
    UniformProgressOptions,
    UniformProgressRuns,
    n_windows,
    uniform_progress_runs,
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
            f"{policy}, {name}": less(gaps[policy][own], gaps[policy][name])
            for policy in ONLINE
            for name in categories
            if name != own
        }
        yield SAID.judge(statement, apart, spread)
    for statement, one, other in (("sliced-below-greedy", GREEDY, SLICED), ("sliced-above-uniform", SLICED, UNIFORM)):
        apart = {name: less(gaps[one][name], gaps[other][name]) for name in categories}
        yield SAID.judge(statement, apart, with_intervals)


def _delays(runs: UniformProgressRuns) -> Iterator[Claim]:
    delays_h = sorted(runs.options.changeovers_h)
    found = [runs.at(changeover_h=delay_h) for delay_h in delays_h]
    fewer: dict[str, Found] = {}
    for policy in (*ONLINE, OMNISCIENT):
        savings = [windows.saving_percent(policy) for windows in found]
        steps = zip(delays_h[1:], savings, savings[1:], strict=False)
        fewer |= {f"{policy}, {delay_h:g} h": less(one, other) for delay_h, one, other in steps}
    yield SAID.judge("longer-delays", fewer, spread)
    dearer = [windows.less(GREEDY, UNIFORM) for windows in found]
    usd = zip(delays_h[1:], dearer, dearer[1:], strict=False)
    yield SAID.judge("approaches", {f"{delay_h:g} h": one - other for delay_h, one, other in usd}, with_intervals)


# ---------------------------------------------------------------------------- tables, assumptions, notes


JOB = "48 h"
_POLICIES = (ON_DEMAND, GREEDY, SLICED, UNIFORM, OMNISCIENT)
_BESIDES = (KEPT, "on-time", "hads")


class _Of(NamedTuple):
    """A policy on some windows."""

    runs: UniformProgressRuns
    policy: str


_HOURS: Quantities[_Of] = {
    "on_demand_h": lambda of: of.runs.mean(of.policy, "on_demand_h"),
    "spot_h": lambda of: of.runs.mean(of.policy, "spot_h"),
    "spot_util_percent": lambda of: of.runs.utilisation_percent(of.policy),
    "cost_usd": lambda of: of.runs.mean(of.policy),
}


def uniform_progress_rows(runs: UniformProgressRuns) -> Iterator[ComparisonRow]:
    """Table 3, what Figs 11 to 13 show, and other policies."""
    printed = {row.policy: row for row in FIGURES.policies}
    found = runs.at()
    for table, policies in (("Table 3", _POLICIES), ("others", _BESIDES)):
        for policy in policies:
            yield from measured((table, JOB, "", policy), _HOURS, _Of(found, policy), printed.get(policy))
    for case, of_trace in runs.cases([FIGURES.job_fraction]).items():
        name, available = case.rpartition(" ")[0], fmean(window.spot_fraction for window in of_trace.windows)
        yield row_of("traces", JOB, name, "", "availability", available, FIGURES.availabilities.get(name))
        for policy in (*_POLICIES, *_BESIDES):
            yield row_of("traces", JOB, name, policy, "cost_usd", of_trace.mean(policy))
    usual = runs.usual()
    for name, within in usual.categories().items():
        for policy in (GREEDY, SLICED, UNIFORM):
            yield row_of("Fig. 12", JOB, name, policy, "gap_percent", usual.gap_percent(policy, within))
        yield row_of("Fig. 12", JOB, name, "", "times", usual.times(within))
    settings = {f"{fraction:g}": runs.at(fraction) for fraction in runs.options.fractions}
    yield from _savings("Fig. 11", settings)
    delays = {f"{delay_h:g}": runs.at(changeover_h=delay_h) for delay_h in sorted(runs.options.changeovers_h)}
    yield from _savings("Fig. 13", delays)


def _savings(table: str, settings: dict[str, UniformProgressRuns]) -> Iterator[ComparisonRow]:
    for name, found in settings.items():
        for policy in _POLICIES[1:]:
            yield row_of(table, JOB, name, policy, "saving_percent", found.saving_percent(policy))


_FEW_RUNS = 8


def _settings(options: UniformProgressOptions) -> Sequence[Setting[UniformProgressOptions]]:
    """Return settings that each change one thing."""
    draws = ("traces", f"{_FEW_RUNS} others", {"seed": options.seed + options.runs})
    return changed(options, _FEW_RUNS, [*read_changes(__package__), draws])


def _notes(runs: UniformProgressRuns) -> Iterator[str]:
    """Reasons, each with numbers."""
    loose = runs.at(min(runs.options.fractions))
    by_trace: dict[str, list[float]] = defaultdict(list)
    for window in loose.windows:
        by_trace[window.trace].append(window.spot_fraction)
    most = max(by_trace, key=lambda name: fmean(by_trace[name]))
    high = loose.of(lambda window: window.trace == most)
    values = {
        "greedy_usd": high.mean(GREEDY).value,
        "uniform_usd": high.mean(UNIFORM).value,
        "optimum_usd": high.mean(OMNISCIENT).value,
        "fraction": min(runs.options.fractions),
        "cycle_h": runs.options.cycle_h if runs.options.traces is None else None,
    }
    return read_notes(__package__, values)


PAPER: Paper[UniformProgressOptions, UniformProgressRuns] = Paper(
    key="uniform-progress",
    name="Wu et al.",
    package=__package__,
    options=UniformProgressOptions,
    runs_are="windows of each trace",
    n_runs=n_windows,
    replay=uniform_progress_runs,
    rows=uniform_progress_rows,
    claims=uniform_progress_claims,
    notes=_notes,
    findings=uniform_progress_findings,
    tables=PaperTables.read(__package__),
    facts=lambda results: {"statements": SAID.texts},
    columns=read_columns(__package__),
    settings=_settings,
)
