"""Forged traces of all systems, class by class: found by the auditor, refused by the reader, or nothing is forged."""

from __future__ import annotations

import pytest
from forgeries import FORGERIES, LABEL, SYSTEMS, Forgery, forge, honest, table
from soaks import soak

from spotbag.audits.auditor import audit
from spotbag.core.tables import Table
from spotbag.traces.files import parse_traces

by_class = pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)


@pytest.mark.parametrize("system", SYSTEMS)
def test_honest_traces_are_correct(system: str) -> None:
    for case in honest(system):
        [trace] = parse_traces("\n".join(case.lines), "honest")
        assert audit(trace, given=case.given).findings == ()


@by_class
def test_forged_traces(forgery: Forgery) -> None:
    demand_answers(forgery, 3)


@by_class
@soak(60, 2000)
def test_soak_of_forged_traces(forgery: Forgery, how_many: int) -> None:
    demand_answers(forgery, how_many, seed=1)


def demand_answers(forgery: Forgery, how_many: int, seed: int = 0) -> None:
    answers = forge(forgery, how_many, seed)
    missed = [(lines[1], lines[2:-1]) for _, lines in answers.missed]
    assert not missed
    assert answers.total == how_many
    if forgery.unseen == LABEL:
        assert answers.refused + answers.with_instance == 0


def test_the_table_has_a_row_for_each_class() -> None:
    results = [(forgery, forge(forgery, 2)) for forgery in FORGERIES[:3]]
    made: Table = table(results)
    assert [row[:2] for row in made.rows] == [(forgery.name, "2") for forgery in FORGERIES[:3]]
