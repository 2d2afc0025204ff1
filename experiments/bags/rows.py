"""The folder of an experiment: what was asked for, a row for each finished cell, and plans that are replayed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec

from ...core.errors import InputError, Issue, SpotbagError, input_error
from ...core.json_documents import check_format, format_json, parse_json
from ...core.text_files import read_text, write_text

EXPERIMENT_FORMAT = "spotbag.experiment/1"
ABOUT, ROWS, PLANS = "experiment.json", "rows.jsonl", "plans"
VERSION = version("spotbag")
CLAIRVOYANT = "clairvoyant"
"""Name of the lower bound of each day, in place of a policy."""


class _Keyed(msgspec.Struct, frozen=True):
    cell: str
    version: str = ""


class CellRow(msgspec.Struct, frozen=True):
    """A row of an experiment: of a run of a method; or, with a policy, of days of its plan, whose figures are lists."""

    instance: str
    cell: str = ""
    method: str = ""
    seed: int = 0
    status: str = ""
    objective: float | None = None
    bound: float | None = None
    bound_without: float | None = None
    cost_usd: float | list[float | None] | None = None
    makespan_s: int | list[int | None] | None = None
    runtime_s: Annotated[float, msgspec.Meta(ge=0)] | None = None
    peak_memory_mb: float | None = None
    ended_by_time: bool = False
    reason: str = ""
    n_tasks: int | None = None
    goal: str = ""
    memory_binds: bool = True
    survive: str | None = None
    survives: str | None = None
    drawn: dict[str, str] = msgspec.field(default_factory=dict)
    policy: str = ""
    scenario: str = ""
    cloud: str = ""
    days_seed: int = 0
    first_day: int = 0
    n_days: int = 0
    late_days: int | None = None
    deadline_s: float | None = None
    version: str = ""
    machine: str = ""

    def __post_init__(self) -> None:
        """Refuse a row of neither kind, and days that do not have a cost and a makespan each."""
        several = isinstance(self.cost_usd, list) or isinstance(self.makespan_s, list)
        if not self.policy and (several or not self.method):
            raise ValueError("it is neither of one run of a method nor of a policy")
        if not 0 < len(self.costs_usd) == len(self.makespans_s):
            raise ValueError("it has no days, or not a cost and a makespan of each")

    @property
    def costs_usd(self) -> list[float | None]:
        """Cost of each day, or of the plan."""
        return self.cost_usd if isinstance(self.cost_usd, list) else [self.cost_usd]

    @property
    def makespans_s(self) -> list[int | None]:
        """Makespan of each day, or of the plan."""
        return self.makespan_s if isinstance(self.makespan_s, list) else [self.makespan_s]

    @property
    def replayed(self) -> str:
        """Instance, method, scenario and cloud, those that are named: what was replayed, in words."""
        return ", ".join(part for part in (self.instance, self.method, self.scenario, self.cloud) if part)

    def bound_if(self, survives: bool) -> float | None:
        """Lower bound of plans that survive, or of all."""
        return self.bound if survives or self.bound_without is None else self.bound_without


class Folder:
    """A folder that rows are added to: each is on the disk before its cell counts as finished.

    Parameters
    ----------
    path : path
        Made if it does not exist.

    Raises
    ------
    SpotbagError
        If it cannot be written, or another process adds to it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = open(self.path / ROWS, "a+b")  # noqa: SIM115 (it is closed by `close`)
        except OSError as error:
            raise SpotbagError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None
        try:
            self._lock()
            self._drop_cut_line()
        except BaseException:
            self._file.close()
            raise
        self._encode = msgspec.json.Encoder().encode

    def _lock(self) -> None:
        """Refuse to add to a folder that another process adds to; the system lets go when a process ends."""
        try:
            import fcntl
        except ImportError:  # on Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SpotbagError(f"{self.path}: another process is running this experiment; wait until it ends") from None

    def _drop_cut_line(self) -> None:
        """Take away a last line that was cut in the middle: its cell is run again."""
        # From the end, block by block: files have millions of rows.
        end = kept = self._file.seek(0, os.SEEK_END)
        step = 1 << 16
        while kept:
            first = max(kept - step, 0)
            self._file.seek(first)
            at = self._file.read(kept - first).rfind(b"\n")
            if at >= 0:
                kept = first + at + 1
                break
            kept = first
        if kept < end:
            self._file.truncate(kept)
        self._file.seek(0, os.SEEK_END)

    def finished(self) -> dict[str, str]:
        """Return the keys of all cells that have a row, and the version that made it."""
        self._file.seek(0)
        found = {row.cell: row.version for _, row in _rows_in(self._file, _Keyed, self.path)}
        self._file.seek(0, os.SEEK_END)
        return found

    def asked(self) -> dict[str, Any] | None:
        """Return the specification of the rows that exist; None if there are none."""
        return read_about(self.path)["spec"] if (self.path / ABOUT).is_file() else None

    def ask(self, spec: Mapping[str, Any], cells: int) -> None:
        """Write down what is asked for."""
        about = {"format": EXPERIMENT_FORMAT, "version": VERSION, "cells": cells, "spec": dict(spec)}
        write_text(self.path / ABOUT, format_json(about))

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row, and wait until it is on the disk."""
        try:
            self._file.write(self._encode(row) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise SpotbagError(f"{self.path / ROWS}: cannot be written: {(error.strerror or '').lower()}") from None

    def keep_plan(self, key: str, text: str) -> None:
        """Keep a plan; before its row is added, so that there is no row without it."""
        (self.path / PLANS).mkdir(exist_ok=True)
        write_text(self.path / PLANS / f"{key}.json", text)

    def plan(self, key: str) -> str | None:
        """Return a plan, if there is one."""
        path = self.path / PLANS / f"{key}.json"
        return read_text(path) if path.is_file() else None

    def close(self) -> None:
        """Let others add to it."""
        self._file.close()


class Memory:
    """Stand-in for a `Folder` where nothing is kept: rows are handed to whoever has the experiment run."""

    path = Path()

    def __init__(self) -> None:
        self._plans: dict[str, str] = {}

    def finished(self) -> dict[str, str]:
        """Return an empty mapping: there are no rows of an earlier run."""
        return {}

    def asked(self) -> dict[str, Any] | None:
        """Return None: nothing was asked for before."""
        return None

    def ask(self, spec: Mapping[str, Any], cells: int) -> None:
        """Do nothing."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Do nothing."""

    def keep_plan(self, key: str, text: str) -> None:
        """Keep a plan until it is replayed."""
        self._plans[key] = text

    def plan(self, key: str) -> str | None:
        """Return a plan, if there is one."""
        return self._plans.get(key)


