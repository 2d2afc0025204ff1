"""Options for files of tasks that say nothing of VM types: which may be used, at what prices, and how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..instances.bags.csv_tasks import CsvFormat
    from ..instances.bags.imported import Asked

_PANEL = "Options for a file of tasks only"


def _option(name: str, about: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(name, metavar=metavar, help=about, rich_help_panel=_PANEL, **more)


@dataclass(frozen=True, kw_only=True)
class TaskFileOptions:
    """Which VM types a bag may use; a command has them by a parameter of this type (see `arguments.spread`)."""

    types: Annotated[
        str | None,
        _option("--types", "VM types by commas, also patterns such as 'c6i.*': see 'instance types'.", "NAMES"),
    ] = None
    region: Annotated[
        str | None, _option("--region", "Region of the prices; needed if the catalogue has several.", "NAME")
    ] = None
    prices: Annotated[
        str | None, _option("--prices", "Catalogue of VM types and prices, instead of the shipped one.", "FILE")
    ] = None
    limit: Annotated[
        int | None, _option("--limit", "VMs of each type in each market at most; 10 if absent.", "N", min=1)
    ] = None
    max_spot: Annotated[int | None, _option("--max-spot", "Spot VMs at most.", "N", min=0)] = None
    max_on_demand: Annotated[int | None, _option("--max-on-demand", "On-demand VMs at most.", "N", min=0)] = None
    speed: Annotated[
        str | None,
        _option("--speed", "Speed of a core of each type; run times measured once are divided by it.", "TYPE=X,..."),
    ] = None
    measured_on: Annotated[
        str | None, _option("--measured-on", "Type that those were measured on; speed 1 if absent.", "TYPE")
    ] = None
    memory: Annotated[
        str | None, _option("--memory", "Memory of tasks whose file does not give it, such as 2GB.", "AMOUNT")
    ] = None

    def asked(self, deadline_s: int | None, zone: str | None = None, name: str | None = None) -> Asked:
        """Return the deadline, VM types and prices that the options ask for.

        Raises
        ------
        SpotbagError
            If there is no deadline, or an option cannot be read.
        """
        from ..core.errors import SpotbagError
        from ..instances.bags.imported import Asked
        from ..instances.bags.vm_catalogue import LIMIT_PER_TYPE_AND_MARKET, VmChoice

        if deadline_s is None:
            raise SpotbagError("a file of tasks has no deadline: --deadline 2h")
        vms = VmChoice(
            types=_names(self.types),
            prices=self.prices,
            region=self.region,
            zone=zone,
            limit=LIMIT_PER_TYPE_AND_MARKET if self.limit is None else self.limit,
            max_spot=self.max_spot,
            max_on_demand=self.max_on_demand,
            speeds=_speeds(self.speed),
            measured_on=self.measured_on,
        )
        return Asked(deadline_s, vms, name, _memory_mb(self.memory))


@dataclass(frozen=True, kw_only=True)
class CsvOptions(TaskFileOptions):
    """Options of how a CSV file of tasks is read, and of the rest of a bag; commands have them as those above."""

    column: Annotated[
        list[str] | None,
        _option(
            "--column",
            "Column of a role (id, command, memory, runtime, count, architecture, memory_gb, runtime_min, "
            "runtime[TYPE] ...) whose heading says something else. May be repeated.",
            "ROLE=HEADING",
        ),
    ] = None
    ignore_column: Annotated[
        list[str] | None,
        _option("--ignore-column", "Leave out this column, whatever it says. May be repeated.", "HEADING"),
    ] = None
    memory_unit: Annotated[str | None, _option("--memory-unit", "Of memory without a unit: KB, MB, GB.", "UNIT")] = None
    runtime_unit: Annotated[
        str | None, _option("--runtime-unit", "Of run times without a unit: s, min, h.", "UNIT")
    ] = None

    @property
    def task_file_options(self) -> list[str]:
        """Options of these that are given."""
        given = [entry.name for entry in fields(CsvOptions) if getattr(self, entry.name) not in (None, [])]
        return [f"--{name.replace('_', '-')}" for name in given]

    def form(self) -> CsvFormat:
        """Return the reading of the file that the options ask for.

        Raises
        ------
        SpotbagError
            If a column has no role, or a role has two columns.
        """
        from ..core.errors import SpotbagError
        from ..instances.bags.csv_tasks import CsvFormat

        columns: dict[str, str] = {}
        for pair in self.column or []:
            role, mark, heading = (part.strip() for part in pair.partition("="))
            if not mark:
                raise SpotbagError(f"--column {pair}: must be ROLE=HEADING, such as memory_gb=RAM")
            if role in columns:
                raise SpotbagError(f"--column {pair}: the {role} is that of {columns[role]!r} already")
            columns[role] = heading
        ignored = [heading.strip() for heading in self.ignore_column or []]
        return CsvFormat(columns, ignored, memory_unit=self.memory_unit, runtime_unit=self.runtime_unit)


def _memory_mb(text: str | None) -> float | None:
    from ..core.errors import SpotbagError
    from ..instances.bags.csv_tasks import memory_mb_of

    if text is None:
        return None
    value = memory_mb_of(text)
    if value is None or value <= 0:
        raise SpotbagError(f"--memory {text}: must be an amount with its unit, such as 512MB or 2GB")
    return value


def _names(text: str | None) -> Sequence[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _speeds(text: str | None) -> Mapping[str, float] | None:
    from ..core.errors import SpotbagError
    from ..core.quantities import number_of

    if text is None:
        return None
    speeds: dict[str, float] = {}
    for part in _names(text):
        name, _, value = part.partition("=")
        speed = number_of(value.strip())
        if speed is None or speed <= 0:
            raise SpotbagError(f"--speed {part}: must be TYPE=NUMBER, such as c6i.large=1.0")
        speeds[name.strip()] = speed
    return speeds
