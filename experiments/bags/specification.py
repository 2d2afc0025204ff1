"""Specification of an experiment: a TOML file, or a ready one, and the cells that follow from it."""

from __future__ import annotations

import fnmatch
import json
import math
import os
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from importlib.metadata import entry_points
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

from pydantic import Field

from ...core.errors import InputError, Issue, input_error
from ...core.records import Record, validate_record
from ...core.text_files import read_text
from ...instances.bags.scenarios import find_scenario
from ...instances.clouds import find_cloud
from ...instances.library import library_names
from ...solvers.bags.methods import find_method, make_options
from .cells import PlanCell, Source
from .families import Counted, Draw, Family
from .rows import CLAIRVOYANT

if TYPE_CHECKING:
    from .days import DaysCell

ENDING = ".toml"
PaperName: TypeAlias = Literal["hads", "burst-hads", "thai", "a2ha", "caron", "uniform-progress"]
PAPERS: tuple[str, ...] = get_args(PaperName)
_MOST_CELLS = 10_000_000


class DaySettings(Record):
    """Days on which policies carry out the plans.

    Attributes
    ----------
    scenarios, policies : list of str
        As for ``spotbag replay``; ``clairvoyant`` is the lower bound of each day.
    clouds : list of str
        Presets; that of the scenario or of the instance if there are none.
    days : int
        Of each scenario.
    seed, first_day : int
        Of the days, and the number of the first of them.
    days_a_cell : int
        How many are replayed at a time, and make a row.
    """

    scenarios: list[str] = Field(min_length=1)
    policies: list[str] = Field(min_length=1)
    clouds: list[str] = Field(default_factory=list)
    days: int = Field(default=100, ge=1, le=10_000_000)
    seed: int = Field(default=0, ge=0, lt=2**63)
    first_day: int = Field(default=0, ge=0, lt=2**53)
    days_a_cell: int = Field(default=500, ge=1, le=10_000)

    def axes(self) -> tuple[Collection[str], Collection[str], range, Collection[str]]:
        """Scenarios, clouds, first days and policies of the cells of a plan: all combinations."""
        firsts = range(self.first_day, self.first_day + self.days, self.days_a_cell)
        return dict.fromkeys(self.scenarios), dict.fromkeys(self.clouds or [""]), firsts, dict.fromkeys(self.policies)

    @property
    def n_cells(self) -> int:
        """Number of cells of each plan."""
        return math.prod(map(len, self.axes()))


class PaperSettings(Record):
    """Options of replays of a paper, as of ``spotbag bench``; not every paper has all of them.

    Attributes
    ----------
    seed : int
        Of the first run.
    rate_scale : float
        Multiplies the rates of all scenarios.
    d_spot, scales : str
        ``printed`` or ``estimated``, and ``paper`` or ``instance``.
    optimum_s : float
        Seconds to find the least wall time of an ordering.
    numbers : list of int
        Jobs in a set.
    traces, one_means : str
        Folder of recorded traces of availability, and what a 1 means in them.
    """

    seed: int | None = Field(default=None, ge=0, lt=2**63)
    rate_scale: float | None = Field(default=None, ge=0.01)
    d_spot: Literal["printed", "estimated"] | None = None
    scales: Literal["paper", "instance"] | None = None
    optimum_s: float | None = Field(default=None, ge=0.1)
    numbers: list[Annotated[int, Field(ge=1, le=10_000)]] | None = Field(default=None, min_length=1)
    traces: str | None = None
    one_means: Literal["available", "preempted"] | None = None


