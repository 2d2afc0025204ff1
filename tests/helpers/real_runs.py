"""Plans that are really run: small random bags of short commands, by the scripts of an export or on a Dask cluster."""

from __future__ import annotations

import random
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from spotbag import Execution, Instance, Schedule, export_plan, read_log, replan
from spotbag.executors.logs import execution_state
from spotbag.executors.shell import LOG_NAME
from tests.helpers.exported_plans import environment

BOOT_S = 1


def random_bag(drawn: random.Random, commands: bool = True) -> Instance:
    """Return a bag of commands that take a twentieth of a second or none, some of which fail; memory may bind."""
    offers = {
        "spot": {"price_usd_per_hour": 0.3, "limit": 3},
        "on-demand": {"price_usd_per_hour": 1.1, "limit": 3},
    }
    tasks: list[dict[str, Any]] = []
    for number in range(drawn.randint(4, 14)):
        command = drawn.choice(["true", "sleep 0.05", "sleep 0.05", "sleep 0.02", "exit 3"])
        task = {"id": f"t{number}", "memory_mb": drawn.choice([10, 400, 700]), "runtime_s": {"c1": 1, "c2": 1}}
        tasks.append(task | ({"command": command} if commands else {}))
    document = {
        "format": "spotbag.instance/1",
        "name": "short",
        "deadline_s": drawn.choice([2, 100]),
        "boot_overhead_s": BOOT_S,
        "limits": {"max_spot": 4, "max_on_demand": 4},
        "vm_types": [
            {"name": f"c{vcpus}", "vcpus": vcpus, "memory_mb": 1000, "gflops": 10, "offers": offers} for vcpus in (1, 2)
        ],
        "tasks": tasks,
    }
    return Instance.parse_document(document, "short")


def random_plan(drawn: random.Random, bag: Instance) -> Schedule:
    """Return a plan on one to three VMs, whose tasks never need more memory together than there is."""
    kinds = [drawn.randrange(len(bag.offers)) for _ in range(drawn.randint(1, 3))]
    vm, core, start_s, ends = [], [], [], {}
    used: dict[tuple[int, int], int] = {}
    for task in range(bag.n_tasks):
        machine = drawn.randrange(len(kinds))
        place = machine, drawn.randrange(bag.offers[kinds[machine]].vcpus)
        start = ends.get(place, BOOT_S)
        kb = int(bag.memory_kb[bag.task_group[task]])
        while used.get((machine, start), 0) + kb > bag.offers[kinds[machine]].memory_kb:
            start += 1
        used[machine, start] = used.get((machine, start), 0) + kb
        ends[place] = start + 1
        vm.append(machine)
        core.append(place[1])
        start_s.append(start)
    return Schedule(
        bag, np.array(kinds), np.array(vm), np.array(core), np.array(start_s), np.zeros(len(vm), dtype=bool)
    )


def begin(vm: Path) -> subprocess.Popen[bytes]:
    """Start the scripts of a VM."""
    return subprocess.Popen(["sh", str(vm / "run.sh")], cwd=vm, stderr=subprocess.DEVNULL, env=environment())


def run_by_scripts(seed: int, folder: Path) -> list[Execution]:
    """Run a random plan by its scripts, some of them twice or stopped; also what is left, planned anew."""
    drawn = random.Random(seed)
    bag = random_bag(drawn)
    plan = random_plan(drawn, bag)
    folder.mkdir(exist_ok=True)
    for vm in export_plan(plan, folder / "run"):
        process = begin(vm)
        if drawn.random() < 0.3:
            while not (vm / LOG_NAME).exists():  # one that is stopped before it has begun tells nothing
                time.sleep(0.01)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.12)
            process.terminate()
        process.wait()
        if drawn.random() < 0.3:  # what failed or was stopped is run again
            begin(vm).wait()
    first = read_log(plan, folder / "run")
    if not first.unfinished or bag.deadline_s <= first.until_s + 10:
        return [first]
    state = execution_state(plan, first, {stretch.vm for stretch in first.vms})
    left = replan(bag, state, time_limit_s=0.1).schedule
    assert left is not None
    for process in [begin(vm) for vm in export_plan(left, folder / "again")]:
        process.wait()
    return [first, read_log(left, folder / "again")]
