"""VM types that the columns of a table name, and run times on those that are chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...core.errors import SpotbagError, input_error
from ...core.text_tables import TextTable, columns_text
from ..table_columns import TableColumn
from ..table_formats import FORMATS, MadeTable, TableFormat
from .imported import Asked


def with_types(asked: Asked, columns: Sequence[TableColumn], source: str) -> Asked:
    """Take the types of the headings if none are asked for."""
    if asked.vms.types:
        return asked
    named = [column.vm_type for column in columns if column.vm_type is not None]
    if not named:
        raise SpotbagError(
            f"{source}: no VM types are chosen: --types c6i.large,m6i.xlarge, in Python types, names some ('spotbag "
            "instance types' lists them)"
        )
    return replace(asked, vms=replace(asked.vms, types=named))


def columns_of_types(
    columns: Sequence[TableColumn], chosen: Sequence[str], table: TextTable | MadeTable, known: TableFormat
) -> tuple[list[TableColumn], list[str]]:
    """Leave out run times on types that are not chosen; every chosen type needs some."""
    source, first = table.source, table.delimiter.join(table.first)
    times = [column for column in columns if column.role == "runtime"]
    by_type = [column for column in times if column.vm_type is not None]
    if not times and not known.own:
        names = " or ".join(known.columns["runtime"])
        rule = f"is {known.title} without a column of run times: {names}; or say --column runtime_s=HEADING"
        raise input_error(source, rule)
    form = next((form for form in FORMATS.values() if form.other_forms and re.match(form.other_forms, first)), None)
    if not times and form is not None:
        rule = f"has no column of run times; of {form.title}, what is read is made by {form.source}"
        raise input_error(source, f"{rule} (or say --column runtime=HEADING)")
    if not times:
        raise input_error(
            source,
            "has no column of run times: call it runtime_s, runtime_min or runtime_h, or runtime_s[c6i.large] for each "
            f"VM type, or say --column runtime=HEADING ({_there_are(table.first)}); none is made of a start and an end",
        )
    if len(by_type) < len(times) and by_type:
        common = next(column for column in times if column.vm_type is None)
        raise input_error(
            source,
            f"column {common.heading!r} holds run times for all types, column {by_type[0].heading!r} for one: give one "
            "of both (with one for all, --speed says how types differ)",
        )
    # A type without run times could run nothing, which nobody chooses it for.
    given = {column.vm_type for column in by_type}
    missing = [name for name in chosen if name not in given]
    if by_type and missing:
        raise input_error(
            source,
            f"has no column of run times on {', '.join(missing)} "
            f"({_there_are([column.heading for column in by_type])}); add one, or leave the type out of --types",
        )
    left_out = [column for column in by_type if column.vm_type not in chosen]
    if not left_out:
        return [*columns], []
    names = columns_text([column.heading for column in left_out])
    return [column for column in columns if column not in left_out], [f"{source}: {names} left out, not among --types"]


def _there_are(headings: Sequence[str]) -> str:
    return f"there {'are' if len(headings) > 1 else 'is'} {columns_text(headings)}"
