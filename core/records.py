"""Records of JSON documents: frozen pydantic models whose messages name the place, the value and the rule."""

from __future__ import annotations

import difflib
import itertools
import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Self,
    TypeAlias,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import InitErrorDetails

from .errors import InputError, Issue, input_error, public
from .json_documents import NAMED_LISTS, Document, check_format, format_json, parse_json
from .record_lists import SHORT_TEXT, decode_long_list
from .text_files import read_text, source_name, write_text

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _ModelType
else:
    _ModelType = type(BaseModel)


Key = TypeVar("Key")
Value = TypeVar("Value")


class FrozenDict(dict[Key, Value]):
    """A dictionary that refuses to be changed, and can be hashed if its values can."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)

    def __copy__(self) -> FrozenDict[Key, Value]:
        return self

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this dictionary belongs to a frozen record; make a dict of it to change that")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


@dataclass_transform(kw_only_default=True, field_specifiers=(Field,))  # for type checkers: it is not inherited
class _RecordType(_ModelType):
    """Makes the constructors of records raise `InputError`; records inside others are validated by pydantic itself."""

    if not TYPE_CHECKING:  # keeps the typed signatures for callers

        def __call__(cls, /, *args: Any, **fields: Any) -> Any:  # noqa: N805
            try:
                record = super().__call__(*args, **fields)
            except ValidationError as error:
                raise InputError(cls.__name__, cls.issues_of_fields(error, fields)) from None
            issues = record.issues_between_fields()
            if issues:
                raise InputError(cls.__name__, issues)
            return record


@dataclass(slots=True)
class Faults:
    """Counts the faults that a validation finds, so that it stops at many: handed to it as its context.

    A report of millions of faults helps nobody, and takes gigabytes.
    """

    found: int = 0


class LimitedRecord(BaseModel):
    """Base of records whose documents, validated with `Faults`, are searched for a limited number of faults."""

    @model_validator(mode="wrap")
    @classmethod
    def _limit_faults(cls, given: Any, validate: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        faults = info.context
        if type(faults) is not Faults:
            return validate(given)
        if faults.found >= _MOST_FAULTS:
            return cast(Self, given)  # the document is refused whatever this is
        before = faults.found
        try:
            if type(given) is dict:
                _refuse_oversize(cls, given)
            return validate(given)
        except ValidationError as error:
            faults.found = before + error.error_count()  # with those of the records inside
            raise


def _refuse_oversize(kind: type[BaseModel], given: dict[str, Any]) -> None:
    """Refuse an object with so many keys, or values under one key, that its faults would fill the memory."""
    if len(given) > _MOST_KEYS and kind.model_config.get("extra") == "forbid":
        context = {"error": ValueError(f"has {len(given)} keys, most of them unknown")}
        errors = [InitErrorDetails(type="value_error", loc=(), input=given, ctx=context)]
        raise ValidationError.from_exception_data(kind.__name__, errors)
    for key, value in given.items():
        if type(value) in (dict, list) and len(value) > _MOST_VALUES:
            field = kind.model_fields.get(key)
            if field is None or records_inside(field.annotation):
                continue
            limits = {"field_type": "Value", "max_length": _MOST_VALUES, "actual_length": len(value)}
            errors = [InitErrorDetails(type="too_long", loc=(key,), input=value, ctx=limits)]
            raise ValidationError.from_exception_data(kind.__name__, errors)


class Record(LimitedRecord, metaclass=_RecordType):
    """Base of all records in our files: frozen, strict about types, closed to unknown keys."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)
    _refused_keys: ClassVar[Mapping[str, str]] = {}
    """Keys that people would have here and that cannot be honoured, with the rule that says why."""

    @classmethod
    def issues_of_fields(cls, error: ValidationError, fields: Mapping[str, Any]) -> list[Issue]:
        """Faults of the given fields, each on its own."""
        return field_issues(error, cls, fields)

    def issues_between_fields(self) -> list[Issue]:
        """Faults between fields that are valid on their own."""
        return []


