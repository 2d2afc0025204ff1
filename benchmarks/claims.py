"""Statements of the papers, and whether they hold in our replays.

A statement is made of comparisons: numbers of ours, each with a test by its interval. `above`, `below`, `about`,
`exactly` and `together` make them; `claim` judges all of them, or most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from spotbag.core.statistics import CONFIDENCE, Estimate, holm_adjusted
from spotbag.core.wording import counted

from .statistics import Statistic

Verdict: TypeAlias = Literal["holds", "does not hold", "not decided"]

Found: TypeAlias = Estimate | Statistic | float | None
"""A number of ours: with an interval, exact, or none."""


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
    arithmetic : bool
        Whether arithmetic or a definition decides it, and no replay: it is not counted either.
    why : str
        The reason in short, without the comparisons that are against it.
    """

    statement: str
    verdict: Verdict
    ours: str
    reason: str = ""
    source: str = ""
    printed: str = ""
    fitted: bool = False
    arithmetic: bool = False
    why: str = ""

    @property
    def uncounted(self) -> str:
        """Reason not to count it, in a word; empty if it counts."""
        return "fitted" if self.fitted else "arithmetic" if self.arithmetic else ""


# ---------------------------------------------------------------------------- comparisons


@dataclass(frozen=True, slots=True)
class Case:
    """A comparison that a statement is made of.

    Attributes
    ----------
    label : str
        Of what, e.g. ``J60 sc1``.
    ours : str
        Our number in words.
    verdict : {"holds", "does not hold", "not decided"}
        Whether it bears the statement out.
    against : float
        Probability of evidence as strong against it by chance (one-sided p-value); 0 of what no chance decides.
    mean : float or None
        Our number.
    unit : str
        Of the number.
    digits : int
        Decimals of the number.
    """

    label: str
    ours: str
    verdict: Verdict
    against: float = 0.0
    mean: float | None = None
    unit: str = ""
    digits: int = 1

    def __str__(self) -> str:
        return f"{self.label} {self.ours}".strip()


def estimate_of(found: Found) -> Estimate:
    """The estimate of a number: of nothing if there is none, without an interval if it is exact."""
    if isinstance(found, Statistic):
        return found.estimate
    if isinstance(found, Estimate):
        return found
    # Without an interval a number is exact: its verdict is by the number alone.
    return Estimate(0 if found is None else 1, found, None)


def above(label: str, found: Found, digits: int = 1, unit: str = "", *, limit: float = 0.0) -> Case:
    """Compare a number of ours: it is to be above a limit."""
    return _case(label, found, digits, unit, limit, None)


def below(label: str, found: Found, digits: int = 1, unit: str = "", *, limit: float = 0.0) -> Case:
    """Compare a number of ours: it is to be below a limit."""
    return _case(label, found, digits, unit, None, limit)


@dataclass(frozen=True, slots=True)
class Reach:
    """Distance within which a number of ours is *about* one of a paper, up or down.

    Attributes
    ----------
    points : float
        Of a share in percent.
    percent : float
        Of any other number.
    """

    points: float = 5.0
    percent: float = 10.0


ABOUT = Reach()
"""Distances for all papers."""


def about(
    label: str,
    found: Found,
    digits: int = 1,
    unit: str = "",
    *,
    value: float,
    points: float = 0.0,
    percent: float = 0.0,
) -> Case:
    """Compare a number of ours: it is to be near a value, within a number of points, or percent of the value."""
    reach = points + abs(value) * percent / 100
    return _case(label, found, digits, unit, value - reach, value + reach)


Compare: TypeAlias = Callable[..., Case]
"""`above` or `below`."""


def exactly(label: str, is_so: bool, ours: str = "") -> Case:
    """Comparison of numbers that have no interval."""
    # No chance is in it: against what is so there is no evidence, against what is not, all of it.
    return Case(label, ours, "holds" if is_so else "does not hold", 1.0 if is_so else 0.0)


def together(label: str, cases: Sequence[Case], ours: str = "") -> Case:
    """Make a single comparison of several: all are to hold."""
    # Bonferroni: the strongest evidence of several is so many times as likely by chance.
    strongest = min(case.against for case in cases)
    shown = ours or ", ".join(map(str, cases))
    return replace(cases[0], label=label, ours=shown, verdict=all_hold(cases), against=min(len(cases) * strongest, 1.0))


def _case(label: str, found: Found, digits: int, unit: str, low: float | None, high: float | None) -> Case:
    ours = estimate_of(found)
    # Above is a test of the number, below one of the mirrored number; near a value is both.
    tests = ([] if low is None else [(is_above(ours, low), ours, low)]) + (
        [] if high is None else [(is_below(ours, high), _mirrored(ours), -high)]
    )
    against = min(_p_below(number, limit) for _, number, limit in tests)
    verdict = _together(verdict for verdict, _, _ in tests)
    return Case(label, _with_unit(show(ours, digits), unit), verdict, against, ours.mean, unit, digits)


