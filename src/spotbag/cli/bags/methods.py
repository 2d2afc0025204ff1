"""``spotbag methods``."""

from __future__ import annotations

from ..arguments import JsonOption, print_json
from ..tables import make_table, print_table

EXAMPLE = "Example:  spotbag methods"


def methods_command(as_json: JsonOption = False) -> None:
    """List the methods of 'solve', what each can do, and their options."""
    from ...solvers.bags.methods import METHODS, describe_options

    if as_json:
        print_json(
            {
                method.name: {
                    "summary": method.summary,
                    "exact": method.exact,
                    "takes": method.takes,
                    "options": [
                        {"name": name, "values": kind, "default": default}
                        for name, kind, default in describe_options(method)
                    ],
                }
                for method in METHODS.values()
            }
        )
        return
    columns = [("method", False), ("what it is", False), ("proves optima", False), ("what it takes", False)]
    rows = [(m.name, m.summary, "yes" if m.exact else "no", m.takes) for m in METHODS.values()]
    print_table(make_table(columns, rows))
    columns = [("method", False), ("option", False), ("values", False), ("default", False)]
    options = [(m.name, *described) for m in METHODS.values() for described in describe_options(m)]
    print_table(make_table(columns, options))
