"""The survival certificate of a plan in words."""

from __future__ import annotations

from ..core.wording import shortened
from .documents import Survival, SurvivalLevel

_LOSSES: dict[SurvivalLevel, str] = {
    "one-type": "any one spot type down for good",
    "blackout": "all of spot down for good",
    "each": "any spot VMs down for good, each at a moment of its own",
}
_LONGEST_REASON = 200


def survival_text(survival: Survival) -> str:
    """Say in one line what a plan survives and at most for how much, or why it does not.

    Parameters
    ----------
    survival : Survival
        The certificate.
    """
    loss, place = _LOSSES[survival.level], _place(survival)
    if survival.verdict != "survives":
        verdict = "does not survive" if survival.verdict == "does-not-survive" else "not shown to survive"
        reason = f": {shortened(survival.reason, _LONGEST_REASON)}" if survival.reason else ""
        return f"{verdict} {loss}{place}{reason}"
    parts = []
    if survival.worst_cost_usd is not None:
        parts.append(f"worst case ${survival.worst_cost_usd:.4f}{place}")
    if survival.blackout_cost_usd is not None:
        parts.append(f"all of spot at once ${survival.blackout_cost_usd:.4f}")
    if survival.cost_without_usd is not None:
        parts.append(f"a plan without this ${survival.cost_without_usd:.4f}")
    return f"survives {loss}{': ' * bool(parts)}{'; '.join(parts)}"


def _place(survival: Survival) -> str:
    """What goes down and when, at the worst moment."""
    if survival.worst_at_s is None:
        return ""
    types = f"{shortened(', '.join(survival.worst_types), 60)} " if survival.worst_types else ""
    return f" ({types}at {survival.worst_at_s:,} s)"