def _p_below(estimate: Estimate, limit: float) -> float:
    """Probability of a mean as low by chance, if the true one is at the limit."""
    from scipy.special import stdtr, stdtrit

    if estimate.mean is None:
        return 1.0
    if not estimate.half_width:
        return 0.0 if estimate.mean <= limit else 1.0
    degrees = estimate.n - 1
    # Intervals are those of Student's t: half of one gives the standard error back.
    error = estimate.half_width / stdtrit(degrees, (1 + CONFIDENCE) / 2)
    return float(stdtr(degrees, (estimate.mean - limit) / error))


def is_above(estimate: Estimate, limit: float = 0.0) -> Verdict:
    """Verdict on a mean above a limit, by its interval; a number without an interval is exact."""
    if estimate.mean is None:
        return "not decided"
    low = estimate.mean if estimate.low is None else estimate.low
    high = estimate.mean if estimate.high is None else estimate.high
    # An interval with the limit in it says neither.
    if low > limit:
        return "holds"
    return "does not hold" if high <= limit else "not decided"


def is_below(estimate: Estimate, limit: float = 0.0) -> Verdict:
    """Verdict on a mean below a limit, by its interval; without an interval, by the mean."""
    return is_above(_mirrored(estimate), -limit)


def _mirrored(estimate: Estimate) -> Estimate:
    return replace(estimate, mean=None if estimate.mean is None else -estimate.mean)


# ---------------------------------------------------------------------------- several together


def all_hold(cases: Iterable[Case]) -> Verdict:
    """Verdict on several comparisons together, each by its own interval."""
    return _together(case.verdict for case in cases)


def _together(verdicts: Iterable[Verdict]) -> Verdict:
    found = set(verdicts)
    if "does not hold" in found:
        return "does not hold"
    return "holds" if found == {"holds"} else "not decided"


def corrected(cases: Sequence[Case]) -> list[Case]:
    """Correct several comparisons for their number, by Holm's method.

    Of many, some are against a true statement by chance: one that is against is left open if, among so many, it may be.
    That all hold needs no correction, as each one must (an intersection-union test).
    """
    found = list(cases)
    against = [place for place, case in enumerate(cases) if case.verdict == "does not hold"]
    adjusted = holm_adjusted([cases[place].against for place in against], len(cases))
    for place, p in zip(against, adjusted, strict=True):
        if p > (1 - CONFIDENCE) / 2:
            found[place] = replace(found[place], verdict="not decided")
    return found


def majority(cases: Sequence[Case]) -> Verdict:
    """Verdict on most of several comparisons: more than half of them."""
    counts = Counter(case.verdict for case in cases)
    if 2 * counts["holds"] > len(cases):
        return "holds"
    # Against it only if those that are left open could not make it a majority either.
    return "does not hold" if 2 * (len(cases) - counts["does not hold"]) <= len(cases) else "not decided"


Ours: TypeAlias = str | Callable[[Sequence[Case]], str]
"""Text that a claim shows of our numbers: given, or made of its comparisons."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement to be judged.

    Attributes
    ----------
    says, where, printed, fitted, arithmetic
        Statement, source and so on of the `Claim`.
    why : str
        Reason to add if it does not hold.
    note : str
        Reason to add in any case.
    unprinted : str
        What decides it and is not printed: if it does not hold here, that decides nothing.
    most : bool
        Whether more than half of the comparisons are to hold, and not all.
    """

    says: str
    where: str = ""
    printed: str = ""
    why: str = ""
    note: str = ""
    unprinted: str = ""
    most: bool = False
    fitted: bool = False
    arithmetic: bool = False


def claim(said: Statement, cases: Case | Iterable[Case], ours: Ours = "") -> Claim:
    """Judge a statement by its comparisons; those that do not bear it out are named.

    Parameters
    ----------
    said : Statement
        What is said.
    cases : Case or iterable of Case
        The comparisons.
    ours : str or callable
        Our numbers, in words; if absent, `numbers`.
    """
    found = [cases] if isinstance(cases, Case) else list(cases)
    # A majority needs no correction: the few comparisons that are wrong by chance do not turn it.
    judged = found if said.most else corrected(found)
    verdict, why = majority(judged) if said.most else all_hold(judged), said.why
    if said.unprinted and verdict == "does not hold":
        verdict, why = "not decided", "; ".join(filter(None, [f"not so here, but that rests on {said.unprinted}", why]))
    # Of a majority that holds, the minority is no reason against it.
    reasons = _named(judged) if len(judged) > 1 and not (said.most and verdict == "holds") else []
    cause = why if verdict != "holds" else ""
    # Each claim that does not hold has a reason: where there are no words, the number is one.
    if len(judged) == 1 and verdict != "holds" and not (why or said.note):
        reasons = [str(judged[0])]
    return Claim(
        said.says,
        verdict,
        (ours if isinstance(ours, str) else ours(judged)) or numbers(judged),
        "; ".join(filter(None, [*reasons, cause, said.note])),
        said.where,
        said.printed,
        said.fitted,
        said.arithmetic,
        cause or said.note,
    )


