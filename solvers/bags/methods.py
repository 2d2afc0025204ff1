"""The methods, by name."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

from ...core.errors import InputError, Issue, ModelRefusal, text_of
from ...core.plugins import TAKEN, Plugin, PluginError, Registry, Unusable, blaming, describe

if TYPE_CHECKING:
    from ...instances.instance import Instance
    from ...schedules.method import Method, MethodFunction, Outcome, Run

    Loaded: TypeAlias = tuple[type[Any], Callable[[Instance, Any, Run], Outcome]]

GivenMethod: TypeAlias = "str | Method | type[Method] | MethodFunction"
"""A method as it is given; see `find_method`."""

PLUGINS = Registry("method", "spotbag.methods")
"""Methods that others have added."""


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """A way to make a plan, as it is listed and looked up.

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
    dates : bool
        Whether it knows tasks that have a release or a deadline of their own.
    setups : bool
        Whether it knows VMs that are set up after the boot, some longer than others.
    plugin : str
        What messages call it, if it is not built in.
    distribution : str
        Name and version of what has added it; empty if nothing has.
    given : Method, optional
        Its options, if it was given with them.
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
    dates: bool = False
    setups: bool = True
    plugin: str = ""
    distribution: str = ""
    given: Method | None = None

    @property
    def options_type(self) -> type[Any]:
        """Dataclass of its options."""
        return self.load()[0]

    @property
    def option_names(self) -> list[str]:
        """Names of its options."""
        kind = self.options_type
        return (
            [field.name for field in dataclasses.fields(kind) if field.init] if dataclasses.is_dataclass(kind) else []
        )

    @property
    def closes_vms(self) -> bool:
        """True if ties go to fewer VMs; what is published, a baseline or not built in keeps the plans that it makes."""
        return (self.exact or self.name == "search") and not (self.published or self.plugin)

    def refuse_unknown(self, instance: Instance) -> None:
        """Refuse an instance with parts that the method does not know.

        Raises
        ------
        ModelRefusal
            If VMs exist already, and the method knows new ones only; if tasks have dates, or VM types a setup, and it
            knows none.
        """
        if instance.machines and not self.machines:
            able = ", ".join(name for name, method in METHODS.items() if method.machines)
            raise ModelRefusal(f"{self.name} plans bags from their beginning; from a state plan: {able}")
        if instance.has_dates and not self.dates:
            able = ", ".join(name for name, method in METHODS.items() if method.dates)
            raise ModelRefusal(
                f"{self.name} knows no ready_s and no deadline_s of tasks; where tasks have some, these plan: {able}"
            )
        if instance.has_setups and not self.setups:
            able = ", ".join(name for name, method in METHODS.items() if method.setups)
            raise ModelRefusal(f"{self.name} knows no setup_s of VM types; where types have one, these plan: {able}")

    def run(self, instance: Instance, options: Any, run: Run) -> Outcome:
        """Make a plan of an instance with D_spot set.

        Raises
        ------
        ModelRefusal
            If it knows not all of it; see `refuse_unknown`.
        """
        self.refuse_unknown(instance)
        try:
            with blaming(self.plugin):
                outcome = self.load()[1](instance, options, run)
                return self._verified(outcome) if self.plugin else outcome
        except InputError as error:  # of what it calls
            if not self.plugin:
                raise
            raise PluginError(f"{self.plugin} failed: {error}") from error

    def _verified(self, outcome: object) -> Outcome:
        """Refuse an outcome that a method of others must not return; whether its plan is feasible is seen later."""
        from ...schedules.method import Outcome, TracePoint
        from ...schedules.schedule import Schedule

        if not isinstance(outcome, Outcome):
            raise PluginError(f"{self.plugin} must return an Outcome, not {_kind(outcome)}")
        plan = outcome.schedule
        if plan is not None and not isinstance(plan, Schedule):
            raise PluginError(f"{self.plugin} must return an Outcome of a Schedule or None, not {_kind(plan)}")
        if outcome.bound is not None and (not isinstance(outcome.bound, Real) or math.isnan(outcome.bound)):
            raise PluginError(f"{self.plugin} must return a number as its bound, not {text_of(outcome.bound, repr)}")
        wrong = next((point for point in outcome.trace if not isinstance(point, TracePoint)), None)
        if wrong is not None:
            raise PluginError(f"{self.plugin} must return TracePoints as its trace, not {_kind(wrong)}")
        explanation, warnings = text_of(outcome.explanation), tuple(map(text_of, outcome.warnings))
        return dataclasses.replace(outcome, explanation=explanation, warnings=warnings)


