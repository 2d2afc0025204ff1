"""What is public, line by line: what docs/howto/embed.md promises to keep.

``python tests/public_interface.py > tests/public_interface.txt`` writes it anew.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from typing import Any

from pydantic import BaseModel
from typer.main import get_command

from spotbag.cli.answer_schema import schema_of
from spotbag.cli.answers import KINDS, answer_of
from spotbag.cli.app import make_app
from spotbag.cli.bags.served_bags import PARAMS
from spotbag.cli.policies import built_in_policies
from spotbag.instances.bags.timeline import TIMELINE_FORMAT
from spotbag.instances.clouds import CLOUDS
from spotbag.instances.instance import Instance
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.streams.stream import Stream
from spotbag.schedules.documents import SCHEDULE_FORMAT
from spotbag.schedules.state import State
from spotbag.solvers.bags.methods import METHODS

_MODULES = ("spotbag", "spotbag.plugins", "spotbag.executors.dask")
_HOOKS = {"LONG_LIST", "SCHEMA", "most_entries"}
_FORMATS = (Instance.FORMAT, SCHEDULE_FORMAT, State.FORMAT, TIMELINE_FORMAT, Stream.FORMAT, Platform.FORMAT)


class _Some:
    """A default whose value is not told."""

    def __repr__(self) -> str:
        return "..."


_SOME = _Some()


def public_interface() -> Iterator[str]:
    """Names with their parameters and fields, formats of JSON, options of commands, and what these call by name."""
    for module_name in _MODULES:
        module = import_module(module_name)
        for name in sorted(module.__all__):
            yield from _lines(f"{module_name}.{name}", getattr(module, name))
    for file_format in _FORMATS:
        yield f"file {file_format}"
    for kind in KINDS:
        yield f"json {answer_of(kind).FORMAT}: {', '.join(sorted(schema_of(kind)['properties']))}"
    for name, record in PARAMS.items():
        yield f"served {name}: {', '.join(record.model_fields)}"
    for words, command in _commands(get_command(make_app()), ()):
        options = [max(one.opts, key=len) for one in command.params if one.param_type_name == "option"]
        arguments = [one.metavar or one.name for one in command.params if one.param_type_name == "argument"]
        yield f"spotbag {' '.join([*words, *arguments])}: {' '.join(sorted(options))}"
    yield from (f"method {name}" for name in METHODS)
    for policy in built_in_policies():
        yield " +".join([f"policy of {policy.command} {policy.name}", *policy.rules])
    yield from (f"cloud {name}" for name in CLOUDS)


def _lines(name: str, found: Any) -> Iterator[str]:
    """A name, and what is public in it."""
    if not inspect.isclass(found):
        yield f"{name}{_signature(found)}" if callable(found) else f"{name}: {type(found).__name__}"
        return
    if issubclass(found, BaseModel):
        fields = [f"{field}{'' if info.is_required() else ' (optional)'}" for field, info in found.model_fields.items()]
        yield f"{name}: {', '.join(fields)}"
    elif issubclass(found, Enum | Exception):
        yield name
    else:
        yield f"{name}{_signature(found)}"
    for attribute, value in sorted(_members(found).items()):
        kind = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        yield f"{name}.{attribute}{_signature(kind) if inspect.isfunction(kind) else ''}"


def _members(found: type) -> dict[str, Any]:
    """Public attributes that a class and its bases among our own define, but for fields of records.

    Of what is made of rows, the fields that its docstring names: others are the engine's.
    """
    members: dict[str, Any] = {}
    fields = getattr(found, "model_fields", {})
    for base in reversed(found.__mro__):
        named = _attributes(found) if base.__module__ == "spotbag.replay.bags.rows" else None
        if base.__module__.startswith("spotbag"):
            members |= {name: value for name, value in vars(base).items() if named is None or name in named}
    return {
        name: value
        for name, value in members.items()
        if not name.startswith(("_", "model_", "issues_")) and name not in {*fields, *_HOOKS}
    }


def _attributes(found: type) -> set[str]:
    """Attributes that the docstring of a class names."""
    return {name for line in re.findall(r"^    (\w.*) : ", found.__doc__ or "", re.M) for name in line.split(", ")}


def _signature(found: Any) -> str:
    """Parameters with their defaults; annotations are for the type checker."""
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return ""
    parameters = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    plain = (bool, int, float, str, tuple, type(None))
    shown = [
        one if one.default is one.empty or isinstance(one.default, plain) else one.replace(default=_SOME)
        for one in parameters
    ]
    return str(inspect.Signature(shown))


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        yield words, command
    for name, part in getattr(command, "commands", {}).items():
        yield from _commands(part, (*words, name))


if __name__ == "__main__":
    print("\n".join(public_interface()))
