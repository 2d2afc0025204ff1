"""What is said of plans that survive, against all plans of tiny bags."""

from __future__ import annotations

import pytest

from spotbag.instances.entries import SurvivalLevel
from spotbag.instances.instance import Instance
from tests.helpers.soaks import soak, some
from tests.helpers.surviving_plans import EXACT, surviving_bag, wrong_survival_answers
from tests.helpers.tiny_instances import FAMILIES


def _level(seed: int) -> SurvivalLevel:
    return "one-type" if seed % 2 == 0 else "blackout"


def _bag(seed: int, family: str) -> Instance:
    return surviving_bag(seed, family, setups=seed % 3 == 1)


@pytest.mark.parametrize("family", [*FAMILIES, "minutes"])
@pytest.mark.parametrize(
    "seed", [*some([*range(3, 6)], fast=1), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(6, 12))]
)
def test_no_answer_about_plans_that_survive_is_wrong(family: str, seed: int) -> None:
    assert list(wrong_survival_answers(_bag(seed, family), _level(seed))) == []


@pytest.mark.slow
@pytest.mark.parametrize("family", ["markets", "minutes"])
def test_no_answer_about_plans_that_survive_with_setups_is_wrong(family: str) -> None:
    assert list(wrong_survival_answers(_bag(13, family), _level(13))) == []


@soak(sample=1, whole=300)
def test_no_answer_about_plans_of_tasks_with_dates_that_survive_is_wrong(how_many: int) -> None:
    for seed in range(how_many):
        for family in (*FAMILIES, "minutes"):
            dated = surviving_bag(seed, family, setups=seed % 4 == 0, dates=True)
            assert list(wrong_survival_answers(dated, _level(seed), ("search", "interval"))) == [], (seed, family)


@pytest.mark.parametrize("family", [*FAMILIES, "minutes"])
@soak(sample=3, whole=2000)
def test_no_answer_about_thousands_of_plans_that_survive_is_wrong(family: str, how_many: int) -> None:
    faults = {
        seed: found
        for seed in range(1000, 1000 + how_many)
        if (found := list(wrong_survival_answers(_bag(seed, family), _level(seed))))
    }
    assert faults == {}


@pytest.mark.parametrize("family", [*FAMILIES, "minutes"])
@soak(sample=1, whole=500)
def test_no_proof_about_hundreds_of_plans_that_survive_is_wrong(family: str, how_many: int) -> None:
    faults = {
        seed: found
        for seed in range(5000, 5000 + how_many)
        if (found := list(wrong_survival_answers(_bag(seed, family), _level(seed), EXACT)))
    }
    assert faults == {}
