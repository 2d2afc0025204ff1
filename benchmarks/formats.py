"""Tables of the keys of files, made of the records that read them: ``python -m spotbag_papers.formats instance``."""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, RootModel

from spotbag.core.records import records_inside

from .generated import documents

_ATTRIBUTE = re.compile(r"^(\w+(?:, \w+)*) : (.+)\n((?:(?:    .*)?\n)+)", re.MULTILINE)
_VALUES = {
    r"\{(.*)\}": r"\1",
    r"(?:tuple|sequence|list)\b(?! of \{).*": "list",
    r"(?:tuple|list) of ": "list of ",
    r"(?:dict|mapping)\b.*|[A-Z]\w+": "object",
    r"\bstr\b": "string",
    r"\bint\b": "integer",
    r"\bfloat\b": "number",
    r"\bbool\b": "boolean",
}
"""Words for the values of attributes, and those for the values of keys."""


def tables(document: type[BaseModel]) -> Iterator[str]:
    """Yield a table of the keys of a document, and of each record inside, in Markdown.

    Raises
    ------
    SystemExit
        If the docstring of a record leaves out a key.
    """
    ahead, seen = [(kind, "") for kind in records_inside(document)], set[type[BaseModel]]()
    while ahead:
        kind, place = ahead.pop(0)
        if kind in seen:
            continue
        seen.add(kind)
        if issubclass(kind, RootModel):
            ahead[:0] = [(part, place) for part in records_inside(kind.model_fields["root"].annotation)]
            continue
        where = f"`{place}`: {_subject(kind)}" if place else _subject(kind)
        rows = {name: (*_meaning_of(kind, name), _absent(field)) for name, field in _keys(kind)}
        same = [
            (" | ".join(cells), [name for name, _ in names]) for cells, names in groupby(rows.items(), itemgetter(1))
        ]
        lines = [f"| {', '.join(f'`{name}`' for name in names)} | {cells} |" for cells, names in same]
        yield "\n".join([f"| {where} | value | meaning | if absent |", "|---|---|---|---|", *lines, ""])
        inside = ((name, part) for name, field in _keys(kind) for part in records_inside(field.annotation))
        ahead[:0] = [(part, f"{place}.{name}".lstrip(".")) for name, part in inside]


def _keys(kind: type[BaseModel]) -> list[tuple[str, Any]]:
    """Return the fields of a record by name, but for the format, which stands above the table."""
    return [(name, field) for name, field in kind.model_fields.items() if name != "format"]


def _meaning_of(kind: type[BaseModel], name: str) -> tuple[str, str]:
    """Return the values of a key, and its meaning, by the docstrings of a class and its bases."""
    annotation = kind.model_fields[name].annotation
    if get_origin(annotation) is Literal and len(get_args(annotation)) == 1:
        return f'"{get_args(annotation)[0]}"', "Says which this is."
    for base in kind.__mro__:
        for names, values, text in _ATTRIBUTE.findall(inspect.cleandoc(base.__doc__ or "") + "\n"):
            if name in names.split(", "):
                values = values.removesuffix(", optional")
                for python, json_words in _VALUES.items():
                    values = re.sub(python, json_words, values)
                return _markdown(values), _markdown(text)
    raise SystemExit(f"{kind.__module__}.{kind.__name__}: the docstring has nothing on {name}")


def _subject(kind: type[BaseModel]) -> str:
    """Return the first paragraph of the docstring of a record."""
    return _markdown(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]).removesuffix(".")


def _markdown(text: str) -> str:
    """Return a text of a docstring on one line, with marks of Markdown."""
    return " ".join(text.split()).replace("``", "`").replace("|", r"\|").replace("<", "&lt;")


def _absent(field: Any) -> str:
    """Return the value of an absent key; nothing where its meaning has to say so."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "" if value is None or isinstance(value, BaseModel) else f"`{json.dumps(value)}`"


def main() -> None:
    """Print the tables of a format."""
    kinds = {name.rpartition("/")[2].removesuffix(".schema.json"): kind for name, kind in documents().items()}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("format", choices=sorted(kinds))
    print(*tables(kinds[parser.parse_args().format]), sep="\n")


if __name__ == "__main__":
    main()
