"""Data beside the code of a paper: printed figures, notes, statements, other assumptions, bags that are drawn."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from string import Formatter
from types import SimpleNamespace
from typing import Any, TypeVar

from spotbag.core.statistics import Estimate

from .claims import ABOUT, Case, Claim, Found, Ours, Statement, Verdict, about, above, below, claim
from .statistics import Statistic


def read_text(package: str, name: str) -> str:
    """Read a file of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def read_toml(package: str, name: str) -> dict[str, Any]:
    """Read a TOML file of a package."""
    return tomllib.loads(read_text(package, name))


def read_changes(package: str) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Read other values of what a paper leaves open: the assumption, its value in words, and options."""

    def frozen(value: Any) -> Any:
        # Options are keys of caches, so lists of TOML become tuples, which can be hashed.
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    given = read_toml(package, "settings.toml")["settings"]
    return [
        (setting.pop("assumption"), setting.pop("value"), {key: frozen(value) for key, value in setting.items()})
        for setting in given
    ]


def drawn_bags(package: str, name: str) -> dict[str, dict[str, Any]]:
    """Read parameters of bags: of each bag of a group in each of its families."""
    found: dict[str, dict[str, Any]] = {}
    for group in read_toml(package, name)["groups"]:
        # What a bag says of itself goes before what its family says, and that before its group.
        families, bags = group.pop("families"), group.pop("bags")
        found |= {
            f"{family}/{bag}": group | of_all | own for family, of_all in families.items() for bag, own in bags.items()
        }
    return found


class Figures(SimpleNamespace):
    """Printed numbers: those of a document by their names in it, or those of a row by the names of its columns.

    A list of objects in a document is a table, and has rows.
    """

    def row(self, table: str, **key: object) -> Figures:
        """Return the row of a table that has some values, of which there is one."""
        [found] = [row for row in getattr(self, table) if key.items() <= vars(row).items()]
        assert isinstance(found, Figures)
        return found


_Figures = TypeVar("_Figures", bound=Figures)


def read_figures(kind: type[_Figures], package: str, name: str) -> _Figures:
    """Read a document of printed numbers that lies in a package."""

    def rows(value: Any) -> Any:
        is_table = isinstance(value, list) and isinstance(value[0], dict)
        return tuple(Figures(**row) for row in value) if is_table else value

    return kind(**{key: rows(value) for key, value in json.loads(read_text(package, name)).items()})


def read_notes(package: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Read the notes of a paper, which lie in its package, and put values in the place of their names.

    A note is a paragraph; its lines become one. Where a value is None, there is nothing to say: the note is left out.
    """
    missing = {name for name, value in values.items() if value is None}
    for note in read_text(package, "notes.md").split("\n\n"):
        if missing.isdisjoint(field for _, field, _, _ in Formatter().parse(note) if field):
            yield " ".join(note.split()).format_map(values)


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of a paper: their words stand in its ``statements.toml``, in order; its code judges them by name.

    A table has the fields of a `Statement`: what is said (``says``), ``where``, what the paper prints, the reason if it
    does not hold (``why``), what decides it and is not printed (``unprinted``), what else is to be known (``note``),
    whether it is said of ``most`` comparisons only, and whether it is ``fitted`` or ``arithmetic``. Names in braces are
    put in by the code.

    It may also have the test of our numbers: each is to be ``above`` or ``below`` a limit, ``about`` a value, or
    ``between`` two; near is within so many ``points``, or ``percent`` of the value, for which `ABOUT` stands where
    ``about`` has neither. Numbers have a ``unit`` and ``digits``.

    Attributes
    ----------
    texts : mapping of str to mapping
        Statements by their names.
    """

    texts: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, package: str) -> Statements:
        """Read the statements that lie in a package."""
        return cls(read_toml(package, "statements.toml"))

    def cases(self, name: str, found: Mapping[str, Found] | Found) -> list[Case]:
        """Compare numbers of ours, by their labels, as the test of a statement has it."""
        test = self._test(name)
        look = {key: test[key] for key in ("digits", "unit") if key in test}
        reach = {key: test.get(key, 0.0) for key in ("points", "percent")}
        numbers = found if isinstance(found, Mapping) else {"": found}

        def case(label: str, number: Found) -> Case:
            if "above" in test:
                return above(label, number, limit=test["above"], **look)
            if "below" in test:
                return below(label, number, limit=test["below"], **look)
            if "about" in test:
                return about(label, number, value=test["about"], **reach, **look)
            # Between two numbers is about their middle, within half of their distance.
            low, high = test["between"]
            half = (high - low) / 2 + reach["points"]
            return about(label, number, value=(low + high) / 2, points=half, **look)

        return [case(label, number) for label, number in numbers.items()]

    def judge(
        self,
        name: str,
        found: Case | Iterable[Case] | Mapping[str, Found] | Found,
        ours: Ours = "",
        /,
        *,
        fitted: bool | None = None,
        **values: Any,
    ) -> Claim:
        """Judge a statement by comparisons, or by numbers that are tested as it says; see `claim`.

        Values are put in the places that its texts name.
        """
        said: dict[str, Any] = {key: value for key, value in self.texts[name].items() if key not in _TESTS}
        # Texts may name the reach that all statements share: it is written in one place, and read in each.
        known = asdict(ABOUT) | self._test(name) | values
        said |= {key: text.format_map(known) for key, text in said.items() if isinstance(text, str)}
        if fitted is not None:
            said["fitted"] = fitted
        if isinstance(found, (Mapping, Statistic, Estimate, int, float)) or found is None:
            found = self.cases(name, found)
        return claim(Statement(**said), found, ours)

    def _test(self, name: str) -> dict[str, Any]:
        """The test of a statement, with what near means."""
        test = {key: value for key, value in self.texts[name].items() if key in _TESTS}
        if "about" in test and not {"points", "percent"} & test.keys():
            # Of a share, near is a number of points: ten percent of a small percentage would be next to nothing.
            near = "points" if test.get("unit") in ("%", "points") else "percent"
            test[near] = getattr(ABOUT, near)
        return test

    def decided(self, name: str, verdict: Verdict, ours: str, /, **values: Any) -> Claim:
        """Make a claim of a verdict that no rule of comparisons gives."""
        return self.judge(name, Case("", ours, verdict), ours, **values)


_TESTS = ("above", "below", "about", "between", "points", "percent", "unit", "digits")
"""Keys of the test of a statement."""