class Specification(Record):
    """An experiment.

    Attributes
    ----------
    description : str
        What it is for.
    instances : list of str
        Library names, which may have wild cards (``hads/*``), and files, from the folder of the specification.
    families : list of Family
        Instances that are generated.
    draws : list of Draw
        Instances that are generated as cells drawn from a seed.
    methods : list of str
        As for ``spotbag solve``.
    seeds, first_seed : int
        Seeds of each method that uses random numbers, and the first of them.
    time_limit_s, target_gap, threads
        Of each run; see `spotbag.solve`.
    time_limits_s : dict of str to float
        Of methods that have one of their own, by the name of the method.
    options : dict
        Of methods, by the name of the method.
    days : DaySettings, optional
        Where the plans are carried out.
    papers : list of str
        Papers whose figures are replayed, and compared with ours.
    paper_runs : int
        Days, draws or orderings of each of their cells.
    paper_options : dict of str to PaperSettings
        Options of the papers, by the name of the paper.
    """

    description: str = Field(default="", max_length=2000)
    instances: list[str] = Field(default_factory=list)
    families: list[Family] = Field(default_factory=list)
    draws: list[Draw] = Field(default_factory=list)
    methods: list[str] = Field(default_factory=lambda: ["auto"])
    seeds: int = Field(default=1, ge=1, le=100_000)
    first_seed: int = Field(default=0, ge=0, lt=2**53)
    time_limit_s: float = Field(default=10.0, gt=0)
    target_gap: float = Field(default=0.0, ge=0)
    threads: int = Field(default=1, ge=1)
    time_limits_s: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    options: dict[str, dict[str, Any]] = Field(default_factory=dict)
    days: DaySettings | None = None
    papers: list[PaperName] = Field(default_factory=list)
    paper_runs: int = Field(default=200, ge=2)
    paper_options: dict[PaperName, PaperSettings] = Field(default_factory=dict)

    def plan_cells(self, folder: Path, given: Mapping[str, Source] | None = None) -> Counted[PlanCell]:
        """Return the runs of methods: one seed of those that use no random numbers.

        Parameters
        ----------
        folder : path
            From which files are named.
        given : mapping of str to Source, optional
            Instances that are there already, by their names.

        Raises
        ------
        InputError
            If an instance cannot be found, or two are called the same; if there are far too many cells.
        """
        numbers = {method: self.seeds if find_method(method).seeded else 1 for method in self.methods}
        runs = sum(numbers[method] for method in self.methods)
        each = 0 if self.days is None else self.days.n_cells
        sources = self._sources(folder, given or {}, runs * (1 + each))
        options = {method: tuple(sorted(self.options.get(method, {}).items())) for method in self.methods}

        def made() -> Iterator[PlanCell]:
            for source in sources:
                for method in self.methods:
                    of_cell_s = source.settings.get("time_limit_s", self.time_limit_s)
                    limit_s = self.time_limits_s.get(method, of_cell_s)
                    settings = limit_s, self.target_gap, self.threads, options[method], self.days is not None
                    for seed in range(numbers[method]):
                        yield PlanCell(source, method, self.first_seed + seed, *settings)

        return Counted(len(sources) * runs, made)

    def days_cells(self, plans: Counted[PlanCell]) -> Counted[DaysCell]:
        """Return the replays of plans; those of the same days follow one another."""
        asked = self.days
        if asked is None:
            return Counted(0, tuple)
        from .days import DaysCell  # here, since runs of methods need no replays

        def made() -> Iterator[DaysCell]:
            scenarios, clouds, firsts, policies = asked.axes()
            for plan, scenario, cloud in ((plan, *days) for plan in plans for days in product(scenarios, clouds)):
                for first in firsts:
                    n_days = min(asked.days_a_cell, asked.first_day + asked.days - first)
                    for policy in policies:
                        yield DaysCell(plan, scenario, cloud, policy, asked.seed, first, n_days)

        return Counted(len(plans) * asked.n_cells, made)

    def cells(
        self, folder: Path, given: Mapping[str, Source] | None = None
    ) -> tuple[Counted[PlanCell], Counted[DaysCell]]:
        """Return all cells: runs of methods, and replays of their plans; see `plan_cells`.

        Raises
        ------
        InputError
            As `plan_cells`; also if there are none.
        """
        plans = self.plan_cells(folder, given)
        if not plans and not self.papers:
            raise input_error("experiment", "has no instances, families, draws or papers: there is nothing to run")
        return plans, self.days_cells(plans)

    def drawn(self, seed: int | None, cells: int | None) -> Specification:
        """Return the experiment with another seed, or number of cells, of its draws.

        Raises
        ------
        InputError
            If it draws none.
        """
        changes = {key: value for key, value in {"seed": seed, "cells": cells}.items() if value is not None}
        if changes and not self.draws:
            raise input_error("experiment", f"draws no cells, so it has no {' and no '.join(changes)} of them")
        return self.model_copy(update={"draws": [draw.model_copy(update=changes) for draw in self.draws]})

    def _sources(self, folder: Path, given: Mapping[str, Source], cells_of_each: int) -> Counted[Source]:
        """Return all instances, of which none is made yet; they are counted before anything else is done with them."""
        named: dict[str, Source] = {}
        for text in dict.fromkeys(self.instances):
            _add(named, [given[text]] if text in given else _named(text, folder))
        generated: list[Family | Draw] = [*self.families, *self.draws]
        families = [family.sources() for family in generated]
        count = len(named) + sum(map(len, families))
        if count * max(cells_of_each, 1) > _MOST_CELLS:
            raise input_error(
                "experiment", f"has {count * max(cells_of_each, 1):,} cells; at most {_MOST_CELLS:,} can be run"
            )
        # Families can have millions of members: they are looked at one by one only where two names could be the same.
        if not _may_clash(list(named), [family.name for family in generated]):
            return Counted(count, lambda: chain(named.values(), *families))
        for sources in families:
            _add(named, sources)
        return Counted(len(named), named.values)


