"""The best plans known for the library instances: their values, and the proven bounds."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from ...core.errors import Issue
from ...core.quantities import MAX_SECONDS, OPTIMALITY_TOLERANCE, Name
from ...core.records import INTEGRAL, Record, Text, WholeDocument, duplicates, inner_issues
from ...core.text_files import read_text, source_name
from ..library import library_data

BEST_KNOWN_FORMAT: Literal["spotbag.best-known/1"] = "spotbag.best-known/1"

_FILE = "best_known.json"
_Amount: TypeAlias = Annotated[float, Field(ge=0)]


class BestKnown(Record):
    """The best plan known for a library instance, under its own objective, and the best bound.

    Attributes
    ----------
    instance : str
        Name of the library instance.
    value : float
        Objective of the plan.
    bound : float
        Proven lower bound of the objective; not above the value.
    status : {"optimal", "feasible"}
        Optimal if the bound closes the gap.
    cost_usd, makespan_s : number
        What the value is made of.
    method, bound_method : str
        What found the plan, and what proved the bound.
    version : str
        Version of spotbag that changed the entry last.
    """

    instance: Name
    value: _Amount
    bound: _Amount
    status: Literal["optimal", "feasible"]
    cost_usd: _Amount
    makespan_s: Annotated[int, Field(ge=0, le=MAX_SECONDS), INTEGRAL]
    method: Text
    bound_method: Text
    version: Text

    def issues_between_fields(self) -> list[Issue]:
        """A bound above the value, or a status that the numbers do not bear out."""
        if bound_contradicts(self.value, self.bound):
            return [Issue("", f"is above the value {self.value:.12g}: one of them is wrong", "bound", self.bound)]
        proved = "optimal" if bound_closes_gap(self.value, self.bound) else "feasible"
        if self.status != proved:
            rule = f"must be {proved!r} for the value {self.value:.12g} and the bound {self.bound:.12g}"
            return [Issue("", rule, "status", self.status)]
        return []


class BestKnownDocument(WholeDocument):
    """The file of the best values known.

    Attributes
    ----------
    entries : tuple of BestKnown
        One for each instance.
    """

    FORMAT: ClassVar[str] = BEST_KNOWN_FORMAT
    most_entries: ClassVar[int] = 100_000

    format: Literal["spotbag.best-known/1"] = BEST_KNOWN_FORMAT
    entries: Annotated[tuple[BestKnown, ...], Field(strict=False)]

    def issues_of_changes(self, changed: Collection[str]) -> Iterator[Issue]:
        """Entries that name an instance twice, and faults inside the entries."""
        yield from duplicates("entries", "instance", ((at, entry.instance) for at, entry in enumerate(self.entries)))
        for index, entry in enumerate(self.entries):
            yield from inner_issues(f"entries[{index}]", entry, entry.instance)


def bound_contradicts(value: float, bound: float) -> bool:
    """True if a bound is above the value of a plan by more than rounding."""
    return bound > value + OPTIMALITY_TOLERANCE * abs(value)


def bound_closes_gap(value: float, bound: float) -> bool:
    """True if a bound proves a value optimal."""
    return value - bound <= OPTIMALITY_TOLERANCE * abs(value)


def best_known(path: str | os.PathLike[str] | None = None) -> dict[str, BestKnown]:
    """Read the best values known, by the name of the library instance.

    Parameters
    ----------
    path : path, optional
        The file of the package if absent.

    Raises
    ------
    InputError
        With everything that is wrong in the file.
    """
    if path is None:
        text, source = _package_file().read_text(encoding="utf-8"), _FILE
    else:
        text, source = read_text(path), source_name(path)
    return {entry.instance: entry for entry in BestKnownDocument.parse(text, source).entries}


def best_known_path() -> Path:
    """Path of the file of the package."""
    return Path(str(_package_file()))


def best_known_plan_path(instance: str, path: str | os.PathLike[str] | None = None) -> Path:
    """Path of the plan of an instance: in a folder beside the file, with the file's name without the ending."""
    file = best_known_path() if path is None else Path(path)
    return file.with_suffix("").joinpath(*f"{instance}.json".split("/"))


def format_best_known(entries: Iterable[BestKnown]) -> str:
    """Return the JSON text of a file of best values, sorted by instance; reading it gives the same entries."""
    in_order = sorted(entries, key=lambda entry: entry.instance)
    return BestKnownDocument(entries=tuple(in_order)).to_text()


def _package_file() -> Traversable:
    return library_data().joinpath(_FILE)
