"""All that plans from a state, for bags that have hardly more time than they need, against all plans of them."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from tests.helpers.soaks import soak_of, some
from tests.helpers.tight_answers import wrong_answers
from tests.helpers.tiny_states import tight_bag


@pytest.mark.parametrize("seed", some([16, 25, 5005, 39, 79, 1375, 103768, 302441], fast=1))
def test_no_answer_for_a_tight_bag_is_wrong(seed: int) -> None:
    assert list(wrong_answers(tight_bag(seed))) == []


@soak_of(st.integers(0, 10**9), sample=10, whole=5000)
def test_no_answer_for_thousands_of_tight_bags_is_wrong(seed: int) -> None:
    assert list(wrong_answers(tight_bag(seed))) == []
