"""The methods, by name."""

from __future__ import annotations

import dataclasses
import difflib
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ...core.errors import InputError, Issue, ModelRefusal

if TYPE_CHECKING:
    from ...instances.instance import Instance
    from ...schedules.method import Outcome, Run

    Loaded: TypeAlias = tuple[type[Any], Callable[[Instance, Any, Run], Outcome]]


@dataclass(frozen=True, slots=True)
class Method:
    """A way to make a plan.

    Attributes
    ----------
    name : str
        What users call it.
    summary : str
        One line.
    load : callable
        Imports the method, so that no method loads before it is asked for; returns the frozen dataclass of its options,
        and the function that makes a plan. That takes an instance with D_spot set, the options, and seed, time limit
        and progress of the run.
    exact : bool
        Whether it proves the optimum of the instances that it takes, given time.
    takes : str
        What it can do: which instances it takes, and what its bound is.
    bounds : bool
        Whether it works out a bound of the optimum before it looks for better plans.
    seeded : bool
        Whether its plan may depend on the seed; if not, one run is enough.
    published : bool
        Whether it is the method of a paper, as it stands there: D_spot is that of Algorithm 1 of HADS where none is
        given, and of the goals it knows the weight only.
    machines : bool
        Whether it plans from a state: with VMs that exist, and tasks that run on them.
    """

    name: str
    summary: str
    load: Callable[[], Loaded]
    exact: bool
    takes: str
    bounds: bool = False
    seeded: bool = False
    published: bool = False
    machines: bool = False

    @property
    def options_type(self) -> type[Any]:
        """Frozen dataclass of its options."""
        return self.load()[0]

    def run(self, instance: Instance, options: Any, run: Run) -> Outcome:
        """Make a plan of an instance with D_spot set.

        Raises
        ------
        ModelRefusal
            If VMs exist already, and the method knows new ones only.
        """
        if instance.machines and not self.machines:
            able = ", ".join(name for name, method in METHODS.items() if method.machines)
            raise ModelRefusal(f"{self.name} plans bags from their beginning; from a state plan: {able}")
        return self.load()[1](instance, options, run)


def _auto() -> Loaded:
    from .auto import AutoOptions, auto

    return AutoOptions, auto


def _greedy() -> Loaded:
    from ...heuristics.bags.greedy import GreedyOptions, greedy

    return GreedyOptions, lambda instance, options, _: greedy(instance, options)


def _lpt() -> Loaded:
    from ...heuristics.bags.lpt import LptOptions, lpt

    return LptOptions, lpt


def _ils() -> Loaded:
    from ...heuristics.bags.iterated_local_search import IlsOptions, iterated_local_search

    return IlsOptions, iterated_local_search


def _search() -> Loaded:
    from ...heuristics.bags.search import SearchOptions, search

    return SearchOptions, search


def _patterns() -> Loaded:
    from .patterns_method import PatternOptions, patterns

    return PatternOptions, patterns


def _class_programme() -> Loaded:
    from .class_programme_method import ClassProgrammeOptions, class_programme

    return ClassProgrammeOptions, class_programme


def _columns() -> Loaded:
    from .columns_method import ColumnOptions, columns

    return ColumnOptions, columns


def _interval() -> Loaded:
    from .interval_method import IntervalOptions, interval

    return IntervalOptions, interval


def _core_counts() -> Loaded:
    from .core_counts_method import CoreCountOptions, core_counts

    return CoreCountOptions, core_counts


