"""Reasons for the differences between our figures and those of Thai et al.: the numbers of `notes.md`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...paper import read_notes
from .printed import ThaiFigures, thai_figures
from .runs import ThaiRuns, cost_usd, late_tasks
from .settings import EXAMPLE_FRACTION, KNOWN, UNKNOWN


def thai_notes(runs: ThaiRuns) -> Iterator[str]:
    """Reasons, each with the paper's own numbers where they contradict each other."""
    figures = thai_figures()
    work = ", ".join(f"{policy} {percent:.0f} %" for policy, percent in work_percent(figures, runs).items())
    values = _printed(figures) | _fixed_settings(figures, runs) | _samples(runs) | _costs(runs) | _chance(figures, runs)
    return read_notes(__package__, values | {"work": work})


def work_percent(figures: ThaiFigures, runs: ThaiRuns) -> dict[str, float]:
    """By fixed setting, the mean work of all our tasks over the seconds that its printed cost pays for."""
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


def _printed(figures: ThaiFigures) -> dict[str, Any]:
    """Numbers derived from the printed ones alone."""
    late = [round(figures.approach(policy).late_tasks * figures.runs) for policy in (KNOWN, UNKNOWN)]
    percentages = [
        figures.ratio(UNKNOWN, KNOWN, ratio.quantity, "percent_more")
        for ratio in figures.ratios
        if ratio.policy == UNKNOWN
    ]
    times = {
        f"times_{policy.replace('.', '_')}": figures.ratio(policy, UNKNOWN, "violation_cost_usd", "times")
        for policy in ("xlarge.2", "xlarge.3", "large.5")
    }
    exact = (("medium.10", 0.073, 4), ("large.5", 0.146, 4))
    return {
        "n_printed": figures.runs,
        "known_late": late[0],
        "unknown_late": late[1],
        "late_difference": late[1] - late[0],
        "percentages": ", ".join(f"{value:.2f}" for value in percentages),
        "exact": ", ".join(f"{name} {figures.approach(name).vms} x {usd} $ x {n} blocks" for name, usd, n in exact),
        **times,
    }


def _fixed_settings(figures: ThaiFigures, runs: ThaiRuns) -> dict[str, Any]:
    printed = figures.implied_blocks("large.4")
    vms = figures.approach("large.4").vms
    assert printed is not None
    assert vms is not None
    ours = runs.approaches["large.4"]
    together = all(len({bill.end_s for bill in run.bills}) == 1 for run in ours.runs)
    return {
        "printed_blocks": printed * figures.runs,
        "large_vms": vms,
        "together": "; ours all end with the last task" if together else "",
        "printed_per_vm": printed / vms,
        "ours_per_vm": ours.statistic(lambda run: sum(run.blocks.values())).value / vms,
    }


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
