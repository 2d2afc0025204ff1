"""Policies of one's own: given the same way to the replays of all systems, and refused with the same messages."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import spotbag
from spotbag.core.errors import InputError
from spotbag.core.plugins import PluginError
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.platforms.job_draws import JobSet
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.runs import replay_days, trace_day
from spotbag.replay.bags.state import ReplayState, Vm
from spotbag.replay.platforms.runs import replay_platform, replay_platform_once
from spotbag.replay.streams.runs import replay_stream, replay_stream_once
from tests.helpers.own_policies import Bag, OfPlatform, OfStream
from tests.helpers.tiny_days import bag, plan, vm_type

SCHEDULE = plan(
    bag({name: {"a": 10} for name in "tuv"}, [vm_type("a")]),
    ["a spot"],
    {name: (0, 0, start) for name, start in (("t", 0), ("u", 10), ("v", 20))},
)
STREAM = spotbag.library_stream("thai/table2")
PLATFORM = spotbag.library_platform("tiny/hybrid")


@dataclass(frozen=True)
class System:
    """How a system replays; all its replays have two runs, or more."""

    base: type[Any]
    own: type[Any]
    known: str
    replay: Callable[..., Any]
    once: Callable[[Any], Any]


SYSTEMS = [
    System(
        spotbag.Policy,
        Bag,
        "hads",
        lambda policies, runs=10, **options: replay_days(
            SCHEDULE, policies, find_scenario("hads/sc1"), runs, bounds=False, **options
        ),
        lambda policy: trace_day(SCHEDULE, policy),
    ),
    System(
        spotbag.StreamPolicy,
        OfStream,
        "unknown",
        lambda policies, runs=5, **options: replay_stream(STREAM, policies, runs, **options),
        lambda policy: replay_stream_once(STREAM, policy, 3),
    ),
    System(
        spotbag.PlatformPolicy,
        OfPlatform,
        "money-saving",
        lambda policies, runs=3, **options: replay_platform(
            PLATFORM, policies, runs, job_set=JobSet("small", 10), **options
        ),
        lambda policy: replay_platform_once(PLATFORM, policy),
    ),
]
each_system = pytest.mark.parametrize("system", SYSTEMS, ids=("bags", "streams", "platforms"))


@each_system
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.xdist_group("processes"))])
def test_policies_are_given_by_name_class_instance_or_function(system: System, workers: int) -> None:
    own = system.own
    instance = own(label="instance")
    given = [
        system.known,
        own,
        instance,
        partial(own, label="options"),
        lambda: own(label="made"),
        lambda number: own(number, "numbered"),
    ]
    runs = system.replay(given, workers=workers)
    assert runs.policies == (system.known, "mine", "instance", "options", "made", "numbered")
    assert [outcome.policy for [outcome, *_] in runs.outcomes] == list(runs.policies)
    costs = [[getattr(run, "cost_usd", None) or run.cost for run in outcomes] for outcomes in runs.outcomes]
    assert costs[1:] == [costs[1]] * 5
    assert vars(instance) == vars(own(label="instance")), "an instance stays as it was given"


@each_system
def test_a_single_replay_takes_them_too(system: System) -> None:
    for policy in (system.own, system.own(), lambda: system.own()):
        assert system.once(policy)[1].run["policy"] == "mine"
    assert system.once(system.known)[1].run["policy"] == system.known


@each_system
def test_an_instance_starts_from_what_it_holds(system: System) -> None:
    used = system.own()
    used.begun = True
    used.seen = list(range(100))
    with pytest.raises(PluginError, match="AssertionError: this policy has gone through another replay"):
        system.replay([used])


@each_system
def test_seeds_are_those_of_the_runs(system: System) -> None:
    numbers: list[int] = []

    class Numbered(system.own):  # type: ignore[name-defined,misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            numbers.append(self.seed)

    system.replay([Numbered], 3, seed=7)
    first = 0 if system.base is spotbag.Policy else 7
    assert numbers[-3:] == [first, first + 1, first + 2]
    numbers.clear()
    system.replay([lambda n: Numbered(n)], 2, seed=7)
    assert numbers[-2:] == [first, first + 1]


class Locked:
    """Can neither be copied nor sent."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


