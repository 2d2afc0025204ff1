"""Errors for people: each names the place, the value, the rule and the way out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

from .wording import cut_in_the_middle, printable, printable_line

_SHOWN_ISSUES = 20
_SHOWN_CHARACTERS = 60
_SHOWN_OF_PATH = 200
_SHOWN_OF_ISSUE = 2000


def text_of(value: object, how: Callable[[Any], str] = str) -> str:
    """Return the text of an object, whoever has made it and whatever its `__str__` does; a long text is cut."""
    try:
        text = how(value)
    except KeyboardInterrupt:
        raise
    # Whatever the __str__ of others raises, an exit included, must not take the place of the fault that is being told.
    except BaseException as error:
        return f"(a {type(value).__name__} whose text cannot be had: {type(error).__name__})"
    return cut_in_the_middle(text, _SHOWN_OF_ISSUE)


class SpotbagError(Exception):
    """Root of all errors that spotbag raises on purpose; what they say can be printed anywhere."""

    def __str__(self) -> str:
        text = super().__str__() if self.args and isinstance(self.args[0], str) else text_of(self, Exception.__str__)
        return printable(cut_in_the_middle(text, _SHOWN_ISSUES * _SHOWN_OF_ISSUE))


@dataclass(frozen=True, slots=True)
class Issue:
    """Fault of an input.

    Attributes
    ----------
    where : str
        Path of the object at fault in the document, e.g. ``tasks[3]``; empty for the document itself.
    rule : str
        What is required, and the way out where it is not obvious.
    field : str
        Key inside the object, e.g. ``memory_mb`` or ``runtime_s.c3.large``; empty for the object itself.
    value : object
        The offending value, ``Issue.NOTHING`` if there is none to show.
    item : str
        Id or name of the object, where it is known.
    """

    where: str
    rule: str
    field: str = ""
    value: Any = ...
    item: str = ""

    NOTHING = ...

    @property
    def path(self) -> str:
        """JSON path of the value: object and key together."""
        return ".".join(part for part in (self.where, self.field) if part)

    def __str__(self) -> str:
        where, field = (cut_in_the_middle(printable_line(part), _SHOWN_OF_PATH) for part in (self.where, self.field))
        place = f"{where} {self.item!r}" if self.item and where else where
        said = " ".join(part for part in (field, show_value(self.value), self.rule) if part)
        return cut_in_the_middle(f"{place}: {said}" if place else said, _SHOWN_OF_ISSUE)


def show_value(value: Any) -> str:
    """Value as a short text for a message; empty if there is none."""
    if value is Issue.NOTHING:
        return ""
    if isinstance(value, dict | list | tuple | set):
        return f"(an {'object' if isinstance(value, dict) else 'array'})"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    # Python refuses to write integers of thousands of digits.
    if isinstance(value, int) and abs(value) >= 10**20:
        return "(a number of more than 20 digits)"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    text = text_of(value, repr)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


class InputError(SpotbagError):
    """An input cannot be used.

    Parameters
    ----------
    source : str
        Where the input came from: a path, a name, ``standard input``.
    issues : sequence of Issue
        All that is wrong with it.
    """

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        self.source = source if len(source) <= 200 else source[:199] + "…"
        self.issues = tuple(issues)
        super().__init__(self._message())

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are made anew of their message, which is none of the arguments here, when processes hand them over.
        return type(self), (self.source, self.issues)

    def _message(self) -> str:
        if len(self.issues) == 1:
            return f"{self.source}: {self.issues[0]}"
        lines = [f"{self.source}: {len(self.issues)} errors"]
        lines += [f"  {issue}" for issue in self.issues[:_SHOWN_ISSUES]]
        if len(self.issues) > _SHOWN_ISSUES:
            lines.append(f"  ... and {len(self.issues) - _SHOWN_ISSUES} more")
        return "\n".join(lines)


def input_error(source: str, rule: str) -> InputError:
    """Make the error of an input that is wrong as a whole."""
    return InputError(source, [Issue("", rule)])


class ModelRefusal(SpotbagError):  # noqa: N818 (a model that declines politely, not a failure)
    """The model is not valid for the instance, or too large for it; the message says why, and what is."""


Function = TypeVar("Function", bound=Callable[..., Any])

FAILURES = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError)


def public(function: Function) -> Function:
    """Have a function that fails say which argument is of no type that it takes; else it is as it was.

    Raises
    ------
    InputError
        Of a call with such an argument, in place of what failed in the middle of the work.
    """

    @wraps(function)
    def blaming(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except SpotbagError:
            raise
        except FAILURES as error:
            blame(function, args, kwargs, error)
            raise

    return cast(Function, blaming)


def blame(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception) -> None:
    """Raise the error of the first argument that is of no type that a function takes; nothing if there is none."""
    from .arguments import first_wrong  # here, since nearly all calls are right

    wrong = first_wrong(function, args, kwargs)
    if wrong is not None:
        name, rule, value = wrong
        raise InputError(name, [Issue("", rule, value=value)]) from error
