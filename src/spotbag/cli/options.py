"""Options and arguments of commands: fields of records, or defaults of parameters, as `spread` gives them to typer."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

import typer

from ..core.errors import InputError, Issue, SpotbagError
from ..core.text_files import STANDARD_INPUT

_SAID = "said"

STANDARD_OUTPUT = "-"


def names_of(module: str, *lists: str) -> Callable[[str], list[str]]:
    """Return a function that completes a word by names; the module that has them is loaded at its first use.

    Parameters
    ----------
    module : str
        Within the package, e.g. ``instances.library``.
    lists : str
        What there has the names: sequences, mappings, or functions that return some.
    """

    def complete(incomplete: str) -> list[str]:
        found = import_module(f"...{module}", __name__)
        values = [attrgetter(name)(found) for name in lists]
        names = [name for value in values for name in (value() if callable(value) else value)]
        # Of names by commas, only the last one is being typed.
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(last)]

    return complete


INSTANCES = names_of("instances.library", "library_names")
METHODS = names_of("solvers.bags.methods", "method_names")
STREAMS = names_of("instances.library", "stream_names")
PLATFORMS = names_of("instances.library", "platform_names")
"""Completion of words by a shell."""


def option(metavar: str | None, about: str, default: Any = None, **more: Any) -> Any:
    """Return an option: a field of a record, or the default of a parameter of a command.

    Parameters
    ----------
    metavar : str or None
        Word that stands for its value; none of a switch, or of a choice.
    about : str
        Its help.
    default : object
        Its value if absent; ``...`` where it must be given.
    **more : object
        ``name``, if it is not that of the field; ``short``, such as ``-p``; ``reads``, the function of
        `spotbag.core.quantities` that its value is read by, and ``least``, the least that it may be; ``word``, which
        may stand in place of such a value; ``panel``, the heading that it stands under; ``completes``, what completes
        it; ``file``, what is done with the file that it names: ``read``, ``written``, ``drawn``, or ``printed``, which
        is written, or goes to standard output by the name ``-``; and whatever `typer.Option` takes.
    """
    return _said(typer.Option, default, metavar=metavar, help=about, **more)


def argument(metavar: str, about: str, default: Any = ..., **more: Any) -> Any:
    """Return an argument: as `option`, and what `typer.Argument` takes."""
    return _said(typer.Argument, default, metavar=metavar, help=about, **more)


def _said(kind: Callable[..., Any], default: Any, **said: Any) -> Any:
    # A field of a record, and as well the default of a parameter, in whose place `spread` puts what typer knows.
    return field(default=MISSING if default is ... else default, metadata={_SAID: (kind, said)})


seconds_option = partial(option, "TIME", reads="whole_seconds")
duration_option = partial(option, "TIME", reads="duration_s")
amount_option = partial(option, "USD", reads="amount_usd")
"""Options that take times, in whole seconds or not, and dollars, as people write them."""

instance_argument = partial(
    argument,
    "INSTANCE",
    "A JSON file, a CSV file of tasks, - for standard input, or the name of a library instance.",
    completes=INSTANCES,
    file="read",
)
late_option = partial(
    option, "least", "If no plan ends in time: as few tasks late as can be, then as little late. Exit code 3 then."
)
plan_gantt_option = partial(option, "FILE", "Draw the plan: .png, .svg, .pdf or .html.", file="drawn")
out_option = partial(option, "FILE", "Where to write the instance; standard output if absent or -.", file="printed")
state_option = partial(
    option, "STATE", "What has happened so far (JSON): the plan is for what that leaves of the instance.", file="read"
)
of_plan_option = partial(option, "INSTANCE", "Instance of the plan, if not of the library.", file="read")

json_option = partial(option, None, "Print one JSON object instead of a table.", False, name="json")


def _parser(name: str, reader: str, least: float, word: str | None) -> Callable[[Any], Any]:
    """Return a parser of an option's value by a function of `spotbag.core.quantities`, loaded at its first use.

    What an option is if absent passes through it as well, and may be a number. Where a word may stand in place of a
    value, the value is a text as well.
    """

    def read(given: Any) -> Any:
        if not isinstance(given, str) or given == word:
            return given
        from ..core import quantities

        try:
            value = getattr(quantities, reader)(given)
            if value < least:
                raise ValueError(f"must be at least {least:g} s")
        except ValueError as error:
            rule = str(error) if word is None else f"{error}; or {word}"
            raise InputError(name, [Issue("", rule, value=given)]) from None
        return value if word is None else f"{value}"

    return read


def _parameter(name: str, hint: Any, stated: Field[Any], default: Any) -> inspect.Parameter:
    """Return the parameter by which typer knows an option or an argument."""
    kind, said = stated.metadata[_SAID]
    called, said = _called(name, said), dict(said)
    said.pop("name", None)
    said.pop("file", None)
    if reader := said.pop("reads", None):
        said["parser"] = _parser(called, reader, said.pop("least", 0), said.pop("word", None))
    names = [called, said.pop("short", None)] if kind is typer.Option else []
    said["autocompletion"] = said.pop("completes", None)
    said["rich_help_panel"] = said.pop("panel", None)
    # Typer shows a default as it is, and a bare number would have no unit.
    if said["metavar"] == "TIME" and default not in (None, MISSING):
        default = f"{default:g}s"  # as the help shows it
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[hint, kind(*filter(None, names), **said)],
    )


def given_options(record: Any, usual: Any = None) -> dict[str, str]:
    """Return the options of a record that are given, as they are called, by their fields.

    These are those that differ from what they are if absent, in a record of usual ones, if there is one.
    """

    def of(values: Any, name: str) -> Any:
        # Typer gives an empty list for an option that may be repeated and is absent.
        return None if (value := getattr(values, name)) == [] else value

    absent = type(record)() if usual is None else usual
    return {
        entry.name: _called(entry.name, entry.metadata[_SAID][1])
        for entry in fields(record)
        if _SAID in entry.metadata and of(record, entry.name) != of(absent, entry.name)
    }


def _called(name: str, said: Mapping[str, Any]) -> str:
    """Return an option as it is called."""
    return f"--{said.get('name', name).replace('_', '-')}"


class Only:
    """Choice of options in a command's signature, as in ``Annotated[MethodOptions, Only("seed")]``.

    Parameters
    ----------
    names : str
        Fields of the options.
    """

    def __init__(self, *names: str) -> None:
        self.names = names


def _check_files(given: Iterable[tuple[Field[Any], Any]]) -> None:
    """Refuse files that cannot be read or written, by the options that name them."""
    files: dict[str, list[str]] = {"read": [], "written": [], "printed": [], "drawn": []}
    for stated, value in given:
        use = stated.metadata[_SAID][1].get("file")
        if use is not None and value is not None:
            files[use] += [value] if isinstance(value, str) else value
    if files["read"].count(STANDARD_INPUT) > 1:
        raise SpotbagError("-: two things cannot be read from standard input; write one of them to a file")
    for path in files["drawn"]:
        from ..charts.picture_files import picture_format

        picture_format(path)
    printed = [path for path in files["printed"] if path != STANDARD_OUTPUT]
    outputs = [*files["written"], *printed, *files["drawn"]]
    # Each against those behind it: a pair is refused once.
    for place, path in enumerate(outputs, start=1):
        check_output(path, *files["read"], *outputs[place:])


def check_output(path: str | None, *others: str) -> None:
    """Refuse, before any work is done, an output file in a folder that does not exist, or over another file."""
    if path is None:
        return
    # By what the paths lead to: a link to the input is the input.
    if any(os.path.realpath(path) == os.path.realpath(source) for source in others):
        raise SpotbagError(f"{path}: is another file of this command; write to its own")
    if path == STANDARD_OUTPUT:
        raise SpotbagError(
            "-: is no name for an output file; a redirection of --json or /dev/stdout may be what you want"
        )
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise SpotbagError(f"{path}: cannot be written: the folder does not exist")


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer takes it: with its options, and those of records that are its parameters, one by one.

    The default of a record, if it has one, has the defaults of the options. Files that options name are checked before
    the command begins.
    """
    # Annotations are texts, as everywhere here; typer needs what they stand for.
    hints = get_type_hints(command, include_extras=True)
    records: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}
    found: dict[str, inspect.Parameter] = {}
    own: list[str] = []
    about: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind, *marks = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        if not is_dataclass(kind):
            own.append(name)
            stated = about[name] = parameter.default
            found[name] = (
                _parameter(name, kind, stated, stated.default)
                if isinstance(stated, Field)
                else parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)
            )
            continue
        made = cast("Callable[..., Any]", kind)
        # A command may have other defaults than the record: those of the instance that it has as its default.
        usual = made() if parameter.default is parameter.empty else parameter.default
        options = {name: stated for name, stated in kind.__dataclass_fields__.items() if _SAID in stated.metadata}
        chosen = next((mark.names for mark in marks if isinstance(mark, Only)), tuple(options))
        records[name] = made, chosen
        types = get_type_hints(kind)
        for part in chosen:  # an option of two records is one
            found.setdefault(part, _parameter(part, types[part], options[part], getattr(usual, part)))
            about.setdefault(part, options[part])

    def spread_command(**given: Any) -> None:
        _check_files((stated, given[name]) for name, stated in about.items() if isinstance(stated, Field))
        made_of = {name: made(**{part: given[part] for part in chosen}) for name, (made, chosen) in records.items()}
        command(**{name: given[name] for name in own}, **made_of)

    # Typer knows a command by these, not by what is called.
    spread_command.__doc__ = command.__doc__
    spread_command.__name__ = command.__name__
    spread_command.__annotations__ = {name: parameter.annotation for name, parameter in found.items()}
    spread_command.__signature__ = inspect.Signature(list(found.values()))  # type: ignore[attr-defined]
    return spread_command


def adder(app: typer.Typer, group: str) -> Callable[..., Callable[[Callable[..., None]], None]]:
    """Return a decorator that adds commands to a group; it takes their names, and examples of what follows these."""

    def add(name: str, example: str = "") -> Callable[[Callable[..., None]], None]:
        def put(command: Callable[..., None]) -> None:
            app.command(name, epilog=f"Example:  spotbag {group} {name} {example}".rstrip())(spread(command))

        return put

    return add
