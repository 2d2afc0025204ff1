"""Quantities: their units and conversions in all documents, and tolerances, each with its reason.

A bound is a sum of products with terms of both signs. Where they cancel, its rounding error is as large as if they did
not: relative to the size of the terms, not to what is left of them, which can be 0. So a bound is lowered by that
before anybody sees it (`rounded_down`), and is then one of exact arithmetic.

The cost, makespan and objective of a plan are sums of terms that are not negative, none of which is larger than the
sum: their rounding error is relative to themselves, and so are the tolerances with which bounds are compared with them.

The checker of plans and the auditor have tolerances of their own: they share nothing with what they judge.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field, TypeAdapter, ValidationError

from .records import INTEGRAL, rule_of

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]

Array = TypeVar("Array", bound=npt.NDArray[Any])

TABLE_BYTES = 2**28
"""Memory that one table of a model may take: what would need more is refused, or done in parts."""

MAX_SECONDS = 10**9
TICKS_PER_S = 10**6
"""Run times of streams are whole numbers of microseconds."""
KB_PER_MB = MB_PER_GB = 1024
SECONDS_PER_HOUR = 3600

Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f\x85\u2028\u2029]+$")]
_NAMES: TypeAdapter[str] = TypeAdapter(Name)
# A text that is none of these is found out in one pass: no two parts of a pattern may share digits or spaces.
_DECIMAL = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
NUMBER = rf"[+-]?{_DECIMAL}(?:[eE][+-]?[0-9]+)?"
"""Pattern of a number in all texts that are read: decimal, with ASCII digits, a point and an exponent at most."""
_NUMBER = re.compile(NUMBER)
_NOT_ZERO = re.compile(r"[+-]?[0.]*[1-9]")
Seconds: TypeAlias = Annotated[int, Field(ge=0, le=MAX_SECONDS), INTEGRAL]
RunTime: TypeAlias = Annotated[float, Field(ge=1e-6, le=MAX_SECONDS)]
Memory: TypeAlias = Annotated[float, Field(ge=1e-6, le=10**9)]
MAX_PRICE_USD_PER_HOUR = 10**6
LEAST_PRICE = 1e-9
"""Least price of an offer, in USD per hour: prices are divided by one another."""
Price: TypeAlias = Annotated[float, Field(ge=LEAST_PRICE, le=MAX_PRICE_USD_PER_HOUR)]
OwnPrice: TypeAlias = Annotated[float, Field(ge=0, le=MAX_PRICE_USD_PER_HOUR)]
"""Price of a VM that is rented: it may cost nothing more."""
VCpus: TypeAlias = Annotated[int, Field(ge=1, le=4096), INTEGRAL]
LEAST_SCALE = 1e-9
Scale: TypeAlias = Annotated[float, Field(ge=LEAST_SCALE, le=10**18)]
Credits: TypeAlias = Annotated[float, Field(ge=0, le=10**9)]


def is_name(text: str) -> bool:
    """True if a text is a valid id or name."""
    try:
        _NAMES.validate_python(text)
    except ValidationError:
        return False
    return True


_SPELLINGS = {
    1: ("s", "sec", "secs", "second", "seconds"),
    60: ("m", "min", "mins", "minute", "minutes"),
    SECONDS_PER_HOUR: ("h", "hr", "hrs", "hour", "hours"),
    24 * SECONDS_PER_HOUR: ("d", "day", "days"),
}
_UNITS_S = sorted(_SPELLINGS, reverse=True)
TIME_UNITS_S: dict[str, float] = {"ms": 0.001} | {name: unit for unit, names in _SPELLINGS.items() for name in names}
"""Seconds of each unit, by all of its spellings."""
_DURATION = re.compile("".join(rf"(?:({_DECIMAL}) ?(?:{'|'.join(_SPELLINGS[unit])})\s*)?" for unit in _UNITS_S))
_CLOCK = re.compile(r"([0-9]+):([0-5][0-9]):([0-5][0-9])")


def duration_s(text: str) -> float:
    """Return the seconds of a duration: ``2h``, ``1h30m``, ``90min``, ``2 hours``, ``1:30:00``, ``5400``.

    Raises
    ------
    ValueError
        If it is none, or longer than `MAX_SECONDS`; the message has the rule and an example.
    """
    stripped = text.strip().lower()
    plain = number_of(stripped)
    # All parts of the pattern are optional: an empty text would be a duration of 0.
    parts = _DURATION.fullmatch(stripped) if stripped else None
    clock = _CLOCK.fullmatch(stripped)
    if plain is not None:
        seconds = plain
    elif clock is not None:
        seconds = sum(int(part) * unit for part, unit in zip(clock.groups(), _UNITS_S[1:], strict=True))
    elif parts is not None:
        seconds = sum(float(part) * unit for part, unit in zip(parts.groups(), _UNITS_S, strict=True) if part)
    else:
        raise ValueError("must be a duration: days, hours, minutes and seconds such as 2h, 1h30m or 45s, or seconds")
    if not 0 <= seconds <= MAX_SECONDS:
        raise ValueError(f"must be from 0 to {MAX_SECONDS} seconds, such as 2h, 90m or 5400")
    return seconds


_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)


def moment(text: str) -> datetime | None:
    """Return the time that a text is, in UTC where it does not say; None if it is none."""
    if not _TIME.fullmatch(text.strip()):
        return None
    try:
        found = datetime.fromisoformat(text.strip())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def whole_seconds(text: str) -> int:
    """Return the seconds of a duration that has no fraction of one; see `duration_s`."""
    seconds = duration_s(text)
    if seconds % 1:
        raise ValueError("must come to whole seconds, such as 90m or 5400")
    return int(seconds)


def amount_usd(text: str) -> float:
    """Return the dollars of an amount as people write them: ``1.50`` or ``$1.50``.

    Raises
    ------
    ValueError
        If it is none; the message has the rule and an example.
    """
    amount = number_of(text.strip().removeprefix("$").strip())
    if amount is None or amount < 0:
        raise ValueError("must be an amount in dollars, such as 1.50 or $1.50")
    return amount


def fraction(text: str) -> float:
    """Return a share as people write it: ``0.05`` or ``5%``.

    Raises
    ------
    ValueError
        If it is none, or negative; the message has the rule and an example.
    """
    stripped = text.strip()
    share = number_of(stripped.removesuffix("%").strip())
    if share is None or share < 0:
        raise ValueError("must be a share that is not negative, such as 0.05 or 5%")
    return share / 100 if stripped.endswith("%") else share


ExactSeconds: TypeAlias = int | Fraction
"""Seconds without rounding: a whole number wherever it is one."""


def as_written(value: float) -> Fraction:
    """Return the decimal number that a float is written as: 0.1 is one tenth."""
    return Fraction(repr(float(value)))


def exact_seconds(value: float) -> ExactSeconds:
    """Return the number that is nearest to some seconds and has whole microseconds."""
    ticks = round(value * TICKS_PER_S)
    whole_s, rest = divmod(ticks, TICKS_PER_S)
    return Fraction(ticks, TICKS_PER_S) if rest else whole_s


def plain(value: float | Fraction) -> int | float:
    """Return a number as documents and messages have it: a whole one without a fraction, any other as a decimal."""
    return int(value) if value == int(value) else float(value)


def read_only(array: Array) -> Array:
    """Return an array that cannot be written to any more."""
    array.flags.writeable = False
    return array


def number_of(text: str) -> float | None:
    """Return the number that a text is in decimal notation, ``12``, ``0.5`` or ``1e3``; None if it is none.

    A number beyond the range of floats is none, too: it would be read as infinity or as 0.
    """
    if text.isascii() and text.isdigit():  # as most are, in long files
        value = float(text)
        return value if value < math.inf else None
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) and (value or not _NOT_ZERO.match(text)) else None


Number = TypeVar("Number", int, float)
NO_NUMBER = "must be a number, in digits with a decimal point"


def number_in(text: str, kind: TypeAdapter[Number]) -> Number:
    """Return the number in a text, of a kind such as `Price`.

    Raises
    ------
    ValueError
        If it is none of that kind; the message has the rule.
    """
    value = number_of(text)
    if value is None:
        raise ValueError(NO_NUMBER)
    try:
        return kind.validate_python(value, strict=True)
    except ValidationError as error:
        raise ValueError(rule_of(error)) from None


def whole(values: FloatArray) -> IntArray:
    """Round up to whole numbers; an excess below `EXCESS` of the value is arithmetic noise and is dropped."""
    return np.ceil(values * (1 - EXCESS)).astype(np.int64)


EXCESS = 1e-12
"""Part of a value by which it may exceed a whole number and is still rounded down to it: several thousand roundings,
each of 2^-53 of the value, and less than the digits that a document states."""

NOISE = 1e-9
"""Difference in seconds, VMs or shares that is dropped before values are compared, or rounded to whole numbers: sums of
up to 10^6 s have an error of some 1e-10 s."""

STATED = 1e-6
"""Excess over a whole number of seconds or intervals that is dropped where others measured and wrote the times, as in
states and traces: to a microsecond."""

NONE: Final = -1
"""Number in place of a time, an index or a count that does not exist."""

LEAST_DUMP_S = 1e-6
"""A checkpoint that is written in less takes no time: a microsecond is the shortest run time in a document."""

SAME = 1e-9
"""Relative difference up to which two costs or times are the same: a sum in another order differs by less."""

REORDERED = 1e-12
"""Relative difference of two sums of the same few thousand terms in another order."""

SOLVED = 1e-6
"""Excess of a bound over a whole number of seconds that may come of the tolerance of the solver which found it."""

OPTIMALITY_TOLERANCE = 1e-9
"""Relative gap below which a plan counts as optimal."""

ROUNDING = 1e-13
"""Rounding error of a sum, relative to the size of its terms: 900 times the 2^-53 of one operation. A term is a product
of a few numbers, and numpy adds terms up in pairs: no term takes part in more than some 60 operations, or in as many as
there are offers, of which a dot product may add up one after the other."""

STEPWISE_ROUNDING = 1e-12
"""Rounding error of a sum whose terms are added and taken away one after the other, relative to their size."""

NEARLY = 1e-6
"""Relative difference that is not worth going on for: above what solvers leave open, below what is seen of a gap."""

SAME_COST = 4 * OPTIMALITY_TOLERANCE
"""Relative difference up to which costs count as the same."""

_LAST_DIGIT = 1e-6
"""Slack of the tolerance, relative to it: some bounds leave just as much for rounding, and the last digit of an
objective must decide nothing."""


def closes_gap(objective: float, bound: float, target_gap: float = 0.0) -> bool:
    """True if a bound proves a plan good enough: optimal, or within a target gap."""
    gap = relative_gap(objective, bound)
    return gap is not None and gap <= max(target_gap, OPTIMALITY_TOLERANCE) * (1 + _LAST_DIGIT)


def relative_gap(objective: float | None, bound: float | None) -> float | None:
    """Gap between the objective of a plan and a lower bound, relative to the objective; None without one of them."""
    if objective is None or bound is None or math.isinf(objective):
        return None
    # Nothing is less than 0, which a plan has whose machines are paid already.
    return 0.0 if objective in (bound, 0) else (objective - bound) / abs(objective)


def rounded_down(value: float, size: float) -> float:
    """Return a number that is not above the exact value of a sum.

    Parameters
    ----------
    value : float
        The sum in floating-point numbers.
    size : float
        Sum of the absolute values of its terms.
    """
    return value - ROUNDING * size


def at_most(objective: float) -> float:
    """Return the largest value that is no more than an objective, but for rounding; a bound above it refutes that."""
    return objective * (1 + OPTIMALITY_TOLERANCE)


def least_whole_seconds(bound_s: float) -> float:
    """Return the least whole number of seconds that a bound of a makespan leaves; the bound if it is infinite."""
    return bound_s if math.isinf(bound_s) else float(math.ceil(bound_s * (1 - OPTIMALITY_TOLERANCE)))
