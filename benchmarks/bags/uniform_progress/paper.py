"""The paper of Wu et al., 2024: its tables on our traces, and what other assumptions change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from statistics import fmean

from ...data_files import read_notes
from ...paper import Paper, Sensitivity, Setting, changed, column
from ...paper_result import ComparisonRow, PublishedComparisonResult, row_of
from ...paper_tables import Lead, PaperColumn, PaperTable, Quantity, measured
from .claims import ABOUT_H, SAID, uniform_progress_claims, uniform_progress_findings
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
_POLICY = (Lead("policy", attrgetter("policy")),)


class _Of:
    """A policy on some windows."""

    def __init__(self, runs: UniformProgressRuns, policy: str) -> None:
        self.runs, self.policy = runs, policy


_HOURS = (
    Quantity[_Of]("on_demand_h", "on demand (h)", 1, lambda of: of.runs.mean(of.policy, "on_demand_h")),
    Quantity[_Of]("spot_h", "on spot VMs (h)", 1, lambda of: of.runs.mean(of.policy, "spot_h")),
    Quantity[_Of]("spot_util_percent", "spot use (%)", 0, lambda of: of.runs.utilisation_percent(of.policy)),
    Quantity[_Of]("cost_usd", "cost ($)", 2, lambda of: of.runs.mean(of.policy), printed=False),
)


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


def _by_policy(quantity: str, digits: int, *policies: str) -> list[PaperColumn]:
    return [PaperColumn(policy, quantity, digits, policy, printed=False) for policy in policies]


TABLES = (
    PaperTable(
        "Table 3",
        f"Table 3: hours of work on each market, without changeovers; job fraction {FIGURES.job_fraction:g}",
        [quantity.column() for quantity in _HOURS],
        leads=_POLICY,
    ),
    PaperTable(
        "traces",
        "Cost ($) by trace, likewise",
        [PaperColumn("availability", "availability", 2), *_by_policy("cost_usd", 2, *_POLICIES[1:], *_BESIDES)],
        leads=(Lead("trace", attrgetter("scenario")),),
    ),
    PaperTable(
        "Fig. 11",
        "Fig. 11: savings (%) against on-demand VMs, by job fraction",
        _by_policy("saving_percent", 1, *_POLICIES[1:]),
        leads=(Lead("job fraction", attrgetter("scenario")),),
    ),
    PaperTable(
        "Fig. 12",
        "Fig. 12: cost above the optimum, in % of the on-demand cost, and how many times the greedy gap is",
        [*_by_policy("gap_percent", 1, GREEDY, SLICED, UNIFORM), PaperColumn("times", "times", 2, printed=False)],
        leads=(Lead("spot VMs and deadline", attrgetter("scenario")),),
    ),
    PaperTable(
        "Fig. 13",
        "Fig. 13: savings (%), by changeover delay",
        _by_policy("saving_percent", 1, *_POLICIES[1:]),
        leads=(Lead("changeover (h)", attrgetter("scenario")),),
    ),
    PaperTable(
        "others",
        "Other ways to carry out the same jobs (not in the paper)",
        [quantity.column(printed=False) for quantity in _HOURS],
        leads=_POLICY,
    ),
)


_FEW_RUNS = 8


def _column(policy: str, quantity: str, digits: int) -> Callable[[PublishedComparisonResult], str]:
    return column("Table 3", quantity, digits, JOB, policy=policy, interval=True)


def _settings(options: UniformProgressOptions) -> Sequence[Setting[UniformProgressOptions]]:
    """Return settings that each change one thing."""
    others = options.changeovers_h[1:]
    cycles = [("mean time between losses", f"{hours:g} h", {"cycle_h": float(hours)}) for hours in (2, 8, 16)]
    delay = ("changeover delay", "0.1 h", {"changeovers_h": (0.1, *others)})
    dump = ("a checkpoint takes", "30 s, every 300 s", {"dump_s": 30})
    draws = ("traces", f"{_FEW_RUNS} others", {"seed": options.seed + options.runs})
    return changed(options, _FEW_RUNS, [*cycles, delay, dump, draws])


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
    tables=TABLES,
    headline=TABLES[0],
    facts=lambda results: {"about_h": ABOUT_H, "least_times": SAID.texts["average"]["above"]},
    sensitivity=Sensitivity(
        {
            "greedy on spot (h)": _column(GREEDY, "spot_h", 1),
            "Uniform Progress on spot (h)": _column(UNIFORM, "spot_h", 1),
            "Omniscient on spot (h)": _column(OMNISCIENT, "spot_h", 1),
            "greedy ($)": _column(GREEDY, "cost_usd", 2),
            "Uniform Progress ($)": _column(UNIFORM, "cost_usd", 2),
            "Omniscient ($)": _column(OMNISCIENT, "cost_usd", 2),
        },
        _settings,
    ),
)
