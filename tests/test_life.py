"""Bags that are carried out by somebody else: planned anew after each event, and checked under their states."""

from __future__ import annotations

import pytest

from tests.helpers.life import live
from tests.helpers.soaks import soak, some


@pytest.mark.parametrize("seed", some(range(3), fast=1))
def test_a_life_is_planned_anew_after_each_event(seed: int) -> None:
    life = live(seed, 40)
    assert life.statuses["feasible"] + life.statuses["optimal"] > 10


@soak(sample=1, whole=200)
def test_whole_lives_are_planned_anew_after_each_event(how_many: int) -> None:
    for seed in range(how_many):
        live(seed, 400)
