"""The clairvoyant bound: what no policy can beat on a day, however well it knows the day before.

A policy may rent any VMs within the limits, one after the other, move tasks at will and stop at the deadline D; D_spot
does not bind it. Transfers take no time, hibernated VMs are not billed. What a run has done counts after it as far as
checkpoints save it, of d_g seconds each: on a spot VM one saves no more than the I_g seconds of work after the one
before it, on demand one saves all. The last run of a task needs none for its last such part. So tasks that are cut to
fill cores write a checkpoint wherever they are cut.
Columns k are the offers of both markets (``markets`` restricts the plan, not what may rescue it), with c_k cores (of
burstable VMs without initial credits: those that they keep at full speed for good), memory m_k, price p_k a second,
at most n_k VMs at the same time. They work only while their type is up, between the first readiness and D: U_k seconds.
Let e_gk be the run time of the N_g tasks of group g with memory r_g. N_gh of them are done in way h: the last run on
offer l_h, and b_hk checkpoints on k. Of these x_ghk are done on k, in parts; a_gk is I_g on spot VMs and e_gk on
demand, n_k(t) VMs of k work at t, and w_gk = sum_h e_gk x_ghk + d_g b_hk N_gh. The VMs of a policy that ends by D cost
at least

    min sum_k p_k S_k,   S_k = integral of n_k(t)
    sum_h N_gh = N_g, sum_k x_ghk = N_gh             (all is done)
    e_gk x_ghk <= N_gh (U_k - d_g b_hk)              (a task runs on one core at a time)
    e_gk x_ghk <= N_gh a_gk (b_hk + [k is of l_h])   (what is saved, and the last run)
    c_k S_k >= sum_g w_gk                            (cores)
    m_k S_k >= sum_g r_g w_gk                        (memory)
    n_k(t) <= n_k, and 0 while k is down             (VMs of the offer; no more than tasks, each is on one at a time)
    sum_{k in market} n_k(t) <= n_market             (VMs of the market)

Where a task writes many checkpoints, b_hk need not be a whole number. Nor does it where an offer has two columns, which
have one last part together, and all of U_k for their work.

For multipliers theta >= 0 of the VM seconds, one costs p_k + theta_k, split into a price for its cores and one for its
memory; every task is then done in its cheapest way. That costs F(theta), VM seconds within the limits are worth at most
C(theta), the dearest first in each span between two events, and

    F(theta) - C(theta)

is a lower bound for *any* theta (weak duality). Kelley's cutting planes look for the best; what they miss only makes
the bound weaker. It is evaluated once more at the end, less what rounding, here and in a replay, may have added.

No policy can meet the deadline if the VM types that can run some task are not up for long enough, or if the bound
exceeds the bill of all VMs all the time.

Without checkpoints no work outlives the run that did it, so x_glk = 0 where e_gk > U_k. If a first hour that ends with
an interruption is free, the seconds that can be so are a column of their own, at no price: `rentable_columns`.
VMs that drain work until they are gone; where a price changes, the lowest of the day counts; minima and blocks on bills
are left aside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...bounds.programme import TOLERANCE, LinearRows, maximise_concave, maximise_in_boxes
from ...core.capacities import lower_of, slots_of
from ...core.quantities import NOISE, STEPWISE_ROUNDING, BoolArray, FloatArray
from ...instances.bags.timeline import Timeline
from ...instances.clouds import Billing
from ...instances.entries import LACKING_CREDITS, NEVER, SECONDS_PER_CREDIT, RentalOffer
from ...instances.instance import Instance
from ...models.bags.clairvoyant import (
    Checkpoints,
    RentableTime,
    Tasks,
    do_cheapest,
    limited_groups,
    prices_of_day,
    rentable_columns,
    rentable_time,
)
from ...models.bags.task_classes import effective_cores

_NOISE = 10 * NOISE
"""Replays drop an excess below 1e-9 s when they round up, and count checkpoints in favour of the task by as much: of a
run, which takes a second at least, a few 1e-9 in all. The bound is lowered by more."""

_CREDIT_TOLERANCE = SECONDS_PER_CREDIT * LACKING_CREDITS
"""Replays let a balance of credits fall to -1e-6, which is 6e-5 s of a core at full speed; a run that spends credits
lasts a second at least, so that a VM without initial credits gains no larger fraction of its work."""

_MANY_GROUPS, _LOOKS = 500, 4
"""Groups from which on the search takes checkpoints for a share of the work, and how often it counts them at last."""

_FIRST_BOX, _LAST_BOX, _PRICELESS = 3.0, 1e9, 1e4
"""Largest multipliers, relative to the dearest VM: first; when the search gives up; where prices hardly matter."""

_SIZE = 100.0
"""The tolerances of the solver are absolute: the master programme sees values of about this size."""


@dataclass(frozen=True, slots=True)
class ClairvoyantBound:
    """Bounds of any policy on a day.

    Attributes
    ----------
    cost_usd : float
        Proven lower bound of the cost of every policy that finishes all tasks by the deadline; infinite if none can.
    feasible : bool
        False if it is proved that no policy can; True proves nothing.
    reason : str
        Why not; empty if feasible.
    """

    cost_usd: float
    feasible: bool
    reason: str = ""


def clairvoyant_bound(instance: Instance, timeline: Timeline, billing: Billing | None = None) -> ClairvoyantBound:
    """Bound the cost of any policy on a day from below; see the module.

    Parameters
    ----------
    instance : Instance
        The problem; ``d_spot_s`` and ``markets`` do not matter.
    timeline : Timeline
        The day, on its cloud: `Timeline.resolved`.
    billing : Billing, optional
        With ``first_hour_free``, spot seconds that can be free are. What hibernated VMs are charged is left out, for a
        policy need not keep any.

    Notes
    -----
    For many days of one instance make one `ClairvoyantBounds`.
    """
    return ClairvoyantBounds(instance, billing).bound(timeline)


class ClairvoyantBounds:
    """The clairvoyant bounds of many days of an instance, prepared once.

    Parameters
    ----------
    instance, billing : Instance and Billing
        As for `clairvoyant_bound`.

    Notes
    -----
    The bound of a day depends on nothing but the day: not on those looked at before it.
    """

    def __init__(self, instance: Instance, billing: Billing | None = None) -> None:
        self.instance = instance
        self.columns = rentable_columns(instance, billing)
        offers = [instance.offers[column.offer] for column in self.columns]
        written = np.stack([instance.checkpoint_interval_s, instance.dump_s], axis=1)
        _, checkpoints = np.unique(written, axis=0, return_inverse=True)
        rows = np.concatenate(
            [
                instance.offer_runtime_s[:, [offer.index for offer in offers]],
                instance.memory_kb[:, None],
                checkpoints.reshape(-1, 1),
            ],
            axis=1,
        )
        alike, self._first_group, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        able = alike[:, :-2] < NEVER
        slots, memory_kb = slots_of(alike[:, -2]), lower_of(alike[:, -2])
        interval_s = instance.checkpoint_interval_s[self._first_group] * (1 + _NOISE)
        cores = np.array([_most_cores(offer) for offer in offers])
        sizes_kb = np.array([float(lower_of(offer.memory_kb)) for offer in offers])
        # Elsewhere every task takes as large a part of the cores as of the memory, or larger.
        memory_binds = (able & (memory_kb[:, None] * cores > sizes_kb * slots[:, None])).any(axis=0)
        self._work = Work(
            counts=np.bincount(inverse.reshape(-1), weights=instance.group_size, minlength=len(alike)).astype(float),
            needs=np.array([slots, memory_kb], dtype=float),
            able=able,
            work_s=np.where(able, alike[:, :-2], 1).astype(float),
            checkpoints=Checkpoints(
                dump_s=instance.dump_s[self._first_group],
                interval_s=interval_s,
                offer=np.unique([column.offer for column in self.columns], return_inverse=True)[1],
                spot=np.array([offer.market == "spot" for offer in offers]),
            ),
            prices=np.array([column.price_usd_per_s for column in self.columns]),
            limits=np.array([float(column.limit) for column in self.columns]),
            cores=cores,
            sizes_kb=sizes_kb,
            memory_columns=np.flatnonzero(memory_binds).tolist(),
            groups=limited_groups(instance, self.columns),
        )
        spot = self._work.checkpoints.spot
        least = np.ceil(self._work.work_s / interval_s[:, None]) - 1 if instance.checkpoint is not None else 0.0
        written_s = np.where(spot, least * self._work.checkpoints.dump_s[:, None], 0.0)
        # Seconds that a task takes which is not cut.
        self._whole_s = np.where(able, self._work.work_s + written_s, np.inf)

    def bound(self, timeline: Timeline) -> ClairvoyantBound:
        """Bound the cost of any policy on a day."""
        time = rentable_time(self.instance, self.columns, timeline)
        work, highest = self._work, self._work.prices
        if (time.limits != work.limits).any():
            work = replace(work, limits=time.limits)
        changed = prices_of_day(self.instance, self.columns, timeline)
        if changed is not None:
            # Each VM costs the least of its prices: a bound still.
            work, highest = replace(work, prices=changed[0]), changed[1]
        shares = self._shares(time)
        reason = self._task_without_time(time, shares)
        if reason:
            return ClairvoyantBound(math.inf, False, reason)
        # No policy is billed more for VMs that work than all VMs all the time.
        most_usd = float(highest @ (work.limits * time.up_s)) * (1 + 2 * _NOISE)
        dual = Dual(work, time, shares, time.up_s * (1 + _NOISE))
        theta = dual.maximise(most_usd * (1 + 2 * _NOISE))
        least_usd = dual.proved(theta, _NOISE)
        if least_usd > most_usd:
            return ClairvoyantBound(math.inf, False, self._too_much_work(dual))
        return ClairvoyantBound(max(least_usd, 0.0), True)

    def _shares(self, time: RentableTime) -> FloatArray:
        """Most of a task of each group that each column can do, shape (n_groups, n_columns)."""
        work, offers = self._work, [column.offer for column in self.columns]
        shares: FloatArray = np.where(work.able, np.minimum(time.up_s * (1 + _NOISE) / work.work_s, 1.0), 0.0)
        if self.instance.checkpoint is None:
            # No work outlives the run that did it: a task is done on one VM, in the time that its type is up.
            of_offer_s = np.bincount(offers, weights=time.up_s, minlength=len(self.instance.offers))
            shares[work.work_s > of_offer_s[offers]] = 0.0
        return shares

    def _task_without_time(self, time: RentableTime, shares: FloatArray) -> str:
        """Say which task no policy has the time for; empty if there is none."""
        up_s = time.up_s * (1 + _NOISE)
        doubtful = np.flatnonzero(~(up_s >= self._whole_s).any(axis=1))
        if not len(doubtful):
            return ""
        some_up_s = float(time.span_s[time.up.any(axis=1)].sum())
        # A core second costs 1 everywhere, and memory nothing: the cost of a task is the time that it takes.
        one, needs, prices = np.ones(1), np.array([[1.0], [0.0]]), np.outer([1.0, 0.0], np.ones(len(self.columns)))
        work, written = self._work, self._work.checkpoints
        late = []
        for row in doubtful.tolist():
            line = slice(row, row + 1)
            # The least time is that on the fastest VMs, for as long as each can.
            of_task = Checkpoints(written.dump_s[line], written.interval_s[line], written.offer, written.spot)
            alone = Tasks(one, needs, work.work_s[line], shares[line])
            least_s = do_cheapest(alone, of_task, True, up_s, prices)[0]
            if least_s > some_up_s * (1 + 2 * _NOISE):
                late.append(int(self._first_group[row]))
        if not late:
            return ""
        task = self.instance.tasks[min(late)]
        others = f" ({len(late) - 1} other tasks neither)" if len(late) > 1 else ""
        return (
            f"no policy can finish task {task.id!r} by the deadline of {self.instance.deadline_s} s: the VM types that "
            f"can run it are not up for long enough{others}"
        )

    def _too_much_work(self, dual: Dual) -> str:
        """Name the factor by which there is too much to do."""
        scarcity = dual.scarcity()
        text = f"no policy can finish all tasks by the deadline of {self.instance.deadline_s} s: "
        if not 1.01 <= scarcity < math.inf:
            return text + "the VMs within the limits are not up for long enough"
        return text + f"they need {math.floor(100 * scarcity) / 100:g} times the time that VMs within the limits are up"


def _most_cores(offer: RentalOffer) -> float:
    """Number of cores at full speed for good of a VM, by the tolerances of a replay."""
    # Counting checkpoints may add as much to a run of a second or more; at a low baseline that is no small fraction of
    # what the run has done, so it is added to what a core of a burstable VM does in a second.
    sustained = (effective_cores(offer) + NOISE * offer.vcpus) / (1 - _CREDIT_TOLERANCE)
    return min(float(offer.vcpus), sustained)


@dataclass(frozen=True, slots=True)
class Work:
    """Work to be done on any day, and its needs.

    Attributes
    ----------
    counts : array of float, shape (n_groups,)
        Tasks of each group of tasks that are alike.
    needs : array of float, shape (2, n_groups)
        Cores of one of them, and its memory.
    able, work_s : array of bool and float, shape (n_groups, n_columns)
        Where they can run, and the core seconds of one there, without checkpoints.
    checkpoints : Checkpoints
        What has to be written of tasks that are cut.
    prices, limits, cores, sizes_kb : array of float, shape (n_columns,)
        Of the VMs of each column: price of a second, most at the same time, cores, memory.
    memory_columns : array of int, shape (n_memory,)
        Columns on which memory may bind.
    groups : sequence of (array of float of shape (n_columns,), float)
        Weights of VMs in each limit of several offers that matters, and the most that they weigh together.
    """

    counts: FloatArray
    needs: FloatArray
    able: BoolArray
    work_s: FloatArray
    checkpoints: Checkpoints
    prices: FloatArray
    limits: FloatArray
    cores: FloatArray
    sizes_kb: FloatArray
    memory_columns: Sequence[int]
    groups: Sequence[tuple[FloatArray, float]]


class Dual:
    """The Lagrangian dual of the bound on one day; see the module for what it is the dual of.

    Parameters
    ----------
    work : Work
        What has to be done.
    time : RentableTime
        When VMs can work.
    shares : array of float, shape (n_groups, n_columns)
        Most of a task that each column can do; every task can be done.
    up_s : array of float, shape (n_columns,)
        Seconds that a task can be on each column.

    Notes
    -----
    Multipliers theta, in $ per second: one for the VM seconds of each column; then, for each memory that may bind, the
    part of the price of a VM second that it bears.
    """

    def __init__(self, work: Work, time: RentableTime, shares: FloatArray, up_s: FloatArray) -> None:
        self.work = work
        self.time = time
        self.shares = shares
        self.up_s = up_s
        self.n_columns = len(work.prices)
        self.size = self.n_columns + len(work.memory_columns)
        limited = np.zeros(self.n_columns, dtype=bool)
        for weights, _ in work.groups:
            limited |= weights > 0
        self.supply_s = np.zeros(self.size)
        self.supply_s[: self.n_columns] = np.where(limited, 0.0, work.limits * time.up_s)

    def demand(self, theta: FloatArray, free: bool = False, counted: bool = True) -> tuple[float, FloatArray]:
        """F: what all tasks cost, and its supergradient.

        With ``free`` VMs cost no more than the multipliers; checkpoints that are not ``counted`` are a share of the
        work, and F is less.
        """
        work = self.work
        total = theta[: self.n_columns] if free else work.prices + theta[: self.n_columns]
        for_memory = np.zeros(self.n_columns)
        for_memory[work.memory_columns] = theta[self.n_columns :]
        for_memory = np.minimum(for_memory, total)
        tasks = Tasks(work.counts, work.needs, work.work_s, self.shares)
        prices = np.stack([(total - for_memory) / work.cores, for_memory / work.sizes_kb])
        value, core_s, memory_kb_s = do_cheapest(tasks, work.checkpoints, counted, self.up_s, prices)
        used_s = core_s / work.cores
        return value, np.concatenate([used_s, (memory_kb_s / work.sizes_kb - used_s)[work.memory_columns]])

    def limited(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Greatest worth of the VM seconds of limited groups, and those seconds: VMs dearest for their weight first."""
        used_s = np.zeros(self.size)
        for weights, most in self.work.groups:
            mine = np.flatnonzero(weights)
            ranked = mine[np.argsort(-theta[mine] / weights[mine], kind="stable")]
            need = self.time.up[:, ranked] * (self.work.limits * weights)[ranked]
            taken = np.clip(most - (np.cumsum(need, axis=1) - need), 0.0, need)
            used_s[ranked] = (self.time.span_s @ taken) / weights[ranked]
        return float(theta @ used_s), used_s

    def worth(self, theta: FloatArray) -> float:
        """C: what all VM seconds within the limits are worth."""
        return float(self.supply_s @ theta) + self.limited(theta)[0]

    def proved(self, theta: FloatArray, noise: float) -> float:
        """The bound that multipliers prove, if the work may be less by a fraction ``noise``."""
        return self.demand(theta)[0] * (1 - noise) - self.worth(theta) * (1 + STEPWISE_ROUNDING)

    def scarcity(self) -> float:
        """Least ratio of the time that tasks need to that in which VMs can work, where it is above 1."""
        theta = self._maximise(math.inf, _PRICELESS, _PRICELESS)
        needed, there_is = self.demand(theta, free=True)[0], self.worth(theta)
        return needed / there_is if there_is > 0 else math.inf

    def maximise(self, enough: float) -> FloatArray:
        """Find the best multipliers, or some that prove more than ``enough``."""
        return self._maximise(enough, _FIRST_BOX, _LAST_BOX)

    def _maximise(self, enough: float, box: float, last_box: float) -> FloatArray:
        """Find the best multipliers; to count checkpoints takes long: first they are a share of the work."""
        work = self.work
        per_s = float(work.prices.max()) or 1.0  # a scale: on a day on which VMs cost nothing any will do
        dear = np.zeros(self.size)
        dear[: self.n_columns] = per_s
        per_usd = _SIZE / self.demand(dear, counted=False)[0]
        parts = np.zeros((len(work.memory_columns), self.size))
        rows = np.arange(len(parts))
        parts[rows, work.memory_columns], parts[rows, self.n_columns + rows] = 1.0, -1.0
        supply = LinearRows(np.zeros(1), -self.supply_s[None, :] * per_s * per_usd)
        limits = LinearRows(work.prices[work.memory_columns] / per_s, parts)

        def value(counted: bool, theta: FloatArray) -> tuple[float, FloatArray]:
            demand, slope = self.demand(theta * per_s, counted=counted)
            worth, used_s = self.limited(theta * per_s)
            return (demand - worth) * per_usd, (slope - used_s) * per_s * per_usd

        counted = not work.checkpoints.dump_s.any() or len(work.counts) <= _MANY_GROUPS
        terms = partial(value, counted), supply, limits
        found = maximise_in_boxes(*terms, box, last_box, enough=enough * per_usd)
        if not counted:
            terms = partial(value, True), supply, limits
            found = maximise_concave(*terms, last_box, _LOOKS, TOLERANCE, found.theta)
        return found.theta * per_s
