"""The plan as a JSON document: ``spotbag.schedule/1``."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from ..core.quantities import Name
from ..core.records import INTEGRAL, Record, Text
from ..instances.entries import Market

SCHEDULE_FORMAT: Literal["spotbag.schedule/1"] = "spotbag.schedule/1"
_LARGEST = 2**53

Mode: TypeAlias = Literal["burst", "baseline"]
Moment: TypeAlias = Annotated[int, Field(ge=-_LARGEST, le=_LARGEST), INTEGRAL]


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
    checkpoint_interval_s : float, optional
        On spot VMs: work between two checkpoints; a claim like the cost.
    """

    id: Name
    vm: Name
    core: Annotated[int, Field(ge=0, le=_LARGEST), INTEGRAL]
    start_s: Moment
    end_s: Moment
    mode: Mode | None = None
    checkpoint_interval_s: Annotated[float, Field(gt=0)] | None = None


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
    cost_weight, cost_scale_usd, makespan_scale_s : number, optional
        Weight and scales of the objective that it was made for; the claimed objective is judged by these.
    vms, tasks : tuple
        The plan.
    """

    format: Literal["spotbag.schedule/1"] = SCHEDULE_FORMAT
    instance: Name
    method: Text | None = None
    deadline_s: Moment | None = None
    d_spot_s: Moment | None = None
    cost_usd: float | None = None
    makespan_s: Moment | None = None
    objective: float | None = None
    cost_weight: float | None = None
    cost_scale_usd: Annotated[float, Field(gt=0)] | None = None
    makespan_scale_s: Annotated[float, Field(gt=0)] | None = None
    vms: Annotated[tuple[RentedVm, ...], Field(strict=False)]
    tasks: Annotated[tuple[PlacedTask, ...], Field(strict=False)]
