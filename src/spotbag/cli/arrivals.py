"""Options by which commands read streams and platforms from files of jobs."""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..core.errors import SpotbagError
from ..core.text_files import read_text, source_name
from ..core.wording import counted
from .answers import deliver
from .arguments import CsvOptions, is_path, load_platform, names_in
from .console import warn
from .options import Only, amount_option, duration_option, given_options, option, seconds_option

if TYPE_CHECKING:
    from ..core.records import WholeDocument
    from ..instances.arrivals import Arrival, Deadlines
    from ..instances.bags.job_logs import JobFilter
    from ..instances.platforms.platform import Platform
    from ..instances.streams.stream import Stream
    from ..instances.table_columns import MultiCore

Made = TypeVar("Made", bound="WholeDocument")

_LONGEST_NAME = 170
_OF_TABLES = {"column", "ignore_column", "only"}


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Choice of the jobs of a log."""

    user: str | None = option("ID", "Jobs of this user.")
    from_s: float | None = duration_option(
        "Jobs submitted from this time of the log on: 2d, 36h or seconds.", name="from"
    )
    to_s: float | None = duration_option("Jobs submitted before this time of the log.", name="to")
    status: str = option("CODES", "Jobs with one of these by commas: 1 completed, or all.", "1,-1")
    requested_times: bool = option(
        None, "Take the requested time of a job, not the one it took.", False, name="requested-times"
    )
    most_jobs: int | None = option("N", "The first N of these jobs only.", name="jobs", min=1)

    def filter(self, multi_core: MultiCore = "keep", bag: str | None = None) -> JobFilter:
        """Return the options as a filter of jobs."""
        from ..core.quantities import number_of
        from ..instances.bags.job_logs import JobFilter

        codes = [] if self.status == "all" else [number_of(code) for code in names_in([self.status])]
        if any(code is None or not code.is_integer() for code in codes):
            raise SpotbagError(f"--status {self.status}: must be whole numbers by commas, or all")
        given = {entry.name: getattr(self, entry.name) for entry in fields(JobOptions) if entry.name != "status"}
        statuses = tuple(int(code) for code in codes if code is not None)
        return JobFilter(bag=bag, statuses=statuses, multi_core=multi_core, **given)


@dataclass(frozen=True, kw_only=True)
class ArrivalOptions(JobOptions, CsvOptions, ABC):
    """Reading of a file of jobs that arrive; commands have them by types that inherit these (see `spread`)."""

    deadline: float | None = duration_option("Of jobs whose file has none: a time after their arrival.")
    stretch: float | None = option("X", "Likewise, X run times; with --deadline, their sum.", min=0)
    column: list[str] | None = option(
        "ROLE=HEADING",
        "Column of a role (id, arrival_s, runtime_min, count, deadline_s, within_h, application, budget, priority) "
        "whose heading says something else. May be repeated.",
    )

    def arrivals(self, text: str, source: str) -> tuple[list[Arrival], Deadlines]:
        """Read the jobs of a table or a log, and say what is left out."""
        from ..instances.arrivals import Deadlines, arrivals_of_table
        from ..instances.bags.job_logs import arrivals_of_log
        from ..instances.table_formats import kind_of_file

        kind = kind_of_file(text)
        # Options of the other kind of file would be passed over, and jobs taken that nobody wanted.
        of_others = _OF_TABLES if kind in ("swf", "gwf") else {field.name for field in fields(JobOptions)}
        wrong = [option for name, option in given_options(self).items() if name in of_others]
        if wrong:
            called = f"a log in {kind.upper()}" if kind in ("swf", "gwf") else "a table"
            raise SpotbagError(f"{', '.join(wrong)}: {source} is {called}; leave out what others have")
        if kind in ("swf", "gwf"):
            found, said = arrivals_of_log(io.StringIO(text, newline=None), kind, source, self.filter())
        else:
            found, said = arrivals_of_table(text, source, self.form())
        warn(said)
        return found, Deadlines(self.deadline, self.stretch)

    @abstractmethod
    def make(self, text: str, source: str) -> Any:
        """Make a document of a file of jobs."""

    def read(self, kind: type[Made], argument: str) -> Made:
        """Read a document or a file of jobs, which is made into one, by path or ``-``; or load it from the library."""
        from ..instances.library import load, names_of
        from ..instances.table_formats import kind_of_file

        text = read_text(argument) if is_path(argument, names_of(kind)) else None
        if text is not None and kind_of_file(text) in ("table", "swf", "gwf"):
            made: Made = self.make(text, source_name(argument))
            return made
        if given := given_options(self):
            warn([f"{argument} is no file of arrivals: {', '.join(given.values())} changed nothing"])
        return load(kind, argument) if text is None else kind.parse(text, source_name(argument))


@dataclass(frozen=True, kw_only=True)
class StreamFileOptions(ArrivalOptions):
    """Options of a file of jobs that becomes a stream."""

    market: Literal["on-demand", "spot"] = option(None, "Market of the prices.", "on-demand")
    block: int = seconds_option("Length of a block that is billed.", 3600, least=1)
    launch: int = seconds_option("Time from the request of a VM until it is ready.", 300)

    def load(self, argument: str) -> Stream:
        """Load a stream by path, ``-`` or library name, or make it of a file of jobs."""
        from ..instances.streams.stream import Stream

        return self.read(Stream, argument)

    def make(self, text: str, source: str) -> Stream:
        """Make a stream of a file of jobs."""
        from ..instances.streams.stream_files import stream_of_arrivals

        found, deadlines = self.arrivals(text, source)
        vm_types, speeds = self._vm_types()
        return stream_of_arrivals(
            found,
            deadlines,
            vm_types,
            speeds,
            name=_name(source),
            source=source,
            block_s=self.block,
            creation_overhead_s=self.launch,
        )

    def _vm_types(self) -> tuple[list[Any], Mapping[str, float]]:
        """Return the VM types with their prices for a block, and their speeds."""
        from ..core.quantities import SECONDS_PER_HOUR
        from ..instances.bags.vm_catalogue import choose_vm_types, price_notes
        from ..instances.streams.entries import StreamVmType

        # Without types, only numbers of VMs can be compared, for which one type at a price of one is enough.
        if self.types is None:
            if wrong := {"speed", "region", "prices", "market"} & {*given_options(self)}:
                raise SpotbagError(f"--{min(wrong)}: is for VM types; --types NAMES says which")
            warn(["all VMs are of one type, 'host', for $ 1 a block (--types NAMES takes types and prices)"])
            return [StreamVmType(name="host", price_usd_per_block=1.0)], {}
        asked = self.asked(1)
        made = []
        for vm_type in choose_vm_types(asked.vms):
            offer = vm_type["offers"].get(self.market)
            if offer is None:
                raise SpotbagError(f"--market {self.market}: {vm_type['name']} has no price there")
            # Streams are billed by whole blocks, catalogues by the hour.
            usd = offer["price_usd_per_hour"] * self.block / SECONDS_PER_HOUR
            known = {name: vm_type[name] for name in ("name", "vcpus", "memory_mb")}
            made.append(StreamVmType(**known, price_usd_per_block=usd))
        warn(price_notes(asked.vms))
        return made, dict(asked.vms.speeds or {})


@dataclass(frozen=True, kw_only=True)
class PlatformFileOptions(ArrivalOptions):
    """Options of a file of jobs that becomes a platform."""

    resources: str = option("PLATFORM", "Platform whose agents and resources the jobs have.", "caron/hybrid")
    budget_rate: float = amount_option("Of jobs without a budget, for each processor-minute.", 4.0)

    def load(self, argument: str) -> Platform:
        """Load a platform by path, ``-`` or library name, or make it of a file of jobs."""
        from ..instances.platforms.platform import Platform

        return self.read(Platform, argument)

    def make(self, text: str, source: str) -> Platform:
        """Make a platform of a file of jobs."""
        from ..instances.platforms.platform_files import platform_of_arrivals

        found, deadlines = self.arrivals(text, source)
        if any(arrival.budget is None for arrival in found):
            warn([f"jobs without a budget may cost {self.budget_rate:g} for each processor-minute (--budget-rate)"])
        resources = load_platform(self.resources)
        return platform_of_arrivals(
            found, deadlines, resources, budget_per_minute=self.budget_rate, name=_name(source), source=source
        )


def deliver_jobs(made: Stream | Platform, path: str | None, as_json: bool) -> None:
    """Write a stream or a platform as JSON, or print it if there is no path."""
    from ..instances.streams.stream import Stream

    jobs = counted(len(made.jobs), "job")
    if isinstance(made, Stream):
        deliver(made, path, as_json, f"{made.name}, {jobs}, {counted(made.n_tasks, 'task')}", stream=made.name)
    else:
        about = f"{made.name}, {counted(len(made.resources), 'resource')}, {jobs}"
        deliver(made, path, as_json, about, platform=made.name, jobs=len(made.jobs))


_OF_ARRIVALS = (
    *("deadline", "stretch", "column", "ignore_column", "only"),
    *("user", "from_s", "to_s", "status", "requested_times", "most_jobs"),
)
OF_STREAMS = Only("types", "speed", "region", "prices", "market", "block", "launch", *_OF_ARRIVALS)
OF_PLATFORMS = Only("resources", "budget_rate", *_OF_ARRIVALS)
"""Options as the help lists them."""


def _name(source: str) -> str:
    from ..core.quantities import is_name

    # The file may have any name, that of a stream is shown, and stands in names of instances.
    stem = os.path.basename(source).rsplit(".", 1)[0][:_LONGEST_NAME]
    return stem if is_name(stem) else "jobs"
