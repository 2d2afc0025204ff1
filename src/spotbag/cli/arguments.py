"""Arguments, reading of instances, and output, as the commands share them."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, cast, get_args, get_origin, get_type_hints

import typer

from .completion import INSTANCES, METHODS, names_of
from .tables import terminal_width

if TYPE_CHECKING:
    from ..core.errors import InputError, Issue
    from ..instances.bags.imported import Asked, Imported
    from ..instances.bags.task_columns import CsvFormat
    from ..instances.bags.task_formats import LogFormat
    from ..instances.instance import Instance
    from ..instances.platforms.platform import Platform
    from ..instances.streams.stream import Stream
    from ..schedules.documents import Lateness, Survival
    from ..schedules.schedule import Schedule
    from ..traces.trace import Trace

StrPath: TypeAlias = "str | os.PathLike[str]"

_PANEL = "Options for a file of tasks only"


def _option(name: str, about: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(name, metavar=metavar, help=about, rich_help_panel=_PANEL, **more)


class MultiCoreChoice(StrEnum):
    """Treatments of tasks of several cores."""

    REFUSE = "refuse"
    SPLIT = "split"
    SKIP = "skip"


ZoneOption: TypeAlias = Annotated[
    str | None,
    _option("--zone", "Availability zone whose spot prices count: of a catalogue, and of a price history.", "ZONE"),
]


@dataclass(frozen=True, kw_only=True)
class TaskFileOptions:
    """Options of the VM types of a bag; a command has them by a parameter of this type (see `arguments.spread`)."""

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
    zone: ZoneOption = None
    multi_core: Annotated[
        MultiCoreChoice,
        _option("--multi-core", "Tasks of several cores: refuse them, split them into tasks, skip them."),
    ] = MultiCoreChoice.REFUSE

    def asked(self, deadline_s: int | None, name: str | None = None) -> Asked:
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
            zone=self.zone,
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
            "Column of a role (id, command, memory, runtime, count, architecture, market, memory_gb, runtime_min, "
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
    only: Annotated[
        list[str] | None,
        _option(
            "--only",
            "Rows with one of these cells by commas, 'STEM*' for all that begin so. May be repeated.",
            "HEADING=CELLS",
        ),
    ] = None
    stage: Annotated[str | None, _option("--stage", "Tasks of this stage, process or rule of a workflow.", "NAME")] = (
        None
    )

    @property
    def task_file_options(self) -> list[str]:
        """Options of these that are given."""
        usual = CsvOptions()
        given = [
            entry.name
            for entry in fields(CsvOptions)
            if (getattr(self, entry.name) or None) != (getattr(usual, entry.name) or None)
        ]
        return [f"--{name.replace('_', '-')}" for name in given]

    def form(self) -> CsvFormat:
        """Return the reading of the file that the options ask for.

        Raises
        ------
        SpotbagError
            If a column has no role, or a role has two columns.
        """
        from ..core.errors import SpotbagError
        from ..instances.bags.task_columns import CsvFormat

        columns: dict[str, str] = {}
        for pair in self.column or []:
            role, mark, heading = (part.strip() for part in pair.partition("="))
            if not mark:
                raise SpotbagError(f"--column {pair}: must be ROLE=HEADING, such as memory_gb=RAM")
            if role in columns:
                raise SpotbagError(f"--column {pair}: the {role} is that of {columns[role]!r} already")
            columns[role] = heading
        only: dict[str, list[str]] = {}
        for pair in self.only or []:
            heading, mark, cells = (part.strip() for part in pair.partition("="))
            if not mark:
                raise SpotbagError(f"--only {pair}: must be HEADING=CELL, such as status=COMPLETED,CACHED")
            only.setdefault(heading, []).extend(cell.strip() for cell in cells.split(","))
        return CsvFormat(
            columns,
            [heading.strip() for heading in self.ignore_column or []],
            memory_unit=self.memory_unit,
            runtime_unit=self.runtime_unit,
            only=only,
            stage=self.stage,
            multi_core=self.multi_core.value,
        )

    def imported(self, path: StrPath, asked: Asked, kind: str | None = None) -> Imported:
        """Read a file of tasks of any format; which one it is, its content says if no kind is given, or one of people.

        Raises
        ------
        SpotbagError
            If it cannot be read, or an option is given that it does not know.
        """
        from ..core.text_files import read_once
        from ..instances.bags.csv_tasks import instance_of_csv
        from ..instances.bags.task_formats import FORMATS

        path = read_once(path)
        found = kind_of(path) if kind is None or FORMATS[kind].own else kind
        if found in ("swf", "gwf", "wfformat"):
            return self._of_other(path, asked, found)
        return instance_of_csv(path, asked, self.form(), kind)

    def _of_other(self, path: StrPath, asked: Asked, kind: str) -> Imported:
        """Read a log, or a workflow, which have no columns by headings."""
        from ..core.errors import SpotbagError
        from ..core.text_files import source_name
        from ..instances.bags.job_logs import JobFilter, instance_of_log
        from ..instances.bags.wfformat import instance_of_wfformat

        of_columns = [
            name for name in ("column", "ignore_column", "memory_unit", "runtime_unit", "only") if getattr(self, name)
        ]
        of_columns += ["stage"] if self.stage is not None and kind != "wfformat" else []
        if of_columns:
            option = f"--{of_columns[0].replace('_', '-')}"
            raise SpotbagError(
                f"{option}: {source_name(path)} has no headings "
                f"('spotbag instance import {kind} --help' has its options)"
            )
        if kind == "wfformat":
            return instance_of_wfformat(path, asked, stage=self.stage, multi_core=self.multi_core.value)
        wanted = JobFilter(multi_core=self.multi_core.value)
        return instance_of_log(path, cast("LogFormat", kind), asked, wanted)


def kind_of(path: StrPath) -> str:
    """Kind of a file by its beginning: a table or document of tasks, a log, a workflow, or an instance.

    Folders are the first.
    """
    from ..core.text_files import ReadFile
    from ..instances.bags.task_documents import HEAD
    from ..instances.bags.task_formats import kind_of_file

    if isinstance(path, ReadFile):
        return kind_of_file(path.text[:HEAD])
    if os.path.isdir(path) or os.fspath(path).lower().endswith(TASK_FILES):
        return "table"
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return kind_of_file(file.read(HEAD))
    except (OSError, ValueError):
        return "instance"


def _memory_mb(text: str | None) -> float | None:
    from ..core.errors import SpotbagError
    from ..instances.amounts import memory_mb_of

    if text is None:
        return None
    value = memory_mb_of(text)
    if value is None or value <= 0:
        raise SpotbagError(f"--memory {text}: must be an amount with its unit, such as 512MB or 2GB")
    return value


def _reserve_mb(text: str) -> Callable[[float], float]:
    """Return the function from the memory of a VM to what of it is reserved."""
    from ..core.errors import SpotbagError
    from ..core.quantities import fraction
    from ..instances.amounts import memory_mb_of

    value = memory_mb_of(text)
    if value is not None and value >= 0:
        return lambda memory_mb: value
    try:
        share = fraction(text if text.strip().endswith("%") else "")
    except ValueError:
        raise SpotbagError(f"--memory-reserve {text}: must be a share such as 5%, or an amount such as 500MB") from None
    return lambda memory_mb: memory_mb * share


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


InstanceArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE",
        autocompletion=INSTANCES,
        help="A JSON file, a CSV file of tasks, - for standard input, or the name of a library instance.",
        show_default=False,
    ),
]
LateOption: TypeAlias = Annotated[
    Literal["least"] | None,
    typer.Option(
        "--late",
        metavar="least",
        help="If no plan ends in time: as few tasks late as can be, then as little late. Exit code 3 then.",
    ),
]
StreamArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="STREAM",
        autocompletion=names_of("instances.library", "stream_names"),
        help="A stream of jobs: a JSON file, - for standard input, or the name of a stream of the library.",
        show_default=False,
    ),
]

TASK_FILES = (".csv", ".tsv")
"""Ends of the names of files of tasks."""


def duration_option(name: str, about: str, least_s: float = 0, shown: bool | str = True) -> Any:
    """Return an option that takes a time, as people write it, of so many seconds or more.

    ``shown`` is what it is if absent, where that is not shown by itself.
    """
    read = _parser(name, "duration_s", least_s)
    return typer.Option(name, metavar="TIME", parser=read, help=about, show_default=shown)


def seconds_option(name: str, about: str, least: int = 0) -> Any:
    """Return an option that takes a time of whole seconds, as people write it."""
    return typer.Option(name, metavar="TIME", parser=_parser(name, "whole_seconds", least), help=about)


def amount_option(name: str, about: str) -> Any:
    """Return an option that takes dollars, as people write them."""
    return typer.Option(name, metavar="USD", parser=_parser(name, "amount_usd"), help=about)


def share_option(name: str, about: str) -> Any:
    """Return an option that takes a share, as people write it."""
    return typer.Option(name, metavar="SHARE", parser=_parser(name, "fraction"), help=about)


def _parser(option: str, reader: str, least: float = 0) -> Callable[[str | float], float]:
    """Return a parser of an option's value by a function of `spotbag.core.quantities`, loaded at its first use.

    What an option is if absent passes through it as well, and may be a number.
    """

    def read(given: str | float) -> float:
        if not isinstance(given, str):
            return given
        from ..core import quantities
        from ..core.errors import InputError, Issue

        try:
            value = cast("float", getattr(quantities, reader)(given))
            if value < least:
                raise ValueError(f"must be at least {least:g} s")
        except ValueError as error:
            raise InputError(option, [Issue("", str(error), value=given)]) from None
        return value

    return read


D_SPOT_OF_PAPER = "paper"
_OPTION_OF = {
    "cost_weight": "--cost-weight",
    "cost_scale_usd": "--cost-scale",
    "makespan_scale_s": "--makespan-scale",
}


_OPTION_AT = {
    **{f"objective.{name}": option for name, option in _OPTION_OF.items()},
    "objective.goal": "--goal",
    "objective.budget_usd": "--budget",
    "markets": "--markets",
    "survive": "--survive",
    "late": "--late",
    "d_spot_s": "--d-spot",
    "deadline_s": "--deadline",
}
"""Options by the path of what they set in an instance."""


def _with_near(option: str, issue: Issue) -> str:
    """Return the rule of an issue without the quotes around names, with those that are close to the value."""
    from ..core.wording import close_names
    from ..instances.entries import GOALS, MARKETS, SURVIVAL_OPTIONS

    known: dict[str, Sequence[str]] = {"--goal": GOALS, "--markets": MARKETS, "--survive": SURVIVAL_OPTIONS}
    if option not in known:
        return issue.rule
    near = close_names(f"{issue.value}", known[option])
    return issue.rule.replace("'", "") + (f"; {near}" if near else "")


def quantity_or(word: str, option: str, reader: str) -> Callable[[str], str]:
    """Return a parser of an option that is a word, or a quantity by a function of `spotbag.core.quantities`."""

    def read(given: str) -> str:
        if given == word:
            return given
        from ..core.errors import InputError, Issue

        try:
            return f"{_parser(option, reader)(given)}"
        except InputError as error:
            issues = [Issue("", f"{issue.rule}; or {word}", value=issue.value) for issue in error.issues]
            raise InputError(option, issues) from None

    return read


def _as_typed(value: Any, annotation: Any) -> Any:
    """Return the default of an option as the help shows it: times with their unit."""
    takes_time = getattr(get_args(annotation)[-1], "metavar", None) == "TIME"
    return f"{value:g}s" if takes_time and value is not None else value


@dataclass(frozen=True, kw_only=True)
class InstanceOptions(CsvOptions):
    """Changes of an instance; a command has them by a parameter of this type (see `spread`)."""

    deadline: Annotated[
        int | None, seconds_option("--deadline", "Deadline, instead of the instance's: 2h, 1h30m or seconds.")
    ] = None
    d_spot: Annotated[
        str | None,
        typer.Option(
            "--d-spot",
            metavar="TIME|paper",
            parser=quantity_or(D_SPOT_OF_PAPER, "--d-spot", "whole_seconds"),
            help="D_spot: spot VMs end by then; or paper, the rule of HADS. Chosen by --survive if nowhere given.",
        ),
    ] = None
    survive: Annotated[
        str | None,
        typer.Option(
            "--survive",
            metavar="LEVEL",
            autocompletion=names_of("instances.entries", "SURVIVAL_OPTIONS"),
            help="What a plan must be able to lose and still be in time: one-type, blackout, each or none.",
        ),
    ] = None
    goal: Annotated[
        str | None,
        typer.Option(
            "--goal",
            metavar="GOAL",
            autocompletion=names_of("instances.entries", "GOALS"),
            help="What is best: cheapest, fastest or balanced (by weights).",
        ),
    ] = None
    budget: Annotated[
        float | None, amount_option("--budget", "Most that a plan may cost, with the goal fastest: 1.50 or $1.50.")
    ] = None
    markets: Annotated[
        str | None,
        typer.Option(
            "--markets",
            metavar="NAMES",
            autocompletion=names_of("instances.entries", "MARKETS"),
            help="Markets that may be used: spot, on-demand, or both by a comma.",
        ),
    ] = None
    max_price: Annotated[
        float | None, amount_option("--max-price", "Rent no VM whose price per hour is above this one: 0.50.")
    ] = None
    memory_reserve: Annotated[
        str | None,
        typer.Option(
            "--memory-reserve",
            metavar="SHARE|AMOUNT",
            help="Memory of each VM that tasks cannot have: 5% or 500MB.",
        ),
    ] = None
    cost_weight: Annotated[
        float | None,
        typer.Option("--cost-weight", metavar="W", help="Weight of the cost in the objective, 0 to 1."),
    ] = None
    cost_scale: Annotated[float | None, amount_option("--cost-scale", "Scale of the cost.")] = None
    makespan_scale: Annotated[float | None, duration_option("--makespan-scale", "Scale of the makespan.")] = None

    def load(self, argument: StrPath, late: str | None = None, *, zone_of_days: bool = False) -> Instance:
        """Load an instance by path, ``-`` or library name, or make it of a file of tasks, and `apply` the options.

        Where tasks may be ``late``, none is refused for taking longer than the deadline. With `zone_of_days`, the zone
        is that of a scenario, too.
        """
        from ..core.text_files import read_once

        given = [option for option in self.task_file_options if not (zone_of_days and option == "--zone")]
        file = read_once(argument)
        if not self.is_of_tasks(file):
            instance = load_instance(file, late)
            if given:
                warn([f"{instance.name} has VM types of its own: {', '.join(given)} changed nothing"])
            return self.apply(instance)
        _refuse_table_of_plan(file)
        imported = self.imported(file, replace(self.asked(self.deadline), late=late))
        warn(imported.warnings)
        return self.apply(imported.instance)

    def is_of_tasks(self, file: StrPath) -> bool:
        """Tell a file of tasks from an instance, and from a name of the library."""
        from ..core.text_files import ReadFile
        from ..instances.library import library_names

        if isinstance(file, ReadFile):
            return kind_of(file) != "instance"
        if os.fspath(file).lower().endswith(TASK_FILES):
            return True
        if os.path.isdir(file):  # of benchmarks
            return bool(self.task_file_options) or self.deadline is not None
        return os.path.isfile(file) and file not in library_names() and kind_of(file) != "instance"

    def apply(self, instance: Instance) -> Instance:
        """Return the instance with what the command line says instead of what it says itself.

        Raises
        ------
        InputError
            If what the command line says does not suit the instance.
        """
        from ..core.errors import InputError

        changes = self._changes(instance)
        if not changes:
            return instance
        try:
            changed = instance.replace(**changes)
        except InputError as error:
            issues = list(error.issues)
            if self.deadline is not None:
                from ..instances.instance_checks import with_deadline_first

                issues = with_deadline_first(issues, self.deadline)
            raise self._error(instance.name, issues) from None
        if "spot" not in changed.markets or all(offer.market != "spot" for offer in changed.offers):
            for option, value in (("--d-spot", self.d_spot), ("--survive", self.survive)):
                if value is not None:
                    warn([f"{option} changes nothing: {instance.name} has no spot VMs"])
        return changed

    def _error(self, name: str, issues: Sequence[Issue]) -> InputError:
        """Return the error of values that do not suit an instance; what an option says is called by its name."""
        from ..core.errors import InputError, Issue, show_value

        said = []
        for issue in issues:
            option = _OPTION_AT.get(issue.path.partition("[")[0])
            if option is None or getattr(self, option.removeprefix("--").replace("-", "_")) is None:
                said.append(issue)
            else:
                said.append(Issue(f"{option} {show_value(issue.value)}".replace("'", ""), _with_near(option, issue)))
        if len(said) == 1 and said[0] is not issues[0]:
            return InputError(said[0].where, [Issue("", said[0].rule)])
        return InputError(f"{name} with the values of the command line", said)

    def _changes(self, instance: Instance) -> dict[str, Any]:
        """Return the fields that an instance gets."""
        from ..core.quantities import whole_seconds

        changes: dict[str, Any] = {"deadline_s": self.deadline, "survive": self.survive}
        if self.markets is not None:
            changes["markets"] = names_in([self.markets])
        changes = {name: value for name, value in changes.items() if value is not None}
        if self.d_spot is not None:
            by_paper = self.d_spot == D_SPOT_OF_PAPER
            changes["d_spot_s"] = None if by_paper else whole_seconds(self.d_spot)
            changes["d_spot_rule"] = D_SPOT_OF_PAPER if by_paper else None
        return changes | self._vm_types(instance) | self._objective(instance)

    def _vm_types(self, instance: Instance) -> dict[str, Any]:
        """Return the VM types that an instance gets, if it gets others; say which offers are too dear."""
        from ..core.errors import SpotbagError
        from ..instances.entries import withdrawn

        types = list(instance.vm_types)
        if self.memory_reserve is not None:
            reserved_mb = _reserve_mb(self.memory_reserve)
            types = [entry.model_copy(update={"reserved_mb": reserved_mb(entry.memory_mb)}) for entry in types]
        if self.max_price is not None:
            prices = {f"{offer}": offer.price_usd_per_hour for offer in instance.offers if offer.listed_as is None}
            dear = [f"{name} ({usd:g} $/h)" for name, usd in prices.items() if usd > self.max_price]
            if len(dear) == len(prices):
                rule = f"all offers of {instance.name} are above it; the cheapest is {min(prices.values()):g} $/h"
                raise SpotbagError(f"--max-price {self.max_price:g}: {rule}")
            warn([f"--max-price leaves out {', '.join(dear)}"] if dear else [])
            types = [withdrawn(entry, self.max_price) for entry in types]
        return {} if types == list(instance.vm_types) else {"vm_types": types}

    def _objective(self, instance: Instance) -> dict[str, Any]:
        """Return the objective that an instance gets, if it gets another one.

        What has no meaning for the goal that is given is warned of.
        """
        weights = dict(zip(_OPTION_OF, (self.cost_weight, self.cost_scale, self.makespan_scale), strict=True))
        given = {name: value for name, value in weights.items() if value is not None}
        if not given and self.goal is None and self.budget is None:
            return {}
        if self.goal in ("cheapest", "fastest"):
            warn(f"{_OPTION_OF[name]} changes nothing: the goal is {self.goal}" for name in given)
            given = {}
        return {"objective": instance.objective_with(self.goal, budget_usd=self.budget, **given)}


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """Options of how it is planned; a command has them, or some of them, by a parameter of this type (see `spread`)."""

    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            autocompletion=METHODS,
            help="How to plan: see 'spotbag methods'. One of your own is module:attribute.",
        ),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="NAME=VALUE", help="Option of the method; may be given again."),
    ] = None
    time_limit: Annotated[
        float | None,
        duration_option("--time-limit", "Time after which the best found so far is returned: 30s, 5m."),
    ] = None
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations",
            metavar="N",
            min=1,
            help="A limit of work in place of --time-limit: the same plan each time. A million take about a second.",
        ),
    ] = None
    target_gap: Annotated[
        float,
        typer.Option(
            "--target-gap",
            metavar="G",
            parser=_parser("--target-gap", "fraction"),
            help="Stop at this gap to the bound, relative to the plan's objective: 0.01 or 1%.",
        ),
    ] = 0.0
    seed: Annotated[int, typer.Option("--seed", metavar="SEED", min=0, help="Seed of the random numbers.")] = 0
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="T",
            min=1,
            help="Threads that work at once: all cores if absent (one in comparisons); 1 for the same plan each time.",
        ),
    ] = None
    initial: Annotated[
        str | None,
        typer.Option("--initial", metavar="FILE", help="A plan to start from; nothing worse is returned."),
    ] = None

    def methods(self, absent: Sequence[str]) -> list[str]:
        """Return the names of the methods, each once; some if none is given."""
        return names_in(self.method or absent)

    def one_method(self, absent: str = "auto") -> str:
        """Return the name of the method.

        Raises
        ------
        SpotbagError
            If there are several.
        """
        from ..core.errors import SpotbagError

        names = self.methods([absent])
        if len(names) > 1:
            raise SpotbagError(
                f"--method {','.join(names)}: one plan is made by one method; 'spotbag compare' takes several"
            )
        return names[0]

    @property
    def options(self) -> dict[str, str]:
        """Options of the method, by name."""
        return parse_options(self.option or [])

    def warn_of_idle(self, *methods: str) -> None:
        """Warn of options that change nothing with these methods.

        Raises
        ------
        InputError
            If a method is unknown.
        """
        from ..solvers.bags.methods import find_method

        chosen = [find_method(name) for name in methods]
        by = " and ".join(methods)
        given = self.given()
        if "--seed" in given and not any(method.seeded for method in chosen):
            warn([f"--seed changes nothing: {by} uses no random numbers"])
        for option in ("--threads", "--target-gap"):
            if option in given and not any(method.exact for method in chosen):
                warn([f"{option} changes nothing: {by} is no exact method"])

    def given(self, absent: MethodOptions | None = None) -> list[str]:
        """Return the options, as they are called, that differ from what they are if absent."""
        usual = absent or MethodOptions()
        return [
            f"--{field.name.replace('_', '-')}"
            for field in fields(self)
            if (getattr(self, field.name) or None) != (getattr(usual, field.name) or None)
        ]


class Only:
    """In a command's signature, ``Annotated[MethodOptions, Only("seed")]``: these of the options.

    Parameters
    ----------
    names : str
        Fields of the options.
    """

    def __init__(self, *names: str) -> None:
        self.names = names


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters of a type such as `InstanceOptions` are the options of that type, one by one.

    The default of such a parameter, if it has one, has the defaults of the options.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    parameters: list[inspect.Parameter] = []
    plain: set[str] = set()
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=hint))
            plain.add(parameter.name)
            continue
        options = get_type_hints(kind, include_extras=True)
        made = cast("Callable[..., Any]", kind)
        default = made() if parameter.default is parameter.empty else parameter.default
        chosen = next((mark.names for mark in marks if isinstance(mark, Only)), tuple(options))
        groups[parameter.name] = made, [*chosen]
        parameters += [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_as_typed(getattr(default, name), options[name]),
                annotation=options[name],
            )
            for name in chosen
            if name not in {other.name for other in parameters}  # an option of two types is one
        ]
    ordered = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]

    def spread_command(**given: Any) -> None:
        options = {name: value for name, value in given.items() if name not in plain}
        made_of = {name: made(**{field: options[field] for field in chosen}) for name, (made, chosen) in groups.items()}
        command(**{name: given[name] for name in plain}, **made_of)

    spread_command.__doc__ = command.__doc__
    spread_command.__name__ = command.__name__
    spread_command.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
    spread_command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    return spread_command


PlanGanttOption: TypeAlias = Annotated[
    str | None, typer.Option("--gantt", metavar="FILE", help="Draw the plan: .png, .svg, .pdf or .html.")
]
PlanOutOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--out", metavar="FILE", help="Write the plan: .json, .csv (a row for each task), or - for standard output."
    ),
]
StateOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="STATE",
        help="What has happened so far (JSON): the plan is for what that leaves of the instance.",
    ),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def _refuse_table_of_plan(path: StrPath) -> None:
    """Refuse a plan as a table where a file of tasks is expected."""
    from ..core.text_files import ReadFile, source_name
    from ..schedules.schedule_files import refuse_table

    if isinstance(path, ReadFile):
        refuse_table(path.text[:_MOST_OF_HEADINGS], source_name(path))
    elif os.path.isfile(path):
        with suppress(OSError, UnicodeDecodeError), open(path, encoding="utf-8-sig") as file:
            refuse_table(file.readline(_MOST_OF_HEADINGS), os.fspath(path))


_MOST_OF_HEADINGS = 200


def load_instance(argument: StrPath, late: str | None = None) -> Instance:
    """Load an instance by path, ``-`` or library name; warnings go to standard error."""
    from ..core.json_documents import parse_json
    from ..core.text_files import read_text, source_name
    from ..instances.instance import Instance, instance_warnings, read_instance
    from ..instances.library import library_instance, library_names

    if not is_path(argument, library_names()):
        instance = library_instance(os.fspath(argument))
        instance = instance if late is None else instance.replace(late=late)
    elif late is None:
        instance = read_instance(argument)
    else:
        source = source_name(argument)
        instance = Instance.parse_document({**parse_json(read_text(argument), source), "late": late}, source)
    warn(instance_warnings(instance))
    return instance


def load_stream(argument: str) -> Stream:
    """Load a stream of jobs by path, ``-`` or library name."""
    from ..instances.library import stream_names
    from ..instances.streams.stream_files import library_stream, read_stream

    return read_stream(argument) if is_path(argument, stream_names()) else library_stream(argument)


def load_platform(argument: str) -> Platform:
    """Load a hybrid platform by path, ``-`` or library name."""
    from ..instances.library import platform_names
    from ..instances.platforms.platform_files import library_platform, read_platform

    return read_platform(argument) if is_path(argument, platform_names()) else library_platform(argument)


def names_in(given: Iterable[str]) -> list[str]:
    """Return names, each once, of an option that may be given several times, each time with several by commas."""
    return list(dict.fromkeys(name.strip() for value in given for name in value.split(",")))


def some(names: Sequence[str]) -> str:
    """Return the first of many names."""
    return ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")


def is_path(argument: StrPath, names: Sequence[str]) -> bool:
    """Tell a file from a name of the library; a name of the library does not, whatever lies in the working folder."""
    from ..core.text_files import STANDARD_INPUT, is_readable_file

    if not isinstance(argument, str) or argument == STANDARD_INPUT:
        return True
    readable = is_readable_file(argument)
    if argument in names:
        if readable:
            warn([f"{argument} is taken from the library; the file of this name is ./{argument}"])
        return False
    return (
        readable
        or argument.endswith((".json", *TASK_FILES))
        or argument.startswith((".", "/", "~"))
        or os.path.isdir(argument)
    )


def warn(messages: Iterable[str]) -> None:
    """Print warnings on standard error."""
    for message in messages:
        print(f"warning: {message}", file=sys.stderr)


def wrote(path: str, what: str = "") -> None:
    """Say on standard error that a file is written, and what it is."""
    print(f"wrote {path}{f': {what}' if what else ''}", file=sys.stderr)


def print_plan(
    schedule: Schedule, method: str | None, survival: Survival | None = None, late: Lateness | None = None
) -> None:
    """Print a plan as a JSON document, piece by piece."""
    from ..schedules.schedule_files import schedule_pieces

    for piece in schedule_pieces(schedule, method, survival, late):
        sys.stdout.write(piece)


def print_story(lines: Iterable[str]) -> None:
    """Print the lines of a story of `describe_trace`; on a terminal, they go on below the words, not the times."""
    from textwrap import fill

    width = terminal_width()
    for line in lines:
        print(fill(line, width, subsequent_indent=" " * 13, break_on_hyphens=False) if width else line)


def stories_of(traces: Iterable[Trace]) -> list[list[str]]:
    """Return the events of replays, line by line."""
    from ..traces.stories import describe_trace

    return [list(describe_trace(trace)) for trace in traces]


def print_stories(stories: Sequence[Sequence[str]]) -> None:
    """Print the events of replays, one replay after the other."""
    for index, story in enumerate(stories):
        if index:
            print()
        print_story(story)


def check_pictures(*paths: str | None) -> None:
    """Refuse, before any work is done, names of pictures, where there are any, that are of no known format."""
    for path in paths:
        if path is not None:
            from ..charts.picture_files import picture_format

            picture_format(path)


def check_output(path: str | None, *others: str | None) -> None:
    """Refuse, before any work is done, an output file in a folder that does not exist, or over another file."""
    from ..core.errors import SpotbagError

    if path is None:
        return
    if any(source is not None and os.path.realpath(path) == os.path.realpath(source) for source in others):
        raise SpotbagError(f"{path}: is another file of this command; write to its own")
    if path == "-":
        raise SpotbagError(
            "-: is no name for an output file; a redirection of --json or /dev/stdout may be what you want"
        )
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise SpotbagError(f"{path}: cannot be written: the folder does not exist")


STANDARD_OUTPUT = "-"


def refuse_two_from_standard_input(*sources: str | None) -> None:
    """Refuse to read two things from standard input."""
    from ..core.errors import SpotbagError
    from ..core.text_files import STANDARD_INPUT

    if sources.count(STANDARD_INPUT) > 1:
        raise SpotbagError("-: two things cannot be read from standard input; write one of them to a file")


def parse_options(pairs: list[str]) -> dict[str, str]:
    """Read ``name=value`` pairs."""
    from ..core.errors import SpotbagError

    options = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark:
            raise SpotbagError(f"--option {pair}: must be NAME=VALUE")
        options[name.strip().replace("-", "_")] = value.strip()
    return options
