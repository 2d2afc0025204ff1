"""Rented VMs at a moment, and the tasks that run on them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from ..core.bill import Bill, elapsed_usd, unpaid_usd
from ..core.quantities import MAX_SECONDS, SECONDS_PER_HOUR, Credits, Name, OwnPrice
from ..core.records import Record
from ..instances.entries import BillingRules, Core, Cores, Market

Instant: TypeAlias = Annotated[float, Field(ge=-MAX_SECONDS, le=MAX_SECONDS)]
VmStatus: TypeAlias = Literal["launching", "running", "draining", "hibernated"]


class TaskOnVm(Record):
    """A task that runs.

    Attributes
    ----------
    task : str
        Its id.
    core : int
        On which core of the VM; the first of several.
    start_s : float
        Since when.
    end_s : float, optional
        When it is expected to end, if that is not when its run time is over. One that takes longer is taken to be that
        many times as long everywhere, if it has to be done again.
    mode : {"burst", "baseline"}, optional
        On burstable VMs: full speed if absent.
    cores : tuple of int, optional
        All cores of a task that has several; ``core`` is the first. If absent, plans give it those that are free.
    """

    task: Name
    core: Core
    start_s: Instant
    end_s: Instant | None = None
    mode: Literal["burst", "baseline"] | None = None
    cores: Cores | None = None


class VmState(Record):
    """A VM that is rented.

    Attributes
    ----------
    id, type, market : str
        Which, and what was rented.
    status : {"launching", "running", "draining", "hibernated"}
        A draining VM finishes what it runs, and takes no more. A hibernated one does nothing; what ran there waits
        again.
    ready_s : float
        When it is, or was, ready, for the last time if it has come back; billed from then on. One that launches after
        that is planned as if ready at once, and `spotbag.replan` warns of it.
    until_s : float, optional
        Of a draining VM: when it goes. What it runs and would end later is planned elsewhere.
    paid_until_s : float, optional
        Until when it is paid, where that is later than the moment of the state: blocks, or a minimum.
    price_usd_per_hour : float, optional
        At which it is rented, whatever its type costs by now: plans bill it by that, and `State.advance` adds what it
        has cost to ``spent_usd``. If absent, plans take the price of its type, and nothing is added.
    billing : BillingRules, optional
        How its sessions are billed beyond its price, with ``boot_s`` for all that is billed before it is ready, such as
        its setup: `State.advance` adds that. By the second if absent. Plans are billed as the instance says.
    credits : float, optional
        CPU credits of a burstable VM at the moment of the state, or when it is ready; those of its type if absent.
    running : tuple of TaskOnVm
        What it runs.
    """

    id: Name
    type: Name
    market: Market
    status: VmStatus = "running"
    ready_s: Instant = 0.0
    until_s: Instant | None = None
    paid_until_s: Instant | None = None
    price_usd_per_hour: OwnPrice | None = None
    billing: BillingRules | None = None
    credits: Credits | None = None
    running: Annotated[tuple[TaskOnVm, ...], Field(strict=False)] = ()


def session_so_far_usd(vm: VmState, until_s: float) -> float:
    """Return the bill of the present session of a VM until a moment; nothing if it is unknown, or has not begun."""
    if vm.price_usd_per_hour is None or vm.billing is None or until_s < vm.ready_s:
        return 0.0
    rules = {name: value for name, value in vm.billing if value is not None}
    # A bill knows the boot as what leads a session, and the minimum as its least.
    rules["lead_s"], rules["least_s"] = rules.pop("boot_s", 0), rules.pop("minimum_s", 0)
    return elapsed_usd(Bill(vm.price_usd_per_hour / SECONDS_PER_HOUR, **rules), until_s - vm.ready_s)


def cost_between_usd(vm: VmState, since_s: float, until_s: float) -> float:
    """Return the cost of a VM from one moment to another; nothing if its price is unknown."""
    if vm.price_usd_per_hour is None or vm.status in ("hibernated", "launching"):
        return 0.0
    if vm.billing is not None:
        return session_so_far_usd(vm, until_s) - session_so_far_usd(vm, since_s)
    begin = max(since_s, vm.ready_s, since_s if vm.paid_until_s is None else vm.paid_until_s)
    return unpaid_usd(vm.price_usd_per_hour / SECONDS_PER_HOUR, until_s, begin)


def billing_of(bill: Bill) -> BillingRules | None:
    """Return the rules of a bill beyond its price; None if it goes by the second and by nothing else."""
    rules = BillingRules(
        minimum_s=bill.least_s or None,
        boot_s=bill.lead_s or None,
        block_s=bill.block_s if bill.block_s > 1 else None,
        fixed_usd=bill.fixed_usd or None,
    )
    return None if rules == BillingRules() else rules


def session_rules(bill: Bill, setup_s: int) -> BillingRules | None:
    """Return the rules that bill sessions from when a VM takes tasks, of which its setup is a part."""
    return billing_of(bill._replace(lead_s=bill.lead_s + setup_s))


def several(cores: tuple[int, ...] | None) -> dict[str, Any]:
    """Return the field ``cores`` of a task that has several cores; documents of others lack it."""
    return {"cores": cores} if cores else {}


def changed(vm: VmState, **fields: Any) -> VmState:
    """Return a VM with other values, which are known to be valid."""
    return vm.model_copy(update=fields)
