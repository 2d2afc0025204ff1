"""The paper of Thai, Varghese and Barker, 2015; what other assumptions change, and what its page says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...data_files import read_changes, read_notes
from ...paper import Change, Paper, Setting, changed, read_columns
from ...paper_tables import PaperTables
from .claims import SAID, thai_claims, thai_findings
from .pictures import PICTURES
from .printed import ThaiFigures, thai_figures
from .runs import ThaiRuns, cost_usd, late_tasks, n_thai_runs, thai_runs
from .settings import EXAMPLE_FRACTION, KNOWN, UNKNOWN, ThaiOptions
from .tables import thai_rows


def _settings(options: ThaiOptions) -> Sequence[Setting[ThaiOptions]]:
    """Return settings that each change one thing; lengths of the sampling phase are not compared again."""
    draws: Change = ("draws", f"{options.runs} others", {"seed": options.seed + options.runs})
    return changed(replace(options, sampling_fractions=()), options.runs, [*read_changes(__package__), draws])


def thai_notes(runs: ThaiRuns) -> Iterator[str]:
    """Reasons, each with the paper's own numbers where they contradict each other."""
    figures = thai_figures()
    work = ", ".join(f"{policy} {percent:.0f} %" for policy, percent in work_percent(figures, runs).items())
    ours, vms = runs.approaches["large.4"], figures.approach("large.4").vms
    assert vms is not None
    together = all(len({bill.end_s for bill in run.bills}) == 1 for run in ours.runs)
    values = {
        "work": work,
        "together": "; ours all end with the last task" if together else "",
        "ours_per_vm": ours.statistic(lambda run: sum(run.blocks.values())).value / vms,
    }
    return read_notes(__package__, values | _samples(runs) | _costs(runs) | _chance(figures, runs))


def work_percent(figures: ThaiFigures, runs: ThaiRuns) -> dict[str, float]:
    """Percentages, by fixed setting: the mean work of all our tasks over the seconds that its printed cost pays for."""
    stream = runs.stream
    work_s = {
        vm_type: sum(float(job.n_tasks * (stream.average_s(job.application, vm_type) or 0)) for job in stream.jobs)
        for vm_type in stream.type_names
    }
    found = {}
    for policy in figures.fixed:
        vm_type, blocks = figures.approach(policy).vm_type, figures.implied_blocks(policy)
        assert vm_type is not None
        assert blocks is not None
        found[policy] = 100 * work_s[vm_type] / (blocks * stream.block_s)
    return found


def _samples(runs: ThaiRuns) -> dict[str, Any]:
    """Results of samples of the length of section 4.1; none if that was not replayed."""
    sampled, stream = runs.sweep.get(EXAMPLE_FRACTION), runs.stream
    if sampled is None:
        return {"sampling_s": None}
    job = stream.jobs_by_submission[0]
    averages = [float(stream.average_s(app.name, "m3.medium") or 0) for app in stream.applications]
    errors = [percent for percent in sampled.error_percent if percent is not None]
    return {
        "sampling_s": EXAMPLE_FRACTION * (job.deadline_s - job.submitted_s),
        "shortest_s": min(averages),
        "longest_s": max(averages),
        "error": sum(errors) / len(errors),
        "excluded": sum(sampled.excluded) / len(sampled.excluded),
        "n_pairs": len(stream.applications) * len(stream.type_names),
    }


def _costs(runs: ThaiRuns) -> dict[str, Any]:
    """Costs by the algorithm, and to the letter of the text."""
    found = {
        "known": runs.approaches[KNOWN],
        "unknown": runs.approaches[UNKNOWN],
        "known_paid": runs.variants["known-paid-blocks"],
        "unknown_paid": runs.variants["unknown-paid-blocks"],
    }
    return {name: approach.statistic(cost_usd).value for name, approach in found.items()}


def _chance(figures: ThaiFigures, runs: ThaiRuns) -> dict[str, Any]:
    """Spread of means of as few runs as the paper's; none if there are too few."""
    mine, other = (runs.approaches[policy].values(late_tasks) for policy in (UNKNOWN, KNOWN))
    n_groups = len(mine) // figures.runs
    if n_groups == 0:
        return {"sd": None}
    unknown, known = (
        np.reshape(values[: n_groups * figures.runs], (n_groups, figures.runs)).mean(axis=1) for values in (mine, other)
    )
    return {
        "sd": float(np.std(np.subtract(mine, other), ddof=1)),
        "n_groups": n_groups,
        "groups_as_few": int((unknown <= figures.approach(UNKNOWN).late_tasks).sum()),
        "groups_as_many": int((known >= figures.approach(KNOWN).late_tasks).sum()),
        "none_late": 100 * float(np.mean(np.equal(mine, 0))),
        "most_late": max(mine),
    }


PAPER: Paper[ThaiOptions, ThaiRuns] = Paper(
    key="thai",
    name="Thai et al.",
    package=__package__,
    options=ThaiOptions,
    runs_are="draws of the run times",
    n_runs=n_thai_runs,
    replay=thai_runs,
    rows=thai_rows,
    claims=thai_claims,
    notes=thai_notes,
    findings=thai_findings,
    tables=PaperTables.read(__package__),
    facts=lambda results: {"figures": thai_figures(), "statements": SAID.texts},
    columns=read_columns(__package__),
    settings=_settings,
    pictures=PICTURES,
)