class TheirRecord(LimitedRecord):
    """Base of the records of other tools' documents, which hold more than is read."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


Part = TypeVar("Part", bound=BaseModel)
_SET = object.__setattr__


def made_all(kind: type[Part], fields: Sequence[dict[str, Any]], given: Collection[str] | None = None) -> list[Part]:
    """Make records of all their fields, known to be valid, in a fraction of the time of `model_construct`.

    The same fields of all were given, and the others have their defaults; all were if that is not said. They share the
    set of their names: records are frozen, and a copy gets a set of its own.
    """
    names = set(fields[0] if given is None else given) if fields else set()
    records = [*map(kind.__new__, itertools.repeat(kind, len(fields)))]
    # Loops of the interpreter would take most of the time of a plan of a million tasks: `map` runs them in C.
    for name, values in (
        ("__dict__", fields),
        ("__pydantic_fields_set__", itertools.repeat(names)),
        ("__pydantic_extra__", itertools.repeat(None)),
        ("__pydantic_private__", itertools.repeat(None)),
    ):
        deque(map(_SET, records, itertools.repeat(name), values), maxlen=0)
    return records


class WholeDocument(Record):
    """Base of the records that are a JSON document of their own.

    Attributes
    ----------
    format : str
        Name and version, e.g. ``spotbag.instance/1``; narrowed to that by each class.
    FORMAT, SCHEMA : str
        That name, and the file of the JSON Schema, which lies beside the module of the class.
    most_entries : int
        Most entries of a list of the document.
    LONG_LIST : str, optional
        The list that makes documents long: a field of `record_lists.Records`.
    """

    FORMAT: ClassVar[str]
    SCHEMA: ClassVar[str]
    most_entries: ClassVar[int]
    LONG_LIST: ClassVar[str | None] = None
    format: str

    @classmethod
    def issues_of_fields(cls, error: ValidationError, fields: Mapping[str, Any]) -> list[Issue]:
        """Faults of the given fields, and between those that are valid on their own."""
        return field_issues(error, cls, fields) + first_issues(cls.issues_of_parts(fields))

    @classmethod
    def issues_of_parts(cls, fields: Mapping[str, Any]) -> Iterable[Issue]:
        """Faults between the fields of a faulty document that are valid on their own."""
        return ()

    def issues_between_fields(self) -> list[Issue]:
        """Faults between the fields, all of them valid on their own."""
        return first_issues(self.issues_of_changes(type(self).model_fields))

    def issues_of_changes(self, changed: Collection[str]) -> Iterable[Issue]:
        """Faults between the fields, as far as they depend on those that were changed in a valid record."""
        return ()

    @classmethod
    @public
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a JSON file, or standard input for ``-``.

        Raises
        ------
        InputError
            With everything that is wrong in it.
        """
        return cls.parse(read_text(path), source_name(path))

    @classmethod
    @public
    def parse(cls, text: str, source: str | None = None) -> Self:
        """Read a JSON text.

        Parameters
        ----------
        text : str
            Of the format of the class.
        source : str, optional
            Name of the text in messages; that of the format if absent.

        Raises
        ------
        InputError
            With everything that is wrong in it.
        """
        if source is None:
            source = cls.FORMAT.split("/")[0].removeprefix("spotbag.")
        if cls.LONG_LIST is not None:
            decoded = cls._decode(text, source, cls.LONG_LIST)
            if decoded is not None:
                return decoded
        return cls.parse_document(parse_json(text, source), source)

    @classmethod
    def _decode(cls, text: str, source: str, key: str) -> Self | None:
        """Read a long JSON text, its long list by a decoder made for its records.

        None if the text is short, or anything is wrong in it but between fields: parsing it in the other way says what.
        """
        (kind,) = get_args(cls.model_fields[key].annotation)
        decoded = decode_long_list(text, key, kind) if len(text) > SHORT_TEXT else None
        if decoded is None or len(decoded[1]) > cls.most_entries:
            return None
        header, records = decoded
        try:
            document = parse_json(header, "") | {key: records}
            check_format(document, cls.FORMAT, source)
            record = cls.model_validate(cls._meant(document), context=Faults())
        except (InputError, ValidationError):
            return None
        return record._without_issues(source)

    @classmethod
    def parse_document(cls, document: Mapping[str, Any], source: str) -> Self:
        """Make a record of a JSON document of any format; of another format, only that is reported.

        Raises
        ------
        InputError
            With everything that is wrong in it.
        """
        check_format(document, cls.FORMAT, source)
        return cls.from_document(document, source)

    @classmethod
    def _meant(cls, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields that a document stands for, where it says some of them in a shorter way."""
        return document

    @public
    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file; reading it gives the same record.

        Raises
        ------
        SpotbagError
            If the file cannot be written.
        """
        write_text(path, self.to_text())

    def to_text(self) -> str:
        """Return a JSON text; reading it gives the same record."""
        return format_json(self.to_document())

    @classmethod
    def schema_text(cls) -> str:
        """JSON Schema of the format, as shipped with the package."""
        package = cls.__module__.rpartition(".")[0]
        return resources.files(package).joinpath(cls.SCHEMA).read_text(encoding="utf-8")

    @classmethod
    @public
    def from_document(cls, document: Mapping[str, Any], source: str) -> Self:
        """Make a record of a parsed JSON document.

        Parameters
        ----------
        document : mapping
            Of the format of the class.
        source : str
            Name of the document in messages.

        Raises
        ------
        InputError
            With everything that is wrong in it.
        """
        document = cls._meant(document)
        lists = {
            name: get_args(field.annotation)[0]
            for name, field in cls.model_fields.items()
            if get_origin(field.annotation) in (tuple, Sequence) and records_inside(field.annotation)
        }
        refuse_nonsense(document, source, cls.most_entries, **lists)
        return validate_record(cls, document, source)._without_issues(source)

    def _without_issues(self, source: str) -> Self:
        """Return the record if no fields contradict each other."""
        if issues := self.issues_between_fields():
            raise InputError(source, issues)
        return self

    def to_document(self) -> dict[str, Any]:
        """Return the JSON document, with the keys that were given."""
        return {"format": self.format} | self.model_dump(mode="json", exclude_unset=True)

    # What is computed from the fields, and kept beside them, is no part of a document: it is not compared, and not
    # taken along by copies, in which arrays could be written to.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WholeDocument):
            return NotImplemented
        names = type(self).model_fields
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in names)

    def __getstate__(self) -> dict[Any, Any]:
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return super().__getstate__() | {"__dict__": fields, "__pydantic_fields_set__": set(self.model_fields_set)}

    def __copy__(self) -> Self:
        copied = type(self).__new__(type(self))
        copied.__setstate__(self.__getstate__())
        return copied

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.__copy__()  # nothing in a field can be changed

    def replace(self, /, **changes: Any) -> Self:
        """Return a copy with some fields changed.

        Fields are checked again, and between them whatever reads a field that is changed: all else was checked before.

        Raises
        ------
        InputError
            With everything that is wrong then, as if the copy were made anew.
        """
        fields = {name: getattr(self, name) for name in self.model_fields_set | {"format"}} | changes
        try:
            copy = type(self).model_validate(fields)
        except ValidationError:
            return type(self)(**fields)
        return copy if next(iter(copy.issues_of_changes(changes.keys())), None) is None else type(self)(**fields)


