"""A bag is planned in a program, without any file; it is begun, loses a VM, and what is left is planned anew."""

import spotbag

spot, on_demand = spotbag.Offer(price_usd_per_hour=0.03, limit=4), spotbag.Offer(price_usd_per_hour=0.08, limit=4)
small = spotbag.VmType(name="small", vcpus=2, memory_mb=4000, offers={"spot": spot, "on-demand": on_demand})
tasks = [spotbag.Task(id=f"part-{n}", memory_mb=800, runtime_s={"small": 60 + n}) for n in range(20)]
bag = spotbag.Instance(name="parts", deadline_s=900, vm_types=(small,), tasks=tasks)
plan = spotbag.solve(bag, time_limit_s=2).schedule
assert plan is not None, "900 s are enough"
state = spotbag.State.begin(plan).advance(1, *map(spotbag.VmReady, plan.vm_ids))
state = state.advance(1, spotbag.TaskStarted("part-19", plan.vm_ids[0], core=0))
state = state.advance(30, spotbag.VmEnded(plan.vm_ids[0]))  # taken away: what ran there waits again
left = spotbag.replan(bag, state, start=plan).schedule
assert left is not None, "there is time enough"
print(f"planned: {plan.makespan_s} s, $ {plan.cost_usd:.4f}; at 30 s, a VM is lost: {left.makespan_s} s more")