def _kind(value: object) -> str:
    return "None" if value is None else f"{type(value).__name__}"


def _built_in(module: str, function: str, options: str = "") -> Callable[[], Loaded]:
    """Return the loader of a method and of the dataclass of its options; one without options is called without."""

    def load() -> Loaded:
        made = importlib.import_module(module, __package__)
        plan = getattr(made, function)
        if not options:
            return _NoOptions, lambda instance, _, run: plan(instance, run)
        return getattr(made, options), plan

    return load


def _greedy() -> Loaded:
    from ...heuristics.bags.greedy import GreedyOptions, greedy

    return GreedyOptions, lambda instance, options, _: greedy(instance, options)


_HEURISTICS = "...heuristics.bags"

METHODS: dict[str, MethodEntry] = {
    method.name: method
    for method in (
        MethodEntry(
            "auto",
            "bound, search, and the exact model that fits: what to use",
            _built_in(".route", "auto"),
            True,
            "any instance; proves optima of small ones and of few classes of identical tasks",
            True,
            True,
            machines=True,
            dates=True,
        ),
        MethodEntry(
            "greedy",
            "primary scheduling heuristic of HADS (Algorithms 2-3)",
            _greedy,
            False,
            "any instance",
            published=True,
        ),
        MethodEntry(
            "lpt",
            "longest task first over the VM counts that come out best: the simple baseline",
            _built_in(f"{_HEURISTICS}.lpt", "lpt", "LptOptions"),
            False,
            "any instance",
        ),
        MethodEntry(
            "fewest-vms",
            "longest task first on as few VMs of the cheapest offers as the deadline needs: a baseline",
            _built_in(f"{_HEURISTICS}.baselines", "fewest_vms"),
            False,
            "any instance; burstable VMs at the baseline",
        ),
        MethodEntry(
            "first-fit",
            "first fit decreasing, the deadline as the capacity of each core, the cheapest offers first: a baseline",
            _built_in(f"{_HEURISTICS}.baselines", "first_fit"),
            False,
            "any instance; burstable VMs at the baseline",
        ),
        MethodEntry(
            "ils",
            "primary scheduling of Burst-HADS: iterated local search",
            _built_in(f"{_HEURISTICS}.iterated_local_search", "iterated_local_search", "IlsOptions"),
            False,
            "any instance of up to about 20,000 tasks",
            seeded=True,
            published=True,
            setups=False,
        ),
        MethodEntry(
            "search",
            "our search: simulated annealing from the prices of the bound",
            _built_in(f"{_HEURISTICS}.search", "search", "SearchOptions"),
            False,
            "any instance; burstable VMs at the baseline, and at full speed only if no plan is found else",
            True,
            True,
            machines=True,
            dates=True,
        ),
        MethodEntry(
            "patterns",
            "pattern model: integer programme of what each core runs",
            _built_in(".patterns_method", "patterns"),
            True,
            "few classes of identical tasks, memory that never binds; burstable VMs as a relaxation",
            True,
            True,
            setups=False,
        ),
        MethodEntry(
            "class-programme",
            "dynamic programme over counts of identical tasks; no solver",
            _built_in(".class_programme_method", "class_programme", "ClassProgrammeOptions"),
            True,
            "few classes of identical tasks, or few tasks; more where the cost alone counts (burstable VMs there as a "
            "relaxation); memory that never binds; credits that count at the end",
            True,
            setups=False,
        ),
        MethodEntry(
            "columns",
            "column generation over VMs, branching on the makespan",
            _built_in(".columns_method", "columns"),
            True,
            "up to 250 classes, few tasks to a VM, memory that binds; burstable VMs as a relaxation",
            True,
            True,
            setups=False,
        ),
        MethodEntry(
            "interval",
            "CP-SAT with optional intervals, cores, memory and CPU credits",
            _built_in(".interval_method", "interval", "IntervalOptions"),
            True,
            "small bags of any kind: memory that binds, burstable VMs with their credits, tasks with dates",
            True,
            True,
            machines=True,
            dates=True,
        ),
        MethodEntry(
            "time-indexed",
            "the integer programme of Burst-HADS (section III-C), corrected",
            _built_in(".time_indexed_method", "time_indexed", "TimeIndexedOptions"),
            True,
            "tiny instances without burstable VMs; others on a coarser grid, without proof",
            setups=False,
        ),
    )
}
"""Methods that are built in, by name."""


