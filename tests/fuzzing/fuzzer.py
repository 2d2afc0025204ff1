"""Fuzzing: inputs of all formats, damaged in all ways, and what is done with them.

``python -m tests.fuzzing.fuzzer --inputs 1000000 --processes 2`` prints a table. Each fault is given by its target and
number: ``python -m tests.fuzzing.fuzzer --only "plan:1234"`` runs that input again and shows its files.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from spotbag.core.errors import SpotbagError
from tests.fuzzing.foreign_targets import FOREIGN
from tests.fuzzing.targets import TARGETS, Case, commands, judge_refusal, prepare

MOST_S = 2.0
MOST_MB = 800.0
"""Beside what the process has before: a gigabyte with all libraries that spotbag may load."""

_STUCK_S = 20
_LINUX = Path("/proc/self/clear_refs").exists()
"""Elsewhere memory is not measured."""

_SHOWN_FAULTS = 200
_A_BLOCK = 20_000


@dataclass
class Tally:
    """What became of the inputs of a target."""

    taken: int = 0
    refused: int = 0
    cpu_s: float = 0.0
    slowest_s: float = 0.0
    slowest: int = -1
    largest_mb: float = 0.0
    largest: int = -1
    faults: list[tuple[int, str]] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        """How many there were."""
        return self.taken + self.refused + len(self.faults)

    def add(self, other: Tally) -> None:
        """Count what became of other inputs as well."""
        self.taken += other.taken
        self.refused += other.refused
        self.cpu_s += other.cpu_s
        if other.slowest_s > self.slowest_s:
            self.slowest_s, self.slowest = other.slowest_s, other.slowest
        if other.largest_mb > self.largest_mb:
            self.largest_mb, self.largest = other.largest_mb, other.largest
        self.faults += other.faults


class Stuck(BaseException):
    """An input takes far too long."""


class Fuzzer:
    """Runs inputs one after the other, and counts what becomes of them.

    Parameters
    ----------
    folder : Path
        Where files are written; also the working folder of commands.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tallies = {name: Tally() for name in TARGETS}

    def run(self, target: str, number: int) -> Case:
        """Run an input."""
        tally, case = self.tallies[target], Case(target, number, self.folder)
        before_mb = _resident_mb()
        _reset_peak()
        begin = time.process_time()
        fault, taken = "", True
        try:
            with _limited():
                TARGETS[target][0](case)
        except SpotbagError as error:
            taken = False
            try:
                judge_refusal(error)
            except AssertionError:
                fault = traceback.format_exc()
        except (Exception, Stuck):
            fault = traceback.format_exc()
        took_s = time.process_time() - begin - case.aside_s
        grown_mb = _peak_mb() - before_mb
        if took_s > tally.slowest_s:
            tally.slowest_s, tally.slowest = took_s, number
        if grown_mb > tally.largest_mb:
            tally.largest_mb, tally.largest = grown_mb, number
        if not fault and took_s > MOST_S:
            fault = f"took {took_s:.1f} s of processor time"
        if not fault and grown_mb > MOST_MB:
            fault = f"took {grown_mb:.0f} MB"
        tally.cpu_s += took_s
        if fault:
            tally.faults.append((number, fault))
        elif taken:
            tally.taken += 1
        else:
            tally.refused += 1
        return case


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Stop an input that never ends."""

    def stop(*_: Any) -> None:
        raise Stuck(f"not done after {_STUCK_S} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _STUCK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _resident_mb() -> float:
    if not _LINUX:
        return 0.0
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 1e6


def _reset_peak() -> None:
    if _LINUX:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6 if _LINUX else 0.0


def foreign(inputs: int, block: int = 0) -> Iterator[tuple[str, int]]:
    """Yield targets and numbers: as many as wanted, of foreign formats only, as many of each."""
    for name in FOREIGN:
        count = -(-inputs // len(FOREIGN))
        yield from ((name, number) for number in range(block * count, (block + 1) * count))


def shares(inputs: int, block: int = 0) -> Iterator[tuple[str, int]]:
    """Yield targets and numbers: as many as wanted, each target by its share; blocks have other numbers."""
    for name, (_, share) in TARGETS.items():
        count = max(round(inputs * share), 1)
        yield from ((name, number) for number in range(block * count, (block + 1) * count))


@contextlib.contextmanager
def fuzzing(*, only_foreign: bool = False) -> Iterator[Fuzzer]:
    """Prepare a process, and a folder to work in; files of foreign formats need no plans and traces."""
    import spotbag.cli.app

    made, spotbag.cli.app.make_app = spotbag.cli.app.make_app, lambda asked=None: commands()  # type: ignore[assignment]
    home = Path.cwd()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        os.chdir(folder)
        try:
            if not only_foreign:
                prepare()
            gc.collect()
            gc.freeze()  # what stays need not be looked at again and again
            yield Fuzzer(Path(folder))
        finally:
            gc.unfreeze()
            os.chdir(home)
            spotbag.cli.app.make_app = made


def run_all(inputs: Iterable[tuple[str, int]], *, only_foreign: bool = False) -> Fuzzer:
    """Run many inputs; Ctrl-C ends that, with what was found so far."""
    with fuzzing(only_foreign=only_foreign) as fuzzer, contextlib.suppress(KeyboardInterrupt):
        for count, (target, number) in enumerate(inputs):
            fuzzer.run(target, number)
            if count % 5000 == 0:
                gc.collect()
    return fuzzer


def run_blocks(
    inputs: int,
    blocks: Iterable[int],
    processes: int,
    of_block: Callable[[int, int], Iterable[tuple[str, int]]] = shares,
) -> dict[str, Tally]:
    """Run blocks of inputs in processes, each block in one of its own; Ctrl-C ends that, with the blocks so far."""
    sums = {name: Tally() for name in TARGETS}
    with ProcessPoolExecutor(processes, get_context("spawn"), max_tasks_per_child=1) as pool:
        try:
            for tallies in pool.map(_block, repeat(inputs), blocks, repeat(of_block)):
                for name, tally in tallies.items():
                    sums[name].add(tally)
                found = [f"{text.splitlines()[0]} {_kind(text)}" for text in faults_of(tallies)]
                print(_total(sums), *found, sep="\n  ", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
    return sums


def _block(
    inputs: int, block: int, of_block: Callable[[int, int], Iterable[tuple[str, int]]] = shares
) -> dict[str, Tally]:
    return run_all(of_block(inputs, block), only_foreign=of_block is foreign).tallies


def faults_of(tallies: dict[str, Tally]) -> list[str]:
    """All that is wrong, by target and number."""
    return [f"{name}:{number}\n{text}" for name, tally in tallies.items() for number, text in tally.faults]


def table(tallies: dict[str, Tally]) -> str:
    """Return what became of the inputs as a table."""
    head = ("target", "inputs", "taken", "refused", "faults", "ms each", "slowest (s)", "most memory (MB)")
    rows = [
        (
            name,
            f"{tally.inputs:,}",
            f"{tally.taken:,}",
            f"{tally.refused:,}",
            f"{len(tally.faults):,}",
            f"{1000 * tally.cpu_s / max(tally.inputs, 1):.2f}",
            f"{tally.slowest_s:.2f} (:{tally.slowest})",
            f"{tally.largest_mb:.0f} (:{tally.largest})",
        )
        for name, tally in tallies.items()
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    return "\n".join([*lines, _total(tallies)])


def _total(tallies: dict[str, Tally]) -> str:
    inputs = sum(tally.inputs for tally in tallies.values())
    return f"{inputs:,} inputs, {sum(len(tally.faults) for tally in tallies.values()):,} faults"


def _kind(text: str) -> str:
    """Say of a fault in one line what it is and where; what the input was does not count."""
    lines = text.strip().split("\n")
    places = [line.strip().split(", in ")[0] for line in lines if line.strip().startswith("File ")]
    error = next((line for line in reversed(lines) if line and not line.startswith(" ")), "").split(": [")[0]
    where = " < ".join(place[-60:] for place in places[:-3:-1])
    return f"{lines[0].split(':')[0]} | {re.sub('[^A-Za-z_. ]+', ' ', error)[:70]} | {where}"


def _show(target: str, number: int) -> None:
    with fuzzing() as fuzzer:
        case = fuzzer.run(target, number)
        print(" ".join(map(repr, case.words)))
        for name, data in case.written.items():
            print(f"--- {name}: {len(data):,} bytes\n{data[:4000]!r}")
    print(table({target: fuzzer.tallies[target]}))
    print("\n".join(faults_of(fuzzer.tallies)))


def main() -> int:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--block", type=int, default=0, help="others of the same number")
    parser.add_argument("--target", choices=TARGETS, help="only that one, in this process")
    parser.add_argument("--foreign", action="store_true", help="only files of foreign formats")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", metavar="TARGET:NUMBER", help="one input again, with its files")
    given = parser.parse_args()
    if given.only:
        target, _, number = given.only.rpartition(":")
        _show(target, int(number))
        return 0
    begin = time.perf_counter()
    of_block = foreign if given.foreign else shares
    if given.target:
        numbers = range(given.block * given.inputs, (given.block + 1) * given.inputs)
        tallies = run_all((given.target, number) for number in numbers).tallies
    elif given.processes == 1 and given.inputs <= _A_BLOCK:
        tallies = _block(given.inputs, given.block, of_block)
    else:
        blocks = -(-given.inputs // _A_BLOCK)
        tallies = run_blocks(
            _A_BLOCK, range(given.block * blocks, (given.block + 1) * blocks), given.processes, of_block
        )
    faults = faults_of(tallies)
    for kind, count in Counter(map(_kind, faults)).most_common(_SHOWN_FAULTS):
        print(f"{count:>7}  {kind}")
    seen = set()
    for text in faults:
        if _kind(text) not in seen:
            seen.add(_kind(text))
            print(f"\n{text}", file=sys.stderr)
    print(table({name: tally for name, tally in tallies.items() if tally.inputs}))
    print(f"{time.perf_counter() - begin:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
