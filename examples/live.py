"""A policy that is asked live: `on-time` on worker processes, one of which is lost in the middle.

A VM is a process that runs its tasks in threads; a task only sleeps. A second of the bag takes SECOND on the clock. One
loop owns the state and the policy, which are values: each event, or time that has passed, gives the next ones, and
decisions that are carried out.
"""

import asyncio
import sys
import time
from asyncio.subprocess import PIPE, Process

import spotbag

SECOND = float(sys.argv[1]) if len(sys.argv) > 1 else 0.02
WORKER = """
import sys, threading, time

def work(task, attempt, seconds):
    time.sleep(float(seconds))
    print(task, attempt, flush=True)

print("ready", flush=True)
for line in sys.stdin:
    threading.Thread(target=work, args=line.split(), daemon=True).start()
"""


class Loop:
    """Carries out one bag."""

    def __init__(self, bag: spotbag.Instance, plan: spotbag.Schedule) -> None:
        self.bag = bag
        self.state = spotbag.State.begin(plan)
        # Asked for the first time, it loads what is compiled; only then does time begin.
        self.answer = spotbag.LivePolicy.begin(plan, "on-time", cloud="aws-terminate").decide(self.state)
        self.told: asyncio.Queue[tuple[str, str]] = asyncio.Queue()  # a VM, and what it says; nothing once it is gone
        self.workers: dict[str, Process] = {}
        self.attempts: dict[str, int] = {}
        self.listening: list[asyncio.Task[None]] = []
        self.lost: list[str] = []
        self.began = time.monotonic()

    async def run(self) -> None:
        """Answer what happens until all is done."""
        for vm in self.state.vms:
            await self.launch(vm.id)
        while True:
            self.state = self.state.advance(self.state.time_s, *self.answer.decisions)
            for decision in self.answer.decisions:
                await self.carry_out(decision)
            if len(self.state.done) == self.bag.n_tasks:
                return
            events = await self.events(self.answer.until_s)
            self.state = self.state.advance(max((time.monotonic() - self.began) / SECOND, self.state.time_s), *events)
            self.answer = self.answer.policy.decide(self.state, *events)

    async def events(self, until_s: float | None) -> list[spotbag.TaskFinished | spotbag.VmReady | spotbag.VmEnded]:
        """Wait for an event, or until a moment; what is no news any more is none."""
        wait_s = None if until_s is None else max(self.began + until_s * SECOND - time.monotonic(), 0.0)
        try:
            vm, said = await asyncio.wait_for(self.told.get(), wait_s)
        except TimeoutError:
            return []
        task, _, attempt = said.partition(" ")
        if vm not in self.workers:
            return []
        if not said:
            del self.workers[vm]
            self.lost.append(vm)
            return [spotbag.VmEnded(vm)]
        if said == "ready":
            return [spotbag.VmReady(vm)]
        if task in self.state.running_ids and self.attempts[task] == int(attempt):
            return [spotbag.TaskFinished(task)]
        return []

    async def carry_out(self, decision: object) -> None:
        """Do what was decided; a task that is stopped, or moves, is not waited for any more."""
        match decision:
            case spotbag.StartTask():
                attempt = self.attempts[decision.task] = self.attempts.get(decision.task, 0) + 1
                run_s = self.bag.runtime_s[self.bag.task_group[self.bag.task_index[decision.task]], 0] * SECOND
                pipe = self.workers[decision.vm].stdin
                assert pipe is not None
                pipe.write(f"{decision.task} {attempt} {0.95 * run_s}\n".encode())
            case spotbag.LaunchVm():
                await self.launch(decision.vm.id)
            case spotbag.EndVm():
                self.workers.pop(decision.vm).kill()

    async def launch(self, vm: str) -> None:
        """Start the process of a VM, and listen to it."""
        self.workers[vm] = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, stdin=PIPE, stdout=PIPE)
        self.listening.append(asyncio.create_task(self.listen(vm, self.workers[vm])))

    async def listen(self, vm: str, process: Process) -> None:
        """Pass on what a VM says, and that it is gone."""
        assert process.stdout is not None
        async for line in process.stdout:
            await self.told.put((vm, line.decode().strip()))
        await process.wait()
        await self.told.put((vm, ""))

    async def lose_one(self, after_s: float) -> None:
        """Have a spot VM be gone, as a cloud would."""
        await asyncio.sleep(after_s * SECOND)
        spot = [vm.id for vm in self.state.vms if vm.market == "spot" and vm.running]
        if spot:
            self.workers[spot[0]].kill()


async def main() -> Loop:
    """Plan a bag, carry it out, and say how it went."""
    spot, on_demand = spotbag.Offer(price_usd_per_hour=0.03, limit=3), spotbag.Offer(price_usd_per_hour=0.08, limit=6)
    small = spotbag.VmType(name="small", vcpus=2, memory_mb=4000, offers={"spot": spot, "on-demand": on_demand})
    tasks = [spotbag.Task(id=f"part-{n}", memory_mb=800, runtime_s={"small": 60 + n}) for n in range(10)]
    bag = spotbag.Instance(name="parts", deadline_s=600, boot_overhead_s=30, vm_types=(small,), tasks=tasks)
    plan = spotbag.solve(bag, "search", time_limit_s=0.2, survive="none").schedule
    assert plan is not None, "600 s are enough"
    loop = Loop(bag, plan)
    loss = asyncio.create_task(loop.lose_one(100))
    await loop.run()
    await asyncio.gather(loss, *loop.listening)
    state = loop.state
    print(f"{len(state.done)} tasks done, {', '.join(loop.lost) or 'no VM'} lost")
    print(f"deadline: {bag.deadline_s} s; planned: {plan.makespan_s} s; actual: {state.time_s:.0f} s")
    return loop


if __name__ == "__main__":
    asyncio.run(main())
