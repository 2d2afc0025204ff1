"""Entries of submissions ranked across instances: mean ranks, critical differences, Wilcoxon tests."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...core.statistics import CONFIDENCE, holm_adjusted
from .submissions import CheckedRow

_LEAST_INSTANCES = 2


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
        Of all its days.
    """

    entry: str
    mean_rank: float
    best: int
    above_percent: float
    late_days: int


@dataclass(frozen=True, slots=True)
class EntryPair:
    """Two entries on the same instances, the better one first.

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
    what : str
        ``plans``, or the name of the set of days.
    instances : tuple of str
        Those that all entries have; with the scenario, of days.
    left_out : tuple of str
        Instances that some entry does not have.
    entries : tuple of RankedEntry
        The best first.
    friedman_p : float or None
        Of Friedman's test that all are alike; None for fewer than three entries.
    critical_difference : float or None
        Of Nemenyi's test: mean ranks that are less apart may be so by chance (5 %).
    pairs : tuple of EntryPair
        All of them.
    """

    what: str
    instances: tuple[str, ...]
    left_out: tuple[str, ...]
    entries: tuple[RankedEntry, ...]
    friedman_p: float | None
    critical_difference: float | None
    pairs: tuple[EntryPair, ...]


def rankings(rows: Iterable[CheckedRow]) -> list[Ranking]:
    """Rank the entries of rows that were not refused: one table for plans, and one for each set of days.

    Of several seeds of an entry on an instance, the mean counts.
    """
    values: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    late: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows:
        if row.value is not None:
            what = row.days or "plans"
            values[what][row.entry][" ".join(filter(None, (row.instance, row.scenario)))].append(row.value)
            late[what, row.entry] += row.late_days
    found = []
    for what, by_entry in values.items():
        means = {
            entry: {place: math.fsum(each) / len(each) for place, each in places.items()}
            for entry, places in by_entry.items()
        }
        found.append(_ranking(what, means, {entry: late[what, entry] for entry in means}))
    return found


def _ranking(what: str, values: Mapping[str, Mapping[str, float]], late: Mapping[str, int]) -> Ranking:
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    places = [*dict.fromkeys(place for found in values.values() for place in found)]
    common = [place for place in places if all(place in found for found in values.values())]
    names, n = list(values), len(common)
    ranks = dict.fromkeys(names, 0.0)
    for place in common:
        of_place = rankdata([round(values[name][place], 9) for name in names])
        for name, rank in zip(names, of_place, strict=True):
            ranks[name] += float(rank) / n
    order = sorted(names, key=ranks.__getitem__)
    entries = tuple(_ranked(name, values, common, ranks[name], late[name]) for name in order)
    difference, friedman = None, None
    if n >= _LEAST_INSTANCES and len(names) > 1:
        k = len(names)
        width = float(studentized_range.ppf(CONFIDENCE, k, math.inf)) / math.sqrt(2)
        difference = width * math.sqrt(k * (k + 1) / (6 * n))
        if k > 2:
            friedman = float(friedmanchisquare(*([values[name][place] for place in common] for name in names)).pvalue)
    return Ranking(
        what=what,
        instances=tuple(common),
        left_out=tuple(place for place in places if place not in common),
        entries=entries,
        friedman_p=friedman if friedman is None or math.isfinite(friedman) else None,
        critical_difference=difference,
        pairs=_pairs(order, values, common, ranks, difference),
    )


def _ranked(
    name: str, values: Mapping[str, Mapping[str, float]], places: list[str], rank: float, late: int
) -> RankedEntry:
    best = {place: min(found[place] for found in values.values()) for place in places}
    logs = [math.log(values[name][place] / best[place]) for place in places if best[place] > 0]
    above = 100 * math.expm1(math.fsum(logs) / len(logs)) if logs else 0.0
    return RankedEntry(
        name, rank, sum(round(_log_ratio(values[name][p], best[p]), 9) == 0 for p in places), above, late
    )


def _log_ratio(one: float, other: float) -> float:
    """Logarithm of a ratio, rounded so that equal values are ties; of values that are 0, of none."""
    return round(math.log(one / other), 9) if one > 0 and other > 0 else float(one > other) - float(one < other)


def _pairs(
    order: list[str],
    values: Mapping[str, Mapping[str, float]],
    places: list[str],
    ranks: Mapping[str, float],
    difference: float | None,
) -> tuple[EntryPair, ...]:
    from scipy.stats import wilcoxon

    pairs = [(one, other) for number, one in enumerate(order) for other in order[number + 1 :]]
    logs = [[_log_ratio(values[one][place], values[other][place]) for place in places] for one, other in pairs]
    tests = [float(wilcoxon(each).pvalue) if any(each) else 1.0 for each in logs]
    adjusted = holm_adjusted(tests)
    return tuple(
        EntryPair(
            better=one,
            other=other,
            wins=sum(log < 0 for log in each),
            ties=sum(log == 0 for log in each),
            losses=sum(log > 0 for log in each),
            p_value=test if any(each) else None,
            p_holm=holm if any(each) else None,
            apart=difference is not None and abs(ranks[one] - ranks[other]) > difference,
        )
        for (one, other), each, test, holm in zip(pairs, logs, tests, adjusted, strict=True)
    )
