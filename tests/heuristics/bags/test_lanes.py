"""Plans in lanes: the moment by which they end, and the clock."""

from __future__ import annotations

import pytest

from spotbag.core.limits import LimitReached, within
from spotbag.heuristics.bags import lanes
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.lanes import first_plan, lanes_plan
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.library import library_instance
from spotbag.schedules.schedule import Schedule


@pytest.mark.parametrize(
    ("name", "objective"), [("burst-hads/J60", 0.3), ("burst-hads/J100", 0.33), ("memory/m20", 0.316)]
)
def test_the_moment_by_which_a_plan_ends_is_searched_and_not_one_of_six(name: str, objective: float) -> None:
    # Six moments in equal ratios gave 0.306, 0.367 and 0.3165.
    plan = lanes_plan(with_d_spot(library_instance(name)))
    assert plan is not None
    assert plan.objective < objective


def test_a_first_plan_of_many_tasks_without_lanes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # The greedy took 100 s of a limit of 10 for 100,000 tasks where memory binds: a question whose answer few needed.
    def none(*arguments: object) -> Schedule | None:
        return None

    monkeypatch.setattr(lanes, "lanes_plan", none)
    instance = with_d_spot(generate_instance(3_001, seed=1))
    with pytest.raises(LimitReached), within(0.0):
        first_plan(instance)
    with within(0.0):
        assert first_plan(with_d_spot(library_instance("memory/m20"))).schedule is not None