def _time_indexed() -> Loaded:
    from .time_indexed_method import TimeIndexedOptions, time_indexed

    return TimeIndexedOptions, time_indexed


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "auto",
            "bound, search, and the exact model that fits: what to use",
            _auto,
            True,
            "any instance; proves optima of small ones and of few classes of identical tasks",
            True,
            True,
        ),
        Method(
            "greedy",
            "primary scheduling heuristic of HADS (Algorithms 2-3)",
            _greedy,
            False,
            "any instance",
            published=True,
        ),
        Method(
            "lpt",
            "longest task first over the VM counts that come out best: the simple baseline",
            _lpt,
            False,
            "any instance",
            False,
            False,
        ),
        Method(
            "ils",
            "primary scheduling of Burst-HADS: iterated local search",
            _ils,
            False,
            "any instance of up to about 20,000 tasks",
            seeded=True,
            published=True,
        ),
        Method(
            "search",
            "our search: simulated annealing from the prices of the bound",
            _search,
            False,
            "any instance; burstable VMs at the baseline, and at full speed only if no plan is found else",
            True,
            True,
            machines=True,
        ),
        Method(
            "patterns",
            "pattern model: integer programme of what each core runs",
            _patterns,
            True,
            "few classes of identical tasks, memory that never binds; burstable VMs as a relaxation",
            True,
            True,
        ),
        Method(
            "class-programme",
            "dynamic programme over counts of identical tasks; no solver",
            _class_programme,
            True,
            "up to three classes of identical tasks, more where the cost alone counts; memory that never binds; "
            "credits that count at the end",
            True,
            False,
        ),
        Method(
            "columns",
            "column generation over VMs, branching on the makespan",
            _columns,
            True,
            "up to 250 classes, few tasks to a VM, memory that binds; burstable VMs as a relaxation",
            True,
            True,
        ),
        Method(
            "interval",
            "CP-SAT with optional intervals, cores, memory and CPU credits",
            _interval,
            True,
            "small bags of any kind: memory that binds, burstable VMs with their credits",
            True,
            True,
        ),
        Method(
            "core-counts",
            "integer programme of how many tasks of a class each core runs",
            _core_counts,
            True,
            "few classes on few cores, up to about 20 distinct tasks, memory that never binds, no burstable VMs",
            True,
            True,
        ),
        Method(
            "time-indexed",
            "the integer programme of Burst-HADS (section III-C), corrected",
            _time_indexed,
            True,
            "tiny instances without burstable VMs; others on a coarser grid, without proof",
            False,
            False,
        ),
    )
}
"""Method by name."""


def find_method(name: str) -> Method:
    """Look up a method.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    if name not in METHODS:
        close = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise InputError("method", [Issue("", f"is unknown ({hint}known: {', '.join(METHODS)})", value=name)])
    return METHODS[name]


def make_options(method: Method, given: Mapping[str, Any]) -> Any:
    """Make the options of a method from values, or from texts as on a command line.

    Raises
    ------
    InputError
        With every option that is unknown or out of its range.
    """
    issues: list[Issue] = []
    values: dict[str, Any] = {}
    hints = typing.get_type_hints(method.options_type)
    for name, value in given.items():
        if name not in hints:
            close = difflib.get_close_matches(name, hints, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(hints)}"
            issues.append(Issue("", f"is no option of {method.name} ({hint})", name))
            continue
        try:
            values[name] = _convert(value, hints[name])
        except (TypeError, ValueError):
            issues.append(Issue("", f"must be {_describe(hints[name])}", name, value))
    if issues:
        raise InputError(f"options of {method.name}", issues)
    return method.options_type(**values)


def describe_options(method: Method) -> list[tuple[str, str, str]]:
    """Name, kind and default of each option of a method."""
    hints = typing.get_type_hints(method.options_type)
    return [
        (field.name, _describe(hints[field.name]), "" if field.default is None else str(field.default))
        for field in dataclasses.fields(method.options_type)
    ]


def _choices(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)


def _convert(value: Any, hint: Any) -> Any:
    """Convert a value to a literal, a positive whole number or a number from 0 to 1."""
    for choice in _choices(hint):
        if typing.get_origin(choice) is typing.Literal and value in typing.get_args(choice):
            return value
        if choice is type(None) and value in (None, "none"):
            return None
        if choice is int and not isinstance(value, bool) and re.fullmatch("[1-9][0-9]{0,8}", str(value)):
            return int(value)
        if choice is float and not isinstance(value, bool):
            number = float(value)
            if 0 <= number <= 1:
                return number
    raise ValueError


def _describe(hint: Any) -> str:
    names = []
    for choice in _choices(hint):
        if typing.get_origin(choice) is typing.Literal:
            names += [str(value) for value in typing.get_args(choice)]
        else:
            kinds = {type(None): "none", int: "a positive whole number", float: "a number from 0 to 1"}
            names.append(kinds[choice])
    return " or ".join(names)
