"""Statements of the papers, and whether they hold in our replays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..core.statistics import Estimate
from ..core.wording import counted

Verdict: TypeAlias = Literal["holds", "does not hold", "not decided"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement that our runs judge: a sentence of a paper, or one of ours.

    Attributes
    ----------
    statement : str
        What it says, in our words.
    verdict : {"holds", "does not hold", "not decided"}
        What our runs say; not decided if a 95 % interval leaves both open.
    ours : str
        Our number, short: details belong into the reason.
    reason : str
        Why it does not hold, or is not decided, and what else is to be known.
    source : str
        Where the paper says it, e.g. ``section 5.3.2, Table 10``; empty if it is ours.
    printed : str
        The paper's number, short.
    fitted : bool
        Whether it rests on inputs that were fitted to the same printed numbers: it is no test then, and not counted.
    """

    statement: str
    verdict: Verdict
    ours: str
    reason: str = ""
    source: str = ""
    printed: str = ""
    fitted: bool = False


def is_above(estimate: Estimate, limit: float = 0.0) -> Verdict:
    """Verdict on a mean above a limit, by its interval; a number without an interval is exact."""
    if estimate.mean is None:
        return "not decided"
    low = estimate.mean if estimate.low is None else estimate.low
    high = estimate.mean if estimate.high is None else estimate.high
    if low > limit:
        return "holds"
    return "does not hold" if high <= limit else "not decided"


def is_below(estimate: Estimate, limit: float = 0.0) -> Verdict:
    """Verdict on a mean below a limit, by its interval; without an interval, by the mean."""
    half = estimate.half_width
    mirrored = Estimate(estimate.n, None if estimate.mean is None else -estimate.mean, half)
    return is_above(mirrored, -limit)


def is_within(estimate: Estimate, low: float, high: float) -> Verdict:
    """Verdict on a mean between two limits, by its interval."""
    return all_hold([is_above(estimate, low), is_below(estimate, high)])


WORDS: Mapping[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "not decided": ("is not decided", "are not decided"),
}
"""Of one statement, and of several; in the order in which they are counted."""

FITTED = "fitted: "
"""What stands before a verdict that is not counted."""


def verdict_in_words(verdict: Verdict) -> str:
    """Return the verdict on one statement as the end of a sentence: ``is not decided``."""
    return WORDS[verdict][0]


def count_verdicts(claims: Iterable[Claim]) -> Counter[Verdict]:
    """Number of statements by verdict; fitted statements are not counted."""
    return Counter(claim.verdict for claim in claims if not claim.fitted)


def verdicts_in_words(claims: Sequence[Claim]) -> str:
    """Verdicts in words: ``Of 10 statements, 9 hold, 1 is not decided; 2 more are fitted``."""
    counts = count_verdicts(claims)
    words = ", ".join(
        f"{counts[verdict]} {WORDS[verdict][counts[verdict] != 1]}" for verdict in WORDS if counts[verdict]
    )
    fitted = sum(claim.fitted for claim in claims)
    more = f"; {fitted} more {'is' if fitted == 1 else 'are'} fitted" if fitted else ""
    return f"Of {counted(counts.total(), 'statement')}, {words}{more}" if counts else f"No statement is judged{more}"


def all_hold(verdicts: Iterable[Verdict]) -> Verdict:
    """Verdict on several statements together."""
    found = set(verdicts)
    if not found:
        return "not decided"
    if "does not hold" in found:
        return "does not hold"
    return "not decided" if "not decided" in found else "holds"


def tally(found: Sequence[tuple[str, Verdict]], of: str = "") -> str:
    """Count the comparisons that bear a statement out: ``3 of 5``, of what if that is said."""
    return f"{sum(verdict == 'holds' for _, verdict in found)} of {len(found)} {of}".rstrip()


def show(estimate: Estimate, digits: int) -> str:
    """Return a mean and half of its interval, e.g. ``1.23 ± 0.04``."""
    if estimate.mean is None:
        return "-"
    mean = f"{estimate.mean:,.{digits}f}"
    if float(mean.replace(",", "")) == 0:
        mean = f"{0:.{digits}f}"  # never -0.0
    return mean if estimate.half_width is None else f"{mean} ± {estimate.half_width:,.{digits}f}"


def judged(
    statement: str,
    found: Sequence[tuple[str, Verdict]],
    ours: str,
    why_not: str = "",
    *,
    source: str = "",
    printed: str = "",
    fitted: bool = False,
) -> Claim:
    """Make a claim that several comparisons decide; those that do not bear it out are named.

    Parameters
    ----------
    statement, ours : str
        Of the `Claim`.
    found : sequence of (str, str)
        Each comparison in words, and its verdict.
    why_not : str
        Reason to add if not all of them hold.
    source, printed, fitted
        Of the `Claim`.
    """
    against = [text for text, verdict in found if verdict == "does not hold"]
    undecided = [text for text, verdict in found if verdict == "not decided"]
    reasons = []
    if len(found) == 1:
        reasons += [text for text in (*against, *undecided) if text not in ours or not why_not]
    else:
        if against:
            reasons.append(f"against it {len(against)} of {len(found)}: {_some(against)}")
        if undecided:
            reasons.append(f"within the interval {len(undecided)} of {len(found)}: {_some(undecided)}")
    if (against or undecided) and why_not:
        reasons.append(why_not)
    verdict = all_hold(verdict for _, verdict in found)
    return Claim(statement, verdict, ours, "; ".join(reasons), source, printed, fitted)


def _some(texts: Sequence[str], most: int = 4) -> str:
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")
