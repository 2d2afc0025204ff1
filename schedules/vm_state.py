"""Rented VMs at a moment, and the tasks that run on them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from ..core.quantities import MAX_SECONDS, Credits, Name, OwnPrice
from ..core.records import Record
from ..instances.entries import Core, Cores, Market

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
    credits: Credits | None = None
    running: Annotated[tuple[TaskOnVm, ...], Field(strict=False)] = ()


def several(cores: tuple[int, ...] | None) -> dict[str, Any]:
    """Return the field ``cores`` of a task that has several cores; documents of others lack it."""
    return {"cores": cores} if cores else {}


def changed(vm: VmState, **fields: Any) -> VmState:
    """Return a VM with other values, which are known to be valid."""
    return vm.model_copy(update=fields)
