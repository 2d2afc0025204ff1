"""``spotbag serve``: bags, states and plans that are kept, whatever is sent, and whatever becomes of the client."""

from __future__ import annotations

import json
import math
import os
import random
import re
import signal
from pathlib import Path
from typing import Any

import pytest

import spotbag
from spotbag.schedules.schedule_files import format_schedule, schedule_document_of
from tests.fuzzing.mutations import Mutator
from tests.helpers.command_shell import judge
from tests.helpers.served import Client, ServedError, served, serving_process
from tests.solvers.bags.test_late import nightly

ROOT = Path(__file__).parents[3]


def bag(n_tasks: int = 20, name: str = "parts", **fields: Any) -> spotbag.Instance:
    """A bag that is planned in an instant; there is time to do again what is lost."""
    spot, on_demand = spotbag.Offer(price_usd_per_hour=0.03, limit=6), spotbag.Offer(price_usd_per_hour=0.08, limit=6)
    offers = {"spot": spot, "on-demand": on_demand}
    types = tuple(
        spotbag.VmType(name=kind, vcpus=cores, memory_mb=8000, offers=offers)
        for kind, cores in (("small", 2), ("large", 4))
    )
    tasks = [
        spotbag.Task(id=f"part-{n}", memory_mb=800, runtime_s={"small": 60 + n, "large": 50 + n})
        for n in range(n_tasks)
    ]
    return spotbag.Instance(name=name, vm_types=types, tasks=tasks, **{"deadline_s": 5000, **fields})


QUICK = {"method": "greedy", "survive": "none"}


