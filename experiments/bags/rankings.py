"""Entries of submissions ranked across instances: mean ranks, critical differences, Wilcoxon tests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TypeAlias

import numpy as np

from ...core.errors import input_error
from ...core.quantities import NOISE, SAME_COST
from ...core.record_lists import grouped_by
from ...core.statistics import CONFIDENCE, holm_adjusted
from .submissions import CheckedRow

_Values: TypeAlias = Mapping[str, float]
"""Values of entries on an instance, by their names; those that count as equal are equal."""


@dataclass(frozen=True, slots=True)
class RankedEntry:
    """An entry among all that have the same instances.

    Attributes
    ----------
    entry : str
        Its name.
    mean_rank : float
        Over the instances, 1 is best; equals share their ranks.
    best : int
        Instances on which no other is better.
    above_percent : float
        By how much its value is above the best one of each instance, by the geometric mean.
    late_days : int
        Of all its days on these instances.
    """

    entry: str
    mean_rank: float
    best: int
    above_percent: float
    late_days: int


@dataclass(frozen=True, slots=True)
class EntryPair:
    """Two entries on the instances that both have, the better one first.

    Attributes
    ----------
    better, other : str
        Their names.
    wins, ties, losses : int
        Instances.
    p_value, p_holm : float or None
        Of Wilcoxon's signed-rank test of the logarithms of the ratios, two-sided; and adjusted for the number of
        pairs. None if all are equal.
    apart : bool
        Whether their mean ranks are more than the critical difference apart.
    """

    better: str
    other: str
    wins: int
    ties: int
    losses: int
    p_value: float | None
    p_holm: float | None
    apart: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """Compared entries: plans, or days of a set.

    Attributes
    ----------
    suite, what : str
        The suite, and ``plans`` or the name of the set of days.
    instances : tuple of str
        Those that all entries have; with the scenario, of days.
    left_out : tuple of str
        Instances that some entry does not have.
    entries : tuple of RankedEntry
        The best first.
    friedman_p : float or None
        Of Friedman's test that all are alike; None for fewer than three entries, or if all are equal.
    critical_difference : float or None
        Of Nemenyi's test: mean ranks that are less apart may be so by chance (5 %).
    pairs : tuple of EntryPair
        All of them.
    """

    suite: str
    what: str
    instances: tuple[str, ...]
    left_out: tuple[str, ...]
    entries: tuple[RankedEntry, ...]
    friedman_p: float | None
    critical_difference: float | None
    pairs: tuple[EntryPair, ...]


def rankings(rows: Iterable[CheckedRow]) -> list[Ranking]:
    """Rank the entries of rows that were not refused: a table for the plans of a suite, and one for each set of days.

    Of several seeds of an entry on an instance, the mean counts.

    Raises
    ------
    InputError
        If there is no instance that all entries of a table have.
    """
    tables = grouped_by((row for row in rows if not row.reason), lambda row: (row.suite, row.days or "plans"))
    return [_ranking(suite, what, of_table) for (suite, what), of_table in tables.items()]


def _ranking(suite: str, what: str, rows: Sequence[CheckedRow]) -> Ranking:
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    table, names = _table(rows), list(dict.fromkeys(row.entry for row in rows))
    # Ranks are compared over the same instances only.
    common = [place for place, values in table.items() if len(values) == len(names)]
    if not common:
        lacking = {name: sum(name not in values for values in table.values()) for name in names}
        said = ", ".join(f"{name!r} lacks {n} of {len(table)}" for name, n in lacking.items() if n)
        raise input_error(f"{suite}, {what}", f"no instance has a row of each entry; {said}")
    values = np.array([[table[place][name] for name in names] for place in common])
    ranks, ratios = rankdata(values, axis=1), values / values.min(axis=1, keepdims=True)
    entries = [
        RankedEntry(
            entry=name,
            mean_rank=float(ranks[:, k].mean()),
            best=int((ratios[:, k] == 1).sum()),
            above_percent=100 * math.expm1(float(np.log(ratios[:, k]).mean())),
            late_days=sum(row.late_days for row in rows if row.entry == name and _place(row) in common),
        )
        for k, name in enumerate(names)
    ]
    entries.sort(key=lambda entry: entry.mean_rank)
    difference, friedman, k = None, None, len(names)
    if k > 1 and len(common) > 1:
        # Demsar (2006): the critical difference of Nemenyi's test.
        width = float(studentized_range.ppf(CONFIDENCE, k, math.inf)) / math.sqrt(2)
        difference = width * math.sqrt(k * (k + 1) / (6 * len(common)))
        if k > 2 and np.ptp(ranks, axis=1).any():
            friedman = float(friedmanchisquare(*values.T).pvalue)
    return Ranking(
        suite=suite,
        what=what,
        instances=tuple(common),
        left_out=tuple(place for place in table if place not in common),
        entries=tuple(entries),
        friedman_p=friedman,
        critical_difference=difference,
        pairs=_pairs(entries, table, difference),
    )


def _place(row: CheckedRow) -> str:
    return f"{row.instance} {row.scenario}".rstrip()


def _table(rows: Iterable[CheckedRow]) -> dict[str, _Values]:
    """Return the values of entries on each instance: means over seeds, put equal to the least that is as good."""
    table: dict[str, _Values] = {}
    for place, of_place in grouped_by(rows, _place).items():
        by_entry = grouped_by(of_place, lambda row: row.entry)
        means = {entry: fmean(row.value for row in mine if row.value is not None) for entry, mine in by_entry.items()}
        least, values = -math.inf, dict[str, float]()
        # What costs nothing counts as next to nothing: there are no ratios to 0.
        for value, entry in sorted((max(mean, NOISE), entry) for entry, mean in means.items()):
            if not math.isclose(value, least, rel_tol=SAME_COST):
                least = value
            values[entry] = least
        table[place] = values
    return table


def _pairs(
    entries: Sequence[RankedEntry], table: Mapping[str, _Values], difference: float | None
) -> tuple[EntryPair, ...]:
    from scipy.stats import wilcoxon

    pairs = list(combinations(entries, 2))
    logs = [_log_ratios(one.entry, other.entry, table.values()) for one, other in pairs]
    # All ties: the test is not defined, and nothing speaks for a difference.
    tests = [float(wilcoxon(each).pvalue) if any(each) else 1.0 for each in logs]
    return tuple(
        EntryPair(
            better=one.entry,
            other=other.entry,
            wins=sum(log < 0 for log in each),
            ties=sum(log == 0 for log in each),
            losses=sum(log > 0 for log in each),
            p_value=test if any(each) else None,
            p_holm=holm if any(each) else None,
            apart=difference is not None and other.mean_rank - one.mean_rank > difference,
        )
        for (one, other), each, test, holm in zip(pairs, logs, tests, holm_adjusted(tests), strict=True)
    )


def _log_ratios(one: str, other: str, table: Iterable[_Values]) -> list[float]:
    """Logarithms of the ratios of two entries on the instances that both have."""
    # A pair has more instances in common than all entries together.
    both = [values for values in table if one in values and other in values]
    return [math.log(values[one]) - math.log(values[other]) for values in both]
