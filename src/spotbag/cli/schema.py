"""``spotbag schema``."""

from __future__ import annotations

import json
from contextlib import suppress

from ..core.errors import SpotbagError
from ..core.text_tables import words
from ..core.wording import near_names
from .answers import KINDS, Answer, Part, answer_of, column, listing
from .options import argument, json_option, names_of

EXAMPLE = "Example:  spotbag schema solve"


class ListedSchema(Part):
    """A kind of output; what its records look like is printed by its name."""

    kind: str = column(words("kind"))
    format: str = column(words("format"))
    printed_by: str = column(words("printed by", "printed_by"))


class Schemas(Answer, kind="schemas"):
    """``spotbag schema`` without a kind."""

    schemas: tuple[ListedSchema, ...] = listing(*ListedSchema.columns())


def schema_command(
    *,
    kind: str | None = argument(
        "KIND",
        "What to print the JSON Schema of; all are listed if absent.",
        None,
        completes=names_of("cli.answers", "KINDS"),
    ),
    as_json: bool = json_option(),
) -> None:
    """Print the JSON Schema of what a command prints with --json, or list them.

    A schema has a version, the number in its format: it changes when a key is taken away or changes its meaning. New
    keys may come without that. The schemas of files are printed by 'spotbag instance schema'.
    """
    if kind is not None:
        if kind not in KINDS:
            raise SpotbagError(f"{kind}: no command prints this ({near_names(kind, list(KINDS))})")
        from .answer_schema import schema_of

        print(json.dumps(schema_of(kind), indent=2))
        return
    answers = {}
    for name in KINDS:
        with suppress(SpotbagError):  # what prints it is not installed
            answers[name] = answer_of(name)
    listed = (
        ListedSchema(
            kind=name, format=answer.FORMAT, printed_by=(answer.__doc__ or "").replace("``", "").removesuffix(".")
        )
        for name, answer in answers.items()
    )
    Schemas(schemas=tuple(listed)).show(as_json)
