"""Durations and shares as people write them."""

from __future__ import annotations

import pytest

from spotbag.core.quantities import duration_s, fraction, number_of, whole_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90min", 5400),
        ("2 hours", 7200),
        ("2hours", 7200),
        ("1 day", 86_400),
        ("1:30:00", 5400),
        ("1h 5 mins 2 sec", 3902),
    ],
)
def test_durations_in_longer_words_and_as_a_clock(text: str, seconds: int) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["1" * 200_000 + "x", "1d" + " " * 200_000 + "x", "1." * 100_000], ids=["digits", "spaces", "points"]
)
def test_a_long_text_that_is_no_number_is_found_out_in_one_pass(text: str) -> None:
    """As many passes as there are characters would take hours."""
    assert number_of(text) is None
    with pytest.raises(ValueError, match="must be a duration"):
        duration_s(text)


def test_a_share_is_a_number_or_a_percentage() -> None:
    assert (fraction("5%"), fraction("0.05"), fraction("0")) == (0.05, 0.05, 0)
    for wrong in ("-1", "x%", "", "nan"):
        with pytest.raises(ValueError, match=r"such as 0\.05 or 5%"):
            fraction(wrong)


def test_a_duration_on_a_clock_is_whole_seconds() -> None:
    assert whole_seconds("01:30:00") == 5400
    with pytest.raises(ValueError, match="whole seconds"):
        whole_seconds("1.5s")
