"""What policies of one's own may do with what they are given: keep it, copy it, hand it on, ask for what is far off."""

from __future__ import annotations

import copy
import math
import pickle
from functools import partial
from typing import Any

import pytest

from spotbag.core.errors import SpotbagError
from spotbag.instances.bags.timeline import QUIET, Timeline, TimelineEvent
from spotbag.instances.clouds import PAPERS
from spotbag.replay.bags.compiled_engine import CompiledReplays
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import ReplayPlan, Run, replay_plan
from spotbag.replay.bags.policies import BurstHads, Hads, Static, find_policy
from spotbag.replay.bags.state import Policy, ReplayState, Vm
from tests.helpers.tiny_days import CHECKPOINTS, bag, day, plan, vm_type


def two_vms(**fields: Any) -> ReplayPlan:
    """``x`` for 50 s and ``y`` for 60 s behind it on the first VM, ``z`` for 30 s on the second."""
    instance = bag({"x": {"a": 50}, "y": {"a": 60}, "z": {"a": 30}}, [vm_type("a")], **fields)
    return replay_plan(plan(instance, ["a spot", "a spot"], {"x": (0, 0, 0), "y": (0, 0, 50), "z": (1, 0, 0)}))


def at_hibernation() -> Replay:
    """The day at 20 s, when both VMs hibernate that are back at 100 s."""
    replay = Replay(two_vms(), Static(), day(a=[20, 100]))
    while replay.state.now_s < 20:
        replay.step()
    return replay


class Keeps(Policy):
    """Keeps the VMs that it has been asked about."""

    name = "keeps"

    def __init__(self) -> None:
        self.vms: list[Vm] = []

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        self.vms.append(vm)


def demand_as_at_20_s(vm: Vm) -> None:
    assert vm.sessions == [(0, 20, True)]
    assert vm.running == [Run(0, 50, 0, 0)]
    assert [list(queue) for queue in vm.waiting] == [[Run(50, 110, 1, 0)]]
    assert vm.tasks() == [0, 1]
    assert vm.timeline(20, None).earliest_start_s(1, 5) == 110  # type: ignore[arg-type]
    assert not vm.executing


def test_vms_that_a_policy_keeps_outlive_the_replay() -> None:
    policy = Keeps()
    Replay(two_vms(), policy, day(a=[20])).run()
    demand_as_at_20_s(policy.vms[0])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda whole: pickle.loads(pickle.dumps(whole))])
def test_copies_of_vms_states_and_replays_stay_as_they_are(copied: Any) -> None:
    """While the replay itself goes on: both VMs resume at 100 s, and ``y`` ends at 110 + 80 s."""
    replay = at_hibernation()
    vm, state, other = copied(replay.state.vms[0]), copied(replay.state), copied(replay)
    outcome = replay.run()
    assert outcome.makespan_s == 190
    demand_as_at_20_s(vm)
    demand_as_at_20_s(state.vms[0])
    assert state.remaining().time_s == 20
    assert other.run() == outcome


class Passes(Policy):
    """Passes all questions on to another policy."""

    name = "hads"

    def __init__(self, other: Policy) -> None:
        self.other = other

    def __getattribute__(self, name: str) -> Any:
        if name in vars(Policy) and callable(vars(Policy)[name]) and not name.startswith("_"):
            return getattr(object.__getattribute__(self, "other"), name)
        return object.__getattribute__(self, name)


@pytest.mark.parametrize("options", [{}, {"spare_time": "spot"}, {"recompute": False}, {"thieves": "all"}])
@pytest.mark.parametrize("moments", [[20], [5, 60], [0], [55, 100]])
def test_a_policy_that_another_hands_its_questions_to_keeps_its_options(
    moments: list[int], options: dict[str, Any]
) -> None:
    plan, records = two_vms(), []
    for policy in (Hads(**options), Passes(Hads(**options))):
        replay = Replay(plan, policy, day(a=moments), record=True)
        replay.run()
        records.append(replay.state.records)
    assert records[0] == records[1]


def test_a_policy_may_change_its_idle_limit() -> None:
    """The second VM is idle at 30 s: it is asked about 7 s later, not at the end of its cycle of 100 s."""

    class Changes(Policy):
        name = "changes"

        def idle(self, replay: ReplayState, vm: Vm) -> None:
            self.idle_limit_s = 7

        def cycle_ended(self, replay: ReplayState, vm: Vm) -> None:
            replay.terminate(vm)

    replay = Replay(two_vms(), Changes())
    replay.run()
    assert [vm.terminated_s for vm in replay.state.vms] == [110, 37]


