"""A bound that knows which tasks fit a VM together: the divisible bound with the weightings of `simultaneous_tasks`.

The linear programme of `divisible_bound`, solved over one set of columns for each offer, with rows

    capacity S_k >= sum_i weight_i e_ik x_ik        (for each weighting of offer k)

that are generated where its solution breaks them. What is handed out is not what the solver says: the bound is worked
out again from the duals, which are first made feasible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.limits import LimitReached, checkpoint
from ...core.linear_programs import run_linear_program
from ...core.quantities import BoolArray, FloatArray, IntArray
from ...instances.durations import FULL_SPEED
from ...instances.instance import Instance
from ...schedules.evaluation import objective_weights
from .divisible_bound import DivisibleBound, divisible_bound
from .simultaneous_tasks import VmRoom, Weighting
from .vm_limits import effective_cores, least_work_s

_MAX_ROUNDS = 25
_MAX_COLUMNS = 4_000
_LEAST_VIOLATION = 1e-4
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class ConfigurationBound:
    """A proven lower bound, the cuts that prove it, and what it rules out.

    Attributes
    ----------
    objective : float
        Lower bound of the objective; infinite if the instance is proved infeasible.
    makespan_s : int
        Lower bound of the makespan.
    weightings : dict of int to tuple of Weighting
        Cuts of each offer, by its index in ``instance.offers``.
    proofs : tuple of _Proof
        Multipliers, from which `barred` and `latest_makespan_s` follow.
    """

    objective: float
    makespan_s: int
    weightings: dict[int, tuple[Weighting, ...]]
    proofs: tuple[_Proof, ...]

    def barred(self, instance: Instance, objective: float) -> BoolArray:
        """Offers that no plan below an objective uses for a group, shape (n_groups, n_offers): reduced costs."""
        result = np.zeros((len(instance.tasks), len(instance.offers)), dtype=bool)
        for proof in self.proofs:
            spare = objective - proof.value + proof.margin + _ROUNDING * abs(objective)
            with np.errstate(invalid="ignore"):
                result[:, proof.offers] |= proof.prices - proof.prices.min(axis=1)[:, None] > spare
        return result

    def latest_makespan_s(self, instance: Instance, objective: float) -> int:
        """Makespan that no plan below an objective exceeds."""
        latest = instance.deadline_s
        for proof in self.proofs:
            if proof.slope > _ROUNDING:
                rest = proof.value - proof.slope * self.makespan_s  # without the makespan
                spare = objective - rest + proof.margin + _ROUNDING * abs(objective)
                latest = min(latest, math.floor(spare / proof.slope))
        return max(latest, self.makespan_s)


@dataclass(frozen=True, slots=True)
class _Proof:
    """Multipliers of the linear programme: the objective is at least ``value``, and more for what they make dear.

    Attributes
    ----------
    value : float
        Lower bound.
    margin : float
        What rounding may have added to it.
    slope : float
        What each second of makespan after the least adds to it, if positive.
    offers : array of int
        Columns of the prices.
    prices : array, shape (n_groups, n_columns)
        Price of a task of each group on each offer; infinite where it cannot run.
    """

    value: float
    margin: float
    slope: float
    offers: IntArray
    prices: FloatArray


def configuration_bound(instance: Instance) -> ConfigurationBound:
    """Compute the bound of an instance with D_spot set; see the module.

    Too large a bag gets the divisible bound and no cuts, and so does one with machines.
    """
    divisible = divisible_bound(instance)
    too_large = len(instance.tasks) * len(divisible.offers) > _MAX_COLUMNS
    if instance.machines or math.isinf(divisible.objective) or too_large:
        return ConfigurationBound(divisible.objective, divisible.makespan_s, {}, ())
    found: list[_Proof] = []
    extra: dict[int, list[Weighting]] = {}
    try:
        programme = _Programme(instance, divisible)
        extra = programme.extra
        for prove in (programme.solve_with_cuts, programme.solve_cost_only):
            proof = prove()
            if proof is not None:
                found.append(proof)
    except LimitReached:  # what was proved until then holds
        pass
    values = [proof.value - proof.margin for proof in found]
    weightings = {offer: tuple(cuts) for offer, cuts in extra.items() if cuts}
    return ConfigurationBound(max([divisible.objective, *values]), divisible.makespan_s, weightings, tuple(found))


def vm_room(instance: Instance, offer_index: int, usable: BoolArray) -> VmRoom:
    """A VM of an offer, and the groups that may use it, shape (n_groups,)."""
    offer = instance.offers[offer_index]
    copies = np.where(usable, instance.open_size, 0)
    return VmRoom(offer.vcpus, offer.memory_kb, instance.memory_kb, copies)


class _Programme:
    """The linear programme. Columns: makespan, VM seconds of each offer, tasks of each group on each offer."""

    def __init__(self, instance: Instance, divisible: DivisibleBound) -> None:
        import highspy

        self.instance = instance
        self.ready = instance.boot_overhead_s
        self.least_s = divisible.makespan_s - self.ready
        self.most_s = instance.deadline_s - self.ready
        self.cost_weight, self.time_weight = objective_weights(instance)
        self.offers = [instance.offers[index] for index in divisible.offers.tolist()]
        self.counts = instance.group_size.astype(float)
        self.work, self.able = self._work()
        self.price = self.cost_weight * np.array([offer.price_usd_per_s for offer in self.offers])
        self.vms = [float(min(offer.limit, instance.n_tasks)) for offer in self.offers]
        self.cuts: list[tuple[int, FloatArray, float]] = []  # column, weights, capacity
        self.extra: dict[int, list[Weighting]] = {offer.index: [] for offer in self.offers}
        self.solver = highspy.Highs()
        self.solver.setOptionValue("output_flag", False)
        self.solver.setOptionValue("threads", 1)
        self._build()

    def _work(self) -> tuple[FloatArray, BoolArray]:
        """Least seconds of work of each group on each offer, shape (n_groups, n_used), and where it can run."""
        indices = [offer.index for offer in self.offers]
        seconds = self.instance.duration_s[:, indices, FULL_SPEED]
        able = np.zeros(seconds.shape, dtype=bool)
        work = np.zeros(seconds.shape)
        for k, offer in enumerate(self.offers):
            able[:, k] = seconds[:, k] <= self.instance.time_limit_s(offer.market) - self.ready
            work[:, k] = np.where(able[:, k], least_work_s(self.instance, offer), 0)
        return work, able

    def _build(self) -> None:
        """Columns, the tasks' parts, the limits of VMs and markets, and the plain cuts for cores and memory."""
        infinity = _infinity()
        n_groups, n_offers = len(self.counts), len(self.offers)
        self.solver.addVar(float(self.least_s), float(max(self.most_s, self.least_s)))
        self.solver.changeColCost(0, self.time_weight)
        for k in range(n_offers):
            self.solver.addVar(0.0, infinity)
            self.solver.changeColCost(1 + k, float(self.price[k]))
        for k in range(n_offers):
            for group in range(n_groups):
                self.solver.addVar(0.0, float(self.counts[group]) if self.able[group, k] else 0.0)
        for group in range(n_groups):
            checkpoint()
            members = np.array([self._column(k, group) for k in range(n_offers)], dtype=np.int32)
            self.solver.addRow(float(self.counts[group]), infinity, n_offers, members, np.ones(n_offers))
        # Rows with the makespan: members, coefficient of the makespan.
        self.time_rows: list[tuple[list[int], float]] = [([k], self.vms[k]) for k in range(n_offers)]
        for market in self.instance.markets:
            cap = self.instance.limits.of(market)
            if cap is not None:
                self.time_rows.append(([k for k, o in enumerate(self.offers) if o.market == market], float(cap)))
        for offers, number in self.time_rows:
            columns = np.array([0, *(1 + k for k in offers)], dtype=np.int32)
            self.solver.addRow(0.0, infinity, len(columns), columns, np.array([number, *(-1.0 for _ in offers)]))
        for k, offer in enumerate(self.offers):
            self._add_cut(k, np.ones(n_groups), effective_cores(offer))
            self._add_cut(k, self.instance.memory_kb / offer.memory_kb, 1.0)

    def _column(self, k: int, group: int) -> int:
        return 1 + len(self.offers) + k * len(self.counts) + group

    def _add_cut(self, k: int, weights: FloatArray, capacity: float) -> None:
        groups = np.flatnonzero(self.able[:, k] & (weights > 0))
        columns = np.array([1 + k, *(self._column(k, int(g)) for g in groups)], dtype=np.int32)
        values = np.concatenate([[capacity], -weights[groups] * self.work[groups, k]])
        self.solver.addRow(0.0, _infinity(), len(columns), columns, values)
        self.cuts.append((k, weights, capacity))

    def solve_with_cuts(self) -> _Proof | None:
        """Add the strongest weightings until the solution keeps them all."""
        rooms = [vm_room(self.instance, offer.index, self.able[:, k]) for k, offer in enumerate(self.offers)]
        for _ in range(_MAX_ROUNDS):
            values = self._run()
            if values is None:
                return None
            added = [self._separate(k, rooms[k], values) for k in range(len(self.offers))]
            if not any(added):
                break
        return self._proof() if self._run() is not None else None

    def _separate(self, k: int, room: VmRoom, values: FloatArray) -> bool:
        """Add the weighting of an offer that the solution breaks most; whether there is one."""
        checkpoint()
        offer = self.offers[k]
        if offer.burstable or room.memory_never_binds():
            return False
        first = self._column(k, 0)
        work = values[first : first + len(self.counts)] * self.work[:, k]
        found = room.strongest_weighting(work)
        if found is None or work @ found.weights <= found.capacity * values[1 + k] * (1 + _LEAST_VIOLATION) + 1e-9:
            return False
        self._add_cut(k, found.weights / found.capacity, 1.0)
        self.extra[offer.index].append(found)
        return True

    def solve_cost_only(self) -> _Proof | None:
        """Least cost whatever the makespan: it says how late a good plan may end."""
        self.solver.changeColCost(0, 0.0)
        return self._proof() if self._run() is not None else None

    def _run(self) -> FloatArray | None:
        import highspy

        run_linear_program(self.solver)
        if self.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.array(self.solver.getSolution().col_value)

    def _proof(self) -> _Proof:
        """Lagrangian of the duals, made feasible: no VM second may be worth more than it costs."""
        duals = np.maximum(np.array(self.solver.getSolution().row_dual), 0.0)
        n_groups, n_offers = len(self.counts), len(self.offers)
        of_time = duals[n_groups : n_groups + len(self.time_rows)]
        of_cuts = duals[n_groups + len(self.time_rows) :]
        total = self.price.copy()
        for (members, _), value in zip(self.time_rows, of_time, strict=True):
            total[members] += value
        worth = np.zeros(n_offers)
        for (k, _, capacity), value in zip(self.cuts, of_cuts, strict=True):
            worth[k] += value * capacity
        shrink = np.where(worth > total, total / np.where(worth > 0, worth, 1.0), 1.0)
        prices = np.zeros((n_groups, n_offers))
        for (k, weights, _), value in zip(self.cuts, of_cuts, strict=True):
            prices[:, k] += value * shrink[k] * weights * self.work[:, k]
        prices = np.where(self.able, prices, np.inf)
        used_up = sum(value * number for (_, number), value in zip(self.time_rows, of_time, strict=True))
        # The proof is one of the whole objective, also if the multipliers come from the cost alone.
        slope = self.time_weight - used_up
        moment = self.least_s if slope >= 0 else self.most_s
        tasks = float(self.counts @ prices.min(axis=1))
        value = tasks + slope * moment + self.time_weight * self.ready
        margin = _ROUNDING * (tasks + (self.time_weight + used_up) * moment + self.time_weight * self.ready)
        offers = np.array([offer.index for offer in self.offers], dtype=np.int64)
        return _Proof(value, margin, slope, offers, prices)


def _infinity() -> float:
    import highspy

    return float(highspy.kHighsInf)