def _integral(value: Any) -> Any:
    """Take 2700.0 for 2700, as JSON does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


INTEGRAL = BeforeValidator(_integral)
"""Validator of whole numbers."""

FROZEN = AfterValidator(FrozenDict)
"""Validator of objects of values by name."""

Text: TypeAlias = Annotated[str, Field(pattern=r"^[\s\S]*$", max_length=100_000)]
"""Free text; the pattern refuses lone surrogates, which no file can hold."""


def validate_record(model: type[Document], document: Any, source: str) -> Document:
    """Validate a document against a model.

    Raises
    ------
    InputError
        With every field that is wrong.
    """
    faults = Faults()
    try:
        return model.model_validate(document, context=faults)
    except ValidationError as error:
        if faults.found >= _MOST_FAULTS or error.error_count() > _MOST_FAULTS:
            issues = [_MORE_FAULTS, *field_issues(error, model, document)]
        elif issubclass(model, Record):
            issues = model.issues_of_fields(error, document)
        else:
            issues = field_issues(error, model, document)
        raise InputError(source, issues) from None


_MOST_KEYS = 100
_MOST_VALUES = 100_000
_MOST_FAULTS = 25_000
_MORE_FAULTS = Issue("", f"what comes after {_MOST_FAULTS} faults was not looked at")
_PROBED_ENTRIES = 1000
_NONSENSE_ISSUES = 500
_MOST_HINTS = 50


def refuse_nonsense(document: Mapping[str, Any], source: str, limit: int, **entry_models: Any) -> None:
    """Refuse early what is nothing but faults: a report of millions of them helps nobody, and takes all memory.

    Parameters
    ----------
    document : mapping
        As parsed.
    source : str
        Its name in messages.
    limit : int
        Most entries of a list.
    **entry_models
        Model of the entries of each list by its key, or several to choose among; the first entries of long lists are
        looked at.

    Raises
    ------
    InputError
        If it has too many keys or entries, or if most of the first entries of a long list are faulty.
    """
    if len(document) > _MOST_KEYS:
        raise input_error(
            source, f"has {len(document)} keys, most of them unknown ({', '.join(list(document)[:3])!r} ...)"
        )
    for key, model in entry_models.items():
        entries = document.get(key)
        if not isinstance(entries, list) or len(entries) <= 10 * _PROBED_ENTRIES:
            continue
        if len(entries) > limit:
            raise InputError(source, [Issue("", f"has {len(entries)} entries, more than {limit}", key)])
        beginning = entries[:_PROBED_ENTRIES]
        try:
            TypeAdapter(list[model]).validate_python(beginning, context=Faults())  # type: ignore[valid-type]
        except ValidationError as error:
            if error.error_count() >= _NONSENSE_ISSUES:
                rest = Issue("", f"only the first {_PROBED_ENTRIES} of {len(entries)} entries were looked at", key)
                raise InputError(source, [rest, *field_issues(error, model, {key: beginning}, key)]) from None


def field_issues(error: ValidationError, model: Any, document: Any, key: str = "") -> list[Issue]:
    """Translate pydantic's errors into issues that name place, value and rule.

    Parameters
    ----------
    error : ValidationError
        What pydantic says.
    model : type
        The model of the document, or of the entries of its list ``key``.
    document : object
        What was validated.
    key : str
        Key of the list, if only its entries were validated.
    """
    head = (key,) if key else ()
    issues = []
    for number, item in enumerate(error.errors(include_url=False)[:_MOST_FAULTS]):
        if item["type"] == "too_short" and item["input"]:
            continue  # entries there are, but faulty ones
        location = _without_tags((*head, *item["loc"]), document)
        context, given, message = item.get("ctx", {}), item["input"], item["msg"]
        record = _record_of(model, item["loc"]) if number < _MOST_HINTS else None
        issues.append(_field_issue(item["type"], location, context, given, message, record, document))
    return issues


def _without_tags(loc: Sequence[Any], document: Any) -> Sequence[Any]:
    """Leave out of the location of a fault what is no key of the document: the tags of unions that pydantic adds.

    The last part is retained, as a key may be missing, and so is a key with a fault of its own, which pydantic marks by
    ``[key]`` behind it.
    """
    here, retained = document, []
    for place, part in enumerate(loc):
        inside = isinstance(here, Mapping) and part in here
        if isinstance(here, Mapping) and not inside and place < len(loc) - 1 and loc[place + 1] != "[key]":
            continue
        retained.append(part)
        if inside or (isinstance(here, list | tuple) and isinstance(part, int) and part < len(here)):
            here = here[part]
    return retained


def _field_issue(
    kind: str,
    loc: Sequence[Any],
    context: Mapping[str, Any],
    value: Any,
    message: str,
    record: type[BaseModel] | None,
    document: Any,
) -> Issue:
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return _tag_issue(kind, loc, context, value, document)
    where, item, rest = _split_location(loc, document)
    if rest and rest[-1] == "[key]":
        rest = rest[:-2]  # the value at fault is the key itself
    field = _path(rest)
    if kind == "missing":
        return Issue(where, "is missing", field, item=item)
    if kind == "extra_forbidden":
        refused = record._refused_keys if record is not None and issubclass(record, Record) else {}
        if loc[-1] in refused:
            return Issue(where, refused[loc[-1]], field, value, item)
        fields = {} if record is None else record.model_fields
        known = {key: f", {entry.description}" if entry.description else "" for key, entry in sorted(fields.items())}
        # Cut, as comparing takes time with the square of the length, and keys of others may be of any.
        close = difflib.get_close_matches(str(loc[-1])[:100], known, n=1)
        hint = f"did you mean {close[0]!r}{known[close[0]]}?" if close else f"known: {', '.join(known)}"
        return Issue(where, f"is an unknown key ({hint})" if known else "is an unknown key", field, item=item)
    return Issue(where, _rule(kind, context, message), field, value, item)


def _path(parts: Sequence[Any]) -> str:
    """Return the place of a value inside of an object as messages have it."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