def bad_policies(system: System) -> list[tuple[Any, str]]:
    base, own = system.base.__name__, system.own.__name__
    other = spotbag.StreamPolicy if system.base is not spotbag.StreamPolicy else spotbag.Policy
    nameless = type("Nameless", (system.own,), {"__init__": lambda self: None, "name": ""})
    needy = type("Needy", (system.own,), {"__init__": lambda self, threshold: None})
    copies = system.own()
    copies.lock = Locked()
    return [
        (system.known, rf"^replay: policies must be a list, also of a single policy: \['{system.known}'\]"),
        (system.own, rf"policies must be a list, also of a single policy: \[{own}\]"),
        (system.own(), rf"policies must be a list, also of a single policy: \[{own}\(\)\]"),
        (3, "policies must be a list"),
        ([], "policies must have at least one policy"),
        ([system.known, 3], rf"policies\[1\]: must be the name of a policy, a {base} \(a class or an inst.*, not 3"),
        ([None], r"policies\[0\]: must be the name of a policy"),
        ([system.known, "nonsense"], r"^replay: policies\[1\]: 'nonsense' is not a policy \("),
        ([other], rf"policies\[0\]: {other.__name__} is no {base}"),
        ([lambda: 3], rf"policies\[0\]: what <lambda> makes must be a {base}, not 3"),
        ([nameless], r"policies\[0\]: Nameless must have a name: name = 'mine'"),
        (
            [needy],
            r"policies\[0\]: Needy can be called neither with a seed nor without \(missing a required argument: "
            r"'threshold'\): give an instance, or a function that makes one",
        ),
        ([lambda one, other: 3], r"<lambda> can be called neither with a seed nor without"),
        ([copies], rf"policies\[0\]: {own} cannot be copied for each replay \(.*lock.*\): give the class"),
        ([3, "nonsense", system.own], r"(?s)^replay: 2 errors.*policies\[0\]: must be .*policies\[1\]: 'nonsense' is"),
    ]


@each_system
@pytest.mark.parametrize("number", range(15))
def test_what_is_no_policy_is_refused(system: System, number: int) -> None:
    policies, rule = bad_policies(system)[number]
    for workers in (1, 2):
        with pytest.raises(InputError, match=rule):
            system.replay(policies, workers=workers)


@each_system
def test_every_bad_policy_is_tried(system: System) -> None:
    assert len(bad_policies(system)) == 15


@each_system
def test_a_single_bad_policy_is_named(system: System) -> None:
    with pytest.raises(InputError, match=r"^replay: policy: must be the name of a policy"):
        system.once(3)
    with pytest.raises(InputError, match=r"^replay: policy: 'nonsense' is not a policy"):
        system.once("nonsense")


@pytest.mark.xdist_group("processes")
@each_system
def test_what_cannot_be_sent_to_other_processes_is_refused(system: System) -> None:
    lock = Locked()

    def locked() -> Any:
        assert lock.lock
        return system.own()

    assert system.replay([locked]).policies == ("mine",)
    with pytest.raises(InputError, match=r"policies\[1\]: cannot be sent to other processes \(.*workers=1\)"):
        system.replay([system.known, locked], workers=2)


def test_days_may_have_bounds_alone() -> None:
    days = replay_days(SCHEDULE, [], find_scenario("hads/sc1"), 3)
    assert (days.n_runs, days.policies, days.outcomes, days.summaries()) == (3, (), (), [])
    assert all(bound is not None and bound > 0 for bound in days.bounds_usd)


