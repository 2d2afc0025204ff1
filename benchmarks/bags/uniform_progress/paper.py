"""The paper of Wu et al., 2024: its tables on our traces, and what other assumptions change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from ...data_files import read_changes, read_notes
from ...paper import Paper, Setting, changed, read_columns
from ...paper_result import ComparisonRow, row_of
from ...paper_tables import PaperTables, Quantities, measured
from .claims import SAID, uniform_progress_claims, uniform_progress_findings
from .runs import (
    FIGURES,
    GREEDY,
    KEPT,
    OMNISCIENT,
    ON_DEMAND,
    SLICED,
    UNIFORM,
    UniformProgressOptions,
    UniformProgressRuns,
    n_windows,
    uniform_progress_runs,
)

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