def _tag_issue(kind: str, loc: Sequence[Any], context: Mapping[str, Any], value: Any, document: Any) -> Issue:
    """Fault of the key that tells records of several kinds apart."""
    where, item, rest = _split_location((*loc, context["discriminator"].strip("'")), document)
    field = _path(rest)
    if not isinstance(value, Mapping):
        return Issue(where, "must be an object", _path(rest[:-1]), value, item)
    if kind == "union_tag_not_found":
        return Issue(where, "is missing", field, item=item)
    known = context["expected_tags"].replace("'", "").split(", ")
    given = value[rest[-1]]
    close = difflib.get_close_matches(given[:100], known, n=1) if isinstance(given, str) else []
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
    return Issue(where, f"is unknown ({hint})", field, given, item)


def _rule(kind: str, context: Mapping[str, Any], message: str) -> str:
    limits = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}
    if kind in limits:
        limit = context[limits[kind]]
        shown = f"{limit:,.0f}".replace(",", " ") if abs(limit) >= 10_000 else f"{limit:g}"
        return f"must be {kind.replace('_', ' ').replace('than equal', 'than or equal to')} {shown}"
    plain = {
        "bool_type": "must be true or false",
        "dict_type": "must be an object",
        "finite_number": "must be a finite number",
        "float_type": "must be a number",
        "int_type": "must be a whole number",
        "int_parsing_size": "is beyond the range of integers",
        "model_attributes_type": "must be an object",
        "model_type": "must be an object",
        "multiple_of": f"must be a multiple of {context.get('multiple_of')}",
        "string_pattern_mismatch": "must be printable text without line breaks",
        "string_too_long": f"must have at most {context.get('max_length')} characters",
        "string_too_short": "must not be empty",
        "string_type": "must be a text",
        "string_unicode": "must be valid Unicode text",
        "too_long": f"must have at most {context.get('max_length')} entries",
        "too_short": f"must have at least {context.get('min_length')} entry",
        "tuple_type": "must be an array",
        "literal_error": f"must be {context.get('expected')}",
    }
    return plain.get(kind, message[:1].lower() + message[1:])