def _add(labels: dict[str, Source], sources: Iterable[Source]) -> None:
    """Add instances by what they are called, each once; refuse another one that is called the same."""
    for source in sources:
        if labels.setdefault(source.label, source).identity != source.identity:
            raise input_error("experiment", f"calls two instances {source.label!r}; give one another name")


def _may_clash(labels: Sequence[str], families: Sequence[str]) -> bool:
    """Possible clash of two names of instances; instances of a family have its name, and more after a comma."""
    known = set(families)
    longer = [text.split(",") for text in (*labels, *(name.rpartition(",")[0] for name in families))]
    begins = (",".join(parts[:end]) for parts in longer for end in range(1, len(parts) + 1))
    return len(known) < len(families) or any(begin in known for begin in begins)


def _named(text: str, folder: Path) -> list[Source]:
    """Return the instances that a name, a wild card or a file stands for."""
    known = library_names()
    if text in known:
        return [Source(text)]
    path = folder / Path(text).expanduser()
    if path.is_file():
        return [Source(text, text=read_text(path))]
    matching = fnmatch.filter(known, text) if any(mark in text for mark in "*?[") else []
    if not matching:
        rule = f"is no instance of the library, and no file in {str(folder) or '.'}"
        raise InputError("experiment", [Issue("instances", rule, value=text)])
    return [Source(name) for name in matching]


def ready_names() -> list[str]:
    """Return the names of the experiments that are ready to be run."""
    return sorted(_ready())


def ready_text(name: str) -> str:
    """Return the TOML of an experiment that is ready to be run."""
    return _ready()[name].read_text(encoding="utf-8")


def _ready() -> dict[str, Traversable]:
    """Files of this package, and what others have: ``NAME.toml`` for an entry point NAME of ``spotbag.experiments``."""
    own = {file.name: file for file in resources.files(__package__).iterdir() if file.name.endswith(ENDING)}
    # An entry point may be left of a distribution that is gone.
    others = {entry.name + ENDING: entry.value for entry in entry_points(group="spotbag.experiments")}
    there = {name: package for name, package in others.items() if name not in own and find_spec(package)}
    files = own | {name: resources.files(package) / name for name, package in there.items()}
    return {name.removesuffix(ENDING): file for name, file in files.items()}


