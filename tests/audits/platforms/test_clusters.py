"""The auditor's minutes of a cluster, against handing out processors one minute after the other."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from spotbag.audits.platforms.books import ClusterFacts, Minutes


def processors_in(facts: ClusterFacts, minute: int) -> int:
    """Processors in a minute: those of the last step before it."""
    if facts.repeat is not None:
        minute %= facts.repeat
    return [n for start, n in zip(facts.from_minute, facts.processors, strict=True) if start <= minute][-1]


@st.composite
def clusters(draw: st.DrawFn) -> ClusterFacts:
    starts = (0, *sorted(draw(st.sets(st.integers(1, 12), max_size=4))))
    processors = [draw(st.integers(0, 4)) for _ in starts]
    if draw(st.booleans()):
        processors[draw(st.integers(0, len(starts) - 1))] += 1
        return ClusterFacts("c", Fraction(0), starts, tuple(processors), starts[-1] + draw(st.integers(1, 5)))
    processors[-1] += 1
    return ClusterFacts("c", Fraction(0), starts, tuple(processors))


@given(clusters(), st.lists(st.tuples(st.integers(0, 900), st.integers(1, 60)), min_size=1, max_size=6))
def test_minutes(facts: ClusterFacts, jobs: list[tuple[int, int]]) -> None:
    minutes = Minutes(facts, 0, facts.stretch(0)[0])
    minute, left = 0, processors_in(facts, 0)
    now_s = 0
    for wait_s, work in jobs:
        now_s += wait_s
        minutes.from_time(now_s)
        while minute * 60 < now_s:
            minute += 1
            left = processors_in(facts, minute)
        first = None
        for _ in range(work):
            while left == 0:
                minute += 1
                left = processors_in(facts, minute)
            first = minute if first is None else first
            left -= 1
        assert minutes.first() == first
        assert minutes.hand_out(work) == 60 * (minute + 1)


@given(clusters())
def test_stretches(facts: ClusterFacts) -> None:
    minute = 0
    while minute < 60:
        processors, until = facts.stretch(minute)
        end = 60 if until is None else until
        assert end > minute
        assert {processors_in(facts, each) for each in range(minute, end)} == {processors}
        minute = end
