"""Forged traces of all systems, class by class: found by the auditor, refused by the reader, or nothing is forged."""

from __future__ import annotations

import numpy as np
import pytest

from spotbag.audits.auditor import audit
from spotbag.core.errors import SpotbagError
from spotbag.core.text_tables import Table
from spotbag.instances.entries import CLOUD_NAMES
from spotbag.replay.bags.runs import trace_day
from spotbag.traces.files import parse_traces
from tests.helpers.forgeries import CLOUDS, FORGERIES, LABEL, SYSTEMS, Forgery, forge, honest, random_bag, table
from tests.helpers.random_days import Anything, random_cloud, random_cloud_day, random_plan
from tests.helpers.soaks import soak

by_class = pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)


POLICIES = (
    "static",
    "hads",
    "hads+any-thief+idle-60",
    "burst-hads",
    "on-time",
    "burst-hads+idle-60",
    "rescue",
    "on-demand",
)


@soak(120, 20_000)
def test_soak_of_honest_traces(how_many: int) -> None:
    """Bags with memory that binds, burstable VMs and boots, on days with all kinds of events, under all policies."""
    for number in range(how_many):
        rng = np.random.default_rng(number)
        plan = random_plan(random_bag(rng, number), rng)
        assert plan is not None
        cloud = random_cloud(rng) if number % 2 else CLOUD_NAMES[number // 2 % len(CLOUD_NAMES)]
        policy = Anything(number, preempts=True) if number % 3 == 0 else POLICIES[number // 3 % len(POLICIES)]
        try:
            _, trace = trace_day(plan, policy, random_cloud_day(plan.instance, rng), cloud=cloud)
        except SpotbagError:  # a policy that refuses such a plan
            assert policy in ("on-time", "rescue")
            continue
        assert audit(trace, given=plan.instance).findings == (), number


@pytest.mark.parametrize("traces", [slice(12), pytest.param(slice(12, None), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("system", [*SYSTEMS, CLOUDS])
def test_honest_traces_are_correct(system: str, traces: slice) -> None:
    for case in honest(system)[traces]:
        [trace] = parse_traces("\n".join(case.lines), "honest")
        assert audit(trace, given=case.given).findings == ()


@by_class
def test_forged_traces(forgery: Forgery) -> None:
    demand_answers(forgery, 1)


@by_class
@soak(4, 2000)
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
