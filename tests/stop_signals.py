"""How soon commands answer signals: ``python tests/stop_signals.py --signals 200``; with ``--cold`` while they compile.

Each command is a process of its own, which gets SIGINT or SIGTERM at a random moment from 0.3 s after its start on. It
must end with exit code 130 and without a traceback, and say what there is so far: a whole JSON object, or the word
``interrupted`` while it still loads. With ``--cold`` nothing is compiled when it starts: then it may take longer, and a
line says why. The times say something on an idle machine only; the load is printed beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spotbag_papers.measuring import print_table

FIRST_S, LAST_S = 0.3, 4.0
WARM_S, COLD_S = 1.0, 10.0
_EXPERIMENT = """
instances = ["hads/*", "memory/*"]
methods = ["search", "auto"]
seeds = 100
[days]
scenarios = ["hads/sc4"]
policies = ["hads", "on-time"]
"""
_COMPILING = "loops were being compiled"

COMMANDS = {
    "solve": ("solve", "memory/m20", "--out", "plan.json", "--json"),
    "replay": (
        *("replay", "hads/J60", "-m", "greedy", "--policy", "hads,burst-hads,rescue,on-time"),
        *("-s", "hads/sc4", "--runs", "100000", "--json"),
    ),
    "pareto": ("pareto", "burst-hads/J60", "--json"),
    "compare": ("compare", "hads/J60", "hads/J100", "-m", "search,auto,ils", "--seeds", "20", "--json"),
    "experiment": ("experiment", "run", "experiment.toml", "--out", "rows", "--json"),
    "stream": ("stream", "thai/table2", "--runs", "100000", "--json"),
    "platform": ("platform", "caron/hybrid", "--draw", "mixed", "--number", "100", "--runs", "100000", "--json"),
}
_WARM = (
    ("-c", "import spotbag; spotbag.warm_up()"),
    ("-m", "spotbag", *("replay", "hads/J60", "--policy", "hads,rescue,on-time", "-s", "hads/sc4", "--runs", "2000")),
)
"""What compiles all loops."""


@dataclass
class _Answers:
    """How a command has answered its signals."""

    times_s: list[float] = field(default_factory=list)
    with_answer: int = 0
    compiling: int = 0
    faults: list[str] = field(default_factory=list)


def signal_at(words: Sequence[str], number: signal.Signals, moment_s: float, cold: bool, answers: _Answers) -> None:
    """Run a command, and send it a signal so many seconds after its start."""
    folder = Path(tempfile.mkdtemp())
    (folder / "experiment.toml").write_text(_EXPERIMENT)
    (folder / "cache").mkdir()
    environment = os.environ | ({"NUMBA_CACHE_DIR": str(folder / "cache")} if cold else {})
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "spotbag", *words],
            stdout=(folder / "out").open("w"),
            stderr=(folder / "err").open("w"),
            cwd=folder,
            env=environment,
        )
        time.sleep(moment_s)
        begin = time.perf_counter()
        process.send_signal(number)
        code = process.wait(timeout=300)
        answers.times_s.append(time.perf_counter() - begin)
        fault = _fault(code, (folder / "out").read_text(), (folder / "err").read_text(), answers)
        if fault:
            answers.faults.append(f"{number.name} after {moment_s:.2f} s: {fault}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fault(code: int, out: str, err: str, answers: _Answers) -> str:
    """Say what is wrong with an answer; nothing if it is right."""
    answers.compiling += _COMPILING in err
    if code != 130 or "Traceback" in err:
        return f"exit code {code}: {err[-2000:]}"
    if out:
        json.loads(out)
        answers.with_answer += 1
        return ""
    return "" if "interrupted" in err else f"neither an answer nor a word: {err[-2000:]}"


def rows(signals: int, seed: int, cold: bool, only: Sequence[str]) -> Iterator[Sequence[str]]:
    """One row for each command, which get signals in turn."""
    for words in () if cold else _WARM:
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
    draw = random.Random(seed)
    answers = {name: _Answers() for name in only}
    for count in range(signals):
        name = only[count % len(only)]
        number = draw.choice([signal.SIGINT, signal.SIGTERM])
        signal_at(COMMANDS[name], number, draw.uniform(FIRST_S, LAST_S), cold, answers[name])
    latest_s = COLD_S if cold else WARM_S
    for name, found in answers.items():
        late = sum(took > latest_s for took in found.times_s)
        yield (
            name,
            str(len(found.times_s)),
            str(found.with_answer),
            str(found.compiling),
            f"{statistics.median(found.times_s):.3f}",
            f"{max(found.times_s):.3f}",
            str(late),
            str(len(found.faults)),
        )
    for name, found in answers.items():
        for fault in found.faults:
            print(f"{name}, {fault}", file=sys.stderr)
    if any(found.faults for found in answers.values()):
        raise SystemExit(1)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--signals", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cold", action="store_true", help="with nothing compiled")
    parser.add_argument("--only", default=",".join(COMMANDS), help="commands, separated by commas")
    given = parser.parse_args()
    latest = f"over {COLD_S if given.cold else WARM_S:g} s"
    headings = ("command", "signals", "with an answer", "compiling", "median (s)", "worst (s)", latest, "faults")
    before = os.getloadavg()[0]
    title = f"{given.signals} signals, {FIRST_S:g} to {LAST_S:g} s after the start"
    print_table(title, headings, rows(given.signals, given.seed, given.cold, given.only.split(",")), words=1)
    print(f"\nload of the machine: {before:.1f} before, {os.getloadavg()[0]:.1f} after; {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