def rule_of(error: ValidationError) -> str:
    """Return the rule that a value breaks, of an error that has one fault."""
    [fault] = error.errors(include_url=False)
    return _rule(fault["type"], fault.get("ctx", {}), fault["msg"])


def _split_location(loc: Sequence[Any], document: Any) -> tuple[str, str, Sequence[Any]]:
    """Split a location into the object, its id if it has one, and the rest."""
    if len(loc) >= 2 and loc[0] in NAMED_LISTS and isinstance(loc[1], int):
        where = f"{loc[0]}[{loc[1]}]"
        entry = document[loc[0]][loc[1]]
        name = entry.get(NAMED_LISTS[str(loc[0])], "") if isinstance(entry, Mapping) else ""
        return where, name[:100] if isinstance(name, str) else "", loc[2:]
    return "", "", loc


def _record_of(model: Any, loc: Sequence[Any]) -> type[BaseModel] | None:
    """Class of the record to which a key at some place belongs, known or not; None if it is not clear."""
    here = records_inside(model)
    for part in loc[:-1]:
        inside = [
            record
            for known in here
            if part in known.model_fields
            for record in records_inside(known.model_fields[str(part)].annotation)
        ]
        tagged = [record for record in here if part in _tags(record)]
        here = inside or tagged or here
    return here[0] if len(here) == 1 else None


