"""The survival certificate of a plan in words."""

from __future__ import annotations

from ..core.wording import shortened
from ..instances.entries import SurvivalLevel
from .documents import Survival

LOSSES: dict[SurvivalLevel, str] = {
    "one-type": "any one spot type down for good",
    "blackout": "any spot types down for good at once",
    "each": "any spot VMs down for good, each at a moment of its own",
}
"""What is survived at each level."""
_NOTHING_TO_LOSE = "has no spot VM to lose"
_LONGEST_REASON = 200


def survival_lines(survival: Survival) -> list[tuple[str, str]]:
    """Lines on the certificate of survival: the verdict, its reason, and the highest cost, by their names.

    Parameters
    ----------
    survival : Survival
        The certificate.
    """
    loss, place = LOSSES[survival.level], _place(survival)
    if survival.verdict != "survives":
        verdict = "does not survive" if survival.verdict == "does-not-survive" else "not shown to survive"
        reason = f": {shortened(survival.reason, _LONGEST_REASON)}" if survival.reason else ""
        return [("survives", f"{verdict} {loss}{place}{reason}")]
    unharmed = survival.worst_at_s is None and survival.least_slack_s is None and not survival.worst_types
    if unharmed and survival.worst_cost_usd is not None and survival.level != "each":
        return [("survives", _NOTHING_TO_LOSE)]
    worst = "" if survival.worst_cost_usd is None else f", worst case $ {survival.worst_cost_usd:.4f}{place}"
    all_of_spot = None if survival.level == "blackout" else survival.blackout_cost_usd
    together = "" if all_of_spot is None else f"; any at once $ {all_of_spot:.4f}"
    lines = [("survives", f"{loss}{worst}{together}")]
    if survival.cost_without_usd is not None:
        lines.append(("", f"not surviving would cost $ {survival.cost_without_usd:.4f}"))
    return lines


def survival_text(survival: Survival) -> str:
    """Say in one line what `survival_lines` says."""
    (_, first), *others = survival_lines(survival)
    verb = "survives: " if first == _NOTHING_TO_LOSE else "survives " if survival.verdict == "survives" else ""
    return "; ".join([f"{verb}{first}", *(text for _, text in others)])


def checked_lines(found: Survival, certificate: Survival | None = None) -> list[tuple[str, str]]:
    """Lines on the survival that a checker found, by their names.

    Parameters
    ----------
    found : Survival
        What it found itself.
    certificate : Survival, optional
        What the plan says of the same, if that holds: where it states the worst cost, that is the figure, and that of
        the checker, which knows other rescues, is said beside it. No policy promises the checker's figure.
    """
    if found.worst_cost_usd is None:
        return survival_lines(found)
    if certificate is None or certificate.worst_cost_usd is None:
        fields = {"worst_cost_usd": None, "blackout_cost_usd": None, "worst_at_s": None}
        (name, text), *_ = survival_lines(found.model_copy(update=fields))
        most = f"; the checker's own rescues cost at most $ {found.worst_cost_usd:.4f}{_place(found)}"
        return [(name, f"{text}{most}")]
    lines = survival_lines(certificate.model_copy(update={"blackout_cost_usd": None, "cost_without_usd": None}))
    (name, text), own = lines[0], f"{found.worst_cost_usd:.4f}"
    others = f"; the checker's own rescues cost at most $ {own}"
    return [(name, f"{text} as the plan says{'' if own == f'{certificate.worst_cost_usd:.4f}' else others}")]


def _place(survival: Survival) -> str:
    """Types and moment of the worst loss, in brackets."""
    if survival.worst_at_s is None:
        return ""
    types = f"{shortened(', '.join(survival.worst_types), 60)} " if survival.worst_types else ""
    return f" ({types}at {survival.worst_at_s:,} s)"
