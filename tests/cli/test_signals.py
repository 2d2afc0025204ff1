"""Ctrl-C and SIGTERM end every command with exit code 130, with what there is so far, and leave nothing behind.

Each command runs in a process of its own, with a group of its own. It is interrupted when some function is called,
which says so on standard error and waits for the signal: no test depends on how fast the machine is.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spotbag.instances.library import library_instance

_AT = """
import importlib, os, sys, time
from spotbag.cli import main

module, name, calls, waits = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "waits"
del sys.argv[1:5]
owner = importlib.import_module(module)
*path, last = name.split(".")
for part in path:
    owner = getattr(owner, part)
called, seen = getattr(owner, last), []
from spotbag.core.processes import Signalled
signalled = Signalled()

def at(*given, **named):
    seen.append(name)
    if len(seen) == calls:
        os.write(2, b"now\\n")
        until = time.monotonic() + 20
        while waits and time.monotonic() < until:
            time.sleep(0.01)
        while not signalled.is_set() and time.monotonic() < until:
            time.sleep(0.01)
    return called(*given, **named)

setattr(owner, last, at)
if __name__ == "__main__":
    sys.exit(main())
"""


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """Return what it printed with --json."""
        found: dict[str, Any] = json.loads(self.out)
        return found


class Interrupted:
    """Commands that are interrupted when a function is called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "command.py").write_text(_AT)

    def run(
        self,
        words: Sequence[str],
        at: tuple[str, str],
        *,
        call: int = 1,
        signals: Sequence[signal.Signals] = (signal.SIGINT,),
        group: bool = True,
    ) -> Ended:
        """Run a command, and interrupt it at a call of a function: it, or its whole group of processes."""
        waits = "waits" if len(signals) > 1 else "goes-on"
        before = set(os.listdir(self.folder))
        printed = tempfile.TemporaryFile("w+")  # noqa: SIM115 -- nobody reads a pipe until the command has ended
        process = subprocess.Popen(
            [sys.executable, "command.py", *at, str(call), waits, *words],
            stdout=printed,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            start_new_session=True,
        )
        assert process.stderr is not None
        said = [process.stderr.readline()]
        while said[-1] not in ("now\n", ""):
            said.append(process.stderr.readline())
        assert said[-1] == "now\n", said
        for number in signals:
            (os.killpg if group else os.kill)(process.pid, number)
        _, err = process.communicate(timeout=100)
        with printed:
            printed.seek(0)
            out = printed.read()
        assert "Traceback" not in err, err
        assert _all_ended(process.pid)
        assert not [name for name in set(os.listdir(self.folder)) - before if name.endswith(".part")]
        assert process.returncode == 130, (process.returncode, err)
        return Ended(process.returncode, out, "".join(said[:-1]) + err)


def _all_ended(group: int) -> bool:
    """Wait until all of a group of processes have ended; False if some do not."""
    for _ in range(200):
        listed = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
        # What has ended, and nobody has asked after, is still listed.
        if not any(int(of) == group and state[0] != "Z" for of, state in map(str.split, listed.splitlines())):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def interrupted(tmp_path: Path) -> Interrupted:
    """Interrupted commands, in an empty folder."""
    return Interrupted(tmp_path)


SEARCH = ("spotbag.solvers.bags.route", "search")
DAYS = ("spotbag.replay.bags.runs", "_Ready.outcome")  # also of the days that compiled loops replay
PARENT = ("spotbag.core.workers", "stop_point")
PLATFORM = ("platform", "tiny/hybrid", "--runs")
REPLAY = ("replay", "burst-hads/J60", "--method", "lpt", "--survive", "none", "--json")  # no kernel is loaded


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_solve_gives_the_best_plan_so_far(interrupted: Interrupted, number: signal.Signals) -> None:
    found = interrupted.run(("solve", "hads/J60", "--json", "--out", "plan.json"), SEARCH, signals=[number])
    result = found.json()
    assert result["interrupted"] is True
    assert result["objective"] > 0
    assert json.loads((interrupted.folder / "plan.json").read_text())["objective"] == result["objective"]
    assert "interrupted: this is the best plan and bound so far" in found.err


@pytest.mark.slow
def test_a_second_signal_does_not_wait(interrupted: Interrupted) -> None:
    found = interrupted.run(("solve", "hads/J60", "--json"), SEARCH, signals=[signal.SIGINT, signal.SIGTERM])
    assert (found.out, found.err) == ("", "interrupted\n")


@pytest.mark.slow
def test_solve_gives_its_plan_if_the_drawing_is_interrupted(interrupted: Interrupted) -> None:
    words = ("solve", "tiny/boot", "--json", "--gantt", "plan.svg", "--out", "plan.json")
    found = interrupted.run(words, ("spotbag.charts.bags.plan", "write_gantt"))
    assert found.json()["status"] == "optimal"
    assert "interrupted: not all files are written" in found.err
    assert sorted(os.listdir(interrupted.folder)) == ["command.py", "plan.json"]


