"""Colours and short labels of jobs in pictures of hybrid platforms: what tells neighbours apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from ...traces.platforms.history import JobSpan


def job_colours(panels: Sequence[Sequence[JobSpan]], n_jobs: int, n_colours: int) -> list[int]:
    """Return the number of the colour of each job, the same in all panels: in turns, but other than its neighbours'.

    Neighbours follow each other in a row, or lie in rows next to each other at the same time. Where they have all
    colours already, one is given twice.
    """
    neighbours: dict[int, set[int]] = defaultdict(set)
    for panel in panels:
        for one, other in _neighbours(panel):
            neighbours[one].add(other)
            neighbours[other].add(one)
    colours: list[int] = []
    for job in range(n_jobs):
        taken = {colours[other] for other in neighbours[job] if other < job}
        turn = [(job + step) % n_colours for step in range(n_colours)]
        colours.append(next((colour for colour in turn if colour not in taken), turn[0]))
    return colours


def _neighbours(spans: Sequence[JobSpan]) -> Iterator[tuple[int, int]]:
    rows: dict[tuple[int, int], list[JobSpan]] = defaultdict(list)
    for span in spans:
        rows[span.resource, span.row].append(span)
    for (resource, row), bars in rows.items():
        beside = [(one, other) for one, other in pairwise(bars)]
        above = [
            (one, other)
            for one in bars
            for other in rows.get((resource, row - 1), ())
            if one.start_s < other.end_s and other.start_s < one.end_s
        ]
        yield from ((one.job, other.job) for one, other in (*beside, *above) if one.job != other.job)


def common_beginning(names: Sequence[str]) -> int:
    """Return the length of the beginning that all names share, up to its last character that is no letter or digit."""
    pairs = zip(min(names), max(names), strict=False)  # all others begin with what these two have in common
    shared = "".join(one for one, other in takewhile(lambda pair: pair[0] == pair[1], pairs))
    found = re.match(r".*[^0-9A-Za-z]", shared, re.DOTALL)
    return found.end() if found and len(names) > 1 else 0


def short_labels(names: Sequence[str]) -> list[str]:
    """Return names without what all of them begin and end with."""
    beginning = common_beginning(names)
    end = common_beginning([name[::-1] for name in names])
    return [_without_ends(name, beginning, end) for name in names]


def _without_ends(name: str, beginning: int, end: int) -> str:
    stated = name[beginning : len(name) - end]
    return f"{'…' if beginning else ''}{stated}{'…' if end else ''}" if stated else name
