"""A plan becomes shell scripts, one for each VM: whoever starts the VMs runs them there.

Tasks of a core run one after the other, cores side by side; a task begins when the one before it has ended, which is
what the plan means, whether or not run times were estimated well.
"""

import tempfile
from collections import defaultdict
from pathlib import Path

import spotbag

instance = spotbag.generate_instance(12, seed=1)
plan = spotbag.solve(instance, goal="cheapest").schedule.to_document()
queues: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
for task in sorted(plan.tasks, key=lambda task: task.start_s):
    queues[task.vm][task.core].append(f"./run {task.id}  # from second {task.start_s} to {task.end_s}")

folder = Path(tempfile.mkdtemp())
for vm in plan.vms:
    lines = ["#!/bin/sh", f"# On one VM of type {vm.type}, {vm.market}."]
    for queue in queues[vm.id].values():
        lines += ["(", *(f"    {command}" for command in queue), ") &"]
    (folder / f"{vm.id}.sh").write_text("\n".join([*lines, "wait", ""]))
    print((folder / f"{vm.id}.sh").read_text())
