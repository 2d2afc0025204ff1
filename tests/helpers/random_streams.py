"""Random streams, and a policy that does whatever is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np

from spotbag.instances.streams.stream import Stream
from spotbag.plugins import StreamPolicy, StreamState, StreamVm

TYPES = ("small", "big", "huge")


def random_stream(rng: np.random.Generator) -> Stream:
    """Few types, applications and jobs; deadlines from hopeless to generous, many things at the same moment."""
    types = TYPES[: int(rng.integers(1, 4))]
    applications = [f"app{number}" for number in range(int(rng.integers(1, 4)))]
    step_s = int(rng.choice([1, 5, 30]))
    jobs = []
    for number in range(int(rng.integers(1, 6))):
        submitted_s = int(rng.integers(0, 40)) * step_s
        jobs.append(
            {
                "id": f"j{number}",
                "application": str(rng.choice(applications)),
                "submitted_s": submitted_s,
                "deadline_s": submitted_s + 1 + int(rng.integers(0, 60)) * step_s,
                "n_tasks": int(rng.integers(1, 13)),
            }
        )
    return Stream(
        name="random",
        block_s=int(rng.choice([10, 60, 100, 600])),
        creation_overhead_s=int(rng.choice([0, 1, 10, 70])),
        vm_types=[{"name": name, "price_usd_per_block": float(rng.choice([0.073, 0.1, 0.146, 1.0]))} for name in types],
        applications=[
            {"name": name, "runtime_s": {kind: _run_times(rng) for kind in _some(rng, types)}} for name in applications
        ],
        jobs=jobs,
    )


def _some(rng: np.random.Generator, names: tuple[str, ...]) -> list[str]:
    chosen = [name for name in names if rng.random() < 0.8]
    return chosen or [str(rng.choice(names))]


def _run_times(rng: np.random.Generator) -> dict[str, Any]:
    mean_s = float(rng.choice([1, 7.5, 20, 45]))
    kinds: list[dict[str, Any]] = [
        {"distribution": "constant", "value_s": mean_s},
        {"distribution": "uniform", "low_s": mean_s / 2, "high_s": mean_s * 1.5},
        {"distribution": "lognormal", "mean_s": mean_s, "sd_s": mean_s},
        {"samples_s": [mean_s, 3 * mean_s]},
        {"sequence_s": [mean_s * factor for factor in range(1, 13)]},
    ]
    return kinds[int(rng.integers(len(kinds)))]


class Anything(StreamPolicy):
    """Decides at random; in the end every task is assigned, so that the stream ends."""

    name = "anything"

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._decisions = 200

    def submitted(self, replay: StreamState, job: int) -> None:
        self._decide(replay)

    def idle(self, replay: StreamState, vm: StreamVm) -> None:
        self._decide(replay)

    def finished(self, replay: StreamState, vm: StreamVm, task: int, took_s: int) -> None:
        self._decide(replay)

    def woken(self, replay: StreamState, datum: int) -> None:
        self._decide(replay)

    def block_ended(self, replay: StreamState, vm: StreamVm) -> None:
        if self._rng.random() < 0.7:
            replay.terminate(vm)

    def _decide(self, replay: StreamState) -> None:
        rng = self._rng
        for task in [task for task in range(len(replay.job_of)) if replay.in_pool(task)]:
            if rng.random() < 0.7 or self._decisions <= 0:
                self._assign(replay, task)
        for vm in [vm for vm in replay.vms if vm.alive]:
            deed = rng.random() if self._decisions > 0 else 1.0
            self._decisions -= 1
            if deed < 0.1 and vm.task is not None:
                replay.suspend(vm)
            elif deed < 0.25 and vm.queue:
                replay.take_back(vm.queue[int(rng.integers(len(vm.queue)))], vm)
            elif deed < 0.3 and not vm.tasks:
                replay.terminate(vm)
        if any(replay.in_pool(task) for task in range(len(replay.job_of))):
            replay.wake_at(replay.now_s + int(rng.integers(0, 30)))

    def _assign(self, replay: StreamState, task: int) -> None:
        rng = self._rng
        vms = [vm for vm in replay.vms if vm.alive and replay.can_run(task, vm.type_index)]
        if not vms or rng.random() < 0.2:
            able = [index for index in range(len(replay.stream.vm_types)) if replay.can_run(task, index)]
            vms = [replay.start_vm(int(rng.choice(able)))]
        vm = vms[int(rng.integers(len(vms)))]
        position = int(rng.integers(0, len(vm.queue) + 1)) if rng.random() < 0.5 else None
        replay.assign(task, vm, position)
