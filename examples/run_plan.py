"""A plan is really run: as scripts, one folder for each VM, here with all VMs on this machine at once.

On rented VMs, each runs the script of its own folder; then the logs are brought together. What happened is compared
with the plan, and drawn. Whoever plans anew on the way starts from the state that the logs lead to.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import spotbag

types = [
    spotbag.VmType(
        name="small",
        vcpus=2,
        memory_mb=4000,
        offers={
            "spot": spotbag.Offer(price_usd_per_hour=0.03, limit=4),
            "on-demand": spotbag.Offer(price_usd_per_hour=0.08, limit=4),
        },
    )
]
tasks = [
    spotbag.Task(id=f"part-{number}", memory_mb=800, runtime_s={"small": 1 + number % 2}, command=command)
    for number, command in enumerate(
        ["sleep 0.9; echo done", "sleep 1.9", "sleep 0.9", "sleep 1.9 && echo 'all $ well'"] * 3
    )
]
bag = spotbag.Instance(name="parts", deadline_s=9, boot_overhead_s=1, vm_types=types, tasks=tasks)
plan = spotbag.solve(bag, "greedy").schedule

folder = Path(tempfile.mkdtemp()) / "run"
vms = spotbag.export_plan(plan, folder)
drivers = [subprocess.Popen(["sh", str(vm / "run.sh")]) for vm in vms]
assert all(driver.wait() == 0 for driver in drivers)

execution = spotbag.read_log(plan, folder)
for vm in execution.vm_deviations:
    print(f"{vm.vm}: {vm.done} of {vm.tasks} tasks done, from {vm.start_s:.1f} s to {vm.end_s:.1f} s")
print(f"planned end {execution.planned_makespan_s} s, actual {execution.makespan_s:.1f} s")
print(f"starts are off by {execution.median_start_error_s:.2f} s (median); inversions: {len(execution.inversions)}")
state = spotbag.execution_state(plan, execution)
print(f"state at {state.time_s:.1f} s: {len(state.done)} tasks done, {len(state.vms)} VMs rented")
if len(sys.argv) > 1:
    spotbag.write_execution(execution, sys.argv[1], bag.name, bag.deadline_s)
