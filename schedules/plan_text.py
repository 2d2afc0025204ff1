"""Plans in words: what is made least, and what is rented."""

from __future__ import annotations

from collections import Counter

from ..core.bill import billed_s, cost_usd
from ..core.tables import Column, Table, numbers
from ..core.wording import counted, dollars
from ..instances.instance import Instance
from .evaluation import bills_of
from .schedule import Schedule


def goal_text(instance: Instance) -> str:
    """Objective of an instance in words: the quantities to be made least, in their order."""
    budget = instance.objective.budget_usd
    within = "" if budget is None else f", for at most {dollars(budget)}"
    return {
        "cheapest": "cheapest: the least cost, then the earliest end",
        "fastest": f"fastest: the earliest end, then the least cost{within}",
        "balanced": f"balanced: {instance.cost_weight:g} cost / {dollars(instance.cost_scale_usd)} + "
        f"{1 - instance.cost_weight:g} makespan / {instance.makespan_scale_s:g} s",
    }[instance.goal]


def least_text(schedule: Schedule) -> str:
    """Return a warning of the amount billed beyond the cost of a plan, for new VMs that end early; empty if none do."""
    bills = bills_of(schedule.instance)
    runs_s, offers = (schedule.vm_end_s - schedule.vm_ready_s).tolist(), schedule.vm_offer.tolist()
    vms = zip(schedule.vm_machine.tolist(), runs_s, [bills[offer] for offer in offers], strict=True)
    early = [(bill, run_s) for machine, run_s, bill in vms if machine < 0 < run_s < bill.least_s]
    if not early:
        return ""
    more_usd = sum(cost_usd(bill, billed_s(bill, run_s) - run_s, 0) for bill, run_s in early)
    return (
        f"{schedule.instance.cloud} bills each VM for {max(bill.least_s for bill, _ in early)} s at least, and the "
        f"plan ends {counted(len(early), 'VM')} earlier: the bill is {dollars(more_usd)} above its cost, and may be "
        "above the worst case likewise"
    )


def rented_table(schedule: Schedule) -> Table:
    """Table of rented VMs, a row for each VM type and market; from a state, also the numbers of new VMs."""
    offers, from_state = schedule.instance.offers, bool(schedule.instance.machines)
    vms = Counter(schedule.vm_offer.tolist())
    tasks = Counter(schedule.vm_offer[schedule.task_vm].tolist())
    ready = schedule.vm_ready_s
    # Of tasks that run already, only the time from the state on is compared with what is paid from then on.
    from_s = schedule.task_start_s.clip(min=ready[schedule.task_vm])
    rows = []
    for index in sorted(vms):
        mine = schedule.vm_offer == index
        end = schedule.vm_end_s[mine]
        paid = (end - ready[mine]).sum() * offers[index].vcpus
        used = (schedule.task_end_s - from_s)[mine[schedule.task_vm]].sum()
        rows.append(
            [
                offers[index].vm_type.name,
                offers[index].market,
                str(vms[index]),
                *([str((schedule.vm_machine[mine] < 0).sum())] if from_state else []),
                str(vms[index] * offers[index].vcpus),
                f"{tasks[index]:,}",
                f"{int(end.max()):,}",
                f"{100 * used / paid:.1f}" if paid else "-",
                f"{offers[index].price_usd_per_hour:g}",
                f"{schedule.vm_cost_usd[mine].sum():.6f}",
            ]
        )
    columns = [
        Column("VM type"),
        Column("market"),
        Column("VMs", True),
        *([Column("new VMs", True)] if from_state else []),
        *numbers("cores", "tasks", "last end (s)", "cores busy (%)", "price ($/h)", "cost ($)"),
    ]
    return Table(columns, rows)
