"""The plan as a JSON document: ``spotbag.schedule/1``."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from ..instances.json_documents import Record
from ..instances.problem import Market, Name

SCHEDULE_FORMAT: Literal["spotbag.schedule/1"] = "spotbag.schedule/1"
_LARGEST = 2**53

Mode: TypeAlias = Literal["burst", "baseline"]
Moment: TypeAlias = Annotated[int, Field(ge=-_LARGEST, le=_LARGEST)]


class RentedVm(Record):
    """A VM of the plan.

    Attributes
    ----------
    id : str
        Unique in the plan.
    type, market : str
        What is rented.
    """

    id: Name
    type: Name
    market: Market


class PlacedTask(Record):
    """A task of the plan: which VM and core, from when to when (whole seconds from the start of the application).

    Attributes
    ----------
    mode : {"burst", "baseline"}, optional
        On burstable VMs: at full speed, which spends credits, or at the baseline. Full speed if absent.
    """

    id: Name
    vm: Name
    core: Annotated[int, Field(ge=0, le=_LARGEST)]
    start_s: Moment
    end_s: Moment
    mode: Mode | None = None


class ScheduleDocument(Record):
    """A plan as written in a file.

    Attributes
    ----------
    instance : str
        Name of the instance it is for.
    method : str, optional
        What made it.
    deadline_s, d_spot_s : int, optional
        Time limits that it was made for.
    cost_usd, makespan_s, objective : number, optional
        What it claims to come to; readers derive these from the instance, and the checker compares.
    vms, tasks : tuple
        The plan.
    """

    format: Literal["spotbag.schedule/1"] = SCHEDULE_FORMAT
    instance: Name
    method: str | None = None
    deadline_s: Moment | None = None
    d_spot_s: Moment | None = None
    cost_usd: float | None = None
    makespan_s: Moment | None = None
    objective: float | None = None
    vms: Annotated[tuple[RentedVm, ...], Field(strict=False)]
    tasks: Annotated[tuple[PlacedTask, ...], Field(strict=False)]
