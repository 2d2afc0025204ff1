"""The figures of this project itself: what methods make of the library, and how fast.

``python -m spotbag.benchmarks.bags.nightly --out FOLDER`` runs them and adds a row for each run to a folder, of which
``spotbag report FOLDER --out report.html`` makes a page: speeds, gaps, and the instances that are open.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from ...core.json_documents import format_json
from ...core.text_files import write_text
from ...instances.library import library_instance, library_names
from .comparison import as_object, make_cases, run_cases

METHODS = ("greedy", "lpt", "ils", "search", "auto")


def run(folder: Path, names: Sequence[str], methods: Sequence[str], time_limit_s: float, workers: int = 1) -> None:
    """Run methods on library instances; write the rows, each when it is there.

    Parameters
    ----------
    folder : path
        Where they go; what was there before is replaced.
    names, methods : sequence of str
        Of library instances, and of what plans them.
    time_limit_s : float
        Of each run.
    workers : int
        Processes.
    """
    about = {"version": version("spotbag")}
    spec = {
        "description": "the nightly figures of spotbag: what methods make of its library",
        "instances": list(names),
        "methods": list(methods),
        "time_limit_s": time_limit_s,
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "experiment.json", format_json({"format": "spotbag.experiment/1", **about, "spec": spec}))
    about["machine"] = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    cases = make_cases({name: library_instance(name) for name in names}, methods, seeds=1)
    with open(folder / "rows.jsonl", "w", encoding="utf-8") as file:
        for row in run_cases(cases, time_limit_s, workers):
            if not row.interrupted:
                print(json.dumps(as_object(row) | about), file=file, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True, help="where the rows go")
    parser.add_argument("--time-limit", metavar="S", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="processes")
    given = parser.parse_args(arguments)
    run(given.out, library_names(), METHODS, given.time_limit, given.workers)


if __name__ == "__main__":
    main()
