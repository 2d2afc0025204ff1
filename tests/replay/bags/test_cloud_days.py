"""Days of today's clouds made by hand, with the arithmetic beside them; every one is audited.

A second of a spot VM costs $0.001, of an on-demand VM $0.003. Where a bag takes checkpoints, one of 5 s follows on
every 50 s of work, so a task of 100 s runs for 105 s. Moved to a new VM, it waits for 10 s.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import pytest

from spotbag.audits.auditor import audit
from spotbag.audits.bags.plan import check
from spotbag.core.errors import SpotbagError
from spotbag.instances.bags.timeline import QUIET, Timeline, TimelineEvent
from spotbag.instances.clouds import PAPERS, Cloud, cloud_of
from spotbag.instances.entries import Checkpoints
from spotbag.replay.bags.compiled_engine import CompiledReplays
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.plan import day_table, names_of, replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.replay.bags.record import trace_of
from spotbag.replay.bags.state import Policy, ReplayState, Vm
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from spotbag.solvers.bags.replan import replan
from tests.helpers.tiny_days import bag, moments, plan, vm_type


def day(*events: TimelineEvent) -> Timeline:
    return Timeline(events, "by hand")


def replayed(
    schedule: Schedule, policy: Policy | str, timeline: Timeline = QUIET, cloud: Cloud = PAPERS
) -> tuple[DayOutcome, list[dict[str, Any]]]:
    """Replay and audit a day; return what it came to, and the records of what happened."""
    chosen = find_policy(policy) if isinstance(policy, str) else policy
    run = Replay(replay_plan(schedule), chosen, timeline, cloud, record=True)
    outcome = run.run()
    trace = trace_of(run.state, run.day, run.cloud, outcome)
    report = audit(trace, given=schedule.instance)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(outcome.cost_usd, abs=1e-9)
    return outcome, trace.events


# ------------------------------------------------------------- interruptions


@pytest.mark.parametrize(("end_s", "checkpoints"), [(14, 1), (15, 2)])
def test_a_last_checkpoint_that_saves_nothing_new_is_not_counted(end_s: int, checkpoints: int) -> None:
    """Checkpoints of 0.6 s, one after 0.6 / 0.05 s of work, which is 12 s but for the last bit.

    At 14 s, 12.6 s are for the first, and 0.6 s for the last, before which 0.8 s of work were done: no whole second.
    At 15 s it is one.
    """
    rule = {"overhead_fraction": 0.05, "dump_base_s": 0.6, "dump_s_per_mb": 0}
    schedule = plan(bag({"t": {"a": 100}}, [vm_type("a")], checkpoint=rule), ["a spot"], {"t": (0, 0, 0)})
    outcome, _ = replayed(schedule, "static", day(TimelineEvent(end_s - 2, "a", "terminate", notice_s=2)))
    assert outcome.checkpoints == checkpoints


def test_a_vm_that_gets_ready_where_there_is_no_room_gets_no_notice_in_that_second() -> None:
    """The type is down from 5 s on; at 10 s the VM is ready, and nobody gets 40 s more to drain: it hibernates."""
    instance = bag({"t": {"a": 100}}, [vm_type("a")], boot_overhead_s=10)
    timeline = day(
        TimelineEvent(5, "a", "hibernate"),
        TimelineEvent(10, "a", "capacity", vms=0, by="stop", notice_s=40),
        TimelineEvent(60, "a", "resume"),
    )
    outcome, records = replayed(plan(instance, ["a spot"], {"t": (0, 0, 10)}), "static", timeline)
    assert (moments(records, "notice"), moments(records, "stop")) == ([], [])
    assert moments(records, "ready") == moments(records, "hibernate") == [10]
    assert (moments(records, "start"), outcome.makespan_s) == ([60], 160)


# ------------------------------------------------------------ what policies ask for

CHECKPOINTS = {"overhead_fraction": 0.1, "dump_base_s": 5, "dump_s_per_mb": 0}
TWO_TYPES = [vm_type("a"), vm_type("b")]
LONG = {"checkpoint": CHECKPOINTS, "deadline_s": 2000, "d_spot_s": 2000}


class Scripted(Policy):
    """Does at given times what a test says, and answers handlers by name."""

    name = "scripted"

    def __init__(self, deeds: Mapping[int, Callable[[ReplayState], object]], **answers: Callable[..., object]) -> None:
        self.deeds = dict(deeds)
        self.answers = answers
        self.asked: list[tuple[Any, ...]] = []

    def woken(self, replay: ReplayState) -> None:
        if replay.now_s in self.deeds:
            self.deeds[replay.now_s](replay)
        later = [time_s for time_s in self.deeds if time_s > replay.now_s]
        if later:
            replay.wake_at(min(later))

    def preempted(self, replay: ReplayState, vm: Vm, task: int) -> None:
        self.asked.append(("preempted", replay.now_s, vm.name, task))
        self.answers.get("preempted", lambda *_: None)(replay, vm, task)

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        self.answers.get("idle", lambda *_: None)(replay, vm)

    def finished(self, replay: ReplayState, vm: Vm, task: int) -> None:
        self.answers.get("finished", lambda *_: None)(replay, vm, task)

    def lost(self, replay: ReplayState, vm: Vm) -> None:
        self.answers.get("lost", lambda *_: None)(replay, vm)


def test_what_a_task_and_its_checkpoint_take_can_be_asked() -> None:
    """t works for 100 s; a checkpoint takes 5 s, as which a preemption at 60 s ends."""
    asked: list[int] = []

    def ask(replay: ReplayState) -> None:
        vm = replay.vms[0]
        asked.extend((replay.runtime_s(0, vm.offer), replay.dump_s(0, vm.offer)))
        replay.preempt(0, vm, checkpoint=True)

    policy = Scripted({60: ask})
    replayed(one_of("spot"), policy)
    assert (asked, policy.asked) == ([100, 5], [("preempted", 65, "a-spot-1", 0)])


@pytest.mark.parametrize("core", [0, 1])
def test_what_waits_for_memory_waits_for_a_checkpoint_that_ends_later_than_the_task_would_have(core: int) -> None:
    """t would end at 100 s, and writes a checkpoint from 98 to 103 s: u has no room for its memory before that."""
    fields = {"memory_mb": {"t": 600, "u": 600}, "checkpoint": CHECKPOINTS}
    instance = bag({"t": {"a": 100}, "u": {"a": 100}}, [vm_type("a", vcpus=2)], **fields)
    schedule = plan(instance, ["a on-demand"], {"t": (0, core, 0), "u": (0, 1, 100)})
    policy = Scripted({98: lambda replay: replay.preempt(0, replay.vms[0], checkpoint=True)})
    outcome, records = replayed(schedule, policy)
    assert moments(records, "preempted", task="t", saved=0.98) == moments(records, "start", task="u") == [103]
    assert outcome.makespan_s == 205


def one_of(kind: str, checkpoint: bool = True) -> Schedule:
    """t of 100 s, then u of 40 s, on a VM."""
    fields = {"checkpoint": CHECKPOINTS} if checkpoint else {}
    instance = bag({"t": {"a": 100}, "u": {"a": 40}}, [vm_type("a")], **fields)
    first_s = 105 if kind == "spot" and checkpoint else 100
    return plan(instance, [f"a {kind}"], {"t": (0, 0, 0), "u": (0, 0, first_s)})


def preempt_at(time_s: int, checkpoint: bool = False) -> Scripted:
    return Scripted({time_s: lambda replay: replay.preempt(0, replay.vms[0], checkpoint)})


@pytest.mark.parametrize(("time_s", "saved", "end_s"), [(54, 0.0, 54 + 40 + 105), (55, 0.5, 55 + 40 + 50)])
def test_a_preempted_task_keeps_its_regular_checkpoints(time_s: int, saved: float, end_s: int) -> None:
    """The first is written at 55 s. u goes first, then what is left of t: 100 s and a checkpoint, or 50 s."""
    outcome, records = replayed(one_of("spot"), preempt_at(time_s))
    assert moments(records, "preempted", task="t", saved=saved) == [time_s]
    assert moments(records, "start") == [0, time_s, time_s + 40]
    assert (outcome.makespan_s, outcome.checkpoints) == (end_s, 1)
    assert (outcome.recoveries, outcome.cpu_time_saved_s) == (int(saved > 0), 100 * saved)
    assert outcome.cost_usd == pytest.approx(0.001 * end_s, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "saved_s", "checkpoints"),
    # On the spot VM 50 s, a checkpoint, and 5 s more are done at 60 s, on the other one 60 s.
    [("spot", 55, 2), ("on-demand", 60, 1)],
)
def test_a_preempted_task_writes_a_checkpoint_if_it_is_to(kind: str, saved_s: int, checkpoints: int) -> None:
    """From 60 to 65 s; then u runs for 40 s, then what is left of t, which needs no checkpoint more."""
    policy = preempt_at(60, checkpoint=True)
    outcome, records = replayed(one_of(kind), policy)
    assert policy.asked == [("preempted", 65, f"a-{kind}-1", 0)]
    assert moments(records, "start") == [0, 65, 105]
    assert (outcome.makespan_s, outcome.checkpoints) == (205 - saved_s, checkpoints)
    assert (outcome.recoveries, outcome.cpu_time_saved_s) == (1, saved_s)
    assert outcome.cost_usd == pytest.approx((0.001 if kind == "spot" else 0.003) * (205 - saved_s), abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "saved", "starts"),
    [
        # 3 of the 5 s are left to be written when the VM is back at 80 s; then u, then 45 s of t.
        ("hibernate", 0.55, [83, 123]),
        # All but the regular checkpoint is lost; t waits again before u.
        ("stop", 0.5, [80, 130]),
    ],
)
def test_a_vm_is_interrupted_while_a_preempted_task_writes(kind: Any, saved: float, starts: list[int]) -> None:
    timeline = day(TimelineEvent(62, "a", kind), TimelineEvent(80, "a", "resume"))
    _, records = replayed(one_of("spot"), preempt_at(60, checkpoint=True), timeline)
    assert moments(records, "preempted") == ([83] if kind == "hibernate" else [])
    assert [record["t"] for record in records if record["event"] == "start"][1:] == starts
    assert moments(records, "start", task="t", saved=saved) == [starts[1 if kind == "hibernate" else 0]]


def to_new_vm(replay: ReplayState, vm: Vm, task: int, deed: str) -> None:
    """Move a task to a new on-demand VM."""
    new = replay.start_vm(next(offer for offer in replay.instance.offers if offer.market == "on-demand"))
    (replay.steal if deed == "steal" else replay.migrate)(task, vm, new)


def test_a_task_is_saved_in_the_second_in_which_its_vm_is_lost() -> None:
    """60 s of work are saved at 65 s, when the VM is terminated: t leaves as one that waits.

    The policy is not asked about a preempted task that is gone.
    """
    policy = Scripted(
        {60: lambda replay: replay.preempt(0, replay.vms[0], checkpoint=True)},
        lost=lambda replay, vm: to_new_vm(replay, vm, 0, "migrate"),
    )
    instance = bag({"t": {"a": 100}}, [vm_type("a")], checkpoint=CHECKPOINTS)
    schedule = plan(instance, ["a spot"], {"t": (0, 0, 0)})
    outcome, records = replayed(schedule, policy, day(TimelineEvent(65, "a", "terminate")))
    assert moments(records, "preempted", saved=0.55) == moments(records, "migrate", saved=0.55) == [65]
    assert policy.asked == []
    assert (outcome.makespan_s, outcome.recoveries) == (65 + 10 + 45, 1)
    assert outcome.cost_usd == pytest.approx(0.001 * 65 + 0.003 * 55, abs=1e-12)


def test_the_policy_is_asked_about_a_preempted_task_before_what_waits_with_it_moves_up() -> None:
    """t is saved at 65 s, when w ends on b: what waits behind t is stolen then, and t is still to be had."""

    def finished(replay: ReplayState, vm: Vm, task: int) -> None:
        if task == 2:
            replay.steal(1, replay.vms[0], vm)

    policy = Scripted(
        {60: lambda replay: replay.preempt(0, replay.vms[0], checkpoint=True)},
        finished=finished,
        preempted=lambda replay, vm, task: to_new_vm(replay, vm, task, "steal"),
    )
    runtimes = {"t": {"a": 100}, "u": {"a": 40, "b": 40}, "w": {"b": 65}}
    instance = bag(runtimes, [vm_type("a"), vm_type("b")], checkpoint=CHECKPOINTS)
    places = {"t": (0, 0, 0), "u": (0, 0, 100), "w": (1, 0, 0)}
    outcome, records = replayed(plan(instance, ["a on-demand", "b on-demand"], places), policy)
    assert moments(records, "start", task="u", vm="b-on-demand-1") == [65]
    assert moments(records, "start", task="t") == [0, 75]
    assert outcome.makespan_s == 75 + 40


def test_nothing_of_its_core_restarts_before_the_handler_that_preempts_has_returned() -> None:
    """t stops at 40 s, u comes to its VM, and t is stolen for a new one, all at once."""

    def swap(replay: ReplayState) -> None:
        replay.preempt(0, replay.vms[0])
        replay.migrate(1, replay.vms[1], replay.vms[0])
        to_new_vm(replay, replay.vms[0], 0, "steal")

    instance = bag({"t": {"a": 100}, "u": {"a": 80, "b": 80}}, [vm_type("a"), vm_type("b")])
    schedule = plan(instance, ["a on-demand", "b spot"], {"t": (0, 0, 0), "u": (1, 0, 0)})
    outcome, records = replayed(schedule, Scripted({40: swap}), day(TimelineEvent(30, "b", "hibernate")))
    assert (moments(records, "start", task="t"), moments(records, "start", task="u")) == ([0, 50], [0, 40])
    assert outcome.makespan_s == 150
    assert outcome.cost_usd == pytest.approx(0.003 * 150 + 0.001 * 30 + 0.003 * 110, abs=1e-12)


def test_a_vm_that_is_launching_gets_work() -> None:
    """u is stolen at 20 s for a VM that is ready at 50 s, and starts then: the 10 s of its way are over."""
    instance = bag({"t": {"a": 100}, "u": {"a": 100}}, [vm_type("a")], boot_overhead_s=30)
    schedule = plan(instance, ["a spot"], {"t": (0, 0, 30), "u": (0, 0, 130)})
    policy = Scripted({20: lambda replay: to_new_vm(replay, replay.vms[0], 1, "steal")})
    outcome, records = replayed(schedule, policy)
    assert moments(records, "start", task="u", vm="a-on-demand-1") == [50]
    assert outcome.makespan_s == 150
    # a waits, idle, for the end of the bag.
    assert outcome.cost_usd == pytest.approx(0.001 * 120 + 0.003 * 100, abs=1e-12)


def test_what_comes_to_a_vm_that_boots_again_starts_when_it_is_ready() -> None:
    """a has been up for 40 s when it is stopped, 10 s of that idle, and is ready again at 120 s: v ends at 170 s.

    Its timetable knows that its core was free at an uptime of 30 s, which it has passed though it does not run.
    """
    runtimes = {"s": {"a": 30}, "u": {"b": 200}, "v": {"a": 50, "b": 50}}
    instance = bag(runtimes, [vm_type("a"), vm_type("b")], boot_overhead_s=20)
    places = {"s": (0, 0, 20), "u": (1, 0, 20), "v": (1, 0, 220)}
    ends = []

    def steal(replay: ReplayState) -> None:
        ends.append(replay.end_if_placed_s(replay.vms[0], 2))
        replay.steal(2, replay.vms[1], replay.vms[0])

    policy = Scripted({30: lambda replay: replay.timeline(replay.vms[0]), 110: steal})
    timeline = day(TimelineEvent(60, "a", "stop"), TimelineEvent(100, "a", "resume"))
    _, records = replayed(plan(instance, ["a spot", "b spot"], places), policy, timeline)
    assert moments(records, "start", task="v") == [120]
    assert ends == moments(records, "finish", task="v") == [170]


def test_ends_of_cycles_come_before_ends_of_what_idle_vms_are_kept_for() -> None:
    """At 100 s, a has been idle for 60 s, 10 s of hibernation before, and b reaches the end of its cycle."""
    runtimes = {"s": {"a": 30}, "t": {"b": 50}, "u": {"c": 150}}
    instance = bag(runtimes, [vm_type(name) for name in "abc"])
    schedule = plan(instance, ["a spot", "b spot", "c spot"], {"s": (0, 0, 0), "t": (1, 0, 0), "u": (2, 0, 0)})
    timeline = day(TimelineEvent(10, "a", "hibernate"), TimelineEvent(20, "a", "resume"))
    _, records = replayed(schedule, "hads+idle-60", timeline)
    kinds = [record["event"] for record in records if record["t"] == 100 and record["event"].endswith(("end", "limit"))]
    assert kinds == ["cycle-end", "idle-limit"]


# ------------------------------------------------------------------- wake-up calls


class Sleepless(Policy):
    """Asks for ever to be woken."""

    name = "sleepless"

    def __init__(self, every_s: int) -> None:
        self.every_s = every_s
        self.woken_at: list[int] = []

    def woken(self, replay: ReplayState) -> None:
        self.woken_at.append(replay.now_s)
        replay.wake_at(replay.now_s + self.every_s)


@pytest.mark.parametrize(("last_s", "horizon_s"), [(30, 800), (700, 1400)])
def test_a_policy_that_always_asks_to_be_woken_lets_no_replay_run_for_ever(last_s: int, horizon_s: int) -> None:
    """Its task is lost at 30 s. It is woken up to twice the deadline of 400 s, or twice the last event of the day."""
    policy = Sleepless(100)
    timeline = day(
        TimelineEvent(30, "a", "terminate"), *([TimelineEvent(last_s, "a", "resume")] if last_s > 30 else [])
    )
    outcome, records = replayed(one_of("spot"), policy, timeline)
    assert moments(records, "wake") == policy.woken_at == list(range(0, horizon_s + 1, 100))
    assert outcome.unfinished_tasks == 2
    assert outcome.cost_usd == pytest.approx(0.001 * 30, abs=1e-12)


def test_a_policy_is_woken_once_in_a_second_and_not_in_the_past() -> None:
    def ask_thrice(replay: ReplayState) -> None:
        for time_s in (20, 20, 30):
            replay.wake_at(time_s)
        for time_s in (10, 9):
            with pytest.raises(SpotbagError, match="not later than now"):
                replay.wake_at(time_s)

    _, records = replayed(one_of("spot"), Scripted({10: ask_thrice}))
    assert moments(records, "wake") == [0, 10, 20, 30]


# ------------------------------------------------------------- what policies see


@pytest.mark.parametrize("kind", ["stop", "hibernate", "terminate"])
@pytest.mark.parametrize("notice_s", [0, 30])
def test_the_rest_is_planned_from_what_is_left_when_vms_drain_and_are_taken_away(kind: Any, notice_s: int) -> None:
    """At 70 s, t has a checkpoint of 50 s, with which it would leave; it will not end on a, and is planned anew."""
    instance = bag({"t": {"a": 300, "b": 300}, "u": {"a": 40, "b": 40}}, TWO_TYPES, **LONG)
    schedule = plan(instance, ["a spot"], {"t": (0, 0, 0), "u": (0, 0, 325)})
    states: list[State] = []
    policy = Scripted({70: lambda replay: states.append(replay.remaining())})
    timeline = day(TimelineEvent(60, "a", kind, notice_s=notice_s))
    run = Replay(replay_plan(schedule), policy, timeline, record=True)
    run.run()
    (state,) = states
    assert state.saved == {"t": pytest.approx(50 / 300)}
    status = "draining" if notice_s else "hibernated"
    assert [vm.status for vm in state.vms] == ([status] if notice_s or kind != "terminate" else [])
    result = replan(instance, state, time_limit_s=0.05)
    assert result.schedule is not None
    assert check(result.instance, result.schedule).feasible
    assert {
        name: int(result.instance.runtime_s[group, 0])
        for name, group in zip(result.instance.task_ids, result.instance.task_group.tolist(), strict=True)
    } == {"t": 250, "u": 40}


def test_a_handler_goes_on_when_it_has_preempted_tasks() -> None:
    """At 10 s, one handler preempts s on a, then y on b, and steals u from a: all that waits on a moves up once.

    a has room for two of x, u and v: once u has left, v takes the core of s. Moved up before, s would come first.
    """

    def shuffle(replay: ReplayState) -> None:
        replay.preempt(0, replay.vms[0])
        replay.preempt(4, replay.vms[1])
        to_new_vm(replay, replay.vms[0], 2, "steal")

    runtimes = {"s": {"a": 146}, "t": {"a": 146}, "u": {"a": 232}, "v": {"a": 129}, "y": {"b": 50}, "x": {"a": 232}}
    big = dict.fromkeys("uvx", 450)
    instance = bag(runtimes, [vm_type("a", vcpus=3), vm_type("b")], memory_mb=big, deadline_s=2000, d_spot_s=2000)
    places = {"s": (0, 0, 0), "t": (0, 1, 0), "x": (0, 2, 0), "u": (0, 0, 146), "v": (0, 2, 232), "y": (1, 0, 0)}
    _, records = replayed(plan(instance, ["a on-demand", "b on-demand"], places), Scripted({10: shuffle}))
    assert moments(records, "start", task="v", core=0) == [10]
    assert moments(records, "start", task="s") == [0, 139]


def test_handlers_of_one_second_settle_one_after_the_other() -> None:
    """At 1 s, w ends on b, and s is preempted; then b is idle, and s is stolen: what waits on a moves up twice.

    y and z wait for the memory of x, and could both start at 94 s: z, whose turn comes first, on core 1, y on core 0.
    There they are when the second handler is asked, and there they stay when they move up again.
    """
    seen: list[list[tuple[int, int, int]]] = []

    def finished(replay: ReplayState, vm: Vm, task: int) -> None:
        if replay.now_s == 1:
            replay.preempt(0, replay.vms[0])

    def idle(replay: ReplayState, vm: Vm) -> None:
        if replay.now_s == 1:
            seen.append([(run.task, core, run.start_s) for run, core in replay.vms[0].waiting_runs()])
            to_new_vm(replay, replay.vms[0], 0, "steal")

    policy = Scripted({}, finished=finished, idle=idle)
    runtimes = {"s": {"a": 162}, "w": {"b": 1}, "x": {"a": 94}, "y": {"a": 29}, "z": {"a": 225}}
    memory = {"s": 10, "x": 1000, "y": 700, "z": 300}
    instance = bag(runtimes, [vm_type("a", vcpus=2), vm_type("b")], memory_mb=memory, deadline_s=2000, d_spot_s=2000)
    places = {"s": (0, 0, 0), "w": (1, 0, 0), "x": (0, 1, 0), "y": (0, 0, 162), "z": (0, 1, 94)}
    _, records = replayed(plan(instance, ["a on-demand", "b on-demand"], places), policy)
    assert seen == [[(3, 0, 94), (4, 1, 94), (0, 0, 123)]]
    assert moments(records, "start", task="y", core=0) == moments(records, "start", task="z", core=1) == [94]


def test_what_waits_keeps_its_turn_where_two_vms_steal_in_one_second() -> None:
    """At 1 s, b steals k from a, then c steals m: u is to go before v, and does, however often what waits moves up.

    When k has left, v has room beside m at 60 s, and u only after m, at 150 s. When m has left too, u starts first.
    """

    def idle(replay: ReplayState, vm: Vm) -> None:
        if replay.now_s == 1:
            replay.steal(4 if vm.index == 1 else 5, replay.vms[0], vm)

    runtimes = {"s": {"a": 50}, "x": {"a": 60}, "w": {"b": 1}, "y": {"b": 1}}
    runtimes |= {"k": {"a": 10, "b": 10}, "m": {"a": 100, "b": 100}, "u": {"a": 20}, "v": {"a": 20}}
    memory = {"s": 10, "x": 10, "k": 900, "m": 900, "u": 700, "v": 100}
    instance = bag(runtimes, [vm_type("a", vcpus=2), vm_type("b")], memory_mb=memory, deadline_s=2000, d_spot_s=2000)
    places = {"s": (0, 0, 0), "x": (0, 1, 0), "w": (1, 0, 0), "y": (2, 0, 0)}
    places |= {"k": (0, 0, 50), "m": (0, 0, 60), "u": (0, 0, 160), "v": (0, 1, 161)}
    schedule = plan(instance, ["a on-demand", "b on-demand", "b on-demand"], places)
    _, records = replayed(schedule, Scripted({}, idle=idle))
    assert moments(records, "steal") == [1, 1]
    assert (moments(records, "start", task="u", core=0), moments(records, "start", task="v", core=1)) == ([50], [60])


def test_a_vm_without_a_boot_may_have_notice_in_the_second_of_its_request() -> None:
    """It is requested by a decision at 10 s, has no boot, and is to hibernate from its first second on, in 15 s."""

    def start(replay: ReplayState) -> None:
        replay.start_vm(next(offer for offer in replay.instance.offers if offer.market == "spot"))

    instance = bag({"t": {"a": 100}}, [vm_type("a")])
    schedule = plan(instance, ["a on-demand"], {"t": (0, 0, 0)})
    aged = Timeline((TimelineEvent(0, "a", "hibernate", vm=1, notice_s=15, age_s=0),), "aged")
    _, records = replayed(schedule, Scripted({10: start}), aged)
    assert [moments(records, kind, vm="a-spot-1") for kind in ("launch", "ready", "notice")] == [[10]] * 3
    assert moments(records, "hibernate", vm="a-spot-1") == [25]


def test_a_vm_that_is_interrupted_where_there_is_room_comes_back_before_what_its_interruption_causes() -> None:
    """At 75 s a new VM takes the room; that it is terminated when it is ready, in that second, brings nobody back."""
    instance = bag({"t": {"a": 100}}, [vm_type("a")])
    timeline = day(
        TimelineEvent(45, "a", "capacity", vms=0, by="hibernate", notice_s=30),
        TimelineEvent(60, "a", "capacity", vms=1, by="hibernate"),
        TimelineEvent(200, "a", "resume"),
    )

    class Brief(Policy):
        name = "brief"

        def hibernated(self, replay: ReplayState, vm: Vm) -> None:
            replay.start_vm(vm.offer)

        def idle(self, replay: ReplayState, vm: Vm) -> None:
            replay.terminate(vm)

    _, records = replayed(plan(instance, ["a spot"], {"t": (0, 0, 0)}), Brief(), timeline)
    assert moments(records, "hibernate") == moments(records, "ready", vm="a-spot-2") == [75]
    assert moments(records, "resume") == [200]
    # Without the new VM, it is back in the same second.
    _, records = replayed(plan(instance, ["a spot"], {"t": (0, 0, 0)}), "static", timeline)
    assert moments(records, "hibernate") == moments(records, "resume") == [75]


def test_a_vm_that_boots_again_may_have_notice_in_that_second() -> None:
    """u starts at 15 s on a new VM, and again at 60 s, when that is booted again. It drains to 70 s; 90 s are left."""

    def request(replay: ReplayState) -> None:
        replay.steal(1, replay.vms[0], replay.start_vm(replay.instance.offers[0]))

    timeline = day(
        TimelineEvent(30, "a", "stop"),
        TimelineEvent(60, "a", "resume"),
        TimelineEvent(60, "a", "hibernate", vm=1, notice_s=10),
        TimelineEvent(90, "a", "resume", vm=1),
    )
    instance = bag({"t": {"b": 100}, "u": {"a": 100, "b": 100}}, [vm_type("a", on_demand=0), vm_type("b", spot=0)])
    schedule = plan(instance, ["b on-demand"], {"t": (0, 0, 0), "u": (0, 0, 100)})
    outcome, records = replayed(schedule, Scripted({5: request}), timeline)
    assert moments(records, "restart") == moments(records, "notice") == [60]
    assert (moments(records, "hibernate"), moments(records, "start", task="u")) == ([70], [15, 60])
    assert outcome.makespan_s == 180


SECRET_S, SECRET_USD = 193_707_721, 761_838.257287
"""When the day goes on, and what VMs cost then."""


def reachable(start: object) -> Iterator[object]:
    """All that attributes, containers, closures and methods lead to; modules and classes lead everywhere."""
    seen, waiting = set[int](), [start]
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, type | ModuleType):
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, FunctionType):  # its globals are those of a module
            waiting += [found.__closure__, found.__defaults__, found.__kwdefaults__, found.__dict__]
        else:
            waiting += gc.get_referents(found)


class Curious(Scripted):
    """Looks for the future wherever it is asked, and remembers all it is told."""

    name = "curious"

    def __init__(self) -> None:
        super().__init__({50: self.look})
        self.told: list[object] = []
        self.looks = 0

    def look(self, replay: ReplayState, vm: Vm | None = None) -> None:
        self.told += [replay, vm, replay.remaining]
        for found in reachable(self):
            assert not isinstance(found, Replay | Timeline | TimelineEvent)
            assert not isinstance(found, int | float) or found not in (SECRET_S, SECRET_USD)
        self.looks += 1

    noticed = hibernated = lost = look


@pytest.mark.parametrize("copied", [False, True])
def test_nothing_leads_from_what_a_policy_sees_to_the_future(copied: bool) -> None:
    """Neither in a replay nor in its copy, from which roll-outs would go on; both know what lies behind."""
    future: list[TimelineEvent] = [
        TimelineEvent(SECRET_S, "a", "price", market="spot", usd_per_hour=SECRET_USD),
        TimelineEvent(SECRET_S, "a", "capacity", vms=1, by="stop"),
    ]
    timeline = day(
        TimelineEvent(30, "a", "hibernate", notice_s=10),
        TimelineEvent(60, "a", "resume"),
        TimelineEvent(70, "a", "terminate"),
        *future,
    )
    policy, law = Curious(), [SECRET_S]
    replay = Replay(replay_plan(one_of("spot")), policy, timeline, record=True, law=law)
    while replay.state.now_s < 40:
        replay.step()
    if copied:
        replay, policy = (twin := replay.copy()), twin.policy
    looks = policy.looks
    replay.run()
    assert policy.looks > looks + 1
    assert any(found == SECRET_S for found in reachable(replay))


@pytest.mark.xdist_group("compiled days")  # one process compiles the engine
@pytest.mark.parametrize(
    ("events", "paid_s"),
    [
        ((TimelineEvent(30, "one", "hibernate"), TimelineEvent(50, "one", "resume")), 30),
        ((TimelineEvent(20, "one", "hibernate", notice_s=20), TimelineEvent(50, "one", "resume")), 40),
    ],
)
def test_static_pays_no_vm_whose_last_task_has_ended_by_its_hibernation(
    events: tuple[TimelineEvent, ...], paid_s: int
) -> None:
    """It went on paying from the resumption at 50 s to the end at 100 s, 0.050 more.

    The task of 30 s ends in the second of the hibernation, or while the VM drains until 40 s. The other VM is paid for
    100 s.
    """
    schedule = plan(
        bag({"a": {"one": 30}, "b": {"two": 100}}, [vm_type("one"), vm_type("two")], checkpoint=None),
        ["one spot", "two spot"],
        {"a": (0, 0, 0), "b": (1, 0, 0)},
    )
    outcome, _ = replayed(schedule, "static", day(*events))
    assert (outcome.makespan_s, outcome.cost_usd) == (100, pytest.approx((paid_s + 100) * 0.001))
    assert CompiledReplays(replay_plan(schedule)).outcome(find_policy("static"), day(*events), PAPERS) == outcome


def test_a_checkpoint_of_a_notice_stays_written_in_compiled_replays() -> None:
    """Of 100 s, 38 are saved when the VM hibernates at 40 s; it resumes at 50 s, and hibernates for good at 60 s.

    HADS waits until 150 - 62 = 88 s to do the rest on demand, for 62 s, and has paid the spot VM for 40 + 10 s.
    """
    checkpoint = Checkpoints(overhead_fraction=2 / 90, dump_base_s=2)
    kinds = [vm_type("one", spot=1, on_demand=1)]
    instance = bag({"a": {"one": 100}}, kinds, deadline_s=150, d_spot_s=150, migration_overhead_s=0)
    schedule = plan(instance.replace(checkpoint=checkpoint), ["one spot"], {"a": (0, 0, 0)})
    blows = day(
        TimelineEvent(20, "one", "hibernate", notice_s=20),
        TimelineEvent(50, "one", "resume"),
        TimelineEvent(60, "one", "hibernate"),
    )
    outcome, _ = replayed(schedule, "hads", blows)
    assert (outcome.makespan_s, outcome.cost_usd) == (150, pytest.approx(62 * 0.003 + 50 * 0.001))
    assert CompiledReplays(replay_plan(schedule)).outcome(find_policy("hads"), blows, PAPERS) == outcome


def test_a_notice_that_ends_in_the_same_second_as_another_one_changes_nothing() -> None:
    """The VM knows since 10 s that it hibernates at 30 s; at 15 s it is too late for it to be terminated then."""
    instance = bag({"a": {"one": 100}}, [vm_type("one", spot=1, on_demand=1)], checkpoint=None)
    schedule = plan(instance, ["one spot"], {"a": (0, 0, 0)})
    notices = day(
        TimelineEvent(10, "one", "hibernate", notice_s=20),
        TimelineEvent(15, "one", "terminate", vm=1, notice_s=15),
        TimelineEvent(50, "one", "resume"),
    )
    outcome, events = replayed(schedule, "static", notices)
    assert [(event["t"], event["until_s"]) for event in events if event["event"] == "notice"] == [(10, 30)]
    assert (outcome.makespan_s, outcome.cost_usd) == (120, pytest.approx(100 * 0.001))
    assert CompiledReplays(replay_plan(schedule)).outcome(find_policy("static"), notices, PAPERS) == outcome


def test_a_vm_that_came_back_is_paid_by_the_hours_of_its_present_session() -> None:
    """t and u of 1,500 s; away from 600 to 3,000 s, hours are billed from 0 and from 3,000 s on: $ 3.60 for each."""
    instance = bag({"t": {"a": 1500}, "u": {"a": 1500}}, [vm_type("a")], deadline_s=20000, d_spot_s=20000)
    instance = instance.replace(billing={"block_s": 3600})
    schedule = plan(instance, ["a spot"], {"t": (0, 0, 0), "u": (0, 0, 1500)})
    states: list[State] = []
    asked = {time_s: lambda replay: states.append(replay.remaining()) for time_s in (500, 700, 3300, 3700)}
    away = day(TimelineEvent(600, "a", "hibernate"), TimelineEvent(3000, "a", "resume"))
    cloud = cloud_of(instance.cloud, instance.billing)
    outcome, _ = replayed(schedule, Scripted(asked), away, cloud)
    assert (outcome.makespan_s, outcome.cost_usd) == (5400, pytest.approx(7.2))
    assert [state.spent_usd for state in states] == pytest.approx([3.6, 3.6, 7.2, 7.2])
    assert [state.vms[0].paid_until_s for state in states] == [3600, None, 6600, 6600]
    for state in states[2:]:
        assert state.remaining(instance).machine_paid_until_s.tolist() == [6600 - state.time_s]
        rest = replan(instance, state, survive="none", iterations=100).schedule
        assert rest is not None
        assert (rest.makespan_s + state.time_s, rest.cost_usd) == (5400, 0)


def test_events_of_types_that_a_bag_does_not_have_are_no_rows_of_its_day() -> None:
    instance = bag({"a": {"one": 10}}, [vm_type("one")])
    day = Timeline((TimelineEvent(5, "one", "hibernate"), TimelineEvent(6, "other", "hibernate")), "by hand")
    assert day_table(names_of(instance), day)["time_s"].tolist() == [5]
