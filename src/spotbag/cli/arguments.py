"""Options of bags, methods, scenarios and clouds, as the commands share them; what is read and planned by them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from ..core.errors import InputError, Issue, SpotbagError, input_error, show_value
from ..core.text_files import STANDARD_INPUT, ReadFile, is_readable_file, read_once, read_text, source_name
from ..core.wording import close_names
from .console import progress, warn
from .options import METHODS, amount_option, duration_option, given_options, names_of, option, seconds_option

if TYPE_CHECKING:
    from ..instances.bags.imported import Asked, Imported
    from ..instances.bags.scripted_days import Scenario
    from ..instances.clouds import Cloud
    from ..instances.entries import Quota
    from ..instances.instance import Instance
    from ..instances.platforms.platform import Platform
    from ..instances.streams.stream import Stream
    from ..instances.table_columns import CsvFormat
    from ..instances.table_formats import LogFormat
    from ..schedules.documents import ScheduleDocument
    from ..schedules.schedule import Schedule
    from ..solvers.bags.result import Result


StrPath: TypeAlias = "str | os.PathLike[str]"

_of_tasks = partial(option, panel="Options for a file of tasks only")


zone_option = partial(
    _of_tasks,
    "ZONE",
    "Availability zone whose spot prices count: of a catalogue, and of a price history. With 'all', each is a pool.",
)


@dataclass(frozen=True, kw_only=True)
class TaskFileOptions:
    """Options of the VM types of a bag; a command has them by a parameter of this type (see `spread`)."""

    types: str | None = _of_tasks("NAMES", "VM types by commas, also patterns such as 'c6i.*': see 'instance types'.")
    region: str | None = _of_tasks("NAME", "Region of the prices; needed if the catalogue has several.")
    prices: str | None = _of_tasks("FILE", "Catalogue of VM types and prices, instead of the shipped one.", file="read")
    limit: int | None = _of_tasks("N", "VMs of each type in each market at most; 10 if absent.", min=1)
    max_spot: int | None = _of_tasks("N", "Spot VMs at most.", min=0)
    max_on_demand: int | None = _of_tasks("N", "On-demand VMs at most.", min=0)
    quota: list[str] | None = _of_tasks(
        "QUOTA",
        "Limit of several types, MARKET[:TYPES]=N vCPUs, or N VMs: 'spot=64', 'on-demand:c6i.*,m6i.*=16 VMs'. "
        "May be repeated.",
    )
    speed: str | None = _of_tasks(
        "TYPE=X,...", "Speed of a core of each type; run times measured once are divided by it."
    )
    measured_on: str | None = _of_tasks("TYPE", "Type that those were measured on; speed 1 if absent.")
    memory: str | None = _of_tasks("AMOUNT", "Memory of tasks whose file does not give it, such as 2GB.")
    zone: str | None = zone_option()
    multi_core: Literal["keep", "split", "skip"] = _of_tasks(
        None, "Tasks of several cores: keep them as such, split them into tasks, skip them.", "keep"
    )

    def asked(self, deadline_s: int | None, name: str | None = None) -> Asked:
        """Return the deadline, VM types and prices that the options ask for.

        Raises
        ------
        SpotbagError
            If there is no deadline, or an option cannot be read.
        """
        from ..instances.bags.imported import Asked
        from ..instances.bags.vm_catalogue import LIMIT_PER_TYPE_AND_MARKET, VmChoice

        # Nothing in the file would say which one is meant, and a guess would be a plan for another question.
        if deadline_s is None:
            raise SpotbagError("a file of tasks has no deadline: --deadline 2h")
        as_given = ("prices", "region", "zone", "max_spot", "max_on_demand", "measured_on")
        vms = VmChoice(
            types=_names(self.types),
            limit=LIMIT_PER_TYPE_AND_MARKET if self.limit is None else self.limit,
            quotas=[_quota(text) for text in self.quota or ()],
            speeds=_speeds(self.speed),
            **{name: getattr(self, name) for name in as_given},
        )
        return Asked(deadline_s, vms, name, _memory_mb(self.memory))


@dataclass(frozen=True, kw_only=True)
class CsvOptions(TaskFileOptions):
    """Options of how a CSV file of tasks is read, and of the rest of a bag; commands have them as those above."""

    column: list[str] | None = _of_tasks(
        "ROLE=HEADING",
        "Column of a role (id, command, memory, runtime, count, architecture, market, memory_gb, runtime_min, "
        "runtime[TYPE] ...) whose heading says something else. May be repeated.",
    )
    ignore_column: list[str] | None = _of_tasks("HEADING", "Leave out this column, whatever it says. May be repeated.")
    memory_unit: str | None = _of_tasks("UNIT", "Of memory without a unit: KB, MB, GB.")
    runtime_unit: str | None = _of_tasks("UNIT", "Of run times without a unit: s, min, h.")
    only: list[str] | None = _of_tasks(
        "HEADING=CELLS", "Rows with one of these cells by commas, 'STEM*' for all that begin so. May be repeated."
    )
    stage: str | None = _of_tasks("NAME", "Tasks of this stage, process or rule of a workflow.")

    @property
    def task_file_options(self) -> list[str]:
        """Options of these that are given."""
        # Of this class alone: what inherits it has options that are about more than files of tasks.
        names = {entry.name for entry in fields(CsvOptions)}
        return [option for name, option in given_options(self).items() if name in names]

    def form(self) -> CsvFormat:
        """Return the reading of the file that the options ask for.

        Raises
        ------
        SpotbagError
            If a column has no role, or a role has two columns.
        """
        from ..instances.table_columns import CsvFormat

        columns: dict[str, str] = {}
        for pair, role, heading in pairs_of("--column", self.column, "ROLE=HEADING, such as memory_gb=RAM"):
            if role in columns:
                raise SpotbagError(f"--column {pair}: the {role} is that of {columns[role]!r} already")
            columns[role] = heading
        only: dict[str, list[str]] = {}
        for _, heading, cells in pairs_of("--only", self.only, "HEADING=CELL, such as status=COMPLETED,CACHED"):
            only.setdefault(heading, []).extend(cell.strip() for cell in cells.split(","))
        return CsvFormat(
            columns,
            [heading.strip() for heading in self.ignore_column or []],
            memory_unit=self.memory_unit,
            runtime_unit=self.runtime_unit,
            only=only,
            stage=self.stage,
            multi_core=self.multi_core,
        )

    def imported(self, path: StrPath, asked: Asked, kind: str | None = None) -> Imported:
        """Read a file of tasks of any format; which one it is, its content says if no kind is given, or one of people.

        Raises
        ------
        SpotbagError
            If it cannot be read, or an option is given that it does not know.
        """
        from ..instances.bags.csv_tasks import instance_of_csv
        from ..instances.table_formats import FORMATS

        path = read_once(path)
        # A table of people is asked for by people, who may be wrong: its content decides. Formats of tools
        # are taken at their word.
        found = kind_of(path) if kind is None or FORMATS[kind].own else kind
        if found in ("swf", "gwf"):
            return self._of_log(path, asked, cast("LogFormat", found))
        return instance_of_csv(path, asked, self.form(), kind)

    def _of_log(self, path: StrPath, asked: Asked, kind: LogFormat) -> Imported:
        """Read a log, which has no columns by headings."""
        from ..instances.bags.job_logs import JobFilter, instance_of_log

        of_columns = {entry.name for entry in fields(CsvOptions)} - {entry.name for entry in fields(TaskFileOptions)}
        option = next((option for name, option in given_options(self).items() if name in of_columns), None)
        if option is not None:
            raise SpotbagError(
                f"{option}: {source_name(path)} has no headings "
                f"('spotbag instance import {kind} --help' has its options)"
            )
        return instance_of_log(path, kind, asked, JobFilter(multi_core=self.multi_core))


def kind_of(path: StrPath) -> str:
    """Kind of a file by its beginning: a table or document of tasks, a log, a workflow, or an instance.

    Folders are the first.
    """
    from ..instances.table_formats import HEAD, kind_of_file

    if isinstance(path, ReadFile):
        return kind_of_file(path.text[:HEAD])
    if os.path.isdir(path) or os.fspath(path).lower().endswith(TASK_FILES):
        return "table"
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            # Only the beginning: a file of millions of tasks is read once, by the reader that it is for.
            return kind_of_file(file.read(HEAD))
    except (OSError, ValueError):
        return "instance"


def _memory_mb(text: str | None) -> float | None:
    from ..instances.table_columns import memory_mb_of

    if text is None:
        return None
    value = memory_mb_of(text)
    if value is None or value <= 0:
        raise SpotbagError(f"--memory {text}: must be an amount with its unit, such as 512MB or 2GB")
    return value


def _reserve_mb(text: str) -> Callable[[float], float]:
    """Return the function from the memory of a VM to what of it is reserved."""
    from ..core.quantities import fraction
    from ..instances.table_columns import memory_mb_of

    # A number without a unit could be megabytes as well as a share: it is refused, not guessed.
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
    from ..core.quantities import number_of

    if text is None:
        return None
    speeds: dict[str, float] = {}
    form = "TYPE=NUMBER, such as c6i.large=1.0"
    for part, name, value in pairs_of("--speed", _names(text), form):
        speed = number_of(value)
        if speed is None or speed <= 0:
            raise SpotbagError(f"--speed {part}: must be {form}")
        speeds[name] = speed
    return speeds


def _quota(text: str) -> Quota:
    from ..core.records import validate_record
    from ..instances.entries import MARKETS, Quota

    form = "MARKET[:TYPES]=N vCPUs, or N VMs, such as spot=64 or on-demand:c6i.*=16 VMs"
    for _, whose, number in pairs_of("--quota", [text], form):
        # Whatever is wrong, the message shows the whole form: parts of it would not help.
        market, _, types = whose.partition(":")
        most, _, unit = number.partition(" ")
        key = {"": "vcpus", "vcpus": "vcpus", "vms": "vms"}.get(unit.strip().lower())
        if key is None or not most.isdecimal() or market.strip() not in MARKETS:
            break
        record = {"market": market.strip(), key: int(most), **({"types": _names(types)} if types else {})}
        try:
            return validate_record(Quota, record, "--quota")
        except InputError:
            break
    raise SpotbagError(f"--quota {text}: must be {form}")


def pairs_of(called: str, given: Sequence[str] | None, form: str) -> Iterator[tuple[str, str, str]]:
    """Yield the pairs that an option has: as they are given, and what stands before and behind the sign."""
    for pair in given or []:
        name, mark, value = (part.strip() for part in pair.partition("="))
        if not mark:
            raise SpotbagError(f"{called} {pair}: must be {form}")
        yield pair, name, value


TASK_FILES = (".csv", ".tsv")
"""Ends of the names of files of tasks."""


D_SPOT_OF_PAPER = "paper"
_WEIGHTS = {
    "cost_weight": "cost_weight",
    "cost_scale": "cost_scale_usd",
    "makespan_scale": "makespan_scale_s",
}
_PATHS = {
    **{name: f"objective.{field}" for name, field in _WEIGHTS.items()},
    "goal": "objective.goal",
    "budget": "objective.budget_usd",
    "markets": "markets",
    "survive": "survive",
    "d_spot": "d_spot_s",
    "deadline": "deadline_s",
}
"""Paths of what options set in an instance, by the fields of the options."""


def _with_near(option: str, issue: Issue) -> str:
    """Return the rule of an issue without the quotes around names, with those that are close to the value."""
    from ..instances.entries import GOALS, MARKETS, SURVIVAL_OPTIONS

    known: dict[str, Sequence[str]] = {"--goal": GOALS, "--markets": MARKETS, "--survive": SURVIVAL_OPTIONS}
    if option not in known:
        return issue.rule
    near = close_names(f"{issue.value}", known[option])
    return issue.rule.replace("'", "") + (f"; {near}" if near else "")


@dataclass(frozen=True, kw_only=True)
class InstanceOptions(CsvOptions):
    """Changes of an instance; a command has them by a parameter of this type (see `spread`)."""

    deadline: int | None = seconds_option("Deadline, instead of the instance's: 2h, 1h30m or seconds.")
    d_spot: str | None = option(
        "TIME|paper",
        "D_spot: spot VMs end by then; or paper, the rule of HADS. Chosen by --survive if nowhere given.",
        reads="whole_seconds",
        word=D_SPOT_OF_PAPER,
    )
    survive: str | None = option(
        "LEVEL",
        "What a plan must be able to lose and still be in time: one-type, one-pool, blackout, each or none.",
        completes=names_of("instances.entries", "SURVIVAL_OPTIONS"),
    )
    goal: str | None = option(
        "GOAL",
        "What is best: cheapest, fastest or balanced (by weights).",
        completes=names_of("instances.entries", "GOALS"),
    )
    budget: float | None = amount_option("Most that a plan may cost, with the goal fastest: 1.50 or $1.50.")
    markets: str | None = option(
        "NAMES",
        "Markets that may be used: spot, on-demand, or both by a comma.",
        completes=names_of("instances.entries", "MARKETS"),
    )
    max_price: float | None = amount_option("Rent no VM whose price per hour is above this one: 0.50.")
    memory_reserve: str | None = option("SHARE|AMOUNT", "Memory of each VM that tasks cannot have: 5% or 500MB.")
    cost_weight: float | None = option("W", "Weight of the cost in the objective, 0 to 1.")
    cost_scale: float | None = amount_option("Scale of the cost.")
    makespan_scale: float | None = duration_option("Scale of the makespan.")

    def load(self, argument: StrPath, late: str | None = None, *, zone_of_days: bool = False) -> Instance:
        """Load an instance by path, ``-`` or library name, or make it of a file of tasks, and `apply` the options.

        Where tasks may be ``late``, none is refused for taking longer than the deadline. With `zone_of_days`, the zone
        is that of a scenario, too.
        """
        given = [option for option in self.task_file_options if not (zone_of_days and option == "--zone")]
        file = read_once(argument)
        # An instance has its VM types, so that options about these would be passed over in silence.
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
        if isinstance(file, ReadFile):
            return kind_of(file) != "instance"
        if os.fspath(file).lower().endswith(TASK_FILES) and os.path.exists(file):
            return True
        from ..core.json_documents import format_of
        from ..instances.library import library_names

        if os.path.isdir(file):  # of benchmarks
            return bool(self.task_file_options) or self.deadline is not None
        if not os.path.isfile(file) or file in library_names():
            return False
        # JSON of others, beside options of files of tasks, is none that is known, which their reader says.
        return kind_of(file) != "instance" or (bool(self.task_file_options) and format_of(read_text(file)) is None)

    def apply(self, instance: Instance) -> Instance:
        """Return the instance with what the command line says instead of what it says itself.

        Raises
        ------
        InputError
            If what the command line says does not suit the instance.
        """
        changes = self._changes(instance)
        if not changes:
            return instance
        try:
            changed = instance.replace(**changes)
        except InputError as error:
            # The values came from options: whoever gave them knows no path in a document.
            issues = list(error.issues)
            if self.deadline is not None:
                from ..instances.instance_checks import with_deadline_first

                issues = with_deadline_first(issues, self.deadline)
            raise self._error(instance.name, issues) from None
        # Neither is an error, as scripts have the same options for all bags; but nobody should believe that
        # they did something.
        if "spot" not in changed.markets or all(offer.market != "spot" for offer in changed.offers):
            for option, value in (("--d-spot", self.d_spot), ("--survive", self.survive)):
                if value is not None:
                    warn([f"{option} changes nothing: {instance.name} has no spot VMs"])
        return changed

    def _error(self, name: str, issues: Sequence[Issue]) -> InputError:
        """Return the error of values that do not suit an instance; what an option says is called by its name."""
        said, given = [], {_PATHS.get(name): option for name, option in given_options(self).items()}
        for issue in issues:
            option = given.get(issue.path.partition("[")[0])
            if option is None:
                said.append(issue)
            else:
                said.append(Issue(f"{option} {show_value(issue.value)}".replace("'", ""), _with_near(option, issue)))
        # One wrong option needs no list of what is wrong with the instance.
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
        from ..instances.entries import withdrawn

        types = list(instance.vm_types)
        if self.memory_reserve is not None:
            reserved_mb = _reserve_mb(self.memory_reserve)
            types = [entry.model_copy(update={"reserved_mb": reserved_mb(entry.memory_mb)}) for entry in types]
        if self.max_price is not None:
            # Of machines that exist at a price of their own, no more are rented.
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
        given = {name: option for name, option in given_options(self).items() if name in _WEIGHTS}
        if not given and self.goal is None and self.budget is None:
            return {}
        # Weights and scales are of the goal that balances; the instance would refuse them.
        if self.goal in ("cheapest", "fastest"):
            warn(f"{option} changes nothing: the goal is {self.goal}" for option in given.values())
            given = {}
        weights = {_WEIGHTS[name]: getattr(self, name) for name in given}
        return {"objective": instance.objective_with(self.goal, budget_usd=self.budget, **weights)}

    def plan_of(self, document: ScheduleDocument, instance: str, source: str, state: str | None = None) -> Schedule:
        """Derive a plan from its instance, with the time limits that it was made for unless the options have others.

        With a state, it is a plan for what that leaves of the instance.
        """
        from ..heuristics.bags.d_spot import with_d_spot
        from ..schedules.schedule_files import another_instance, schedule_of_document

        problem = self.load(instance, None if document.late is None else "least")
        if state is not None:
            from ..schedules.state import State

            problem = State.read(state).remaining(problem)
        if document.instance != problem.name and {row.id for row in document.task_rows}.isdisjoint(problem.task_ids):
            raise input_error(source, another_instance(document.instance, problem, document.task_rows))
        limits: dict[str, Any] = {}
        if self.deadline is None and document.deadline_s is not None and document.deadline_s >= 1:
            limits["deadline_s"] = document.deadline_s
        if self.d_spot is None and document.d_spot_s is not None and document.d_spot_s >= 0:
            # The deadline of the command line may be earlier than the D_spot that the plan was made for.
            limits["d_spot_s"] = min(document.d_spot_s, limits.get("deadline_s", problem.deadline_s))
        return schedule_of_document(document, with_d_spot(problem.replace(**limits)), source)

    def plan_or_none(
        self, document: ScheduleDocument, instance: str | None, source: str, state: str | None = None
    ) -> Schedule | None:
        """Derive a plan from the named instance, or else from one of the library of its name; None if there is none."""
        from ..instances.library import library_names

        if instance is None and document.instance not in library_names():
            return None
        return self.plan_of(document, instance or document.instance, source, state)


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """Options of how it is planned; a command has them, or some of them, by a parameter of this type (see `spread`)."""

    method: list[str] | None = option(
        "NAME",
        "How to plan: see 'spotbag methods'. One of your own is module:attribute.",
        short="-m",
        completes=METHODS,
    )
    pairs: list[str] | None = option(
        "NAME=VALUE", "Option of the method; may be given again.", name="option", short="-o"
    )
    time_limit: float | None = duration_option("Time after which the best found so far is returned: 30s, 5m.")
    iterations: int | None = option(
        "N", "A limit of work in place of --time-limit: the same plan each time. A million take about a second.", min=1
    )
    target_gap: float = option(
        "G", "Stop at this gap to the bound, relative to the plan's objective: 0.01 or 1%.", 0.0, reads="fraction"
    )
    seed: int = option("SEED", "Seed of the random numbers.", 0, min=0)
    threads: int | None = option(
        "T",
        "Threads that work at once: all cores if absent (one in comparisons); 1 for the same plan each time.",
        min=1,
    )
    initial: str | None = option("FILE", "A plan to start from; nothing worse is returned.", file="read")

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
        names = self.methods([absent])
        if len(names) > 1:
            raise SpotbagError(
                f"--method {','.join(names)}: one plan is made by one method; 'spotbag compare' takes several"
            )
        return names[0]

    @property
    def options(self) -> dict[str, str]:
        """Options of the method, by name."""
        return parse_options(self.pairs or [])

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
        given = given_options(self).values()
        if "--seed" in given and not any(method.seeded for method in chosen):
            warn([f"--seed changes nothing: {by} uses no random numbers"])
        for name in ("--threads", "--target-gap"):
            if name in given and not any(method.exact for method in chosen):
                warn([f"{name} changes nothing: {by} is no exact method"])

    def plan(self, problem: Instance, near_least: float | None = None) -> Result:
        """Plan an instance by the one method, and within the limits, that the options give; see `solve`."""
        from ..heuristics.bags.d_spot import with_d_spot
        from ..solvers.bags.solve import solve

        method = self.one_method()
        self.warn_of_idle(method)
        start = None
        if self.initial is not None:
            from ..schedules.schedule_files import read_schedule

            start = read_schedule(self.initial, with_d_spot(problem))
        with progress(f"planning {problem.name} by {method}", self.time_limit) as show:
            return solve(
                problem,
                method,
                time_limit_s=self.time_limit,
                iterations=self.iterations,
                target_gap=self.target_gap,
                seed=self.seed,
                threads=self.threads,
                initial=start,
                options=self.options,
                on_progress=show,
                near_least=near_least,
            )


_of_days = partial(option, panel="Options for the days to come")
_OF_CLOUD = "Options for what the cloud does"
_seconds = partial(seconds_option, panel=_OF_CLOUD)
_rate = partial(option, "USD", min=0, panel=_OF_CLOUD)
SCENARIOS = names_of("instances.bags.scenarios", "SCENARIOS")
BAG_POLICIES = names_of("replay.bags.policies", "KIND.names")
USUAL_DAYS = 200
USUAL_POLICY = "on-time"


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """Options by which a scenario is found; a command has them by a parameter of this type (see `spread`)."""

    k_h: float | None = option("X", "Hibernations of a type expected by the deadline (poisson).")
    k_r: float | None = option("X", "Resumes, likewise (poisson).")
    rate_scale: float = option("R", "Multiplies both rates of a Poisson scenario.", 1.0)
    one_means: str | None = option("STATE", "What 1 means in an availability trace: available or preempted.")
    vms_per_one: str | None = option(
        "N", "VMs that it stands for, or all; if absent, all in a trace of 0 and 1, else 1."
    )
    zone: str | None = zone_option()
    product: str | None = option("NAME", "Product whose prices count; Linux/UNIX if absent.")
    since: str | None = option("TIME", "When days of a price history start: 2026-07-09T12:00Z; drawn if absent.")

    amplitude: float | None = option("A", "Of vms/bathtub: about the share of VMs that go early.")
    early_scale_s: float | None = duration_option("Of vms/bathtub: time scale of the early losses.", name="early_scale")
    late_scale_s: float | None = duration_option("Of vms/bathtub: time scale of the late losses.", name="late_scale")
    end_age_s: float | None = duration_option("Of vms/bathtub: age at which all VMs go.", name="end_age")

    def find(self, text: str) -> Scenario:
        """Find a scenario by its name, or read it."""
        from ..core.quantities import number_of
        from ..instances.bags.scenarios import find_scenario

        options = asdict(self)
        if self.vms_per_one is not None:
            number = number_of(self.vms_per_one)
            options["vms_per_one"] = self.vms_per_one if number is None else number
        return find_scenario(text, **options)


@dataclass(frozen=True, kw_only=True)
class DaysToComeOptions:
    """Days for which a plan is chosen; a command has them by a parameter of this type (see `spread`)."""

    scenario: str | None = _of_days(
        "NAME",
        "Choose the plan with the least mean cost on such days; a name or a file, see 'spotbag replay'.",
        short="-s",
        completes=SCENARIOS,
        file="read",
    )
    policy: str | None = _of_days(
        "NAME",
        f"What answers to interruptions then; {USUAL_POLICY} if absent.",
        short="-p",
        completes=BAG_POLICIES,
    )
    days: int | None = _of_days("N", f"Most days of the choice, and days of the report; {USUAL_DAYS} if absent.", min=1)
    late: str | None = option(
        "least|USD",
        "least: if no plan ends in time, as few tasks late as can be, then as little late (exit code 3). With "
        "--scenario, what a day that misses the deadline counts more; ten times the bag on demand if absent.",
        reads="amount_usd",
        word="least",
    )
    workers: int = _of_days("W", "Processes.", 1, short="-w", min=1)

    def demand_scenario(self, scenarios: ScenarioOptions) -> None:
        """Refuse options that say something of days where there is no scenario."""
        # A zone is of the prices of a file of tasks as well, which says itself if it changes nothing.
        about = {name: said for one in (self, scenarios) for name, said in given_options(one).items() if name != "zone"}
        if about and self.scenario is None:
            raise SpotbagError(f"{next(iter(about.values()))} is about the days to come: give --scenario as well")


@dataclass(frozen=True, kw_only=True)
class CloudOptions:
    """Options of the cloud's rules; a command has them by a parameter of this type (see `spread`)."""

    cloud: str | None = option(
        "NAME",
        "Whose rules hold: see 'instance clouds'. The scenario's or the instance's if absent, else papers.",
        completes=names_of("instances.clouds", "CLOUDS"),
        panel=_OF_CLOUD,
    )
    interruption: Literal["hibernate", "stop", "terminate"] | None = option(
        None, "What happens to a spot VM taken away.", panel=_OF_CLOUD
    )
    notice_s: int | None = _seconds("How long a VM drains before it is taken away: 2m.", name="notice")
    minimum_s: int | None = _seconds("What each session of a VM is billed at least: 60s.", name="minimum_billed")
    block_s: int | None = _seconds("VMs are billed in blocks of this: 1s, 1h.", least=1, name="billing_block")
    boot_s: int | None = _seconds(
        "Seconds before each session of a VM that are billed: 90s of its boot.", name="billed_boot"
    )
    fixed_usd: float | None = _rate("What each session of a VM costs beside its seconds.", name="fixed_charge")
    first_hour_free: bool | None = option(
        None,
        "Whether a spot VM that is taken away in its first hour costs nothing.",
        name="first-hour-free/--first-hour-paid",
        panel=_OF_CLOUD,
    )
    hibernated_usd_per_gb_hour: float | None = _rate(
        "Price of a GB-hour of memory of a hibernated VM.", name="hibernated_rate"
    )
    stopped_usd_per_gb_hour: float | None = _rate("The same of a stopped VM.", name="stopped_rate")

    def find(self, named: str | None, bag: Instance) -> Cloud:
        """Return the cloud: that of ``--cloud``, else the one that is named, else that of a bag; changed as asked.

        Raises
        ------
        InputError
            If there is none of the name.
        """
        from ..instances.clouds import cloud_of, find_cloud

        changes = asdict(self)
        name = changes.pop("cloud") or named
        return (cloud_of(bag.cloud, bag.billing) if name is None else find_cloud(name)).replace(**changes)


