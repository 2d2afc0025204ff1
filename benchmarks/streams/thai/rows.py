"""The tables and figures of Thai et al. on our stream, beside what is printed."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.statistics import Estimate, estimate, mean_of
from ...paper_result import ComparisonRow, Relation, estimate_of
from .printed import PublishedRatio, ThaiFigures, thai_figures
from .runs import Approach, ThaiRuns, cost_usd, idle_s, late_s, late_tasks, sampling_name
from .settings import KNOWN, STREAM, UNKNOWN

TEXT, FROM_TABLE_3 = "ratios, text", "ratios, Table 3"


def thai_rows(runs: ThaiRuns) -> Iterator[ComparisonRow]:
    """Table 3 and Figs 2 to 5, readings of the paper, lengths of the sampling phase.

    The pictures are lost: of Fig. 3 is known what Table 3 gives by eq. 7 and 8, of Fig. 4 what the printed costs of the
    fixed settings pay for, of Fig. 5 the text. The lengths of the sampling phase are what section 4.1 leaves for later.
    """
    figures = thai_figures()
    yield from _table_3(figures, runs)
    yield from _ratios(figures, runs)
    yield from _fig_4(figures, runs)
    yield from _fig_5(runs)
    yield from _variants(runs)
    yield from _sampling(runs)


def _row(
    table: str,
    policy: str,
    quantity: str,
    printed: float | None,
    ours: Estimate,
    relation: Relation = "=",
    scenario: str = "",
) -> ComparisonRow:
    return ComparisonRow(table, STREAM, scenario, policy, quantity, printed, ours, relation)


def _table_3(figures: ThaiFigures, runs: ThaiRuns) -> Iterator[ComparisonRow]:
    """Cost and late tasks; the violation cost of Fig. 3, the printed one recomputed."""
    for printed in figures.approaches:
        policy = printed.policy
        found = runs.approaches[policy]
        yield _row("Table 3", policy, "cost_usd", printed.cost_usd, found.mean(cost_usd))
        yield _row("Table 3", policy, "late_tasks", printed.late_tasks, found.mean(late_tasks))
        recomputed = figures.violation_cost_usd(policy)
        yield _row("Table 3", policy, "violation_cost_usd", recomputed, estimate_of(found.violation_cost))


def _ratios(figures: ThaiFigures, runs: ThaiRuns) -> Iterator[ComparisonRow]:
    """Rows of the ratios of the approaches: stated in the text, and derived from Table 3."""
    stated = {(ratio.policy, ratio.quantity): ratio for ratio in figures.ratios}
    wanted = [ratio for ratio in figures.ratios if ratio.policy == UNKNOWN]
    for policy in figures.fixed:
        for quantity in ("late_tasks", "violation_cost_usd"):
            nothing = PublishedRatio(policy=policy, against=UNKNOWN, quantity=quantity, unit="times", printed=0)
            wanted.append(stated.get((policy, quantity), nothing))
    for ratio in wanted:
        which = (ratio.policy, ratio.against, ratio.quantity, ratio.unit)
        name, quantity = f"{ratio.policy} against {ratio.against}", f"{ratio.quantity}_{ratio.unit}"
        ours = runs.ratio(*which)
        if ratio in figures.ratios:
            yield _row(TEXT, name, quantity, ratio.printed, ours, ratio.relation)
        else:
            yield _row(TEXT, name, quantity, None, ours)
        yield _row(FROM_TABLE_3, name, quantity, figures.ratio(*which), ours)


def _fig_4(figures: ThaiFigures, runs: ThaiRuns) -> Iterator[ComparisonRow]:
    """Paid blocks by VM type; printed is what the costs of the fixed settings pay for, and the text on m3.xlarge."""
    for policy, found in runs.approaches.items():
        own_type = figures.approach(policy).vm_type
        for vm_type in runs.stream.type_names:
            printed: float | None = None
            relation: Relation = "="
            if own_type is not None:
                printed = figures.implied_blocks(policy) if vm_type == own_type else 0.0
            elif vm_type == "m3.xlarge":
                printed, relation = 0.0, "=" if policy == KNOWN else ">"
            ours = found.mean(lambda run, vm_type=vm_type: run.blocks[vm_type])  # type: ignore[misc]
            yield _row("Fig. 4", policy, f"blocks_{vm_type}", printed, ours, relation)


def _fig_5(runs: ThaiRuns) -> Iterator[ComparisonRow]:
    """Idle time of VMs and lateness of tasks; of the picture only one number is in the text."""
    for policy, found in runs.approaches.items():
        printed = 0.0 if policy == "xlarge.2" else None
        yield _row("Fig. 5", policy, "idle_s", printed, found.mean(idle_s))
        yield _row("Fig. 5", policy, "late_s", None, found.mean(late_s))


def _variants(runs: ThaiRuns) -> Iterator[ComparisonRow]:
    """``known`` and ``unknown`` beside other readings of the paper, our own variation, and fewer VM types."""
    for policy in (KNOWN, UNKNOWN):
        yield from _measured("variants", runs.approaches[policy])
    for found in (*runs.variants.values(), runs.without_xlarge):
        yield from _measured("variants", found)


def _sampling(runs: ThaiRuns) -> Iterator[ComparisonRow]:
    """``unknown`` by the length of the sampling phase, below ``known``, which needs none."""
    yield from _measured("sampling", runs.approaches[KNOWN], "no sampling")
    for fraction, found in runs.sweep.items():
        name = sampling_name(fraction)
        yield from _measured("sampling", found.runs, name)
        excluded = mean_of([float(number) for number in found.excluded]).estimate
        yield _row("sampling", UNKNOWN, "excluded_types", None, excluded, scenario=name)
        error = estimate([percent for percent in found.error_percent if percent is not None])
        yield _row("sampling", UNKNOWN, "error_percent", None, error, scenario=name)


def _measured(table: str, found: Approach, scenario: str = "") -> Iterator[ComparisonRow]:
    estimates = {
        "cost_usd": found.mean(cost_usd),
        "late_tasks": found.mean(late_tasks),
        "violation_cost_usd": estimate_of(found.violation_cost),
        "idle_s": found.mean(idle_s),
    }
    for quantity, ours in estimates.items():
        yield _row(table, found.policy, quantity, None, ours, scenario=scenario)
