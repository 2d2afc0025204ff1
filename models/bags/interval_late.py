"""The interval model with tasks that may be late: which are, by how much, and the objective, each in its turn.

On top of `interval`, with a deadline in which everything fits; r_v is when VM v is ready, d_i when task i is due:

    late_i                                       task i is late
    s_i + e_ivm + r_v <= L_iv        if present_ivm and not late_i       (L_iv: its latest end there)
    s_i + e_ivm + r_v >= d_i + 1     if present_ivm and late_i           (where L_iv < d_i)
    after_i >= s_i + e_ivm + r_v - d_i           if present_ivm
    min sum_i w_i late_i, then sum_i w_i after_i, then the objective
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from ...core.quantities import FloatArray, at_most
from ...instances.instance import Instance
from ...schedules.lateness import relaxed, value_of
from ...schedules.schedule import Schedule
from ..integer_program import integer_costs
from .interval import IntervalModel
from .interval_places import Place

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Turn: TypeAlias = Literal["weight", "lateness", "objective"]
TURNS: tuple[Turn, ...] = get_args(Turn)
"""Quantities in the order in which they are made least."""


class LateIntervalModel(IntervalModel):
    """The model of an instance whose tasks may be late; see the module.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    """

    order_matters: ClassVar[bool] = True

    def __init__(self, instance: Instance) -> None:
        self.given = instance
        super().__init__(relaxed(instance))

    def _add_constraints(self) -> None:
        super()._add_constraints()
        self.late_tasks_end_after_they_are_due()

    def late_tasks_end_after_they_are_due(self) -> None:
        """Lateness of each task, which ends after it is due, or by its latest end."""
        model, groups = self.model, self.given.task_group
        self.late: dict[int, cp_model.IntVar] = {}
        self.after: dict[int, cp_model.IntVar] = {}
        for task in self.open_tasks:
            group, due_s = int(groups[task]), int(self.given.due_s[groups[task]])
            late = self.late[task] = model.new_bool_var(f"late_{task}")
            # From a state, a task may have been due before now: it can be late by more than the time of the model.
            after = self.after[task] = model.new_int_var(0, self.instance.deadline_s - min(due_s, 0), f"after_{task}")
            for place in self.by_task[task]:
                latest_s = int(self.given.latest_end_s[group, self.vms[place.vm].offer.index])
                end = self.starts[task] + self._seconds_from_start(place)
                if self._seconds_from_start(place) > latest_s:
                    model.add_implication(place.present, late)
                else:
                    model.add(end <= latest_s).only_enforce_if(place.present, ~late)
                if latest_s < due_s:
                    model.add(end >= due_s + 1).only_enforce_if(place.present, late)
                model.add(after >= end - due_s).only_enforce_if(place.present)

    def _seconds_from_start(self, place: Place) -> int:
        """Seconds of a place, after those until its VM is ready."""
        return place.seconds + self.vms[place.vm].kind.ready_s

    def _add_objective(self) -> None:
        """Begin with the weight of the late tasks."""
        self.ask("weight")

    def ask(self, turn: Turn, best: Schedule | None = None) -> None:
        """Make a quantity the objective; what a plan has of those before it is the most of them.

        Parameters
        ----------
        turn : {"weight", "lateness", "objective"}
            The quantity.
        best : Schedule, optional
            The best plan so far, with which the solver begins.
        """
        given, running = self.given, self.given.running
        weights = given.weight[given.task_group]
        # What runs already is late in every plan, by the same.
        held = np.maximum(given.running_end_s - given.due_s[given.task_group[running.task]], 0)
        mine = weights[running.task]
        certain = {"weight": float(mine[held > 0].sum()), "lateness": float(mine @ held)}
        value = None if best is None else value_of(best, given)
        self.model.clear_objective()  # type: ignore[no-untyped-call]
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        if value is not None and turn != "weight":
            # One row a turn is enough: those of earlier turns stay in the model.
            before, reached = ("weight", value.weight) if turn == "lateness" else ("lateness", value.lateness_s)
            total, factor = self._weighted(before, weights)
            self.model.add(total <= math.ceil(at_most(reached - certain[before]) * factor))
        if best is not None:
            self._add_hint(best)
        self.start = best
        if turn == "objective":
            super()._add_objective()
            return
        total, self.factor = self._weighted(turn, weights)
        self.constant = certain[turn]
        self.model.minimize(total)

    def _weighted(self, quantity: str, weights: FloatArray) -> tuple[cp_model.LinearExprT, float]:
        """Weighted sum of the lateness, or of the late tasks, in whole numbers, and the factor of these."""
        variables, most = (self.late, 1) if quantity == "weight" else (self.after, self.instance.deadline_s)
        costs, factor = integer_costs(weights[[*variables]].tolist(), [most] * len(variables), math.inf)
        return sum(cost * variable for cost, variable in zip(costs, variables.values(), strict=True)), factor

    def plan(self, value: Callable[[cp_model.IntVar], int]) -> Schedule:
        """Make the plan of a solution, as one of the instance that was given."""
        return replace(self.schedule(value), instance=self.given)
