"""The replay engine: VMs run the tasks of a plan, the cloud takes them away and gives them back, a policy answers."""

from __future__ import annotations

import copy

from ...instances.bags.timeline import QUIET, Timeline
from ...instances.clouds import PAPERS, Cloud
from ...instances.entries import NEVER
from ...instances.instance import Instance
from ..engines import EventLoop
from .interpreted import next_s
from .moments import await_start, step
from .outcome import DayOutcome, outcome_with
from .plan import ReplayPlan, day_table, n_aged
from .rows import DayRow, or_none
from .state import Policy, ReplayState, RulePolicy, answers, require_dates_known

_WAKES_UNTIL = 2
"""Multiple of the deadline, or of the day if that is longer, after which policies are woken no more."""


class Replay(EventLoop[DayOutcome]):
    """A replay: the day, the state that it leads to, and the policy that answers.

    `run` goes through to the end; `step` handles all of one moment, after which the replay may be looked at or copied.

    All that happens in one second happens first: tasks end and start, preempted tasks are saved; prices change;
    capacity is back, VMs resume and are booted again; VMs get ready; VMs have notice; VMs are interrupted. Then the
    policy is asked: about tasks that have finished, prices, capacity, VMs that are back, idle ones, those that have
    notice, those that were interrupted, preempted tasks, migration triggers, ends of allocation cycles, ends of idle
    limits, and its own wake-up calls; each by VM, in the order of requests, and only if it is still so. What a decision
    causes at once, a start or an idle VM, follows at once; all else that it causes in this second comes after these
    questions, in the same order.

    A replay ends with the bag, or when nothing can happen any more. That comes even if a policy always asks for another
    wake-up call: none comes after twice the deadline, or twice the last event of the day if that is later.

    Parameters
    ----------
    plan : ReplayPlan
        The plan; never changed.
    policy : Policy
        Answers to events.
    timeline : Timeline
        The day. What it leaves open is as on the cloud.
    cloud : Cloud
        What interruptions are, and how VMs are billed.
    record : bool
        Whether to keep a record of every event and decision.
    law : optional
        What is known of days like this one, for policies that ask for it.

    Attributes
    ----------
    policy, cloud, day : Policy, Cloud, Timeline
        What it was made with; the day as it is on the cloud.
    state : ReplayState
        What has happened so far: what the policy sees.
    """

    def __init__(
        self,
        plan: ReplayPlan,
        policy: Policy,
        timeline: Timeline = QUIET,
        cloud: Cloud = PAPERS,
        record: bool = False,
        law: object = None,
    ) -> None:
        require_dates_known(policy, plan.instance)
        self.policy = policy
        self.cloud = cloud
        self.day = timeline.resolved(cloud)
        known = law if type(policy).asks_for_law else None
        self.state = state = ReplayState(policy.name, plan, cloud.billing, record, known)
        limit_s = policy.idle_limit_s
        state._demand(limit_s is None or limit_s >= 0, f"idle_limit_s must be 0 or more seconds, not {limit_s}")
        state.policy = policy
        # What is still to come is here, where no policy sees it.
        self._to_come = day_table(plan.tables.names, self.day)
        self._moments_s: list[int] = [*self._to_come["time_s"].tolist(), NEVER]
        self._last_call_s = last_call_s(self.day, plan.instance)
        state.n_aged = state.n_days = state.next_day = n_aged(self._to_come)
        self._day_s = self._moments_s[state.n_days]
        # Of events at the age of VMs nobody knows the time, so that they cannot come with the moments of the day.
        state.days += [DayRow(*event.item()) for event in self._to_come[: state.n_aged]]
        for name, value in policy_options(policy).items():
            setattr(state, name, value)
        await_start(state)

    def copy(self) -> Replay:
        """Return a copy that goes on from here on its own; what never changes is shared."""
        twin = Replay.__new__(Replay)
        twin.__dict__.update(self.__dict__)
        state = self.state
        twin.state = state.copy()
        # References of the policy to this replay become references to its copy; what never changes is not copied.
        shared = (state.plan, state.instance, state.work)
        memo: dict[int, object] = {id(state): twin.state}
        memo |= {id(part): part for part in shared}
        memo |= {id(vm): twin.state.vms[vm.index] for vm in state.vms}
        twin.policy = twin.state.policy = copy.deepcopy(self.policy, memo)
        return twin

    def step(self) -> bool:
        """Handle the events of the next moment, and ask the policy; False if there are none, or the bag is done."""
        state, day_s = self.state, self._day_s
        if day_s < NEVER and day_s <= next_s(state) and state.unfinished:
            n, moments_s = state.n_days, self._moments_s
            while moments_s[n] == day_s:
                state.days.append(DayRow(*self._to_come[n].item()))
                n += 1
            more = n - state.n_days - len(state.priced_now)
            if more > 0:
                state.priced_now += [0] * more
                state.types_now += [0] * (more + len(state.types))
            state.n_days, self._day_s = n, moments_s[n]
        return step(state, day_s, self._last_call_s)

    def outcome(self) -> DayOutcome:
        """Return the outcome of an ended replay."""
        state = self.state
        return outcome_with(state.policy_name, state, state.bills())


def last_call_s(day: Timeline, instance: Instance) -> int:
    """Time until which policies are woken: twice the deadline, or twice the last event of the day if that is later."""
    last_s = day.events[-1].time_s if day.events else 0
    return _WAKES_UNTIL * max(last_s, instance.deadline_s)


def policy_options(policy: Policy) -> dict[str, int]:
    """Return the fields of `Rows` that a policy sets."""
    options = {
        "idle_limit_s": or_none(policy.idle_limit_s),
        "wants_finished": int(answers(policy, "finished")),
        "wants_woken": int(answers(policy, "woken")),
    }
    return options | policy.row_options() if isinstance(policy, RulePolicy) else options
