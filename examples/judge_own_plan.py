"""Judge the plan of a scheduler of one's own, here first fit on demand.

It is written as any program in any language could write it, in the format of docs/formats.md. Is it feasible, and how
far is it from the optimum?
"""

import json
import tempfile

import spotbag

instance = spotbag.library_instance("hads/J60")
ready_s = instance.boot_overhead_s
cores = [
    {"vm": f"{offer.vm_type.name}-{number}", "type": offer.vm_type.name, "core": core, "end_s": ready_s}
    for offer in sorted(instance.offers, key=lambda offer: offer.price_usd_per_hour / offer.vcpus)
    if offer.market == "on-demand" and offer.vm_type.burstable is None
    for number in range(1, offer.limit + 1)
    for core in range(offer.vcpus)
]
tasks = []
for task in instance.tasks:
    for number in range(task.count):
        for core in cores:
            duration_s = task.runtime_s[core["type"]]
            if core["end_s"] + duration_s <= instance.deadline_s:
                break
        else:
            raise SystemExit("it does not fit")
        start_s, core["end_s"] = core["end_s"], core["end_s"] + duration_s
        name = task.id if task.count == 1 else f"{task.id}#{number + 1}"
        tasks.append({"id": name, "vm": core["vm"], "core": core["core"], "start_s": start_s, "end_s": core["end_s"]})
used = {core["vm"]: core["type"] for core in cores if core["end_s"] > ready_s}
plan = {
    "format": "spotbag.schedule/1",
    "instance": instance.name,
    "vms": [{"id": vm, "type": vm_type, "market": "on-demand"} for vm, vm_type in used.items()],
    "tasks": tasks,
}

with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    json.dump(plan, file)
    file.flush()
    schedule = spotbag.read_schedule(file.name, instance)
report = spotbag.check(instance, schedule)
print("feasible" if report.feasible else "\n".join(str(violation) for violation in report.violations))
optimum = spotbag.solve(instance)
print(f"objective {schedule.objective:.4f}, the optimum is {optimum.objective:.4f} ({optimum.status})")
