"""Days of a plan under policies, as cells of an experiment: the policies of a block share the days."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ...core.limits import LimitReached
from ...heuristics.bags.d_spot import with_d_spot
from ...instances.bags.scenarios import find_scenario
from ...replay.bags.plan import CheckedPlan, checked
from ...replay.bags.policies import KIND
from ...replay.bags.runs import Days, chosen_cloud, outcomes_of, replay_days
from ...schedules.schedule_files import parse_schedule_document, schedule_of_document
from .cells import KEPT, Finished, PlanCell, instance_made_of, key_of, reason_of, where
from .rows import CLAIRVOYANT

_MANY_REPLAYS = 10**9


@dataclass(frozen=True, slots=True, eq=False)
class DaysCell:
    """Days of a plan under a policy, as one cell.

    Attributes
    ----------
    plan : PlanCell
        What makes the plan.
    scenario, cloud, policy : str
        As for ``spotbag replay``; without a cloud, it is that of the scenario or of the instance.
    seed, first_day, n_days : int
        Of the days, and which of them.
    """

    plan: PlanCell
    scenario: str
    cloud: str
    policy: str
    seed: int
    first_day: int
    n_days: int

    @property
    def key(self) -> str:
        """Key of the cell's row."""
        return key_of({"plan": self.plan.key, **self.asked})

    @property
    def asked(self) -> dict[str, Any]:
        """Settings of the policy and its days."""
        asked = {"scenario": self.scenario, "policy": self.policy, "cloud": self.cloud}
        return asked | {"days_seed": self.seed, "first_day": self.first_day, "n_days": self.n_days}

    @property
    def name(self) -> str:
        """Name of the cell on a terminal."""
        return f"{self.plan.name} under {self.policy}"

    def compile(self, plan: str) -> None:
        """Compile the loops of replays, for cells that are each too short for that; policies without any need none."""
        planned = _planned(self.plan.source.made_of, plan)
        scenario = find_scenario(self.scenario)
        cloud = chosen_cloud(self.cloud or None, planned.instance, scenario)
        [make] = KIND.several([self.policy], 0)
        for _ in outcomes_of(planned, make, scenario, range(1), self.seed, cloud, planned=_MANY_REPLAYS):
            pass


@dataclass(frozen=True, slots=True, eq=False)
class DaysBlock:
    """Days of a plan under several policies: days are drawn once, and the plan is prepared once.

    Attributes
    ----------
    cells : tuple of DaysCell
        One for each policy.
    """

    cells: tuple[DaysCell, ...]

    @property
    def plan_key(self) -> str:
        """Key of the plan that is replayed."""
        return self.cells[0].plan.key

    @property
    def kind(self) -> str:
        """Blocks of a kind take about the same time."""
        return " ".join([self.cells[0].plan.source.label, *(cell.policy for cell in self.cells)])

    def run(self, plan: str | None) -> list[Finished]:
        """Replay the days of a plan, the text of a document; what is interrupted is left out."""
        start = time.perf_counter()
        try:
            values = [{"status": "no-plan", "reason": "there is no plan to replay"}] * len(self.cells)
            if plan is not None:
                days = _replayed(self.cells, _planned(self.cells[0].plan.source.made_of, plan))
                if days is None:
                    return []
                values = days
        except LimitReached:
            return []
        except Exception as error:  # whatever goes wrong is a row: the others go on
            if len(self.cells) > 1:  # each by itself: what goes wrong under one policy may go well under another
                return [finished for cell in self.cells for finished in DaysBlock((cell,)).run(plan)]
            values = [{"status": "error", "reason": reason_of(error)}]
        seconds = (time.perf_counter() - start) / len(self.cells)
        return [_finished(cell, row, seconds) for cell, row in zip(self.cells, values, strict=True)]


def blocks_of(cells: Iterable[DaysCell]) -> Iterator[DaysBlock]:
    """Put together cells of the same days, which follow one another."""

    def days(cell: DaysCell) -> tuple[Any, ...]:
        return cell.plan, cell.scenario, cell.cloud, cell.seed, cell.first_day, cell.n_days

    return (DaysBlock(tuple(block)) for _, block in groupby(cells, days))


def _finished(cell: DaysCell, values: dict[str, Any], seconds: float) -> Finished:
    key = cell.key
    about = {
        "cell": key,
        "instance": cell.plan.source.label,
        "method": cell.plan.method,
        "seed": cell.plan.seed,
    }
    row = {**about, **cell.asked, **values, "cell_s": round(seconds, 6), **where()}
    return Finished(key, cell.name, row, None)


def _replayed(cells: Sequence[DaysCell], plan: CheckedPlan) -> list[dict[str, Any]] | None:
    """Replay the days under the policies of all cells; None if that was interrupted."""
    start = time.perf_counter()
    policies = [cell.policy for cell in cells if cell.policy != CLAIRVOYANT]
    # One call for all policies, which then meet the same days.
    days = replay_days(
        plan,
        policies,
        find_scenario(cells[0].scenario),
        cells[0].n_days,
        first_day=cells[0].first_day,
        seed=cells[0].seed,
        cloud=cells[0].cloud or None,
        bounds=len(policies) < len(cells),
    )
    if days.interrupted:
        return None
    seconds = (time.perf_counter() - start) / len(cells)
    return [_values(cell, days, policies, plan.instance.deadline_s, seconds) for cell in cells]


def _values(cell: DaysCell, days: Days, policies: Sequence[str], deadline_s: int, seconds: float) -> dict[str, Any]:
    """Return the figures of the days under the policy of a cell."""
    bounds = cell.policy == CLAIRVOYANT
    outcomes = () if bounds else days.outcomes[policies.index(cell.policy)]
    costs = days.bounds_usd if bounds else [_cost_if_done(day.cost_usd, day.makespan_s) for day in outcomes]
    return {
        "status": "replayed",
        "deadline_s": deadline_s,
        "late_days": None if bounds else sum(not day.meets_deadline for day in outcomes),
        "runtime_s": round(seconds, 6),
        "cost_usd": [None if cost is None else round(cost, 9) for cost in costs],
        "makespan_s": [None] * len(costs) if bounds else [day.makespan_s for day in outcomes],
    }


def _cost_if_done(cost: float, makespan: float | None) -> float | None:
    """Return the cost of a day; none where tasks are left unfinished."""
    return None if makespan is None else cost


@functools.lru_cache(maxsize=KEPT)
def _planned(made_of: tuple[str, str | None, str | None], plan: str) -> CheckedPlan:
    document = parse_schedule_document(plan)
    instance = with_d_spot(instance_made_of(*made_of), made_for_s=document.d_spot_s)
    return checked(schedule_of_document(document, instance))
