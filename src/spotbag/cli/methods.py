"""``spotbag methods``."""

from __future__ import annotations

from .common import JsonOption, make_table, print_json, print_table

EXAMPLE = "Example:  spotbag methods"


def methods_command(as_json: JsonOption = False) -> None:
    """List the methods of 'solve' and their options."""
    from ..solvers.registry import METHODS, describe_options

    if as_json:
        print_json(
            {
                method.name: {
                    "summary": method.summary,
                    "options": [
                        {"name": name, "values": kind, "default": default}
                        for name, kind, default in describe_options(method)
                    ],
                }
                for method in METHODS.values()
            }
        )
        return
    for method in METHODS.values():
        print(f"{method.name}: {method.summary}")
        columns = [("option", False), ("values", False), ("default", False)]
        print_table(make_table(columns, describe_options(method)))
