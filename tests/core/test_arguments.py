"""Arguments of no type that is taken: refused by name, whatever function they are given to."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

import spotbag
from spotbag.core.errors import InputError, SpotbagError, public
from spotbag.core.limits import Stop
from spotbag.instances.instance import Instance

BAG = spotbag.library_instance("tiny/two-cores")
RESULT = spotbag.solve(BAG, "greedy", survive="none")
PLAN = RESULT.schedule
STATE = spotbag.State.begin(PLAN)  # type: ignore[arg-type]
LONG = {"warm_up", "choose_plan"}


if TYPE_CHECKING:
    from spotbag.schedules.schedule import Schedule  # noqa: F401 (of an annotation below)


def fails(value: Any) -> None:
    """Fail as code does that was given something else."""
    value.is_no_attribute  # noqa: B018


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        (int, "3", "a whole number, not str"),
        ("float | None", "3", "a number or None, not str"),
        (Literal["a", "b"], "c", "'a' or 'b', not str"),
        ("Instance", None, "an Instance, not None"),
        (Mapping[str, float], {"a": "b"}, "a mapping of number, not dict"),
        (Collection[str], "abc", "a collection of text, not str"),
        (tuple[float, float], (1.0,), r"2 of them: \(a number, a number\), not tuple"),
        (Stop, 3, "a Stop, not int"),
        (Callable[[int], int], 3, "something to be called, not int"),
        ("Schedule", BAG, "a Schedule, not Instance"),  # known to type checkers only
    ],
)
def test_the_argument_and_what_it_must_be_are_said(annotation: Any, value: object, said: str) -> None:
    def function(given: Any) -> None:
        fails(given)

    function.__annotations__["given"] = annotation
    with pytest.raises(InputError, match=f"^given:.* must be {said}"):
        public(function)(value)


@pytest.mark.parametrize(
    ("annotation", "value"), [(int, 3), (Any, 3), ("Nobody", 3), (Collection[int], [3]), (None, None)]
)
def test_what_fails_by_itself_fails_as_it_does(annotation: Any, value: object) -> None:
    def function(given: Any) -> None:
        fails(given)

    function.__annotations__["given"] = annotation
    with pytest.raises(AttributeError):
        public(function)(value)


def test_what_works_is_not_looked_at() -> None:
    def function(given: int) -> int:
        return given

    assert public(function)("as it is") == "as it is"  # type: ignore[arg-type]


def functions() -> dict[str, Callable[..., Any]]:
    """Public functions, and methods of states."""
    found = {name: getattr(spotbag, name) for name in spotbag.__all__ if inspect.isfunction(getattr(spotbag, name))}
    methods = ("advance", "begin", "planned", "follow", "remaining")
    return {name: function for name, function in found.items() if name not in LONG} | {
        f"State.{name}": getattr(STATE, name) for name in methods
    }


@pytest.mark.parametrize("name", functions())
def test_no_public_function_fails_on_a_wrong_argument_in_other_words(name: str, tmp_path: Path) -> None:
    function = functions()[name]
    parameters = inspect.signature(function).parameters.values()
    right = {
        "instance": BAG,
        "plan": PLAN,
        "schedule": PLAN,
        "state": STATE,
        "result": RESULT,
        "path": tmp_path / "x.json",
    }
    right |= {"time_s": 1.0, "time_limit_s": 0.05}
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [parameter for parameter in parameters if parameter.kind not in kinds]
    for wrong in (object(), [1]):
        for parameter in named:
            given = {
                other.name: right.get(other.name)
                for other in named
                if other.default is other.empty or other.name == "time_limit_s"
            }
            with suppress(SpotbagError, TypeError, OSError):  # in words
                function(**(given | {parameter.name: wrong}))


def test_public_functions_go_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(spotbag.solve)) is spotbag.solve
    assert isinstance(BAG, Instance)