def _tags(record: type[BaseModel]) -> list[str]:
    """Names under which pydantic may report a record in a union of several."""
    literals = [field.annotation for field in record.model_fields.values() if get_origin(field.annotation) is Literal]
    return [record.__name__, *(tag for literal in literals for tag in get_args(literal))]


def records_inside(annotation: Any) -> list[type[BaseModel]]:
    """Find the record types inside ``tuple[Task, ...]``, ``Offer | None`` and the like."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [record for part in getattr(annotation, "__args__", ()) for record in records_inside(part)]


Numbered = Sequence[tuple[int, Part]]


def valid_parts(model: type[Part] | TypeAdapter[Part], entries: Any) -> tuple[Numbered[Part], bool]:
    """Valid entries with their positions, and True if all entries are valid."""
    if not isinstance(entries, list | tuple):
        return [], False
    validate = model.validate_python if isinstance(model, TypeAdapter) else model.model_validate
    parts: list[tuple[int, Part]] = []
    faults = Faults()
    for index, entry in enumerate(entries):
        if faults.found >= _MOST_FAULTS:
            break
        try:
            parts.append((index, validate(entry, context=faults)))
        except ValidationError:
            # What is no record by itself, as one of several kinds, has no count of its own.
            faults.found += 1
            continue
    return parts, len(parts) == len(entries) > 0


def inner_issues(where: str, part: Record, name: str) -> Iterator[Issue]:
    """Issues between the fields of a part, with the place of the part and its name."""
    for issue in part.issues_between_fields():
        yield Issue(where, issue.rule, issue.field, issue.value, name)


def first_issues(issues: Iterable[Issue]) -> list[Issue]:
    """Return the first of many issues."""
    first = list(itertools.islice(issues, _MOST_FAULTS + 1))
    return first if len(first) <= _MOST_FAULTS else [_MORE_FAULTS, *first[:-1]]


def concerns(changed: Collection[str], *fields: str) -> bool:
    """True if a rule that reads some fields must be checked again after a change."""
    return any(field in changed for field in fields)


def duplicates(where: str, field: str, names: Iterable[tuple[int, str]]) -> Iterator[Issue]:
    """Issues of names that were given before in a list."""
    yield from duplicates_anywhere(field, ((f"{where}[{index}]", name) for index, name in names))


def duplicates_anywhere(field: str, names: Iterable[tuple[str, str]]) -> Iterator[Issue]:
    """Issues of names that were given before, each with its place."""
    first: dict[str, str] = {}
    for where, name in names:
        if first.setdefault(name, where) != where:
            yield Issue(where, f"is a duplicate of {first[name]}", field, name)
