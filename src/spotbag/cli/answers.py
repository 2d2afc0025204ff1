"""Answers of commands: records whose fields are the keys that ``--json`` prints, and the types are its schema.

The value of ``format`` is ``spotbag.KIND/VERSION``. A version changes when a key is taken away or changes its meaning;
new keys may come without that, so readers should leave alone those that they do not know.

Each answer stands in the module of its command, which also prints it as tables; records that other rooms have with the
same fields are part of it as they are.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, dataclass_transform

from ..core.text_tables import Shown
from .console import print_rows, seconds, wrote
from .options import STANDARD_OUTPUT

if TYPE_CHECKING:
    from ..core.records import WholeDocument
    from ..instances.instance import Instance

_ANSWERS: dict[str, type[Answer]] = {}

ABSENT: Any = object()
"""Value of a field that is left out of what is printed: the default of those that some answers do not have."""

BESIDE, COLUMN, LISTING = "beside", "column", "listing"


def beside() -> Any:
    """Return a field that is a mapping, of which the entries are printed beside the other fields."""
    return field(metadata={BESIDE: True})


def column(*shown: Shown) -> Any:
    """Return a field that a table of such records shows so; further columns are what is worked out from it."""
    return field(metadata={COLUMN: shown})


def listing(*columns: Shown | None) -> Any:
    """Return a field of an answer that is shown as a table, a row for each entry, by these columns."""
    return field(metadata={LISTING: columns})


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Part:
    """A JSON object of an answer."""

    def __init_subclass__(cls) -> None:
        # Not left to a decorator: on one of so many records it would be forgotten, which then had no fields.
        dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def of(cls, *records: object, **given: Any) -> Self:
        """Make the object of given values, and of the attributes of records that have the names of its fields."""
        for entry in fields(cls):  # type: ignore[arg-type]
            holder = next((record for record in records if hasattr(record, entry.name)), None)
            if holder is not None and entry.name not in given:
                given[entry.name] = getattr(holder, entry.name)
        return cls(**given)

    @classmethod
    def columns(cls) -> Iterator[Shown]:
        """Yield the columns that the fields are, for a table of such records."""
        for entry in fields(cls):  # type: ignore[arg-type]
            yield from entry.metadata.get(COLUMN, ())


class Answer(Part):
    """An answer of a command: a record with a format."""

    FORMAT: ClassVar[str]

    def __init_subclass__(cls, kind: str | None = None) -> None:
        super().__init_subclass__()
        if kind is not None:
            cls.FORMAT = f"spotbag.{kind}/1"
            _ANSWERS[kind] = cls

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as the JSON object that is printed, with its format."""
        return {"format": self.FORMAT, **as_json(self)}

    def show(self, as_json: bool) -> None:
        """Print the answer: as one JSON object, or as tables."""
        if as_json:
            self.print_json()
        else:
            self.print_text()

    def print_text(self) -> None:
        """Print the answer as tables, with notes."""
        for entry in fields(self):
            if LISTING in entry.metadata:
                print_rows(getattr(self, entry.name), *entry.metadata[LISTING])

    def print_json(self, plan: Iterable[str] = ()) -> None:
        """Print the answer as one JSON object; with a plan, in pieces, as its last value, if any."""
        print_object(self.to_dict(), plan)


def as_json(value: Any) -> Any:
    """Return a value as JSON has it: records as objects, and what is infinite as null."""
    if isinstance(value, float):
        return None if math.isinf(value) else value
    # Before sequences, as a text is one.
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {name: as_json(entry) for name, entry in value.items()}
    if isinstance(value, Sequence):
        return [as_json(entry) for entry in value]
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        if hasattr(value, "half_width"):  # an estimate is printed by the ends of its interval
            return value.to_dict()  # type: ignore[union-attr]
        return _fields_as_json(value)
    return value


def _fields_as_json(record: Any) -> dict[str, Any]:
    """Return the fields of a record as a JSON object."""
    made: dict[str, Any] = {}
    for entry in fields(record):
        value = getattr(record, entry.name)
        # Metrics differ by system, so that they are no fields of an answer.
        if BESIDE in entry.metadata:
            made |= as_json(value)
        elif value is not ABSENT:
            made[entry.name] = as_json(value)
    return made


def print_object(value: Mapping[str, Any], plan: Iterable[str] = ()) -> None:
    """Print a JSON object; with a plan as its last value, if any.

    The plan is the text of a document in pieces, as `schedule_pieces` gives it: there is no object of a large one.
    """
    text = json.dumps(value, indent=2, allow_nan=False)
    pieces = iter(plan)
    first = next(pieces, None)
    if first is None:
        print(text)
        return
    # The object stays open until the plan is in it: joined, a plan of a million tasks would be held twice.
    sys.stdout.write(f'{text.removesuffix("}").rstrip()},\n  "plan": {first}')
    for piece in pieces:
        sys.stdout.write(piece)
    print("}")


