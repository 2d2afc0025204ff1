"""``spotbag schema``."""

from __future__ import annotations

import json

from ..core.errors import SpotbagError
from ..core.text_tables import Column, Table
from ..core.wording import near_names
from .answers import Answer, Part
from .completion import names_of
from .options import argument, json_option
from .tables import print_table

EXAMPLE = "Example:  spotbag schema solve"


class ListedSchema(Part):
    """A kind of output; what its records look like is printed by its name."""

    kind: str
    format: str
    printed_by: str


class Schemas(Answer, kind="schemas"):
    """``spotbag schema`` without a kind."""

    schemas: tuple[ListedSchema, ...]


def schema_command(
    *,
    kind: str | None = argument(
        "KIND",
        "What to print the JSON Schema of; all are listed if absent.",
        None,
        completes=names_of("cli.answers", "KINDS"),
        show_default=False,
    ),
    as_json: bool = json_option(),
) -> None:
    """Print the JSON Schema of what a command prints with --json, or list them.

    A schema has a version, the number in its format: it changes when a key is taken away or changes its meaning. New
    keys may come without that. The schemas of files are printed by 'spotbag instance schema'.
    """
    from .answers import KINDS, answer_of

    if kind is not None:
        if kind not in KINDS:
            raise SpotbagError(f"{kind}: no command prints this ({near_names(kind, list(KINDS))})")
        from .answer_schema import schema_of

        print(json.dumps(schema_of(kind), indent=2))
        return
    answers = {name: answer_of(name) for name in KINDS}
    rows = [
        (name, answer.FORMAT, (answer.__doc__ or "").replace("``", "").removesuffix("."))
        for name, answer in answers.items()
    ]
    if as_json:
        listed = (ListedSchema(kind=name, format=version, printed_by=by) for name, version, by in rows)
        Schemas(schemas=tuple(listed)).print_json()
        return
    print_table(Table([Column("kind"), Column("format"), Column("printed by")], rows))