@pytest.mark.parametrize("time_s", [2**61, 2**61 + 5, 2**62, math.inf])
def test_what_is_asked_for_at_the_end_of_time_never_comes(time_s: int) -> None:
    """With a VM that never comes back, there is nothing else to come."""

    class Waits(Policy):
        name = "waits"

        def woken(self, replay: ReplayState) -> None:
            replay.wake_at(time_s)

        def hibernated(self, replay: ReplayState, vm: Vm) -> None:
            replay.set_trigger(vm, time_s)

    replay = Replay(two_vms(), Waits(), day(a=[20]))
    for _ in range(100):
        if not replay.step():
            break
    assert replay.outcome().unfinished_tasks == 3
    assert replay.state.now_s == 20


@pytest.mark.parametrize("policy", ["hads", "static"])
def test_a_day_of_types_that_the_bag_does_not_have(policy: str) -> None:
    """Scenarios of one's own may have them: they are nothing to it, in either back end."""
    events = (
        TimelineEvent(5, "b", "hibernate"),
        TimelineEvent(6, "b", "price", market="spot", usd_per_hour=1.0),
        TimelineEvent(7, "b", "capacity", vms=0, by="stop"),
    )
    ready = two_vms()
    quiet = Replay(ready, find_policy(policy)).run()
    assert Replay(ready, find_policy(policy), Timeline(events)).run() == quiet
    assert CompiledReplays(ready).outcome(find_policy(policy), Timeline(events), PAPERS) == quiet


@pytest.mark.parametrize("n", [1, 34, 100])
def test_each_notice_of_a_second_is_told(n: int) -> None:
    """Each is of an earlier end than the one before; lists of VMs have room for fewer."""
    until: list[int | None] = []

    class Listens(Policy):
        name = "listens"

        def noticed(self, replay: ReplayState, vm: Vm) -> None:
            until.append(vm.drains_until_s)

    events = tuple(TimelineEvent(5, "a", "hibernate", vm=1, notice_s=300 - k) for k in range(n))
    replay = Replay(two_vms(), Listens(), Timeline(events))
    replay.run()
    assert until == [305 - (n - 1)] * n
    assert replay.state.why == 0


def test_credits_of_a_moment_to_come() -> None:
    """A task at the baseline of 20 % spends 12 credits an hour, the VM earns 36: 24 more in an hour."""
    burst = {"baseline_fraction": 0.2, "credits_per_hour": 36, "initial_credits": 2, "max_credits": 100}
    instance = bag({"x": {"t": 50}}, [vm_type("t", burstable=burst), vm_type("a")])
    replay = Replay(replay_plan(plan(instance, ["t on-demand"], {"x": (0, 0, 0)})), Static())
    replay.step()
    vm = replay.state.vms[0]
    assert [vm.credits(time_s) for time_s in (0, 1800, 3600)] == pytest.approx([2, 14, 26])


@pytest.mark.parametrize("mode", [2, -1, "burst"])
def test_a_mode_that_there_is_not_is_refused(mode: Any) -> None:
    replay = at_hibernation()
    state, vm = replay.state, replay.state.vms[0]
    new = state.start_vm(next(offer for offer in state.instance.offers if offer.market == "on-demand"))
    for ask in (
        partial(state.end_if_placed_s, vm, 0, mode),
        partial(state.duration_s, 0, vm.offer, mode),
        partial(state.migrate, 0, vm, new, mode),
    ):
        with pytest.raises(SpotbagError, match=f"static at 20 s: a mode is FULL_SPEED or BASELINE, not {mode}"):
            ask()
    assert vm.tasks() == [0, 1]


def test_what_is_saved_of_a_task_on_a_vm_that_does_not_have_it() -> None:
    """``x`` has run for 60 s, and has saved 50 of its 200 s; the other VM, which hibernates as well, knows nothing."""
    instance = bag({"x": {"a": 200}, "z": {"a": 200}}, [vm_type("a")], checkpoint=CHECKPOINTS)
    ready = replay_plan(plan(instance, ["a spot", "a spot"], {"x": (0, 0, 0), "z": (1, 0, 0)}))
    replay = Replay(ready, Static(), day(a=[60]))
    while replay.state.now_s < 60:
        replay.step()
    state = replay.state
    assert [state.saved_if_moved(vm, 0) for vm in state.vms] == [pytest.approx(50 / 200), 0]
    assert dict(state.saved) == {}
    state.migrate(0, state.vms[0], state.start_vm(state.instance.offers[1]))
    assert dict(state.saved) == {0: pytest.approx(50 / 200)}
    assert [state.saved.get(task, 0.0) for task in (-2, 1, 2, 3)] == [0, 0, 0, 0]
    assert len(state.saved) == 1


def test_a_plan_is_sent_to_other_processes_without_its_tables() -> None:
    """They are made again; with them, the plan of 20,000 tasks would be 24 MB for a batch."""
    ready = two_vms()
    text = pickle.dumps(ready)
    assert len(text) < len(pickle.dumps((ready.instance, ready.vms, ready.schedule))) + 100
    read = pickle.loads(text)
    assert (read.vms, read.tables.task_values) == (ready.vms, ready.tables.task_values)
    assert Replay(read, Hads(), day(a=[20])).run() == Replay(ready, Hads(), day(a=[20])).run()


