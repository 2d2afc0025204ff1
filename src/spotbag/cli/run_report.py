"""What the reports of replays share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core.statistics import Estimate


def _cell(value: Estimate, digits: int, signed: bool = False) -> str:
    """Mean and half width of the interval."""
    if value.mean is None:
        return "-"
    text = f"{value.mean:{'+' if signed else ''},.{digits}f}"
    return text if value.half_width is None else f"{text} ± {value.half_width:,.{digits}f}"
