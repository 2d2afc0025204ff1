"""Options by which commands read streams and platforms from files of jobs."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from .arguments import (
    CsvOptions,
    Only,
    amount_option,
    duration_option,
    is_path,
    load_platform,
    load_stream,
    seconds_option,
    warn,
)
from .instance_import import JobOptions

if TYPE_CHECKING:
    from ..instances.arrivals import Arrival, Deadlines
    from ..instances.platforms.platform import Platform
    from ..instances.streams.stream import Stream

Made = TypeVar("Made")

_LONGEST_NAME = 170
_OF_TABLES = {"column", "ignore_column"}


class OfferedMarket(StrEnum):
    """Markets of the prices of a stream."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"


@dataclass(frozen=True, kw_only=True)
class ArrivalOptions(JobOptions, CsvOptions):
    """Reading of a file of jobs that arrive; commands have them by types that inherit these (see `spread`)."""

    deadline: Annotated[
        float | None, duration_option("--deadline", "Of jobs whose file has none: a time after their arrival.")
    ] = None
    stretch: Annotated[
        float | None,
        typer.Option("--stretch", metavar="X", min=0, help="Likewise, X run times; with --deadline, their sum."),
    ] = None
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="ROLE=HEADING",
            help="Column of a role (id, arrival_s, runtime_min, count, deadline_s, within_h, application, budget, "
            "priority) whose heading says something else. May be repeated.",
        ),
    ] = None

    def given(self) -> dict[str, str]:
        """Return the options that are given: the names of their fields, and as they are called."""
        names = {"submitted_from": "from", "submitted_to": "to", "requested": "requested-times"}
        given = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        return {name: f"--{names.get(name, name).replace('_', '-')}" for name in given}

    def arrivals(self, text: str, source: str) -> tuple[list[Arrival], Deadlines]:
        """Read the jobs of a table or a log, and say what is left out."""
        from ..core.errors import SpotbagError
        from ..instances.arrivals import Deadlines, arrivals_of_table
        from ..instances.bags.job_logs import arrivals_of_log
        from ..instances.bags.task_formats import kind_of_file

        kind = kind_of_file(text)
        of_others = _OF_TABLES if kind in ("swf", "gwf") else {field.name for field in fields(JobOptions)}
        wrong = [option for name, option in self.given().items() if name in of_others]
        if wrong:
            called = f"a log in {kind.upper()}" if kind in ("swf", "gwf") else "a table"
            raise SpotbagError(f"{', '.join(wrong)}: {source} is {called}; leave out what others have")
        if kind in ("swf", "gwf"):
            found, said = arrivals_of_log(io.StringIO(text, newline=None), kind, source, self.filter())
        else:
            form = self.form()
            found, said = arrivals_of_table(text, source, form.columns, form.ignored)
        warn(said)
        return found, Deadlines(self.deadline, self.stretch)

    def read(
        self,
        argument: str,
        names: Sequence[str],
        parse: Callable[[str, str], Made],
        of_library: Callable[[str], Made],
        make: Callable[[str, str], Made],
    ) -> Made:
        """Read a document or a file of jobs, which is made into one, by path or ``-``; or load it from the library."""
        from ..core.text_files import read_text, source_name
        from ..instances.bags.task_formats import kind_of_file

        text = read_text(argument) if is_path(argument, names) else None
        if text is not None and kind_of_file(text) in ("table", "swf", "gwf"):
            return make(text, source_name(argument))
        if self.given():
            warn([f"{argument} is no file of arrivals: {', '.join(self.given().values())} changed nothing"])
        return of_library(argument) if text is None else parse(text, source_name(argument))


