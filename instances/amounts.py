"""Amounts of time and memory, as people and tools write them in tables."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..core.errors import SpotbagError
from ..core.quantities import KB_PER_MB, MB_PER_GB, NUMBER, TIME_UNITS_S, duration_s, number_of

_SPELLINGS_OF_MEMORY: dict[float, tuple[str, ...]] = {
    1 / (MB_PER_GB * KB_PER_MB): ("b", "bytes"),
    1 / KB_PER_MB: ("kb", "kib", "k", "ki", "kbytes"),
    1: ("mb", "mib", "m", "mi", "mbytes"),
    MB_PER_GB: ("gb", "gib", "g", "gi", "gbytes"),
    MB_PER_GB**2: ("tb", "tib", "t", "ti", "tbytes"),
}
MEMORY_UNITS_MB = {name: unit for unit, names in _SPELLINGS_OF_MEMORY.items() for name in names}
"""MB of each unit. As everywhere here, 1 GB = 1024 MB."""
_QUANTITY = re.compile(rf"({NUMBER})\s*([a-zA-Z]+)")
_CLOCK = re.compile(
    r"(?:(?:([0-9]+)(?: days?,? +|-)(?=[0-9]+:[0-9]+:))?([0-9]+):)?([0-5]?[0-9]):([0-5]?[0-9](?:\.[0-9]+)?)"
)
"""``12:30``, ``00:12:30``, and with days as Slurm and Python write them: ``1-02:03:04``, ``0 days 00:45:00``."""
_ISO = re.compile(r"P(?=.*[0-9])(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?")
MINUTES_AND_SECONDS = re.compile(r"[0-9]+:[0-9]+(?:\.[0-9]+)?")
"""A clock of two parts, which others may read as hours and minutes."""
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?\s*[a-zA-Z]*")
"""An amount with commas, each of which may stand between thousands."""
_PLURAL = re.compile(r"(?<=[a-zA-Z]{2})\(s\)")
"""LSF writes ``12 second(s)``; behind one letter, ``m(s)`` would become milliseconds."""
NO_COMMA = " with a decimal point (a decimal comma is understood where semicolons divide the cells)"


def seconds_of(cell: str, factor: float | None = None) -> float | None:
    """Seconds of a run time.

    A number times a factor, with units (``12min``, ``1h30m``), a clock (``00:12:30``, ``1-02:03:04``,
    ``0 days 00:45:00``), or ISO 8601 (``PT1H30M``).
    """
    number = number_of(cell)
    if number is not None:
        return None if factor is None else number * factor
    parts = _CLOCK.fullmatch(cell) or _ISO.fullmatch(cell)
    if parts is not None:
        days, hours, minutes, seconds = map(float, parts.groups("0"))
        return sum(
            amount * TIME_UNITS_S[unit]
            for amount, unit in ((days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s"))
        )
    cell = _PLURAL.sub("s", cell)
    amount = _quantity(cell, TIME_UNITS_S, None)
    if amount is not None or not cell or cell != cell.strip():  # or a number with odd blanks would be one of seconds
        return amount
    try:
        return duration_s(cell)
    except ValueError:
        return None


def memory_mb_of(text: str, factor: float | None = None) -> float | None:
    """MB of an amount of memory such as ``512MB`` or ``2 GB``, or of a number times a factor."""
    return _quantity(text, MEMORY_UNITS_MB, factor)


def _quantity(cell: str, units: Mapping[str, float], factor: float | None) -> float | None:
    number = number_of(cell)
    if number is not None:
        return None if factor is None else number * factor
    found = _QUANTITY.fullmatch(cell)
    amount = None if found is None else number_of(found[1])
    return (
        None if found is None or amount is None or found[2].lower() not in units else amount * units[found[2].lower()]
    )


def rule_of_amount(cell: str, units: Mapping[str, float], factor: float | None, no_unit: str, example: str) -> str:
    """Return the fault of a cell that is no amount."""
    if "," in cell:
        return f"must be a number{NO_COMMA}"
    found = _QUANTITY.fullmatch(cell)
    if found is not None and found[2].lower() not in units:
        return f"has a unit that is not known; known are {', '.join(units)}"
    if factor:
        return "must be a number"
    return no_unit if number_of(cell) is not None else f"must be {example}"


def unit_of(name: str | None, units: Mapping[str, float], option: str) -> float | None:
    """Return the factor of a unit that an option names.

    Raises
    ------
    SpotbagError
        If it is none.
    """
    if name is None:
        return None
    if name.lower() not in units:
        raise SpotbagError(f"{option} {name}: is no unit; units are {', '.join(units)}")
    return units[name.lower()]
