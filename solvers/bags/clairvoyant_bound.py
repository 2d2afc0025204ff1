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
an interruption is free, the seconds that can be so are a column of their own, at no price: `models.bags.rentable_time`.
VMs that drain work until they are gone; where a price changes, the lowest of the day counts; minima and blocks on bills
are left aside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...core.capacities import lower_of, slots_of
from ...core.quantities import NOISE, FloatArray
from ...instances.bags.timeline import Timeline
from ...instances.clouds import Billing
from ...instances.entries import LACKING_CREDITS, NEVER, SECONDS_PER_CREDIT, RentalOffer
from ...instances.instance import Instance
from ...models.bags.clairvoyant_kernel import Checkpoints, do_cheapest
from ...models.bags.rentable_time import (
    RentableTime,
    limited_groups,
    prices_of_day,
    rentable_columns,
    rentable_time,
)
from ...models.bags.task_classes import effective_cores
from .clairvoyant_dual import Dual, Work

_NOISE = 10 * NOISE
"""Replays drop an excess below 1e-9 s when they round up, and count checkpoints in favour of the task by as much: of a
run, which takes a second at least, a few 1e-9 in all. The bound is lowered by more."""

_CREDIT_TOLERANCE = SECONDS_PER_CREDIT * LACKING_CREDITS
"""Replays let a balance of credits fall to -1e-6, which is 6e-5 s of a core at full speed; a run that spends credits
lasts a second at least, so that a VM without initial credits gains no larger fraction of its work."""


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
        one, needs, every = np.ones(1), np.array([[1.0], [0.0]]), np.ones(len(self.columns))
        work, written = self._work, self._work.checkpoints
        late = []
        for row in doubtful.tolist():
            line = slice(row, row + 1)
            # The least time is that on the fastest VMs, for as long as each can.
            of_task = Checkpoints(written.dump_s[line], written.interval_s[line], written.offer, written.spot)
            least_s = do_cheapest(one, work.work_s[line], shares[line], needs, of_task, True, up_s, every, 0 * every)[0]
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