@dataclass(frozen=True, kw_only=True)
class StreamFileOptions(ArrivalOptions):
    """Options of a file of jobs that becomes a stream."""

    market: Annotated[OfferedMarket, typer.Option("--market", help="Market of the prices.")] = OfferedMarket.ON_DEMAND
    block: Annotated[int, seconds_option("--block", "Length of a block that is billed.", 1)] = 3600
    launch: Annotated[int, seconds_option("--launch", "Time from the request of a VM until it is ready.")] = 300

    def load(self, argument: str) -> Stream:
        """Load a stream by path, ``-`` or library name, or make it of a file of jobs."""
        from ..instances.library import stream_names
        from ..instances.streams.stream import Stream

        return self.read(argument, stream_names(), Stream.parse, load_stream, self.make)

    def make(self, text: str, source: str) -> Stream:
        """Make a stream of a file of jobs."""
        from ..instances.streams.arrivals import stream_of_arrivals

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
        from ..core.errors import SpotbagError
        from ..core.quantities import SECONDS_PER_HOUR
        from ..instances.bags.vm_catalogue import choose_vm_types, price_notes
        from ..instances.streams.entries import StreamVmType

        if self.types is None:
            if wrong := {"speed", "region", "prices", "market"} & {*self.given()}:
                raise SpotbagError(f"--{min(wrong)}: is for VM types; --types NAMES says which")
            warn(["all VMs are of one type, 'host', for $ 1 a block (--types NAMES takes types and prices)"])
            return [StreamVmType(name="host", price_usd_per_block=1.0)], {}
        asked = self.asked(1)
        made = []
        for vm_type in choose_vm_types(asked.vms):
            offer = vm_type["offers"].get(self.market.value)
            if offer is None:
                raise SpotbagError(f"--market {self.market}: {vm_type['name']} has no price there")
            usd = offer["price_usd_per_hour"] * self.block / SECONDS_PER_HOUR
            known = {name: vm_type[name] for name in ("name", "vcpus", "memory_mb")}
            made.append(StreamVmType(**known, price_usd_per_block=usd))
        warn(price_notes(asked.vms))
        return made, dict(asked.vms.speeds or {})


@dataclass(frozen=True, kw_only=True)
class PlatformFileOptions(ArrivalOptions):
    """Options of a file of jobs that becomes a platform."""

    resources: Annotated[
        str, typer.Option("--resources", metavar="PLATFORM", help="Platform whose agents and resources the jobs have.")
    ] = "caron/hybrid"
    budget_rate: Annotated[
        float,
        amount_option("--budget-rate", "Of jobs without a budget, for each processor-minute."),
    ] = 4.0

    def load(self, argument: str) -> Platform:
        """Load a platform by path, ``-`` or library name, or make it of a file of jobs."""
        from ..instances.library import platform_names
        from ..instances.platforms.platform import Platform

        return self.read(argument, platform_names(), Platform.parse, load_platform, self.make)

    def make(self, text: str, source: str) -> Platform:
        """Make a platform of a file of jobs."""
        from ..instances.platforms.arrivals import platform_of_arrivals

        found, deadlines = self.arrivals(text, source)
        if any(arrival.budget is None for arrival in found):
            warn([f"jobs without a budget may cost {self.budget_rate:g} for each processor-minute (--budget-rate)"])
        resources = load_platform(self.resources)
        return platform_of_arrivals(
            found, deadlines, resources, budget_per_minute=self.budget_rate, name=_name(source), source=source
        )


_OF_ARRIVALS = (
    *("deadline", "stretch", "column", "ignore_column"),
    *("user", "submitted_from", "submitted_to", "status", "requested", "jobs"),
)
OF_STREAMS = Only("types", "speed", "region", "prices", "market", "block", "launch", *_OF_ARRIVALS)
OF_PLATFORMS = Only("resources", "budget_rate", *_OF_ARRIVALS)
"""Options as the help lists them."""


def _name(source: str) -> str:
    from ..core.quantities import is_name

    stem = os.path.basename(source).rsplit(".", 1)[0][:_LONGEST_NAME]
    return stem if is_name(stem) else "jobs"