def read_about(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the file about an experiment: version and specification.

    Raises
    ------
    InputError
        If the folder holds no experiment, or one whose methods are no names.
    """
    place = Path(folder) / ABOUT
    if not place.is_file():
        raise input_error(str(folder), f"is no folder of an experiment: it has no {ABOUT}")
    about = parse_json(read_text(place), str(place))
    check_format(about, EXPERIMENT_FORMAT, str(place))
    if not isinstance(about.get("spec"), dict):
        raise InputError(str(place), [Issue("", "must be an object: what was asked for", "spec", about.get("spec"))])
    methods = about["spec"].get("methods", [])
    if not isinstance(methods, list) or not all(isinstance(name, str) for name in methods):
        raise InputError(str(place), [Issue("spec", "must be a list of names", "methods", methods)])
    return about


def read_rows(folder: str | os.PathLike[str]) -> Iterator[tuple[int, CellRow]]:
    """Read the rows of an experiment, each with its number; a last line that was cut is left out.

    Parameters
    ----------
    folder : path
        Of the experiment.

    Raises
    ------
    InputError
        If a line is not a row.
    """
    path = Path(folder) / ROWS
    try:
        with open(path, "rb") as file:
            yield from _rows_in(file, CellRow, folder)
    except OSError as error:
        raise input_error(str(path), f"cannot be read: {(error.strerror or str(error)).lower()}") from None


def _rows_in(lines: Iterable[bytes], kind: type[Any], folder: str | os.PathLike[str]) -> Iterator[tuple[int, Any]]:
    """Read lines up to one that was cut."""
    decode = msgspec.json.Decoder(kind).decode
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            return
        try:
            yield number, decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            wrong = Issue(f"line {number}", f"is not a row: {error}")
            raise InputError(str(Path(folder) / ROWS), [wrong]) from None
