"""Long lists of records: decoded from JSON straight into rows, from which records are made when they are asked for.

Beside them, what is done with lists of anything: items are picked (`picked`) and put into groups (`grouped_by`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, overload

from pydantic import BaseModel, Field
from pydantic_core import core_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler

Part = TypeVar("Part", bound=BaseModel)
Thing = TypeVar("Thing")
Key = TypeVar("Key", bound=Hashable)

_FEW_KEYS = 2
"""Fewest keys of which `itemgetter` returns a tuple."""
SHORT_TEXT = 50_000
"""Characters up to which a document is read faster without a decoder of its own."""


class Records(Sequence[Part], Generic[Part]):
    """An immutable list of records.

    It compares with lists and tuples of records as a tuple does. A list that was decoded from a long document has no
    records, but rows with the same attributes; each record is made anew when it is asked for.

    Parameters
    ----------
    kind : type
        The class of the records.
    rows : sequence
        Records, or rows of `row_type`.
    """

    __slots__ = ("_kind", "rows")

    rows: Sequence[Any]
    """Rows of the list: objects with the attributes of the records. In a row, what was not given is
    ``msgspec.UNSET``, which is false."""

    def __init__(self, kind: type[Part], rows: Sequence[Any]) -> None:
        self._kind = kind
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Part: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Part, ...]: ...
    def __getitem__(self, index: int | slice) -> Part | tuple[Part, ...]:
        found = self.rows[index]
        return tuple(map(self._record, found)) if isinstance(index, slice) else self._record(found)

    def __iter__(self) -> Iterator[Part]:
        return map(self._record, self.rows)

    def _record(self, row: Any) -> Part:
        if isinstance(row, BaseModel):
            return row  # type: ignore[return-value]
        unset = _unset()
        given = {name: value for name in row.__struct_fields__ if (value := getattr(row, name)) is not unset}
        return self._kind.model_validate(given)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Records | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(itertools.starmap(_equal, zip(self, other, strict=True)))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __copy__(self) -> Records[Part]:
        return self

    def __deepcopy__(self, memo: Any) -> Records[Part]:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.decoded:
            import msgspec

            # As JSON: rows are of a class that is made at run time, which no other process finds by its name.
            return _decoded_records, (self._kind, msgspec.json.encode(self.rows))
        return Records, (self._kind, tuple(self.rows))

    @property
    def decoded(self) -> bool:
        """True if the list has rows from which no records have been made yet."""
        return len(self.rows) > 0 and not isinstance(self.rows[0], BaseModel)


@dataclass(frozen=True, slots=True)
class LongList:
    """Annotation of a field of `Records`: what is given is validated as a tuple of records is, unless it was before.

    Attributes
    ----------
    min_length : int
        Fewest records.
    """

    min_length: int = 0

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        (kind,) = get_args(source)
        as_tuple = tuple.__class_getitem__((kind, ...))
        schema = handler.generate_schema(Annotated[as_tuple, Field(strict=False, min_length=self.min_length or None)])
        return core_schema.no_info_wrap_validator_function(
            lambda given, validate: given if isinstance(given, Records) else Records(kind, validate(given)),
            schema,
            serialization=core_schema.wrap_serializer_function_ser_schema(_plain, info_arg=True, schema=schema),
        )


def _plain(records: Records[Any], dump: Any, info: core_schema.SerializationInfo) -> Any:
    if records.decoded and info.exclude_unset:
        import msgspec

        return msgspec.to_builtins(records.rows)
    return dump(tuple(records))


def rows_of(records: Sequence[Any]) -> Sequence[Any]:
    """Rows with the attributes of records, and cheaper; attributes that were not given are false."""
    return records.rows if isinstance(records, Records) else records


def picked(items: Any, keys: Sequence[Any]) -> tuple[Any, ...]:
    """Return the items of a list or a dictionary at some indices or keys, in a fraction of the time of a loop.

    Raises
    ------
    LookupError
        If there is no such item.
    """
    if len(keys) < _FEW_KEYS:
        return tuple([items[key] for key in keys])
    found: tuple[Any, ...] = itemgetter(*keys)(items)
    return found


def grouped_by(things: Iterable[Thing], key: Callable[[Thing], Key]) -> dict[Key, list[Thing]]:
    """Return things by a key that each has; keys, and the things of each, in the order in which they come."""
    groups: dict[Key, list[Thing]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups


def with_fields(row: Any, **changes: Any) -> Any:
    """Return a record, or a row, with some fields changed to values that are known to be valid; None takes one away."""
    if isinstance(row, BaseModel):
        return row.model_copy(update=changes)
    import msgspec

    return msgspec.structs.replace(
        row, **{name: _unset() if value is None else value for name, value in changes.items()}
    )


def _equal(first: Any, second: Any) -> bool:
    return bool(first == second)


def _decoded_records(kind: type[Part], text: bytes) -> Records[Part]:
    import msgspec

    return Records(kind, msgspec.json.decode(text, type=list[row_type(kind)]))  # type: ignore[misc]


@cache
def _unset() -> Any:
    import msgspec

    return msgspec.UNSET


# ---------------------------------------------------------------------------------------------------------- decoding


def decode_long_list(text: str, key: str, kind: type[Part]) -> tuple[str, Records[Part]] | None:
    """Decode a list of a JSON object by a decoder made for its records.

    Parameters
    ----------
    text : str
        Of a JSON object.
    key : str
        Of the list.
    kind : type
        Of the records.

    Returns
    -------
    header : str
        The text with ``null`` instead of the list.
    records : Records
        What the list holds, each value the one that is written there.

    None if the text is no such object, or if the list is empty or anything is wrong in it; and in rare cases when all
    is well: a whole number written as 5.0, an escaped colon. Reading it in the other way says what is wrong.
    """
    import msgspec

    try:
        data = text.encode()
        raw = getattr(msgspec.json.decode(data, type=msgspec.defstruct("_", [(key, msgspec.Raw)])), key)
        listed = bytes(memoryview(raw))
        keyed = re.finditer(rf'"{key}"\s*:\s*'.encode(), data)
        places = [place for found in keyed if data.startswith(listed, place := found.end())]
        if len(places) != 1:  # the same list stands under such a key in another object, too, or the key is escaped
            return None
        start, end = places[0], places[0] + len(listed)
        plain = data.isascii() and data.find(b"\\", start, end) < 0 and data.find(b"\x7f", start, end) < 0
        rows = tuple(msgspec.json.decode(raw, type=list[row_type(kind, plain)]))  # type: ignore[misc]
    except (UnicodeEncodeError, msgspec.MsgspecError, RecursionError):
        return None
    # The decoder takes the last of several values of a key. Then there are more colons than keys.
    n_keys, n_colons = _count_keys_and_colons(rows)
    escaped = n_colons > 0 and data.find(b"\\u003", start, end) >= 0
    if not rows or escaped or data.count(b":", start, end) != n_keys + n_colons:
        return None
    return data[:start].decode() + "null" + data[end:].decode(), Records(kind, rows)


def _count_keys_and_colons(rows: Sequence[Any]) -> tuple[int, int]:
    """Count the keys that were given, in rows and in the objects in them, and the colons in all texts."""
    unset, keys, colons = _unset(), 0, 0
    for name in rows[0].__struct_fields__ if rows else ():
        values = [value for row in rows if (value := getattr(row, name)) is not unset]
        keys += len(values)
        texts: Iterable[str] = (value for value in values if type(value) is str)
        objects = [value for value in values if type(value) is dict]
        if objects:
            keys += sum(map(len, objects))
            texts = itertools.chain(texts, itertools.chain.from_iterable(objects))  # values in objects are numbers
        colons += "".join(texts).count(":")
    return keys, colons


@cache
def row_type(kind: type[BaseModel], plain: bool = False) -> type[Any]:
    """Return a class with the attributes and the limits of the fields of a record, to be decoded from JSON.

    Parameters
    ----------
    kind : type
        Of records whose fields are numbers, texts, literals, and objects and lists of those.
    plain : bool
        Whether all texts are known to be printable ASCII, which every pattern of our records allows.
    """
    import msgspec

    fields: list[Any] = []
    for name, field in kind.model_fields.items():
        wanted = _constrained(field.annotation, field.metadata, plain)
        fields.append((name, wanted) if field.is_required() else (name, wanted | msgspec.UnsetType, msgspec.UNSET))
    row: type[Any] = msgspec.defstruct(
        kind.__name__,
        fields,
        forbid_unknown_fields=True,
        frozen=True,
        kw_only=True,
        gc=False,  # they hold nothing that could refer back to them
    )
    return row


_LIMITS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")


def _constrained(annotation: Any, metadata: Sequence[Any], plain: bool) -> Any:
    """Translate the annotation of a field, with what pydantic knows about its values."""
    import msgspec

    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        outer = [part for item in inside[1:] for part in getattr(item, "metadata", [item])]
        return _constrained(inside[0], [*outer, *metadata], plain)
    if origin in (Union, UnionType) and not metadata:
        return Union[tuple(_constrained(part, (), plain) for part in inside)]  # noqa: UP007
    if origin is dict:
        annotation = dict[tuple(_constrained(part, (), plain) for part in inside)]  # type: ignore[misc]
    elif origin is tuple:
        annotation = tuple.__class_getitem__((_constrained(inside[0], (), plain), ...))
    elif annotation not in (int, float, str, type(None)) and origin is not Literal:
        raise TypeError(f"no rows of {annotation}")
    limits = {name: limit for item in metadata for name in _LIMITS if (limit := getattr(item, name, None)) is not None}
    if "pattern" in limits:
        # Here $ would allow a line break after it.
        limits["pattern"] = limits["pattern"].removesuffix("$") + r"\Z"
        if plain:
            del limits["pattern"]
    return Annotated[annotation, msgspec.Meta(**limits)] if limits else annotation
