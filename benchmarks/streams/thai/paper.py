"""The paper of Thai, Varghese and Barker, 2015; its tables, what other assumptions change, and what its page says.

The pictures are lost: of Fig. 3 is known what Table 3 gives by eq. 7 and 8, of Fig. 4 what the printed costs of the
fixed settings pay for, of Fig. 5 the text. The lengths of the sampling phase are what section 4.1 leaves for later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spotbag.core.statistics import estimate

from ...data_files import Figures, read_changes, read_notes
from ...paper import Change, Paper, Setting, changed, read_columns
from ...paper_tables import ComparisonRow, PaperTables, Quantities, Relation, means, measured, row_of
from ...statistics import mean_of
from .claims import SAID, thai_claims, thai_findings
from .pictures import PICTURES
from .runs import (
    COST_USD,
    IDLE_S,
    LATE_S,
    LATE_TASKS,
    Approach,
    SampledRuns,
    ThaiRuns,
    n_thai_runs,
    sampling_name,
    thai_runs,
)
from .settings import EXAMPLE_FRACTION, KNOWN, STREAM, UNKNOWN, ThaiFigures, ThaiOptions, thai_figures

_TEXT, _FROM_TABLE_3 = "ratios, text", "ratios, Table 3"

_TABLE_3: Quantities[Approach] = means([COST_USD, LATE_TASKS])
_ALL: Quantities[Approach] = {
    **_TABLE_3,
    "violation_cost_usd": lambda found: found.violation_cost,
    **means([IDLE_S]),
}
_OF_SAMPLES: Quantities[SampledRuns] = {
    "excluded_types": lambda found: mean_of(found.excluded),
    "error_percent": lambda found: estimate([percent for percent in found.error_percent if percent is not None]),
}


def thai_rows(runs: ThaiRuns) -> Iterator[ComparisonRow]:
    """Table 3 and Figs 2 to 5, readings of the paper, lengths of the sampling phase."""
    figures = thai_figures()
    for printed in figures.approaches:
        policy = printed.policy
        found, place = runs.approaches[policy], ("Table 3", STREAM, "", policy)
        yield from measured(place, _TABLE_3, found, printed)
        yield row_of(*place, "violation_cost_usd", found.violation_cost, figures.violation_cost_usd(policy))
    yield from _ratios(figures, runs)
    for policy, found in runs.approaches.items():
        yield from _blocks(figures, policy, found, runs.stream.type_names)
        place = "Fig. 5", STREAM, "", policy
        yield row_of(*place, "idle_s", found.mean(IDLE_S), 0.0 if policy == "xlarge.2" else None)
        yield row_of(*place, "late_s", found.mean(LATE_S))
    known, unknown = runs.approaches[KNOWN], runs.approaches[UNKNOWN]
    for found in (known, unknown, *runs.variants.values(), runs.without_xlarge):
        yield from measured(("variants", STREAM, "", found.policy), _ALL, found)
    yield from measured(("sampling", STREAM, "no sampling", KNOWN), _ALL, known)
    for fraction, sampled in runs.sweep.items():
        place = "sampling", STREAM, sampling_name(fraction), UNKNOWN
        yield from measured(place, _ALL, sampled.runs)
        yield from measured(place, _OF_SAMPLES, sampled)


def _ratios(figures: ThaiFigures, runs: ThaiRuns) -> Iterator[ComparisonRow]:
    """Rows of the ratios of the approaches: stated in the text, and derived from Table 3."""
    stated = {(ratio.policy, ratio.quantity): ratio for ratio in figures.ratios}
    wanted = [ratio for ratio in figures.ratios if ratio.policy == UNKNOWN]
    for policy in figures.fixed:
        for quantity in ("late_tasks", "violation_cost_usd"):
            nothing = Figures(
                policy=policy, against=UNKNOWN, quantity=quantity, unit="times", printed=None, relation="="
            )
            wanted.append(stated.get((policy, quantity), nothing))
    for ratio in wanted:
        which = (ratio.policy, ratio.against, ratio.quantity, ratio.unit)
        place = STREAM, "", f"{ratio.policy} against {ratio.against}", f"{ratio.quantity}_{ratio.unit}"
        ours = runs.ratio(*which)
        yield row_of(_TEXT, *place, ours, ratio.printed, ratio.relation)
        yield row_of(_FROM_TABLE_3, *place, ours, figures.ratio(*which))


def _blocks(figures: ThaiFigures, policy: str, found: Approach, types: tuple[str, ...]) -> Iterator[ComparisonRow]:
    """Paid blocks by VM type; printed is what the costs of the fixed settings pay for, and the text on m3.xlarge."""
    own_type = figures.approach(policy).vm_type
    for vm_type in types:
        printed: float | None = None
        relation: Relation = "="
        if own_type is not None:
            printed = figures.implied_blocks(policy) if vm_type == own_type else 0.0
        elif vm_type == "m3.xlarge":
            printed, relation = 0.0, "=" if policy == KNOWN else ">"
        ours = found.mean(lambda run, vm_type=vm_type: run.blocks[vm_type])  # type: ignore[misc]
        yield row_of("Fig. 4", STREAM, "", policy, f"blocks_{vm_type}", ours, printed, relation)


# ---------------------------------------------------------------------------- assumptions, notes, page


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
    return {name: approach.value(COST_USD) for name, approach in found.items()}


def _chance(figures: ThaiFigures, runs: ThaiRuns) -> dict[str, Any]:
    """Spread of means of as few runs as the paper's; none if there are too few."""
    mine, other = (runs.approaches[policy].values(LATE_TASKS) for policy in (UNKNOWN, KNOWN))
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
