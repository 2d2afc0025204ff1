"""``spotbag schema``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ..core.tables import Column, Table
from .arguments import JsonOption, print_json
from .completion import names_of
from .tables import print_table

EXAMPLE = "Example:  spotbag schema solve"


def schema_command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            autocompletion=names_of("cli.outputs", "OUTPUTS"),
            help="What to print the JSON Schema of; all are listed if absent.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the JSON Schema of what a command prints with --json, or list them.

    A schema has a version, the number in its format: it changes when a key is taken away or changes its meaning. New
    keys may come without that. The schemas of files are printed by 'spotbag instance schema'.
    """
    from ..core.errors import SpotbagError
    from ..core.wording import near_names
    from .outputs import OUTPUTS, format_of

    if kind is not None:
        if kind not in OUTPUTS:
            raise SpotbagError(f"{kind}: no command prints this ({near_names(kind, list(OUTPUTS))})")
        print(json.dumps(OUTPUTS[kind].model_json_schema(), indent=2))
        return
    rows = [
        (name, format_of(output), (output.__doc__ or "").replace("``", "").removesuffix("."))
        for name, output in OUTPUTS.items()
    ]
    if as_json:
        listed = [{"kind": name, "format": version, "printed_by": by} for name, version, by in rows]
        print_json("schemas", {"schemas": listed})
        return
    print_table(Table([Column("kind"), Column("format"), Column("printed by")], rows))