@each_system
@pytest.mark.parametrize(("options", "rule"), [({"runs": 0}, "runs 0 must be 1"), ({"workers": 0}, "workers 0 must")])
def test_numbers_out_of_range_are_refused(system: System, options: dict[str, int], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        system.replay([system.known], **options)


def test_a_copy_of_a_replay_has_a_policy_that_knows_its_vms() -> None:
    class Remembers(Bag):
        vms: Sequence[Vm] = ()

        def finished(self, replay: ReplayState, vm: Vm, task: int) -> None:
            super().finished(replay, vm, task)
            self.vms = (*self.vms, vm)

    whole = Replay(replay_plan(SCHEDULE), Remembers())
    while not whole.policy.seen:  # type: ignore[attr-defined]
        whole.step()
    twin = whole.copy()
    assert isinstance(twin.policy, Remembers)
    assert twin.policy.vms[0] is twin.state.vms[0]
    assert twin.state.vms[0] is not whole.state.vms[0]
    outcome = twin.run()
    assert len(twin.policy.seen) == 2
    assert isinstance(whole.policy, Remembers)
    assert len(whole.policy.seen) == 1
    assert whole.run() == outcome


TYPED = """
from functools import partial

import spotbag
from spotbag.instances.platforms.platform import Platform
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import replay_plan
from spotbag.replay.bags.runs import trace_day
from spotbag.replay.bags.state import ReplayState
from spotbag.replay.bags.state import Vm
from spotbag.replay.platforms.candidate import Candidate
from spotbag.replay.platforms.candidate import PlatformJob
from spotbag.replay.platforms.runs import replay_platform_once
from spotbag.replay.platforms.state import PlatformState
from spotbag.replay.streams.runs import replay_stream_once
from spotbag.replay.streams.state import StreamState
from spotbag.replay.streams.state import StreamVm


class Mine(spotbag.Policy):
    name = "mine"

    def __init__(self, threshold: int = 3) -> None:
        self.threshold = threshold

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        replay.terminate(vm)


class MineOfStream(spotbag.StreamPolicy):
    name = "mine"

    def __init__(self, threshold: int = 3) -> None:
        self.threshold = threshold

    def idle(self, replay: StreamState, vm: StreamVm) -> None:
        replay.terminate(vm)


class MineOfPlatform(spotbag.PlatformPolicy):
    name = "mine"

    def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
        return min(replay.offers(job, sender), default=None)


def bags(schedule: spotbag.Schedule) -> float:
    scenario = spotbag.find_scenario("hads/sc1")
    spotbag.replay_days(schedule, ["hads", Mine, Mine(), partial(Mine, 4), lambda: Mine(4)], scenario, 3, workers=2)
    spotbag.replay_days(schedule, [Mine()], scenario, 3)
    spotbag.replay_days(schedule, [Mine], scenario, 3)
    spotbag.replay_day(schedule, Mine)
    return trace_day(schedule, Mine())[0].cost_usd


def streams(stream: spotbag.Stream) -> float:
    spotbag.replay_stream(stream, ["known", MineOfStream, MineOfStream(), partial(MineOfStream, 4)], 3, workers=2)
    spotbag.replay_stream(stream, [MineOfStream()], 3)
    spotbag.replay_stream(stream, [lambda seed: MineOfStream(seed)], 3)
    return replay_stream_once(stream, MineOfStream)[0].cost_usd


def platforms(platform: Platform) -> float:
    spotbag.replay_platform(platform, ["money-saving", MineOfPlatform, MineOfPlatform()], 3, workers=2)
    spotbag.replay_platform(platform, [MineOfPlatform], 3)
    return replay_platform_once(platform, MineOfPlatform())[0].cost


def wrong(schedule: spotbag.Schedule, stream: spotbag.Stream) -> None:
    spotbag.replay_day(schedule, MineOfStream)  # wrong
    spotbag.replay_stream(stream, [Mine()], 3)  # wrong
    spotbag.replay_stream(stream, [3], 3)  # wrong
"""


@pytest.mark.slow
def test_policies_of_ones_own_pass_strict_type_checks(tmp_path: Path) -> None:
    package = tmp_path / "spotbag"
    package.mkdir()
    for place in spotbag.__path__:
        for entry in Path(place).iterdir():
            (package / entry.name).symlink_to(entry)
    for room in (
        "core",
        "instances",
        "schedules",
        "traces",
        "audits",
        "models",
        "bounds",
        "heuristics",
        "solvers",
        "replay",
        "charts",
    ):
        if not (package / room).exists():
            (package / room).symlink_to(importlib.import_module(f"spotbag.{room}").__path__[0])
    (tmp_path / "mine.py").write_text(TYPED)
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports", "mine.py"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = TYPED.splitlines()
    errors = [line for line in found.stdout.splitlines() if ": error:" in line]
    assert {int(error.split(":")[1]) for error in errors} == {
        number for number, line in enumerate(lines, 1) if line.endswith("# wrong")
    }, found.stdout + found.stderr


def test_a_policy_that_asks_gets_the_law_of_every_scenario_that_has_one() -> None:
    laws: list[object] = []

    class Curious(Bag):
        asks_for_law = True

        def woken(self, replay: ReplayState) -> None:
            laws.append(replay.scenario_law)

    class Blind(Curious):
        asks_for_law = False

    printed = {"type_interruptions_per_deadline": 1, "type_resumes_per_deadline": 0}
    for name, law in [("hads/sc1", printed), ("vms/calm", find_scenario("vms/calm").law), ("quiet", None)]:
        laws.clear()
        replay_days(SCHEDULE, [Curious, Blind], find_scenario(name), 1, bounds=False)
        # A day that is described is replayed as it was among the others.
        scenario = find_scenario(name)
        trace_day(SCHEDULE, Curious(), scenario.day(SCHEDULE.instance, 0, 0), law=scenario.law)
        assert laws == [law, None, law]
