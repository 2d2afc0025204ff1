"""``spotbag methods``."""

from __future__ import annotations

from typing import Any

from ...core.text_tables import Column, Table, words
from ..answers import Answer, Part
from ..console import print_rows, print_table
from ..options import METHODS as METHOD_NAMES
from ..options import argument, json_option

EXAMPLE = "Example:  spotbag methods search"


class MethodOption(Part):
    """An option of a method."""

    name: str
    values: str
    default: Any


class DescribedMethod(Part):
    """A method of ``spotbag solve``."""

    summary: str
    exact: bool
    takes: str
    distribution: str
    options: tuple[MethodOption, ...]


class Methods(Answer, kind="methods"):
    """``spotbag methods``."""

    methods: dict[str, DescribedMethod]


def methods_command(
    *,
    name: str | None = argument("NAME", "One method only; all if absent.", None, completes=METHOD_NAMES),
    as_json: bool = json_option(),
) -> None:
    """List the methods of 'solve', those of installed plug-ins included: what each can do, and its options."""
    from ...solvers.bags.methods import describe_options, find_method, listed_methods

    # A plug-in that is broken is left out of the list, and refused by its name.
    methods = listed_methods() if name is None else [find_method(name)]
    if as_json:
        described = {
            method.name: DescribedMethod.of(
                method,
                options=tuple(
                    MethodOption(name=name, values=kind, default=default)
                    for name, kind, default in describe_options(method)
                ),
            )
            for method in methods
        }
        Methods(methods=described).print_json()
        return
    print_rows(
        methods,
        words("method", "name"),
        words("what it is", lambda m: f"{m.summary} ({m.distribution})".lstrip() if m.distribution else m.summary),
        words("proves optima", lambda m: "yes" if m.exact else "no"),
        words("what it takes", "takes"),
    )
    options = [(m.name, *described) for m in methods for described in describe_options(m)]
    if options:
        print_table(Table([*map(Column, ("method", "option", "values", "default"))], options))
    else:
        print(f"{name} has no options")