def test_a_plan_without_vms_stays_one_where_it_is_sent() -> None:
    ready = two_vms()
    empty = ReplayPlan(ready.instance, (), ready.schedule)
    assert pickle.loads(pickle.dumps(empty)).vms == copy.deepcopy(empty).vms == ()


def test_what_ran_waits_first_where_it_had_overrun_its_end() -> None:
    """``x`` would have ended at 50 s, but writes a checkpoint from 48 to 53 s; its VM drains, and stops at 52 s.

    It waits again before ``y``, which should have started at 50 s. The VM is back at 60 s; nothing of ``x`` is saved.
    """

    class Preempts(Static):
        name = "preempts"

        def woken(self, replay: ReplayState) -> None:
            if replay.now_s == 0:
                replay.wake_at(48)
            else:
                replay.preempt(0, replay.vms[0], checkpoint=True)

    instance = bag({"x": {"a": 50}, "y": {"a": 60}}, [vm_type("a")], checkpoint=CHECKPOINTS)
    ready = replay_plan(plan(instance, ["a spot"], {"x": (0, 0, 0), "y": (0, 0, 50)}))
    events = TimelineEvent(40, "a", "stop", notice_s=12), TimelineEvent(60, "a", "resume")
    replay = Replay(ready, Preempts(), Timeline(events), record=True)
    replay.run()
    started = [(record["t"], record["task"]) for record in replay.state.records or () if record["event"] == "start"]
    assert started == [(0, "x"), (60, "x"), (110, "y")]


# ------------------------------------------------------------- answers of published policies


class EndsFirst(Static):
    """Ends a VM itself before the policy does that it is made of."""

    name = "ends-first"

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        replay.terminate(vm)
        super().idle(replay, vm)


class GivesFirst(Static):
    """Gives an idle VM a task before the policy ends it that it is made of."""

    name = "gives-first"

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        replay.steal(1, replay.vms[0], vm)
        super().idle(replay, vm)


class Hasty(Hads):
    """Treats a VM that runs as one that has hibernated, or as one whose trigger time has come."""

    def __init__(self, migrates: bool) -> None:
        super().__init__()
        self.name, self.migrates = "hasty", migrates

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        (self.trigger_reached if self.migrates else self.hibernated)(replay, replay.vms[0])


@pytest.mark.parametrize(
    ("policy", "refusal"),
    [
        (EndsFirst(), "ends-first at 30 s: a-spot-2 is terminated already"),
        (GivesFirst(), "gives-first at 30 s: a-spot-2 has tasks left and cannot be terminated"),
        (Hasty(True), "hasty at 30 s: a-spot-1 is neither interrupted nor about to be: its tasks stay"),
        (Hasty(False), "hasty at 30 s: a-spot-1 is neither interrupted nor about to be: it needs no migration trigger"),
    ],
    ids=["ends", "gives", "migrates", "aims"],
)
def test_a_decision_of_a_rule_is_refused_where_it_would_be_to_a_policy(policy: Policy, refusal: str) -> None:
    """The second VM is idle at 30 s; the first runs, with two tasks."""
    with pytest.raises(SpotbagError, match=f"^{refusal}$"):
        Replay(two_vms(deadline_s=4000, d_spot_s=4000), policy).run()


def test_burst_hads_answers_a_vm_that_is_back_like_one_that_is_idle() -> None:
    """Also where what it does about idle ones has been overridden."""
    seen: list[tuple[int, int]] = []

    class Sees(BurstHads):
        name = "sees"

        def idle(self, replay: ReplayState, vm: Vm) -> None:
            seen.append((replay.now_s, vm.index))

    Replay(two_vms(), Sees(), day(a=[20, 100])).run()
    assert [entry for entry in seen if entry[0] == 100][:2] == [(100, 0), (100, 1)]


@pytest.mark.parametrize("limit_s", [2.5, math.inf, 2**63])
def test_compiled_loops_leave_an_idle_limit_that_is_no_whole_number_to_python(limit_s: Any) -> None:
    loops = CompiledReplays(two_vms())
    assert loops.outcome(Hads(idle_limit_s=limit_s), QUIET, PAPERS) is None
    assert loops.outcome(Hads(idle_limit_s=0), QUIET, PAPERS) is not None


def test_an_idle_limit_below_0_is_refused_on_many_days_as_on_one() -> None:
    assert CompiledReplays(two_vms()).outcome(Hads(idle_limit_s=-1), QUIET, PAPERS) is None
    with pytest.raises(SpotbagError, match="idle_limit_s must be 0 or more seconds, not -1"):
        Replay(two_vms(), Hads(idle_limit_s=-1))