def answered(kind: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that is of its published schema."""
    assert found["format"] == f"spotbag.{kind}/1"
    judge(kind).validate(found)
    return found


def test_a_bag_is_planned_begun_planned_again_and_checked_by_its_name() -> None:
    whole = bag(boot_overhead_s=20)
    with served() as client:
        assert answered("serve", client.ask("initialize"))["version"] == spotbag.__version__
        solved = answered("solve", client.ask("solve", bag=whole.to_document(), **QUICK))
        begun = client.ask("advance", bag="parts", follow=True)
        plan = spotbag.solve(whole, "greedy", survive="none").schedule
        assert plan is not None
        assert spotbag.State.parse(json.dumps(begun)) == spotbag.State.begin(plan)
        names = [vm["id"] for vm in solved["plan"]["vms"]]
        events = [
            {"event": "VmReady", "vm": names[0]},
            {"event": "TaskStarted", "task": "part-3", "vm": names[0], "core": 1},
            {"event": "VmPriced", "vm": names[0], "price_usd_per_hour": 0.02},
            {"event": "VmRequested", "vm": {"id": "own", "type": "large", "market": "spot", "status": "launching"}},
        ]
        state = client.ask("advance", bag="parts", time_s=7.5, events=events)
        expected = spotbag.State.begin(plan).advance(
            7.5,
            spotbag.VmReady(names[0]),
            spotbag.TaskStarted("part-3", names[0], 1),
            spotbag.VmPriced(names[0], 0.02),
            spotbag.VmRequested(spotbag.VmState(id="own", type="large", market="spot", status="launching")),
        )
        assert spotbag.State.parse(json.dumps(state)) == expected
        left = answered("replan", client.ask("replan", bag="parts", time_limit_s=0.02))
        assert left["time_s"] == 7.5
        report = spotbag.check(whole, schedule_document_of(left["plan"]), state=expected)
        assert report.feasible
        for given in ({}, {"plan": left["plan"], "state": state}):
            checked = answered("check", client.ask("check", bag="parts", **given))
            assert checked["status"] == "feasible"
            assert math.isclose(checked["cost_usd"], report.cost_usd)
        assert client.ask("check", bag="parts", plan=left["plan"])["status"] == "infeasible"  # for the whole bag
        assert client.ask("forget", bag="parts") is None
        with pytest.raises(ServedError, match="bag 'parts' must be an instance, or the name of one that is kept"):
            client.ask("replan", bag="parts")


def test_a_late_plan_says_so_and_is_judged_as_one() -> None:
    parts = {"id": "part", "runtime_s": {"c5.large": 200}, "memory_mb": 500, "count": 10}  # of which 8 are in time
    with served() as client:
        found = client.ask("solve", bag=nightly(late=None, tasks=[parts]).to_document(), late="least", threads=1)
        assert found["status"] == "late"
        assert found["plan"]["late"]["lateness_s"] == found["late"]["lateness_s"] == 120
        assert client.ask("check", bag="nightly", plan=found["plan"], late="least")["status"] == "late"
        assert client.ask("check", bag="nightly")["status"] == "infeasible"
        assert client.ask("check", bag="nightly", late="least")["late"]["lateness_s"] == 120


def test_solve_begins_with_a_plan_and_returns_nothing_worse() -> None:
    with served() as client:
        greedy = client.ask("solve", bag=bag().to_document(), **QUICK)["plan"]
        best = client.ask("solve", bag="parts", method="search", survive="none", iterations=20_000)["plan"]
        found = client.ask("solve", bag="parts", **QUICK, initial=best)["plan"]
        assert found["objective"] == best["objective"] < greedy["objective"]
        with pytest.raises(ServedError, match="initial: "):
            client.ask("solve", bag="tiny/two-cores", initial=best)


def test_what_is_given_anew_takes_the_place_of_what_is_kept() -> None:
    with served() as client:
        client.ask("solve", bag=bag().to_document(), **QUICK)
        state = client.ask("advance", bag="parts", follow=True, time_s=10)
        later = {**state, "time_s": 20}
        assert client.ask("replan", bag="parts", state=later, time_limit_s=0.02)["time_s"] == 20
        assert client.ask("advance", bag="parts")["time_s"] == 20
        start = client.ask("solve", bag="parts", **QUICK)["plan"]
        given = client.ask("replan", bag="parts", start=start, time_limit_s=0.02, changes={"deadline_s": 4000})
        assert given["deadline_s"] == 3980
        assert client.ask("replan", bag="parts", start=None, time_limit_s=0.02)["deadline_s"] == 3980
        assert client.ask("advance", bag=bag().to_document())["vms"] == []
        with pytest.raises(ServedError, match="name cannot be changed: give the bag anew"):
            client.ask("advance", bag="parts", changes={"name": "others"})
        assert client.ask("solve", bag="tiny/two-cores", **QUICK)["instance"] == "tiny/two-cores"


@pytest.mark.parametrize(
    ("method", "params", "code", "said"),
    [
        ("solve", {}, -32602, "params: bag is missing"),
        ("solve", {"bag": 3}, -32602, "bag 3 must be an instance, or the name"),
        ("solve", {"bag": "hads/J61"}, -32602, "did you mean hads/J60"),
        ("solve", {"bag": {}}, -32602, 'bag: "format" is missing'),
        ("solve", {"bag": "parts", "goal": "best"}, -32602, "goal 'best' must be 'cheapest', 'fastest' or 'balanced'"),
        ("solve", {"bag": "parts", "method": "best"}, -32602, "method: 'best' is unknown"),
        ("solve", {"bag": "parts", "time_limit_s": -1}, -32602, "time limit: -1 must be a positive number"),
        ("solve", {"bag": "parts", "time_limit_s": "1"}, -32602, "time_limit_s '1' must be a number"),
        ("solve", {"bag": "parts", "initial": {}}, -32602, 'initial: "format" is missing'),
        ("solve", {"bag": "parts", "changes": {"deadline": 1}}, -32602, "deadline is an unknown key"),
        (
            "solve",
            {"bag": "parts", "method": "time-indexed"},
            -32000,
            "the time-indexed model of 'parts' with a step of",
        ),
        ("replan", {"bag": "parts", "progress": True}, -32602, "progress is an unknown key"),
        ("replan", {"bag": "parts", "start": {}}, -32602, 'start: "format" is missing'),
        ("replan", {"bag": "parts", "state": {"format": "spotbag.state/2"}}, -32602, "cannot be read here"),
        (
            "advance",
            {"bag": "parts", "state": {"format": "spotbag.state/1", "instance": "x"}},
            -32602,
            "not of 'parts'",
        ),
        ("replan", {"bag": "hads/J60", "state": {"format": "spotbag.state/1", "instance": "x"}}, -32602, "'x'"),
        ("advance", {"bag": "parts", "follow": True}, -32602, "follow needs a plan: solve or replan first"),
        ("advance", {"bag": "parts", "changes": {"deadline_s": 0}}, -32602, "deadline_s 0 must be greater than"),
        (
            "advance",
            {"bag": "parts", "changes": {"deadline_s": 900}, "time_s": -1},
            -32602,
            "state: cannot go on to -1 s: it is at 0 s",
        ),
        ("advance", {"bag": "parts", "events": [{"event": "VmEnded", "vm": "x"}]}, -32602, "has no VM 'x'"),
        ("advance", {"bag": "parts", "events": [{"event": "VmReady"}]}, -32602, "events[0].vm is missing"),
        ("advance", {"bag": "parts", "events": [{"event": "VmRead"}]}, -32602, "events[0].event 'VmRead' is unknown"),
        ("advance", {"bag": "parts", "events": [3]}, -32602, "events[0] 3 must be an object"),
        ("check", {"bag": "parts"}, -32602, "params: plan is missing"),
        ("check", {"bag": "parts", "plan": {}}, -32602, 'plan: "format" is missing'),
        ("forget", {"bag": "none"}, -32602, "bag 'none' must be"),
        ("initialize", {"warm": 1}, -32602, "warm 1 must be true or false"),
    ],
)
def test_an_error_has_our_message_with_the_place(method: str, params: dict[str, Any], code: int, said: str) -> None:
    with served() as client:
        before = client.ask("advance", bag=bag().to_document())
        with pytest.raises(ServedError) as found:
            client.ask(method, **params)
        assert said in str(found.value), found.value
        assert found.value.code == code
        assert "Traceback" not in str(found.value)
        judge("error").validate(found.value.data)
        assert client.ask("advance", bag="parts") == before
        if method != "solve":  # which has begun where it is refused
            assert client.ask("replan", bag="parts", time_limit_s=0.02)["deadline_s"] == 5000


def test_progress_is_told_to_who_asks_and_a_cancelled_request_answers_with_the_best_so_far() -> None:
    with served() as client:
        long = client.send("solve", bag=bag(60).to_document(), method="ils", progress=True, survive="none")
        while not client.notifications:
            client.ask("advance", bag="parts")
        assert client.ask("cancel", id=long) is True
        found = client.result(long)
        assert found["interrupted"]
        told = client.notifications
        assert {(one["method"], one["params"]["id"]) for one in told} == {("progress", long)}
        assert set(told[0]["params"]) == {"id", "iteration", "planned", "best", "bound"}
        seen = [one["params"]["best"] for one in told if one["params"]["best"] is not None]  # null before any plan
        assert not seen or found["objective"] <= seen[-1] + 1e-12
        told.clear()
        client.ask("solve", bag="parts", method="ils", options={"max_iteration": 3}, survive="none")
        assert told == []


def test_the_plan_that_is_kept_is_that_of_the_latest_request() -> None:
    with served() as client:
        long = client.send("solve", bag=bag(60).to_document(), method="ils", survive="none")
        later = client.ask("solve", bag="parts", **QUICK)
        client.ask("cancel", id=long)
        client.result(long)
        kept = client.ask("advance", bag="parts", follow=True)
        assert [vm["id"] for vm in kept["vms"]] == [vm["id"] for vm in later["plan"]["vms"]]


def test_several_bags_are_planned_at_once() -> None:
    with served() as client:
        names = [f"bag-{number}" for number in range(6)]
        for name in names:
            client.ask("advance", bag=bag(30, name).to_document())
        asked = {
            client.send("replan", bag=name, time_limit_s=0.05, seed=seed): name for seed in (1, 2) for name in names
        }
        for identifier, name in asked.items():
            found = client.result(identifier)
            assert (found["instance"], found["status"]) == (name, "feasible")
            plan = schedule_document_of(found["plan"])
            assert spotbag.check(bag(30, name), plan, state=spotbag.State(instance=name)).feasible


def damaged_lines(how_many: int, seed: int) -> list[bytes]:
    """Lines of all methods, damaged in their structure, in the spelling of their values, or in their bytes."""
    rng = random.Random(f"served {seed}")
    document, plan = bag(3).to_document(), spotbag.solve(bag(3), "lpt", survive="none").schedule
    assert plan is not None
    state, event = spotbag.State.begin(plan).to_document(), {"event": "VmReady", "vm": plan.vm_ids[0]}
    params: dict[str, dict[str, Any]] = {
        "initialize": {"warm": False},
        "solve": {"bag": document, **QUICK, "time_limit_s": 0.01, "changes": {"deadline_s": 4000}},
        "replan": {"bag": "parts", "state": state, "start": None, "time_limit_s": 0.01, "seed": 3},
        "advance": {"bag": "parts", "time_s": 1, "follow": True, "events": [event, event]},
        "check": {"bag": "parts", "plan": json.loads(format_schedule(plan))},
        "forget": {"bag": "parts"},
        "cancel": {"id": 1},
    }
    lines = []
    for number in range(how_many):
        method = rng.choice(list(params))
        message: Any = {"jsonrpc": "2.0", "id": number, "method": method, "params": params[method]}
        keys = sorted({*message, *message["params"], *document})
        mutator = Mutator(rng, keys)
        lines.append(mutator.as_bytes(mutator.text([message, message] if rng.random() < 0.1 else message)))
    return lines


@pytest.mark.parametrize("how_many", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_damaged_lines_are_answered_in_whole_lines_and_leave_nothing_behind(how_many: int) -> None:
    with served() as client:
        for line in damaged_lines(how_many, how_many):
            client.write(line)
            # Whatever it was, and whether it is answered: the next one is.
            client.write('{"jsonrpc": "2.0", "id": "next", "method": "initialize"}')
            while True:
                answer = client.message()
                for one in answer if isinstance(answer, list) else [answer]:
                    assert one["jsonrpc"] == "2.0"
                    assert one.get("error", {}).get("code", -32700) in (-32700, -32600, -32601, -32602, -32000), line
                if isinstance(answer, dict) and answer["id"] == "next":
                    break
        client.ask("shutdown")


class Life:
    """A client that carries out a bag, whatever happens, and checks each plan that it is given."""

    def __init__(self, client: Client, seed: int) -> None:
        self.client, self.rng = client, random.Random(f"life {seed}")
        self.bag = bag(25, f"life-{seed}", deadline_s=50_000, boot_overhead_s=20)
        client.ask("solve", bag=self.bag.to_document(), **QUICK)
        self.state = client.ask("advance", bag=self.bag.name, follow=True)
        self.n_plans = 0

    def event(self) -> dict[str, Any] | None:
        """Draw something that may happen now."""
        vms = self.state["vms"]
        running = [(run["task"], vm) for vm in vms for run in vm["running"]]
        begun = {task for task, _ in running} | {*self.state["done"]}
        waiting = [task for task in self.bag.task_ids if task not in begun]
        now_s, draw = self.state["time_s"], self.rng.random
        events: list[dict[str, Any]] = []
        for vm in vms:
            name = {"vm": vm["id"]}
            if vm["status"] == "launching":
                events += [{"event": "VmReady", **name}] * 3
                events += [{"event": "VmExpected", **name, "ready_s": now_s + 60 * draw()}]
            elif vm["status"] == "hibernated":
                events += [{"event": "VmResumed", **name}] * 3
            elif vm["status"] == "running":
                free = {*range(2 if vm["type"] == "small" else 4)} - {run["core"] for run in vm["running"]}
                if waiting and free:
                    start = {"task": self.rng.choice(waiting), "core": min(free)}
                    events += [{"event": "TaskStarted", **name, **start}] * 6
                events += [{"event": "VmHibernated", **name}, {"event": "VmDraining", **name}]
            events += [{"event": "VmEnded", **name}]
            events += [{"event": "VmPriced", **name, "price_usd_per_hour": 0.1 * draw()}]
        for task, _ in running:
            events += [{"event": "TaskFinished", "task": task}] * 3
            events += [{"event": "TaskFailed", "task": task}]
            events += [{"event": "TaskExpected", "task": task, "end_s": now_s + 1 + 300 * draw()}]
        for task in waiting[:2]:
            events += [{"event": "TaskSaved", "task": task, "fraction": 0.9 * draw()}]
        return self.rng.choice(events) if events else None

    def step(self) -> bool:
        """Let something happen, plan what is left, and check that; False once nothing is left."""
        event = self.event()
        moment = self.state["time_s"] + 20 * self.rng.random()
        ask = {"bag": self.bag.name, "time_s": moment, "events": [] if event is None else [event]}
        self.state = self.client.ask("advance", **ask)
        if len(self.state["done"]) == self.bag.n_tasks:
            return False
        found = self.client.ask("replan", bag=self.bag.name, time_limit_s=0.01)
        assert found["status"] in ("feasible", "optimal"), found["message"]
        plan, state = schedule_document_of(found["plan"]), spotbag.State.parse(json.dumps(self.state))
        report = spotbag.check(self.bag, plan, state=state)
        assert report.feasible, report.violations
        self.state = self.client.ask("advance", bag=self.bag.name, follow=True)
        self.n_plans += 1
        return True


@pytest.mark.parametrize("n_events", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_every_plan_after_a_random_event_passes_the_checker(n_events: int) -> None:
    with served() as client:
        n_plans, seed = 0, 0
        while n_plans < n_events:
            life = Life(client, seed)
            while n_plans + life.n_plans < n_events and life.step():
                pass
            n_plans += life.n_plans
            seed += 1


@pytest.mark.slow
@pytest.mark.parametrize("end", ["input", "both", signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_process_leaves_nothing_behind(end: Any) -> None:
    with serving_process() as (client, process):
        long = client.send("solve", bag=bag(60).to_document(), progress=True, method="ils", survive="none")
        assert client.message()["params"]["id"] == long
        if isinstance(end, str):
            if end == "both":
                assert process.stdout is not None
                with open(os.devnull, "rb") as nothing:
                    os.dup2(nothing.fileno(), process.stdout.fileno())
            client.sink.close()
        else:
            process.send_signal(end)
        process.wait(30)
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)  # nobody is left of the group
        code = {"input": 0, signal.SIGINT: 130, signal.SIGTERM: 130, signal.SIGKILL: -9}.get(end)
        assert code is None or process.returncode == code
        if end in ("input", signal.SIGINT, signal.SIGTERM):
            last = [json.loads(line) for line in iter(client.line, b"")][-1]
            assert last["result"]["interrupted"]
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_a_process_warms_up_and_prints_nothing_but_answers() -> None:
    with serving_process("--most-requests", "3") as (client, process):
        assert client.ask("initialize", warm=True)["warm"] is True
        assert client.ask("solve", bag="hads/J60", time_limit_s=0.2, survive="none")["plan"]["instance"] == "hads/J60"
        assert client.ask("shutdown") is None
        assert client.line() == b""
        process.wait(30)
        assert process.returncode == 0


@pytest.mark.slow
def test_the_messages_of_the_client_in_node_are_answered() -> None:
    text = (ROOT / "examples" / "serve.mjs").read_text()
    sent = re.findall(r'spotbag\.ask\("(\w+)"(?:, (\{.*\}))?\)', text)
    asked = [(method, re.sub(r"(\w+):", r'"\1":', params or "{}")) for method, params in sent]
    assert [method for method, _ in asked] == [
        "solve", "advance", "replan", "advance", "replan", "check", "initialize", "shutdown",
    ]  # fmt: skip
    values = {"bag: makeBag(size)": json.dumps(bag(60).to_document())}
    with served() as client:
        lost = ""
        for method, params in asked:
            given = re.sub(r"\{ bag,|\{ bag \}", lambda found: found[0].replace("bag", '"bag": "parts"'), params)
            given = given.replace("makeBag(size)", values["bag: makeBag(size)"])
            given = re.sub(r'"time_s": step', '"time_s": 1', given).replace('"vm": lost', f'"vm": "{lost}"')
            found = client.ask(method, **json.loads(given))
            if method == "replan":
                lost = found["plan"]["vms"][0]["id"]
                assert found["status"] == "feasible"
