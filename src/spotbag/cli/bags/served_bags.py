"""Methods of ``spotbag serve``, and the bags that they keep."""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args

from pydantic import Field, create_model

from ... import __version__
from ...core.arguments import resolved
from ...core.errors import InputError, Issue
from ...core.limits import stopped, within
from ...core.records import Record
from ...core.wording import near_names
from ...heuristics.bags.d_spot import with_d_spot
from ...instances.entries import SurvivalOption
from ...instances.instance import Instance
from ...instances.library import library_instance, library_names
from ...schedules.events import Event, wrong_state
from ...schedules.schedule import Schedule
from ...schedules.schedule_files import schedule_document_of, schedule_of_document
from ...schedules.state import State
from ...solvers.bags.replan import replan
from ...solvers.bags.result import Result
from ...solvers.bags.solve import solve
from ...solvers.bags.warm_up import warm_up
from ..answers import Served, as_json, object_line
from ..json_rpc import Call, Method, Work, params_as
from .check import Check, judged
from .replan import Replan, running_plan
from .solve import Solve, plan_pieces

# The methods that a first request most likely asks for; others compile when they are asked for.
_WARM = ("auto", "search")


def _fields_of(kind: Callable[..., Any], without: Collection[str] = ()) -> dict[str, Any]:
    """Fields of a record for the parameters of a function or class."""
    return {
        name: (
            resolved(parameter.annotation, kind),
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for name, parameter in inspect.signature(kind).parameters.items()
        if name not in without
    }


def _record(name: str, base: type[Record], **fields: Any) -> Any:
    return create_model(name, __base__=base, **fields)


_KINDS: Mapping[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}
_EVENTS: Any = Union[  # noqa: UP007
    tuple(_record(name, Record, event=(Literal[name], ...), **_fields_of(kind)) for name, kind in _KINDS.items())
]


class _OfBag(Record):
    bag: Any
    changes: dict[str, Any] = Field(default_factory=dict)


class _Initialize(Record):
    warm: bool = False


class _Forget(Record):
    bag: str


class _Advance(_OfBag):
    state: dict[str, Any] | None = None
    time_s: float | None = None
    follow: bool = False
    events: Annotated[tuple[Annotated[_EVENTS, Field(discriminator="event")], ...], Field(strict=False)] = ()


class _Check(_OfBag):
    plan: dict[str, Any] | None = None
    state: dict[str, Any] | None = None
    survive: SurvivalOption | None = None
    late: Literal["least"] | None = None


_OF_SOLVE = _fields_of(solve, ("instance", "method", "initial", "on_progress", "stop"))
_OF_REPLAN = _fields_of(replan, ("instance", "state", "start", "stop"))
_DOCUMENT = (dict[str, Any] | None, None)
PARAMS: Mapping[str, Any] = {
    "initialize": _Initialize,
    "solve": _record("Solve", _OfBag, method=(str, "auto"), initial=_DOCUMENT, progress=(bool, False), **_OF_SOLVE),
    "replan": _record("Replan", _OfBag, state=_DOCUMENT, start=_DOCUMENT, **_OF_REPLAN),
    "advance": _Advance,
    "check": _Check,
    "forget": _Forget,
}
"""Parameters of each method: those of functions are those of `solve` and `replan`."""


@dataclass(slots=True)
class _Kept:
    """A bag, the state of it, and the plan of the latest request that had one, with the state that it begins from."""

    bag: Instance
    state: State
    plan: Schedule | None = None
    since: State | None = None
    number: int = -1


class ServedBags:
    """Keeper of the bags planned by messages.

    Attributes
    ----------
    methods : mapping
        By name.
    """

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()
        self.methods: Mapping[str, Method] = {name: getattr(self, name) for name in PARAMS}

    def initialize(self, given: dict[str, Any], call: Call) -> str | Work:
        """Return the names of all methods, once loops are compiled and loaded if that is asked for."""
        asked = params_as(PARAMS["initialize"], given)

        def answer(warm: bool) -> str:
            methods = (*self.methods, "cancel", "shutdown")
            return object_line(Served(version=__version__, methods=methods, warm=warm).to_dict())

        def work() -> str:
            with within(stop=call.stop):
                warm_up(_WARM)
                return answer(not stopped())

        return work if asked.warm else answer(False)

    def solve(self, given: dict[str, Any], call: Call) -> Work:
        """Plan a bag."""
        asked = params_as(PARAMS["solve"], given)
        kept, bag, state = self._of(asked)
        options = {name: getattr(asked, name) for name in ("method", *_OF_SOLVE)}
        if asked.initial is not None:
            document = schedule_document_of(asked.initial, "initial")
            options["initial"] = schedule_of_document(document, with_d_spot(bag), "initial")
        # From here on nothing of the request can be wrong: what it changes holds for the next one, which need not wait.
        self._hold(kept, bag, state)

        def tell(point: Any, planned: int) -> None:
            seen = {"iteration": point.iteration, "planned": planned, "best": point.best, "bound": point.bound}
            call.notify("progress", as_json(seen))

        def work() -> str:
            result = solve(bag, **options, on_progress=tell if asked.progress else None, stop=call.stop)
            self._keep(kept, call, result, None)
            return object_line(Solve(**result.to_dict()).to_dict(), plan_pieces(result))

        return work

    def replan(self, given: dict[str, Any], call: Call) -> Work:
        """Plan the rest of a bag."""
        asked = params_as(PARAMS["replan"], given)
        kept, bag, state = self._of(asked)
        start = kept.plan
        # A start of null asks for none, and is not the same as no word of a start.
        if "start" in asked.model_fields_set:
            start = None
        if asked.start is not None:
            start = running_plan(schedule_document_of(asked.start, "start"), "start", bag, state)
        options = {name: getattr(asked, name) for name in _OF_REPLAN}
        self._hold(kept, bag, state)

        def work() -> str:
            result = replan(bag, state, start=start, stop=call.stop, **options)
            self._keep(kept, call, result, state)
            answer = Replan(time_s=state.time_s, spent_usd=state.spent_usd, **result.to_dict())
            return object_line(answer.to_dict(), plan_pieces(result))

        return work

    def advance(self, given: dict[str, Any], call: Call) -> str:
        """Go on with the state of a bag; return it."""
        asked = params_as(PARAMS["advance"], given)
        kept, bag, state = self._of(asked)
        if asked.follow:
            if kept.plan is None:
                raise InputError("params", [Issue("", "needs a plan: solve or replan first", "follow")])
            state = state.follow(kept.plan)
        happened = [
            _KINDS[one.event](**{name: getattr(one, name) for name in type(one).model_fields if name != "event"})
            for one in asked.events
        ]
        state = state.advance(state.time_s if asked.time_s is None else asked.time_s, *happened)
        self._hold(kept, bag, state)
        return json.dumps(state.to_document(), allow_nan=False)

    def check(self, given: dict[str, Any], call: Call) -> Work:
        """Check a plan: one that is given, or the one that is kept."""
        asked = params_as(PARAMS["check"], given)
        kept, bag, now = self._of(asked)
        if asked.plan is None:
            with self._lock:
                plan, since = kept.plan, kept.since
            if plan is None or asked.state is not None:
                raise InputError("params", [Issue("", "is missing", "plan")])
            document = plan.to_document()
        else:
            document = schedule_document_of(asked.plan, "plan")
            since = None if asked.state is None else now
        self._hold(kept, bag, kept.state)
        levels = {name: level for name in ("survive", "late") if (level := getattr(asked, name)) is not None}
        judge = bag.replace(**levels) if levels else bag
        return lambda: object_line(Check.of_report(*judged(judge, document, since)).to_dict())

    def forget(self, given: dict[str, Any], call: Call) -> str:
        """Keep a bag no longer."""
        name = params_as(PARAMS["forget"], given).bag
        if name not in self._kept:
            raise self._unknown(name)
        del self._kept[name]
        return "null"

    def _of(self, asked: Any) -> tuple[_Kept, Instance, State]:
        """Return a bag that is kept, or a new one, with the instance and the state that hold from this request on."""
        given = asked.bag
        if isinstance(given, dict):
            bag = Instance.parse_document(given, "bag")
            kept = _Kept(bag, State(instance=bag.name))
        elif isinstance(given, str) and given in self._kept:
            kept = self._kept[given]
        elif isinstance(given, str) and given in library_names():
            kept = _Kept(library_instance(given), State(instance=given))
        else:
            raise self._unknown(given)
        bag = kept.bag.replace(**asked.changes) if asked.changes else kept.bag
        if bag.name != kept.bag.name:
            raise InputError("params", [Issue("", "cannot be changed: give the bag anew", "changes.name")])
        given_state = getattr(asked, "state", None)
        state = kept.state if given_state is None else State.parse_document(given_state, "state")
        if state.instance != bag.name:
            raise wrong_state(f"is of the instance {state.instance!r}, not of {bag.name!r}")
        return kept, bag, state

    def _unknown(self, given: object) -> InputError:
        names = near_names(str(given), dict.fromkeys([*self._kept, *library_names()]))
        rule = f"must be an instance, or the name of one that is kept, or in the library ({names})"
        return InputError("params", [Issue("", rule, "bag", given)])

    def _hold(self, kept: _Kept, bag: Instance, state: State) -> None:
        """Keep a bag, when nothing of a request can be wrong any more."""
        kept.bag, kept.state = bag, state
        self._kept[bag.name] = kept

    def _keep(self, kept: _Kept, call: Call, result: Result, since: State | None) -> None:
        """Keep a plan, unless a later request has one."""
        with self._lock:
            # Requests end in any order; the plan of the latest one counts.
            if result.schedule is not None and call.number > kept.number:
                kept.plan, kept.since, kept.number = result.schedule, since, call.number