def notes_of(scenario: Scenario, instance: Instance) -> list[str]:
    """Return warnings about a scenario on an instance, for users who might trust it; those of prices have some."""
    notes = getattr(scenario, "notes", None)
    return [] if notes is None else notes(instance)


def _refuse_table_of_plan(path: StrPath) -> None:
    """Refuse a plan as a table where a file of tasks is expected."""
    from ..schedules.documents import refuse_table

    if isinstance(path, ReadFile):
        refuse_table(path.text[:_MOST_OF_HEADINGS], source_name(path))
    elif os.path.isfile(path):
        with suppress(OSError, UnicodeDecodeError), open(path, encoding="utf-8-sig") as file:
            refuse_table(file.readline(_MOST_OF_HEADINGS), os.fspath(path))


_MOST_OF_HEADINGS = 200


def load_instance(argument: StrPath, late: str | None = None) -> Instance:
    """Load an instance by path, ``-`` or library name; warnings go to standard error."""
    from ..core.json_documents import parse_json
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
    if not isinstance(argument, str) or argument == STANDARD_INPUT:
        return True
    readable = is_readable_file(argument)
    # The name of the library wins, so that the same command gives the same instance in every folder.
    if argument in names:
        if readable:
            warn([f"{argument} is taken from the library; the file of this name is ./{argument}"])
        return False
    return (
        readable
        or bool(os.path.splitext(argument)[1])
        or argument.startswith((".", "/", "~"))
        or os.path.isdir(argument)
    )


def parse_options(pairs: list[str]) -> dict[str, str]:
    """Read ``name=value`` pairs."""
    # Options are written with hyphens on the command line, as all others there.
    return {name.replace("-", "_"): value for _, name, value in pairs_of("--option", pairs, "NAME=VALUE")}
