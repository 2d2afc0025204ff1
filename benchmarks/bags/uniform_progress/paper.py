"""The paper of Wu et al., 2024, and the effects of other assumptions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from ...claims import show
from ...paper import Paper, Sensitivity, Setting, changed, read_notes
from ...paper_result import PublishedComparisonResult
from .claims import uniform_progress_claims, uniform_progress_findings
from .runs import (
    GREEDY,
    OMNISCIENT,
    UNIFORM,
    UniformProgressOptions,
    UniformProgressRuns,
    n_windows,
    uniform_progress_runs,
)
from .tables import JOB, TABLES, uniform_progress_rows

_FEW_RUNS = 8


def _number(policy: str, quantity: str, digits: int) -> Callable[[PublishedComparisonResult], str]:
    return lambda result: show(result.row("Table 3", quantity, JOB, "", policy).ours, digits)


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


UNIFORM_PROGRESS: Paper[UniformProgressOptions, UniformProgressRuns] = Paper(
    name="Wu et al.",
    runs_are="windows of each trace",
    n_runs=n_windows,
    replay=uniform_progress_runs,
    rows=uniform_progress_rows,
    claims=uniform_progress_claims,
    notes=_notes,
    findings=uniform_progress_findings,
    tables=TABLES,
    headline=TABLES[0],
    sensitivity=Sensitivity(
        {
            "greedy on spot (h)": _number(GREEDY, "spot_h", 1),
            "Uniform Progress on spot (h)": _number(UNIFORM, "spot_h", 1),
            "Omniscient on spot (h)": _number(OMNISCIENT, "spot_h", 1),
            "greedy ($)": _number(GREEDY, "cost_usd", 2),
            "Uniform Progress ($)": _number(UNIFORM, "cost_usd", 2),
            "Omniscient ($)": _number(OMNISCIENT, "cost_usd", 2),
        },
        _settings,
    ),
)
