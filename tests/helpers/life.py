"""Life of a bag that is carried out by somebody else: tasks that take their time, VMs that come and go, and plans."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import spotbag
from spotbag import InputError

LIMIT_S = 0.01
TYPES = {"small": 2, "big": 4, "burst": 2}


class Life:
    """A bag, what has happened of it, and the plan that is carried out; ``names`` are all that VMs have had."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(f"life {seed}")
        types = [self._type(name, 4) for name in TYPES]
        tasks = [self._task(f"t{k}") for k in range(rng.randint(3, 25))]
        goal = rng.choice(["cheapest", "fastest", "balanced"])
        self.bag = spotbag.Instance(
            name="life",
            deadline_s=rng.randint(1500, 6000),
            boot_overhead_s=rng.choice([0, 30]),
            objective={"goal": goal},
            checkpoint=rng.choice([None, {"overhead_fraction": 0.1, "dump_base_s": 2}]),
            vm_types=types,
            tasks=tasks,
        )
        self.state = spotbag.State(instance="life")
        self.plan: spotbag.Schedule | None = None
        self.names: set[str] = set()
        self.begun: set[str] = set()
        self.ends_s: dict[str, float] = {}
        self.ready_s: dict[str, float] = {}
        self.shares: list[float] = []
        self.added = 0
        self.statuses = Counter[str]()

    def _type(self, name: str, limit: int) -> spotbag.VmType:
        price = 0.1 * TYPES[name] * self.rng.choice([0.7, 1, 1, 1.4])
        offers = {
            market: spotbag.Offer(price_usd_per_hour=price * part, limit=limit)
            for market, part in (("spot", 0.3), ("on-demand", 1.0))
        }
        burstable: Any = {"baseline_fraction": 0.4, "credits_per_hour": 24} if name == "burst" else None
        return spotbag.VmType(name=name, vcpus=TYPES[name], memory_mb=4000, offers=offers, burstable=burstable)

    def _task(self, name: str) -> spotbag.Task:
        seconds = self.rng.randint(20, 400)
        able = self.rng.sample(list(TYPES), self.rng.choice([2, 3, 3, 3]))
        memory_mb = self.rng.choice([100, 800, 1900])
        return spotbag.Task(id=name, memory_mb=memory_mb, runtime_s=dict.fromkeys(able, seconds))

    def event(self) -> None:
        """Have something happen: mostly what was planned, at its own time."""
        ordinary = [self.pass_time] * 12 + [self.start_tasks] * 6
        rare = [self.vm_event, self.task_event, self.vm_event, self.task_event, self.order_event]
        if not self.state.waiting_ids(self.bag) and self.rng.random() < 0.2:
            self.add_tasks()  # the queue has run empty
        self.rng.choice(ordinary + rare)()

    def add_tasks(self) -> None:
        """Have some more tasks come in."""
        new = [self._task(f"new{self.added + k}") for k in range(self.rng.randint(1, 6))]
        self.added += len(new)
        self.bag = self.bag.replace(tasks=[*self.bag.tasks, *new])

    def happen(self, *events: Any) -> None:
        """Have events happen now."""
        self.state = self.state.advance(self.state.time_s, *events)

    def pass_time(self) -> None:
        """Go on to the next moment at which a task ends or a VM is ready; a while if there is none."""
        moments = [(at, name) for name, at in (*self.ends_s.items(), *self.ready_s.items())]
        at, name = min(moments, default=(self.state.time_s + self.rng.uniform(0, 60), ""))
        event: tuple[Any, ...] = ()
        if name:
            event = (spotbag.TaskFinished(name) if name in self.ends_s else spotbag.VmReady(name),)
        self.ends_s.pop(name, None)
        self.ready_s.pop(name, None)
        self.state = self.state.advance(max(at, self.state.time_s), *event)

    def start_tasks(self) -> None:
        """Start the next task of each core that is free, as the plan has them."""
        for vm in self.state.vms:
            if self.plan is None or vm.status != "running" or vm.id not in self.plan.vm_ids:
                continue
            busy, room_mb = {run.core for run in vm.running}, 4000.0
            needs_mb = dict(zip(self.bag.task_ids, self.bag.given_memory_mb.tolist(), strict=True))
            room_mb -= sum(needs_mb[run.task] for run in vm.running)
            for core, task in self.plan.next_tasks(vm.id, begun=self.begun).items():
                if core in busy or task.id not in self.state.waiting_ids(self.bag):
                    continue
                if needs_mb[task.id] <= room_mb or self.rng.random() < 0.1:  # rarely, too much is run at once
                    room_mb -= needs_mb[task.id]
                    self.happen(spotbag.TaskStarted(task.id, vm.id, core, task.mode))
                    self.begun.add(task.id)
                    self.ends_s[task.id] = self.state.time_s + self.rng.uniform(0.3, 3) * (task.end_s - task.start_s)

    def vm_event(self) -> None:
        """Have something happen to a VM."""
        rng, now_s = self.rng, self.state.time_s
        if not self.state.vms:
            return
        vm = rng.choice(self.state.vms)
        makes: list[Any] = [
            lambda: spotbag.VmEnded(vm.id),
            lambda: spotbag.VmHibernated(vm.id),
            lambda: spotbag.VmDraining(vm.id, rng.choice([None, now_s + rng.uniform(0, 300)])),
            lambda: spotbag.VmPaid(vm.id, now_s + rng.uniform(0, 900)),
            lambda: spotbag.VmPriced(vm.id, rng.choice([0, 0.01, 0.2, 3])),
        ]
        if vm.type == "burst":
            makes.append(lambda: spotbag.VmCredits(vm.id, rng.uniform(0, 40)))
        if vm.status == "launching":
            makes = [lambda: spotbag.VmExpected(vm.id, now_s + rng.uniform(0, 300)), *makes[:1]]
        if vm.status in ("draining", "hibernated"):
            makes = [lambda: spotbag.VmResumed(vm.id), *makes[:1]]
        event = rng.choice(makes)()
        lost = isinstance(event, spotbag.VmEnded | spotbag.VmHibernated)
        for run in vm.running if lost else ():
            self._waits_again(run.task)
        if isinstance(event, spotbag.VmEnded):
            self.ready_s.pop(vm.id, None)
        if isinstance(event, spotbag.VmExpected):
            self.ready_s[vm.id] = event.ready_s + rng.choice([0, 0, 50])
        self.happen(event)

    def _waits_again(self, task: str) -> None:
        self.ends_s.pop(task, None)
        self.begun.discard(task)

    def task_event(self) -> None:
        """Have something happen to a task."""
        rng, waiting = self.rng, self.state.waiting_ids(self.bag)
        running = self.state.running_ids
        if running and rng.random() < 0.7:
            task = rng.choice(running)
            kind = rng.choice(["failed", "expected", "expected", "withdrawn"])
            if kind == "expected":
                self.happen(spotbag.TaskExpected(task, self.ends_s[task]))
                return
            self._waits_again(task)
            self.happen(spotbag.TaskFailed(task) if kind == "failed" else spotbag.TaskWithdrawn(task))
            if kind == "failed" and rng.random() < 0.5:
                self.happen(spotbag.TaskSaved(task, rng.uniform(0, 0.9)))
        elif waiting:
            task = rng.choice(waiting)
            self.happen(rng.choice([spotbag.TaskWithdrawn(task), spotbag.TaskSaved(task, rng.uniform(0, 0.9))]))

    def order_event(self) -> None:
        """Have the bag change: tasks, deadline, prices, limits, types."""
        rng, kind = self.rng, self.rng.choice(["tasks", "tasks", "tasks", "deadline", "types", "withdrawn", "spent"])
        changes: dict[str, Any] = {}
        if kind == "tasks":
            self.add_tasks()
        if kind == "deadline":
            changes["deadline_s"] = max(int(self.state.time_s) + rng.randint(200, 4000), 500)
        if kind == "types":
            changes["vm_types"] = tuple(self._type(name, rng.choice([0, 2, 4])) for name in TYPES)
        if kind == "withdrawn":
            some = rng.sample(list(TYPES), 2)
            changes["vm_types"] = tuple(self._type(name, 4) for name in some)
        if kind == "spent":
            self.happen(spotbag.Spent(self.state.spent_usd + rng.random()))
        self.bag = self.bag.replace(**changes)

    def plan_again(self) -> None:
        """Plan what is left, have the plan checked, and request its new VMs under names that none has had."""
        begin = time.perf_counter()
        try:
            result = spotbag.replan(
                self.bag, self.state, time_limit_s=LIMIT_S, start=self.plan, survive="none", seed=self.rng.randrange(9)
            )
        except InputError as error:
            expected = "leaves nothing to be planned", "give the instance a later deadline"
            assert any(text in str(error) for text in expected), error
            late = expected[1] in str(error)
            if late:
                self.bag = self.bag.replace(deadline_s=int(self.state.time_s) + 2000)
            self.statuses["late" if late else "done"] += 1
            return
        self.shares.append((time.perf_counter() - begin) / LIMIT_S)
        self.statuses[result.status] += 1
        if result.schedule is None:
            return
        self.plan = plan = result.schedule
        assert spotbag.check(self.bag, plan, state=self.state).violations == ()
        known = {vm.id for vm in self.state.vms}
        new = [name for name in plan.vm_ids if name not in known]
        assert not self.names.intersection(new)
        self.names.update(new)
        self.state = self.state.follow(plan)
        for vm in self.state.vms:
            if vm.id in new:
                self.ready_s[vm.id] = vm.ready_s + self.rng.choice([0, 0, 5, 200])
        self.begun = {*self.state.done, *self.state.running_ids}


def live(seed: int, n_events: int) -> Life:
    """Live for so many events, each of which is planned anew."""
    life = Life(seed)
    life.plan_again()
    for _ in range(n_events):
        life.event()
        life.plan_again()
    assert len(life.state.gone) == len(set(life.state.gone))
    return life
