"""Tiny instances of which a part is under way: machines that exist, with what runs on them."""

from __future__ import annotations

import random
from typing import Any

from second_by_second import duration_s
from tiny_instances import FAMILIES, tiny_instance

from spotbag.instances.instance import Instance


def tiny_state(family: str, seed: int) -> Instance:
    """Draw a tiny instance with 1 to 3 machines: idle, launching, closed or busy, paid for some time or not.

    Tasks that run are copies of those of the bag. Memory that they hold, and credits of burstable machines, may bind.
    """
    rng = random.Random(f"state {family} {seed}")
    instance = tiny_instance(seed, **FAMILIES[family])
    document = instance.to_document()
    offers = [(vm_type, market) for vm_type in instance.vm_types for market in vm_type.offers]
    runs: dict[str, list[dict[str, Any]]] = {}
    machines = []
    for number in range(rng.choice([1, 1, 2, 3])):
        vm_type, market = rng.choice(offers)
        machine: dict[str, Any] = {"id": f"m{number}", "type": vm_type.name, "market": market, "running": []}
        memory_mb = vm_type.memory_mb
        for core in rng.sample(range(vm_type.vcpus), rng.choice([0, 1, 1, min(2, vm_type.vcpus)])):
            group = rng.randrange(len(instance.tasks))
            task = instance.tasks[group]
            baseline = vm_type.burstable is not None and rng.random() < 0.6
            seconds = duration_s(instance, task, vm_type, market, baseline)
            if seconds is None or task.memory_mb > memory_mb:
                continue
            memory_mb -= task.memory_mb
            entry: dict[str, Any] = {"core": core, "start_s": rng.randint(1 - seconds, 0)}
            if vm_type.burstable is not None:
                entry["mode"] = "baseline" if baseline else "burst"
            runs.setdefault(task.id, []).append(entry)
            machine["running"].append(entry)
        if not machine["running"] and rng.random() < 0.4:
            machine["ready_s"] = rng.randint(1, 4)
        if rng.random() < 0.5:
            machine["paid_until_s"] = rng.randint(1, 12)
        if rng.random() < 0.2:
            machine["open"] = False
        if vm_type.burstable is not None and rng.random() < 0.7:
            machine["credits"] = rng.choice([0.05, 0.1, 0.3, 1])
        machines.append(machine)
    for task in document["tasks"]:
        entries, count = runs.get(task["id"], []), task.get("count", 1)
        if entries:
            task["count"] = count + len(entries)
            copies = rng.sample(range(1, task["count"] + 1), len(entries))
            for entry, copy in zip(entries, copies, strict=True):
                entry["task"] = f"{task['id']}#{copy}"
    if rng.random() < 0.3:
        document.pop("limits", None)
    document["machines"] = machines
    return Instance.from_document(document, "tiny state")
