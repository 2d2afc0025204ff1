"""The interval model with tasks that may be late: which are, by how much, and the objective, each in its turn.

On top of `interval`, with a deadline in which everything fits; r_v is when VM v is ready, d_i when task i is due:

    late_i                                       task i is late
    s_i + e_ivm + r_v <= L_iv        if present_ivm and not late_i       (L_iv: its latest end there)
    s_i + e_ivm + r_v >= d_i + 1     if present_ivm and late_i           (where L_iv < d_i)
    after_i >= s_i + e_ivm + r_v - d_i           if present_ivm
    min sum_i w_i late_i, then sum_i w_i after_i, then the objective
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from ...instances.instance import Instance
from ...schedules.lateness import relaxed, value_of, weights_and_dues
from ...schedules.schedule import Schedule
from .interval import IntervalModel
from .interval_places import Place

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Turn: TypeAlias = Literal["weight", "lateness", "objective"]
TURNS: tuple[Turn, ...] = get_args(Turn)
"""Quantities in the order in which they are made least."""
_DIGITS = 10**6
"""Denominator of weights in the model, at most."""


class LateIntervalModel(IntervalModel):
    """The model of an instance whose tasks may be late; see the module.

    Parameters
    ----------
    instance : Instance
        With D_spot set.

    Attributes
    ----------
    unit : int
        Weights in the model are so many times as large.
    """

    order_matters: ClassVar[bool] = True

    def __init__(self, instance: Instance) -> None:
        self.given = instance
        weights, self._due_s = weights_and_dues(instance)
        parts = [Fraction(weight).limit_denominator(_DIGITS) for weight in weights.tolist()]
        self.unit = int(np.lcm.reduce([part.denominator for part in parts]))
        self._weight = [int(part * self.unit) for part in parts]
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
            group, due_s = int(groups[task]), int(self._due_s[groups[task]])
            late = self.late[task] = model.new_bool_var(f"late_{task}")
            after = self.after[task] = model.new_int_var(0, self.instance.deadline_s, f"after_{task}")
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
        group = self.given.task_group
        weighted = {"weight": self.late, "lateness": self.after}
        sums = {
            name: sum(self._weight[group[task]] * variable for task, variable in variables.items())
            for name, variables in weighted.items()
        }
        # What runs already is late in every plan, by the same.
        held = np.maximum(self.given.running_end_s - self._due_s[group[self.given.running.task]], 0)
        mine = np.array([self._weight[group[task]] for task in self.given.running.task.tolist()], dtype=np.int64)
        certain = {"weight": int(mine[held > 0].sum()), "lateness": int((mine * held).sum())}
        before = {"weight": [], "lateness": ["weight"], "objective": ["weight", "lateness"]}[turn]
        value = None if best is None else value_of(best, self.given)
        self.model.clear_objective()  # type: ignore[no-untyped-call]
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        if value is not None and before:
            reached = value.weight if before[-1] == "weight" else value.lateness_s
            self.model.add(sums[before[-1]] <= round(reached * self.unit) - certain[before[-1]])
        if best is not None:
            self._add_hint(best)
        self.start = best
        if turn == "objective":
            super()._add_objective()
            return
        self.factor, self.constant = float(self.unit), certain[turn] / self.unit
        self.model.minimize(sums[turn])

    def plan(self, value: Callable[[cp_model.IntVar], int]) -> Schedule:
        """Make the plan of a solution, as one of the instance that was given."""
        return replace(self.schedule(value), instance=self.given)