def find_method(method: GivenMethod) -> MethodEntry:
    """Look up a method.

    Parameters
    ----------
    method : str, Method or callable
        A name of `METHODS`, or one that an installed distribution has added; ``module:attribute``; a `Method`, as a
        class or an instance; or a function of an instance and a `Run` that returns an `Outcome`.

    Raises
    ------
    InputError
        If there is none of that name, or it is no method.
    """
    value: object = Issue.NOTHING
    try:
        if not isinstance(method, str):
            with blaming("the method that is given"):
                return _entry_of(method)
        if method in METHODS:
            return METHODS[method]
        value = method
        plugin = PLUGINS.find(method)
        if plugin is not None:
            return _entry_of_plugin(plugin)
    except Unusable as reason:
        raise InputError("method", [Issue("", reason.rule, value=value)]) from reason.__cause__
    names = method_names()
    close = difflib.get_close_matches(method, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise InputError("method", [Issue("", f"is unknown ({hint}known: {', '.join(names)})", value=method)])


def method_names() -> list[str]:
    """Names of the methods, those that others have added included."""
    return [*METHODS, *(name for name in PLUGINS.names() if name not in METHODS)]


def listed_methods() -> list[MethodEntry]:
    """Return all methods; those that others have added are loaded.

    Warns
    -----
    PluginWarning
        For each of these that is left out.
    """
    return [*METHODS.values(), *PLUGINS.installed(_entry_of_plugin)]


def _entry_of_plugin(plugin: Plugin) -> MethodEntry:
    if plugin.name in METHODS:
        raise Unusable(TAKEN)
    with blaming(plugin.called):
        return _entry_of(plugin.what, plugin.called, plugin.name, plugin.distribution)


def _entry_of(method: object, called: str = "", name: str = "", distribution: str = "") -> MethodEntry:
    """Return the entry of a method that is not built in.

    Parameters
    ----------
    method : object
        As it is given.
    called, name : str
        What messages call it, and the name that it was asked for by; by itself if they are empty.
    distribution : str
        Of which it is an entry point, if it is one.

    Raises
    ------
    Unusable
        If it is no method.
    """
    from ...schedules.method import Method

    if isinstance(method, Method) or (isinstance(method, type) and issubclass(method, Method)):
        kind = method if isinstance(method, type) else type(method)
        if inspect.isabstract(kind):
            raise Unusable(f"must have a method plan(instance, run): {kind.__name__} has none")
        own = getattr(kind, "name", None)
        if not isinstance(own, str) or not own:
            raise Unusable(f"must have a name: {kind.__name__} has none, such as name = 'mine'")
        # A method of that name would stand in results and messages as if it were ours.
        if not name and own in METHODS:
            raise Unusable(f"must have a name of its own: {own} is built in")
        try:
            typing.get_type_hints(kind)
        except Exception as error:  # whatever names there are
            raise Unusable(f"has types of options that cannot be read: {describe(error)}") from error
        if distribution and own != name:
            raise Unusable(f"must have the name of its entry point, not {own!r}")
        return MethodEntry(
            name or own,
            kind.summary,
            lambda: (kind, lambda instance, options, run: options.plan(instance, run)),
            kind.exact,
            kind.takes,
            seeded=kind.seeded,
            machines=kind.machines,
            dates=kind.dates,
            plugin=called or f"the method {own!r}",
            distribution=distribution,
            given=None if isinstance(method, type) else method,
        )
    return _entry_of_function(method, called, name, distribution)


def _entry_of_function(method: object, called: str, name: str, distribution: str) -> MethodEntry:
    """Return the entry of a function."""
    what = "a Method (a class or an instance), or a function of an instance and a Run"
    if isinstance(method, type) or not callable(method):
        raise Unusable(f"must be {what}, not {method.__name__ if isinstance(method, type) else _kind(method)}")
    own = name or f"{method.__module__}:{getattr(method, '__qualname__', type(method).__qualname__)}"
    try:
        inspect.signature(method).bind(None, None)
    except (TypeError, ValueError) as error:
        raise Unusable(f"must be {what}: it cannot be called with these two ({error})") from error
    summary = (inspect.getdoc(method) or "").partition("\n")[0]
    return MethodEntry(
        own,
        summary,
        lambda: (_NoOptions, lambda instance, _, run: method(instance, run)),
        exact=False,
        takes="",
        plugin=called or f"the method {own}",
        distribution=distribution,
    )


@dataclass(frozen=True, slots=True)
class _NoOptions:
    """Options of a function: none."""


def make_options(method: MethodEntry, given: Mapping[str, Any]) -> Any:
    """Make the options of a method from values, or from texts as on a command line.

    Raises
    ------
    InputError
        With every option that is unknown or out of its range.
    """
    issues: list[Issue] = []
    values: dict[str, Any] = {}
    names = method.option_names
    hints = _hints(method) if given else {}
    for name, value in given.items():
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}" if names else "it has none"
            issues.append(Issue("", f"is no option of {method.name} ({hint})", name))
            continue
        try:
            values[name] = _convert(value, hints[name], bool(method.plugin))
        except (TypeError, ValueError):
            issues.append(Issue("", f"must be {_describe(hints[name], bool(method.plugin))}", name, value))
    if issues:
        raise InputError(f"options of {method.name}", issues)
    try:
        with blaming(method.plugin):
            if method.given is not None:
                return dataclasses.replace(method.given, **values) if values else method.given  # type: ignore[type-var]
            return method.options_type(**values)
    except PluginError as error:
        raise InputError(f"options of {method.name}", [Issue("", str(error))]) from error.__cause__


