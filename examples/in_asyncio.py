"""A service in asyncio: plans are made in threads, which end with whoever awaits them, or in processes with bags."""

import asyncio
import itertools
import json
import sys
import threading
from collections.abc import Callable
from typing import Any

import spotbag


async def in_thread(function: Callable[..., spotbag.Result], *args: Any, **options: Any) -> spotbag.Result:
    """Plan in a thread; once the task that awaits it is cancelled, it ends as well."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(function, *args, stop=stop, **options)
    finally:
        stop.set()


class Planner:
    """A process that keeps bags: each is sent once, and planned by its name."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process, self._ids = process, itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls) -> "Planner":
        """Start the process."""
        pipe, most_bytes = asyncio.subprocess.PIPE, 2**28  # of a line
        command = (sys.executable, "-m", "spotbag", "serve")
        return cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=most_bytes))

    async def ask(self, method: str, /, **params: Any) -> Any:
        """Return the result of a method; once the task that awaits it is cancelled, the request is as well."""
        number = next(self._ids)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send(id=number, method=method, params=params)
        try:
            return await self._waiting[number]
        except asyncio.CancelledError:
            self._send(method="cancel", params={"id": number})
            raise

    async def close(self) -> None:
        """End the process, and all that it works on."""
        await self.ask("shutdown")
        await self._process.wait()

    def _send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            answer = json.loads(line)
            waiting = self._waiting.pop(answer["id"])
            if waiting.cancelled():
                continue
            if "error" in answer:
                waiting.set_exception(ValueError(answer["error"]["message"]))
            else:
                waiting.set_result(answer["result"])
        for waiting in self._waiting.values():
            waiting.set_exception(ConnectionError("the process has ended"))


spot, on_demand = spotbag.Offer(price_usd_per_hour=0.03, limit=4), spotbag.Offer(price_usd_per_hour=0.08, limit=4)
small = spotbag.VmType(name="small", vcpus=2, memory_mb=4000, offers={"spot": spot, "on-demand": on_demand})
tasks = [spotbag.Task(id=f"part-{n}", memory_mb=800, runtime_s={"small": 60 + n}) for n in range(20)]
bag = spotbag.Instance(name="parts", deadline_s=900, vm_types=(small,), tasks=tasks)


async def main() -> None:
    """Plan in a thread and in processes, while the loop goes on with other things."""
    try:
        async with asyncio.timeout(0.5):
            await in_thread(spotbag.solve, bag, time_limit_s=3600)
    except TimeoutError:
        print("nobody awaits the plan any more, and nothing works on it")
    planners = await asyncio.gather(*(Planner.start() for _ in range(2)))
    await asyncio.gather(*(planner.ask("initialize", warm=True) for planner in planners))
    for planner in planners:
        await planner.ask("solve", bag=bag.to_document(), method="search", time_limit_s=0.5)
        await planner.ask("advance", bag="parts", follow=True)
    answers = await asyncio.gather(*(planner.ask("replan", bag="parts", time_limit_s=0.05) for planner in planners))
    print(f"planned anew in {len(answers)} processes: {', '.join(answer['status'] for answer in answers)}")
    await asyncio.gather(*(planner.close() for planner in planners))


if __name__ == "__main__":
    asyncio.run(main())