def _named(cases: Sequence[Case]) -> list[str]:
    words: Mapping[Verdict, str] = {"does not hold": "against it", "not decided": "within the interval"}
    named = {verdict: [str(case) for case in cases if case.verdict == verdict] for verdict in words}
    return [f"{words[verdict]} {len(of)} of {len(cases)}: {_some(of)}" for verdict, of in named.items() if of]


def _some(texts: Sequence[str], most: int = 4) -> str:
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")


# ---------------------------------------------------------------------------- numbers in words


def tally(of: str = "") -> Callable[[Sequence[Case]], str]:
    """Count the comparisons that bear a statement out: ``3 of 5``, with a noun if one is given."""
    return lambda cases: f"{sum(case.verdict == 'holds' for case in cases)} of {len(cases)} {of}".rstrip()


def numbers(cases: Sequence[Case]) -> str:
    """Numbers of comparisons: of one with its interval, of several their means."""
    if len(cases) == 1:
        return cases[0].ours
    means = [_mean(case) for case in cases]
    return _with_unit(", ".join(means), cases[0].unit) if cases else "-"


def with_intervals(cases: Sequence[Case]) -> str:
    """Numbers of comparisons with their intervals."""
    return "; ".join(case.ours for case in cases)


def spread(cases: Iterable[Case]) -> str:
    """The least and the largest mean of comparisons, as ``1 to 2 %``."""
    known = [case for case in cases if case.mean is not None]
    return (
        span([case.mean for case in known if case.mean is not None], known[0].digits, known[0].unit) if known else "-"
    )


def span(values: Iterable[float | None], digits: int = 0, unit: str = "", sign: str = "") -> str:
    """The least and the largest of some numbers, as ``1 to 2``; ``-`` of none."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, high = (f"{value:{sign},.{digits}f}" for value in (min(known), max(known)))
    return _with_unit(low if low == high else f"{low} to {high}", unit)


def show(estimate: Estimate, digits: int) -> str:
    """Return a mean and half of its interval, e.g. ``1.23 ± 0.04``."""
    if estimate.mean is None:
        return "-"
    mean = f"{estimate.mean:,.{digits}f}"
    if float(mean.replace(",", "")) == 0:
        mean = f"{0:.{digits}f}"  # never -0.0
    return mean if estimate.half_width is None else f"{mean} ± {estimate.half_width:,.{digits}f}"


def _mean(case: Case) -> str:
    return case.ours if case.mean is None else show(Estimate(1, case.mean, None), case.digits)


def _with_unit(text: str, unit: str) -> str:
    return f"$ {text}" if unit == "$" else f"{text} {unit}".rstrip()


# ---------------------------------------------------------------------------- verdicts in words

WORDS: Mapping[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "not decided": ("is not decided", "are not decided"),
}
"""Verdicts on one statement, and on several, in words; in the order in which they are counted."""

UNCOUNTED: Mapping[str, tuple[str, str]] = {
    "fitted": ("is fitted", "are fitted"),
    "arithmetic": ("is arithmetic", "are arithmetic"),
}
"""Claims that are not counted, likewise; the word stands before the verdict."""


def verdict_in_words(verdict: Verdict) -> str:
    """Return the verdict on one statement as the end of a sentence: ``is not decided``."""
    return WORDS[verdict][0]


def count_verdicts(claims: Iterable[Claim]) -> Counter[Verdict]:
    """Number of statements by verdict, without those that are not counted."""
    return Counter(claim.verdict for claim in claims if not claim.uncounted)


def verdicts_in_words(claims: Sequence[Claim]) -> str:
    """Verdicts in words: ``Of 10 statements, 9 hold, 1 is not decided; 2 more are fitted``."""
    counts = count_verdicts(claims)
    words = ", ".join(
        f"{counts[verdict]} {WORDS[verdict][counts[verdict] != 1]}" for verdict in WORDS if counts[verdict]
    )
    apart = Counter(claim.uncounted for claim in claims)
    more = "".join(f"; {apart[word]} more {UNCOUNTED[word][apart[word] != 1]}" for word in UNCOUNTED if apart[word])
    return f"Of {counted(counts.total(), 'statement')}, {words}{more}" if counts else f"No statement is judged{more}"
