"""The plan: schedules, their timing, cost, checker, files and charts."""

from .checker import RULES, CheckReport, Violation, check
from .documents import PlacedTask, RentedVm, ScheduleDocument
from .gantt import write_gantt
from .schedule import Schedule
from .schedule_files import (
    format_schedule,
    parse_schedule_document,
    read_schedule,
    read_schedule_document,
    schedule_of_document,
    schedule_schema,
    write_schedule,
)
from .timing import VmTimeline

__all__ = [
    "RULES",
    "CheckReport",
    "PlacedTask",
    "RentedVm",
    "Schedule",
    "ScheduleDocument",
    "Violation",
    "VmTimeline",
    "check",
    "format_schedule",
    "parse_schedule_document",
    "read_schedule",
    "read_schedule_document",
    "schedule_of_document",
    "schedule_schema",
    "write_gantt",
    "write_schedule",
]
