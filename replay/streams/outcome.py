"""Outcome of the replay of a stream."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.bill import Bill, billed_s, session_usd
from ...core.quantities import ExactSeconds, plain
from ...instances.streams.stream import bills_of
from ...traces.trace import Trace, document_sha256
from ..engines import VmBill
from .state import JobProgress, StreamState, StreamVm


@dataclass(frozen=True, slots=True)
class StreamOutcome:
    """Outcome of a stream under a policy.

    Attributes
    ----------
    policy : str
        The policy.
    seed : int
        Of the run times.
    cost_usd : float
        Price of all blocks.
    makespan_s : float or None
        End of the last task, since the first arrival; None if tasks are left unfinished.
    n_tasks, late_tasks, unfinished_tasks : int
        Tasks of all jobs; those that finished after the deadline of their job; those that never finished.
    late_s : float
        Seconds by which tasks were late, summed: the *under-utilisation* of Thai et al., section 6.3.
    idle_s : float
        Seconds in which VMs were ready and ran no task, summed: their *over-utilisation*.
    busy_s : float
        Seconds in which VMs ran tasks, summed.
    blocks : dict of str to int
        Blocks that are paid, by VM type.
    suspensions, returns : int
        Tasks stopped while they ran; tasks taken from the VM they waited for.
    jobs : tuple of JobProgress
        Of each job, in the order of submission.
    bills : tuple of VmBill
        Bill of each VM; rented from its request on.
    events : int
        Events handled, for measuring the engine.
    policy_counts : dict of str to float
        What the policy counts beyond this, by name; see `StreamPolicy.counts`.
    """

    policy: str
    seed: int
    cost_usd: float
    makespan_s: float | None
    n_tasks: int
    late_tasks: int
    unfinished_tasks: int
    late_s: float
    idle_s: float
    busy_s: float
    blocks: dict[str, int]
    suspensions: int
    returns: int
    jobs: tuple[JobProgress, ...]
    bills: tuple[VmBill, ...]
    events: int
    policy_counts: dict[str, float]

    @property
    def violation_cost_usd(self) -> float | None:
        """Cost of a task in time, for each that is not (Thai et al., eq. 7 and 8); None if no task is in time."""
        return violation_cost_usd(self.cost_usd, self.late_tasks + self.unfinished_tasks, self.n_tasks)


def violation_cost_usd(cost_usd: float, late_tasks: float, n_tasks: int) -> float | None:
    """Return ``cost / tasks in time * late tasks`` (Thai et al., eq. 7 and 8); None if no task is in time."""
    in_time = n_tasks - late_tasks
    return cost_usd / in_time * late_tasks if in_time > 0 else None


def stream_outcome(state: StreamState, policy_counts: Mapping[str, ExactSeconds]) -> StreamOutcome:
    """Return the outcome of an ended replay, with the counts of the policy itself."""
    of_types = bills_of(state.stream)
    bills = tuple(_bill(of_types[vm.type_index], vm) for vm in state.vms)
    blocks = dict.fromkeys(state.stream.type_names, 0)
    for vm in state.vms:
        # Billed are whole blocks, so that this is a whole number of them.
        seconds = billed_s(of_types[vm.type_index], vm.terminated_s - vm.requested_s)
        blocks[vm.offer.vm_type.name] += seconds // state.stream.block_s
    jobs = tuple(job.in_outcomes() for job in state.progress)
    busy_s = sum(vm.busy_s for vm in state.vms)
    return StreamOutcome(
        policy=state.policy_name,
        seed=state.sampled.seed,
        cost_usd=math.fsum(bill.cost_usd for bill in bills),
        makespan_s=None if state.unfinished else plain(max(job.last_finish_s for job in state.progress)),
        n_tasks=len(state.job_of),
        late_tasks=sum(job.late_tasks for job in jobs),
        unfinished_tasks=state.unfinished,
        late_s=plain(sum(job.late_s for job in state.progress)),
        idle_s=plain(sum(max(vm.terminated_s - vm.ready_s, 0) for vm in state.vms) - busy_s),
        busy_s=plain(busy_s),
        blocks=blocks,
        suspensions=state.counts["suspensions"],
        returns=state.counts["returns"],
        jobs=jobs,
        bills=bills,
        events=state.counts["events"],
        policy_counts={name: plain(count) for name, count in policy_counts.items()},
    )


def _bill(bill: Bill, vm: StreamVm) -> VmBill:
    offer, cost = vm.offer, session_usd(bill, vm.terminated_s - vm.requested_s)
    since_s, until_s = plain(vm.requested_s), plain(vm.terminated_s)
    return VmBill(vm.name, offer.vm_type.name, offer.market, since_s, until_s, 0, cost)


def stream_trace(state: StreamState, outcome: StreamOutcome) -> Trace:
    """Return the trace of an ended replay that was made with ``record=True``."""
    assert state.records is not None, "the replay keeps no record"
    stream = state.stream
    run: dict[str, Any] = {
        "record": "run",
        "policy": state.policy_name,
        "seed": state.sampled.seed,
        "stream": {"name": stream.name, "sha256": document_sha256(stream.to_document())},
        "billing": {"block_s": stream.block_s, "from_request": True},
        "jobs": [
            {
                "id": job.id,
                "application": job.application,
                "submitted_s": job.submitted_s,
                "deadline_s": job.deadline_s,
                "n_tasks": job.n_tasks,
            }
            for job in state.jobs
        ],
    }
    end: dict[str, Any] = {
        "record": "end",
        "t": plain(state.now_s),
        "cost_usd": outcome.cost_usd,
        "makespan_s": outcome.makespan_s,
        "finished": outcome.n_tasks - outcome.unfinished_tasks,
        "late_tasks": outcome.late_tasks,
        "unfinished": state.unfinished_ids(),
        "on_demand_started": len(state.vms),
        "late_s": outcome.late_s,
        "idle_s": outcome.idle_s,
        "blocks": outcome.blocks,
        "suspensions": outcome.suspensions,
        "returns": outcome.returns,
    }
    return Trace(state.sampled.instance.to_document(), run, state.records, end)