def read_specification(text: str) -> tuple[Specification, Path]:
    """Read a specification: a file (TOML), or the name of one that is ready.

    Returns
    -------
    Specification
        What it asks for; all that can be told without making an instance is checked.
    Path
        The folder from which it names files.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    names = ready_names()
    if text in names:
        return parse_specification(ready_text(text), text), Path()
    if not text.endswith(ENDING) and not os.path.exists(text):
        rule = f"is no file, and none of the experiments that are ready: {', '.join(names)}"
        if text == "papers":
            rule += "; it comes with the papers: pip install spotbag-papers"
        raise InputError("experiment", [Issue("", rule, value=text)])
    return parse_specification(read_text(text), text), Path(text).parent


def parse_specification(text: str, source: str) -> Specification:
    """Read the text of a specification; see `read_specification`."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise input_error(source, f"is not valid TOML: {error}") from None
    made = validate_record(Specification, document, source)
    # Cells of a method that is named twice would have the same keys.
    made = made.model_copy(update={"methods": list(dict.fromkeys(made.methods))})
    _check(made, source)
    return made


def _check(asked: Specification, source: str) -> None:
    """Refuse names that nothing has."""
    for method in asked.methods:
        find_method(method)
    for place, by_method in (("options", asked.options), ("time_limits_s", asked.time_limits_s)):
        for method in by_method.keys() - set(asked.methods):
            rule = f"is of no method of this experiment: {asked.methods}"
            raise InputError(source, [Issue(place, rule, value=method)])
    for method, options in asked.options.items():
        make_options(find_method(method), options)
    for paper in asked.paper_options:
        if paper not in asked.papers:
            rule = f"is no paper of this experiment: {asked.papers}"
            raise InputError(source, [Issue("paper_options", rule, value=paper)])
    for family in asked.families:
        if family.limit is not None and family.tasks_per_vm is not None:
            raise InputError(source, [Issue(f"families {family.name}", "has limit and tasks_per_vm: give one of them")])
    for draw in asked.draws:
        draw.check(source)
    if asked.days is not None:
        from ...replay.bags.policies import KIND  # here, since runs of methods need no replays

        KIND.full_names(asked.days.policies, [CLAIRVOYANT])
        for scenario in dict.fromkeys(asked.days.scenarios):
            find_scenario(scenario)
        for cloud in dict.fromkeys(asked.days.clouds):
            find_cloud(cloud)


def options_by_method(methods: Sequence[str], options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the options of each method that has some, out of options of all: each goes to those that have it.

    Raises
    ------
    InputError
        If a method is unknown, or none of them has an option.
    """
    # An option is for those of the methods that have it: a comparison has one set of options for all.
    known = {method: set(find_method(method).option_names) for method in methods} if options else {}
    unknown = [name for name in options if not any(name in names for names in known.values())]
    if unknown:
        rule = f"is an option of none of these methods: {', '.join(methods)}"
        raise InputError("options", [Issue("", rule, value=name) for name in unknown])
    chosen = {
        method: {name: value for name, value in options.items() if name in names} for method, names in known.items()
    }
    for method, mine in chosen.items():
        make_options(find_method(method), mine)
    return {method: mine for method, mine in chosen.items() if mine}


def format_specification(asked: Specification) -> str:
    """Return a specification as TOML, without what is as if absent; see `read_specification`."""
    return "\n".join(_toml(asked.model_dump(exclude_defaults=True, exclude_none=True), "")) + "\n"


def _toml(table: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the lines of a table: values, then the tables in it."""
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lists = {
        key: value for key, value in table.items() if isinstance(value, list) and value and isinstance(value[0], dict)
    }
    for key, value in table.items():
        if key not in tables and key not in lists:
            yield f"{_toml_key(key)} = {_toml_value(value)}"
    for key, value in tables.items():
        if not value or not all(isinstance(inner, Mapping) for inner in value.values()):
            yield f"\n[{path}{_toml_key(key)}]"
        yield from _toml(value, f"{path}{_toml_key(key)}.")
    for key, values in lists.items():
        for value in values:
            yield f"\n[[{path}{_toml_key(key)}]]"
            yield from _toml(value, f"{path}{_toml_key(key)}.")


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_value(key)


def _toml_value(value: Any) -> str:
    """Return a value; JSON writes texts, numbers and lists as TOML does, but for the character 127."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
