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

    def said(self) -> str:
        """Return the summary of the method, and the distribution that it comes from."""
        return f"{self.summary} ({self.distribution})".lstrip() if self.distribution else self.summary


class Methods(Answer, kind="methods"):
    """``spotbag methods``."""

    methods: dict[str, DescribedMethod]

    def print_text(self) -> None:
        """Print the methods, then the options of all."""
        print_rows(
            self.methods.items(),
            words("method", lambda entry: entry[0]),
            words("what it is", lambda entry: entry[1].said()),
            words("proves optima", lambda entry: "yes" if entry[1].exact else "no"),
            words("what it takes", lambda entry: entry[1].takes),
        )
        options = [(name, *vars(each).values()) for name, method in self.methods.items() for each in method.options]
        if options:
            print_table(Table([*map(Column, ("method", "option", "values", "default"))], options))
        else:
            # Only of a method that was asked for by its name: among all, some have options.
            print(f"{' '.join(self.methods)} has no options")


def methods_command(
    *,
    name: str | None = argument("NAME", "One method only; all if absent.", None, completes=METHOD_NAMES),
    as_json: bool = json_option(),
) -> None:
    """List the methods of 'solve', those of installed plug-ins included: what each can do, and its options."""
    from ...solvers.bags.methods import describe_options, find_method, listed_methods

    # A plug-in that is broken is left out of the list, and refused by its name.
    methods = listed_methods() if name is None else [find_method(name)]
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
    Methods(methods=described).show(as_json)
