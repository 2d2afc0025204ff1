"""A service that carries out a plan, and plans anew as events come in: tasks that end, VMs that boot or are taken away.

Events come from other threads: here from timers that stand for a cloud, where a second of the bag takes 2 ms. One loop
owns the state. It starts on each idle core what the plan has there next, and plans what is left when a VM is gone.
"""

import queue
import threading
import time

import spotbag

SECOND = 0.002


class Service:
    """Carries out one bag."""

    def __init__(self, bag: spotbag.Instance, plan: spotbag.Schedule) -> None:
        self.bag, self.plan, self.state = bag, plan, spotbag.State.begin(plan)
        self.events: queue.Queue[tuple[str, str, float]] = queue.Queue()
        self.replans = 0
        self.began = time.monotonic()

    def now_s(self) -> float:
        """Seconds of the bag since it was begun."""
        return (time.monotonic() - self.began) / SECOND

    def after(self, seconds: float, event: str, name: str, since_s: float = 0.0) -> None:
        """Let an event happen later."""
        timer = threading.Timer(seconds * SECOND, self.events.put, [(event, name, since_s)])
        timer.daemon = True
        timer.start()

    def run(self) -> None:
        """Answer events until all tasks are done."""
        self.await_new_vms(set())
        while len(self.state.done) < self.bag.n_tasks:
            event, name, since_s = self.events.get()
            vms = {vm.id for vm in self.state.vms}
            # A task that was cut off and begun again has an old timer, too.
            running = {(run.task, run.start_s) for vm in self.state.vms for run in vm.running}
            if event == "finished" and (name, since_s) in running:
                self.state = self.state.advance(self.now_s(), spotbag.TaskFinished(name))
            elif event == "ready" and name in vms:
                self.state = self.state.advance(self.now_s(), spotbag.VmReady(name))
            elif event == "lost" and name in vms:
                self.state = self.state.advance(self.now_s(), spotbag.VmEnded(name))
                self.plan_again()
            self.start_what_is_next()

    def plan_again(self) -> None:
        """Plan what is left, and request the VMs that are new."""
        result = spotbag.replan(self.bag, self.state, time_limit_s=0.05, start=self.plan)
        self.replans += 1
        if result.schedule is None:
            raise SystemExit(result.message)
        known = {vm.id for vm in self.state.vms}
        self.plan, self.state = result.schedule, self.state.follow(result.schedule)
        self.await_new_vms(known)

    def await_new_vms(self, known: set[str]) -> None:
        """Let VMs that have been requested come up."""
        for vm in self.state.vms:
            if vm.id not in known:
                self.after(self.bag.boot_overhead_s, "ready", vm.id)

    def start_what_is_next(self) -> None:
        """Start the next task of each core that is idle, and end VMs that have nothing to do any more."""
        now_s, waiting = self.now_s(), set(self.state.waiting_ids(self.bag))
        rows = [row for row in self.plan.to_document().tasks if row.id in waiting]
        rows.sort(key=lambda row: row.start_s, reverse=True)
        started, idle = list[spotbag.TaskStarted](), list[spotbag.VmEnded]()
        for vm in self.state.vms:
            busy = {run.core for run in vm.running}
            following = {row.core: row.id for row in rows if row.vm == vm.id}
            if vm.status == "running":
                started += [
                    spotbag.TaskStarted(task, vm.id, core) for core, task in following.items() if core not in busy
                ]
            if not (busy or following):
                idle.append(spotbag.VmEnded(vm.id))
        self.state = self.state.advance(now_s, *idle, *started)
        for task in (event.task for event in started):
            really_s = 1.05 * self.bag.runtime_s[self.bag.task_group[self.bag.task_index[task]], 0]
            self.after(float(really_s), "finished", task, now_s)


spot, on_demand = spotbag.Offer(price_usd_per_hour=0.03, limit=6), spotbag.Offer(price_usd_per_hour=0.08, limit=6)
small = spotbag.VmType(name="small", vcpus=2, memory_mb=4000, offers={"spot": spot, "on-demand": on_demand})
tasks = [spotbag.Task(id=f"part-{n}", memory_mb=800, runtime_s={"small": 60 + n}) for n in range(40)]
bag = spotbag.Instance(name="parts", deadline_s=3000, boot_overhead_s=20, vm_types=(small,), tasks=tasks)

spotbag.warm_up(["search"])
plan = spotbag.solve(bag, "search", time_limit_s=1, survive="none").schedule
assert plan is not None, "3,000 s are enough"
service = Service(bag, plan)
for number, vm in enumerate(plan.vm_ids[:3]):
    service.after(100.0 + 80 * number, "lost", vm)
service.run()
state = service.state
print(f"{len(state.done)} tasks done, planned anew {service.replans} times")
print(f"planned: {plan.makespan_s} s, $ {plan.cost_usd:.4f}; actual: {state.time_s:.0f} s, $ {state.spent_usd:.4f}")
