"""Two commits side by side on the same inputs: ``python -m tests.comparison BEFORE AFTER --parts days=2000 traces``.

Both record what they make of days, traces, commands, papers and plans (`tests.comparison.inputs`), as numbers to the
last digit; then every value that differs is named. Ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import TextIO

from tests.comparison.differences import compare_recordings
from tests.comparison.inputs import PARTS

ROOT = Path(__file__).parents[2]
_SHOWN = 10
_WIDTH = 160


def check_out(commit: str, folder: Path) -> Path:
    """Write the files of a commit into a folder, unless they are there; ``.`` stands for this checkout as it is."""
    if commit == ".":
        return ROOT
    named = ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"]
    found = subprocess.run(named, capture_output=True, text=True, check=False).stdout.strip()
    if not found:
        raise SystemExit(f"error: {commit}: is no commit of {ROOT}")
    tree = folder / found
    if not tree.exists():
        begun = folder / f"{found}.part"
        begun.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(["git", "-C", str(ROOT), "archive", found], stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(begun)], input=packed, check=True)
        begun.rename(tree)
    return tree


def package_of(tree: Path, folder: Path) -> Path:
    """Make a folder of links from which the package of a checkout is imported as if it were installed."""
    places = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-dir"]
    package = folder / "spotbag"
    package.mkdir(parents=True)
    for path in (tree / places.pop("spotbag")).iterdir():
        (package / path.name).symlink_to(path)
    for name, place in places.items():
        (package / name.removeprefix("spotbag.")).symlink_to(tree / place)
    return folder


def record(part: str, packages: list[Path], inputs: Path, recordings: list[Path]) -> bool:
    """Have the commits record a part side by side, a process each; return whether both came to the end."""
    running = []
    for package, out in zip(packages, recordings, strict=True):
        paths = {"PYTHONPATH": os.pathsep.join([str(package), str(ROOT)]), "PYTHONHASHSEED": "0", "COLUMNS": "100"}
        command = [sys.executable, "-m", "tests.comparison.recording", part, str(inputs), str(out)]
        with out.with_suffix(".stderr").open("w", encoding="utf-8") as said:
            running.append(subprocess.Popen(command, env=os.environ | paths, cwd=package, stderr=said))
    codes = [process.wait() for process in running]
    for code, out in zip(codes, recordings, strict=True):
        if code != 0:
            print(f"{part}: ended with {code} before all was recorded: see {out.with_suffix('.stderr')}")
    return not any(codes)


def compare_part(part: str, size: int, work: Path, packages: list[Path], listed: TextIO) -> int:
    """Compare a part, print what it comes to, and list all that differs; return how many cases do.

    A part that was not recorded to its end counts as one, even where both commits ended at the same case.
    """
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    inputs, recordings = work / "inputs.jsonl", [work / "before.jsonl", work / "after.jsonl"]
    with inputs.open("w", encoding="utf-8") as lines, contextlib.chdir(work):
        lines.writelines(json.dumps(entry) + "\n" for entry in PARTS[part].inputs(size))
    begun_s = time.monotonic()
    complete = record(part, packages, inputs, recordings)
    took_s = time.monotonic() - begun_s
    with recordings[0].open(encoding="utf-8") as before, recordings[1].open(encoding="utf-8") as after:
        found = compare_recordings(before, after, listed)
    print(f"{part}={size}: {found.cases:,} compared in {took_s:.0f} s, {found.differing:,} differ", flush=True)
    if found.left_out or found.errors:
        print(f"  {found.left_out:,} left out, {found.errors:,} are the same error with both")
    for path, cases in found.fields.most_common(_SHOWN):
        print(f"  {cases:,} differ in {path}")
    for difference in found.first:
        print(f"  {difference}"[:_WIDTH])
    return found.differing + (not complete)


def main() -> int:
    """Compare; return the exit code."""
    sizes = ", ".join(f"{name} {part.sample} or {part.whole}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(prog="python -m tests.comparison", description=__doc__, epilog=f"Sizes: {sizes}.")
    parser.add_argument("before", metavar="BEFORE", help="a commit")
    parser.add_argument("after", metavar="AFTER", nargs="?", default=".", help="a commit; this checkout if absent")
    parser.add_argument("--parts", nargs="+", metavar="PART[=SIZE]", default=list(PARTS), help="all if absent")
    parser.add_argument("--whole", action="store_true", help="the large sizes, where none is given")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "comparison", help="for all that is written")
    given = parser.parse_args()
    chosen = {name: size for name, _, size in (text.partition("=") for text in given.parts)}
    for name, size in chosen.items():
        if name not in PARTS or not (size.isdecimal() or not size):
            parser.error(f"{name}{size and '='}{size}: must be PART or PART=NUMBER, of {', '.join(PARTS)}")
    folder = given.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    differing = 0
    with tempfile.TemporaryDirectory() as links, (folder / "differences.txt").open("w", encoding="utf-8") as listed:
        packages = []
        for name in ("before", "after"):
            packages.append(package_of(check_out(getattr(given, name), folder / "checkouts"), Path(links) / name))
        for name, size in chosen.items():
            part = PARTS[name]
            how_many = int(size) if size else part.whole if given.whole else part.sample
            differing += compare_part(name, how_many, folder / name, packages, listed)
    print(f"all that differs: {listed.name}" if differing else "nothing differs")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