def describe_options(method: MethodEntry) -> list[tuple[str, str, str]]:
    """Name, kind and default of each option of a method."""
    names = method.option_names
    hints = _hints(method) if names else {}
    return [
        (field.name, _describe(hints[field.name], bool(method.plugin)), _default(field))
        for field in (dataclasses.fields(method.options_type) if names else ())
        if field.init
    ]


def _hints(method: MethodEntry) -> dict[str, Any]:
    """Types of the options of a method."""
    return typing.get_type_hints(method.options_type)


def _default(field: dataclasses.Field[Any]) -> str:
    return "" if field.default is None or field.default is dataclasses.MISSING else text_of(field.default)


def _choices(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)


def _convert(value: Any, hint: Any, any_range: bool) -> Any:
    """Convert a value, or a text, to the type of an option; whole numbers are positive, others from 0 to 1."""
    from pydantic import TypeAdapter

    if value == "none" and type(None) in _choices(hint):
        return None
    found = TypeAdapter(hint).validate_python(value)
    if isinstance(found, int | float) and not any_range:
        in_range = 0 < found < 10**9 if isinstance(found, int) else 0 <= found <= 1
        if isinstance(value, bool) or not in_range:
            raise ValueError
    return found


def _describe(hint: Any, any_type: bool = False) -> str:
    names = []
    for choice in _choices(hint):
        if typing.get_origin(choice) is typing.Literal:
            names += [str(value) for value in typing.get_args(choice)]
        else:
            kinds = _ANY_KINDS if any_type else _KINDS
            names.append(kinds.get(choice) or str(getattr(choice, "__name__", choice)))
    return " or ".join(names)


_KINDS = {type(None): "none", int: "a positive whole number", float: "a number from 0 to 1"}
_ANY_KINDS = {type(None): "none", int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
"""Types of options: of methods that are built in, and of others."""