@pytest.mark.slow
def test_replay_does_not_replay_a_plan_whose_making_was_interrupted(interrupted: Interrupted) -> None:
    found = interrupted.run(("replay", "hads/J60", "--json"), SEARCH)
    assert found.json()["interrupted"] is True
    assert found.json()["message"] == "interrupted while planning: nothing was replayed"


@pytest.mark.slow
def test_replay_gives_the_days_so_far(interrupted: Interrupted) -> None:
    found = interrupted.run((*REPLAY, "--runs", "1000"), DAYS, call=30)
    assert found.json()["interrupted"] is True
    assert 0 < found.json()["runs"] == len(found.json()["days"]) < 30
    assert "of 1000 days are here" in found.err


@pytest.mark.slow
def test_replay_whose_picture_is_interrupted_ends(interrupted: Interrupted) -> None:
    found = interrupted.run((*REPLAY, "--gantt", "day.svg"), ("spotbag.charts.replay", "write_replay"))
    assert (found.out, found.err) == ("", "interrupted\n")
    assert os.listdir(interrupted.folder) == ["command.py"]


@pytest.mark.parametrize(
    ("number", "group", "call"),
    [
        (signal.SIGINT, True, 1),  # the workers are still loading
        (signal.SIGINT, True, 60),
        (signal.SIGTERM, True, 60),
        (signal.SIGTERM, False, 60),
    ],
)
@pytest.mark.slow
def test_workers_end_without_a_word(interrupted: Interrupted, number: signal.Signals, group: bool, call: int) -> None:
    words = (*REPLAY, "--runs", "100000", "--workers", "2")
    found = interrupted.run(words, PARENT, call=call, signals=[number], group=group)
    assert found.json()["interrupted"] is True
    assert found.err.startswith("warning: interrupted")
    assert found.err.count("\n") == 1


@pytest.mark.slow
def test_a_second_signal_leaves_no_workers(interrupted: Interrupted) -> None:
    words = (*REPLAY, "--runs", "100000", "--workers", "2")
    found = interrupted.run(words, PARENT, call=20, signals=[signal.SIGINT, signal.SIGTERM])
    assert (found.out, found.err) == ("", "interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "at", "call"),
    [
        (("compare", "tiny/boot", "hads/J60", "-m", "lpt,auto"), SEARCH, 2),
        (("best-known", "--update", "--file", "known.json", "tiny/boot", "hads/J60"), SEARCH, 2),
        (("pareto", "hads/J60"), ("spotbag.solvers.bags.pareto", "_Walk.take"), 3),
        (("stream", "thai/table2", "--runs", "1000"), ("spotbag.replay.streams.engine", "StreamReplay.run"), 9),
        ((*PLATFORM, "1000"), ("spotbag.replay.platforms.engine", "PlatformReplay.run"), 9),
        (
            (*PLATFORM, "3", "--bound"),
            ("spotbag.solvers.platforms.bound", "_Search.bound"),
            2,
        ),
        (("size", "thai/table2"), ("spotbag.solvers.streams.sizing", "size_job"), 2),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_commands_give_what_there_is_so_far(
    interrupted: Interrupted, words: tuple[str, ...], at: tuple[str, str], call: int
) -> None:
    found = interrupted.run((*words, "--json"), at, call=call)
    assert found.json()["interrupted"] is True
    assert "interrupted" in found.err


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_bench_ends_without_a_table(interrupted: Interrupted, workers: str) -> None:
    at = PARENT if workers == "2" else DAYS
    found = interrupted.run(("bench", "hads", "--out", "rows.csv", "--workers", workers), at, call=40)
    assert (found.out, found.err) == ("", "warning: interrupted: means of fewer runs would not be comparable\n")
    assert os.listdir(interrupted.folder) == ["command.py"]


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (("solve", "hads/J60"), ("spotbag.cli.app", "make_app")),
        *(
            pytest.param(words, at, marks=pytest.mark.slow)
            for words, at in (
                (("solve", "bag.json"), ("spotbag.core.records", "read_text")),
                (("instance", "generate", "--out", "new.json"), ("spotbag.core.text_files", "os.replace")),
                (("bound", "hads/J60"), ("spotbag.bounds.bags.lower_bounds", "lower_bounds")),
                (("check", "bag.json", "plan.json"), ("spotbag.cli.arguments", "load_instance")),
            )
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_commands_end_at_once_where_there_is_nothing_to_give(
    interrupted: Interrupted, words: tuple[str, ...], at: tuple[str, str]
) -> None:
    (interrupted.folder / "bag.json").write_text(library_instance("tiny/boot").to_text())
    found = interrupted.run(words, at)
    assert (found.out, found.err) == ("", "interrupted\n")
    assert sorted(os.listdir(interrupted.folder)) == ["bag.json", "command.py"]