def object_line(value: Mapping[str, Any], plan: Iterable[str] = ()) -> str:
    """Return a JSON object without line breaks; with a plan in pieces as its last value, if any."""
    text, document = json.dumps(value, allow_nan=False), "".join(plan)
    # Only the layout has line breaks: JSON escapes those within texts.
    for indent in ("\n    ", "\n  ", "\n"):
        document = document.replace(indent, "")
    return f'{text.removesuffix("}")}, "plan": {document}}}' if document else text


class Mean(Part):
    """A mean over runs with its 95 % confidence interval; null where there are too few runs."""

    n: int
    mean: float | None
    low: float | None
    high: float | None


class Written(Answer, kind="written"):
    """Commands that write files and no more; what is in them, as far as it applies."""

    instance: str = ABSENT
    stream: str = ABSENT
    platform: str = ABSENT
    jobs: int = ABSENT
    written: tuple[str, ...]
    tasks: int = ABSENT
    vm_types: int = ABSENT
    spot_prices: int = ABSENT
    deadline_s: int = ABSENT
    d_spot_s: int | None = ABSENT
    warnings: tuple[str, ...] = ABSENT


def deliver(made: WholeDocument, out: str | None, as_json: bool, about: str, **said: Any) -> None:
    """Write a document that a command has made to a file, and say so, or print it."""
    if out is None or out == STANDARD_OUTPUT:
        print(made.to_text(), end="")
        return
    made.write(out)
    if as_json:
        Written(written=(out,), **said).print_json()
    wrote(out, about)


def deliver_instance(instance: Instance, out: str | None, as_json: bool, warnings: Sequence[str] = ()) -> None:
    """Write an instance to a file and say so, or print it."""
    about = f"{instance.name}, {instance.n_tasks:,} tasks, deadline {seconds(instance.deadline_s)} s"
    said = {"tasks": instance.n_tasks, "deadline_s": instance.deadline_s, "d_spot_s": instance.d_spot_s}
    deliver(instance, out, as_json, about, instance=instance.name, **said, warnings=tuple(warnings))


class Served(Answer, kind="serve"):
    """Method ``initialize`` of ``spotbag serve``; ``warm`` says whether loops are compiled and loaded."""

    version: str
    methods: tuple[str, ...]
    warm: bool


class ErrorIssue(Part):
    """A mistake in an input."""

    path: str
    item: str
    message: str


class Error(Answer, kind="error"):
    """Any command that ends with exit code 2."""

    status: Literal["error"]
    message: str
    issues: tuple[ErrorIssue, ...]

    @classmethod
    def of_error(cls, error: Exception) -> Error:
        """Make the answer of an error, with all that is wrong with an input."""
        issues = [ErrorIssue(path=one.path, item=one.item, message=str(one)) for one in getattr(error, "issues", ())]
        return cls(status="error", message=str(error), issues=tuple(issues))


def answer_of(kind: str) -> type[Answer]:
    """Return the answer of a kind."""
    module = import_module(KINDS[kind], __package__)
    if kind not in _ANSWERS:  # of another distribution
        module.load_commands()
    return _ANSWERS[kind]


KINDS = {
    "solve": ".bags.solve",
    "replan": ".bags.replan",
    "check": ".bags.check",
    "audit": ".audit",
    "bound": ".bags.bound",
    "compare": ".bags.compare",
    "best-known": ".bags.best_known",
    "best-known-update": ".bags.best_known",
    "pareto": ".bags.pareto",
    "replay": ".bags.replay",
    "replay-day": ".bags.replay",
    "no-plan": ".bags.replay",
    "experiment-run": ".experiment",
    "experiment-list": ".experiment",
    "experiment-results": ".experiment",
    "experiment-judge": ".experiment",
    "suite-shown": ".suite",
    "submission-checked": ".suite",
    "suite-ranking": ".suite",
    "experiment-compare": ".experiment",
    "size": ".streams.size",
    "stream-runs": ".streams.stream",
    "stream-list": ".streams.stream",
    "platform-runs": ".platforms.platform",
    "platform-list": ".platforms.platform",
    "show": ".bags.show",
    "methods": ".bags.methods",
    "policies": ".policies",
    "warm-up": ".bags.warm_up",
    "serve": ".answers",
    "published-comparison": ".bench",
    "instance-list": ".instance",
    "types": ".instance",
    "clouds": ".instance",
    "export": ".bags.export",
    "import-log": ".bags.import_log",
    "written": ".answers",
    "schemas": ".schema",
    "error": ".answers",
}
"""Module of each answer, by the word in its format."""
