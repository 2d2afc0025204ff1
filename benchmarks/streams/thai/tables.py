"""The tables and figures of Thai et al. on our stream, beside what is printed.

The pictures are lost: of Fig. 3 is known what Table 3 gives by eq. 7 and 8, of Fig. 4 what the printed costs of the
fixed settings pay for, of Fig. 5 the text. The lengths of the sampling phase are what section 4.1 leaves for later.
"""

from __future__ import annotations

from collections.abc import Iterator

from spotbag.core.statistics import estimate

from ...data_files import Figures
from ...paper_result import ComparisonRow, Relation, row_of
from ...paper_tables import Quantities, means, measured
from ...statistics import mean_of
from .printed import ThaiFigures, thai_figures
from .runs import Approach, SampledRuns, ThaiRuns, cost_usd, idle_s, late_s, late_tasks, sampling_name
from .settings import KNOWN, STREAM, UNKNOWN

_TEXT, _FROM_TABLE_3 = "ratios, text", "ratios, Table 3"

_TABLE_3: Quantities[Approach] = means({"cost_usd": cost_usd, "late_tasks": late_tasks})
_ALL: Quantities[Approach] = {
    **_TABLE_3,
    "violation_cost_usd": lambda found: found.violation_cost,
    **means({"idle_s": idle_s}),
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
        yield row_of(*place, "idle_s", found.mean(idle_s), 0.0 if policy == "xlarge.2" else None)
        yield row_of(*place, "late_s", found.mean(late_s))
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
