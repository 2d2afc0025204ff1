"""Generated files: schemas, library, figures of the docs; written anew, or compared.

``python -m spotbag_papers.generated`` writes them in a checkout; with ``--check`` it writes nothing, names those that
are stale, and ends with 1 if there are any. The pages on the papers come from replays of many minutes, and only with
``--papers``. Plans are made in one thread, so that they are the same each time.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from spotbag.core.errors import SpotbagError
from spotbag.core.processes import THREADS

if TYPE_CHECKING:
    from pydantic import BaseModel


_DOCUMENTS = {
    "instances/instance.schema.json": "instances.instance:Instance",
    "instances/streams/stream.schema.json": "instances.streams.stream:Stream",
    "instances/platforms/platform.schema.json": "instances.platforms.platform:Platform",
    "instances/bags/timeline.schema.json": "instances.bags.timeline:TimelineDocument",
    "instances/bags/scenario.schema.json": "instances.bags.scenario_files:ScenarioDocument",
    "instances/bags/catalogue.schema.json": "instances.bags.vm_catalogue:Catalogue",
    "schedules/schedule.schema.json": "schedules.documents:ScheduleDocument",
    "schedules/state.schema.json": "schedules.state:State",
    "experiments/bags/submitted-plan.schema.json": "experiments.bags.submissions:PlanRow",
    "experiments/bags/submitted-days.schema.json": "experiments.bags.submissions:DaysRow",
}
"""Records of all formats, below ``spotbag``, by the paths of their JSON Schemas in a checkout."""


def documents() -> Mapping[str, type[BaseModel]]:
    """Records of all formats, by the paths of their JSON Schemas in a checkout."""
    return {path: resolve_name(f"spotbag.{record}") for path, record in _DOCUMENTS.items()}


def schemas() -> Mapping[str, str]:
    """Text of the JSON Schema of each format, by its path in a checkout."""
    return {path: json.dumps(model.model_json_schema(), indent=2) + "\n" for path, model in documents().items()}


def library() -> Mapping[str, str]:
    """Text of each file of the library that a generator makes, by its path in a checkout."""
    from .library_bags import main

    with tempfile.TemporaryDirectory() as folder:
        main(folder)
        return {
            f"instances/data/{path.relative_to(folder).as_posix()}": path.read_text(encoding="utf-8")
            for path in sorted(Path(folder).rglob("*.json"))
        }


def pages(root: Path, measured: Sequence[str] = ()) -> Mapping[str, str]:
    """Text of each page of the docs with what its commands print now, by its path in a checkout.

    Of a block ``console``, the first line is the command, the others are its output, without columns of times that are
    measured. Between ``<!-- checked: python -m spotbag_papers.MODULE -->`` (or ``python examples/SCRIPT.py``) and
    ``<!-- end -->`` are the tables that it prints. What stands below ``<!-- measured -->``, or between
    ``<!-- measured: ... -->`` and the end, depends on times, or takes minutes, and stays as it is.

    The commands of a page run in one folder, which is empty but for ``examples``.

    Parameters
    ----------
    root : Path
        The checkout.
    measured : sequence of str
        Words in the commands of those that are measured anew. Pictures of the page that these commands draw are
        replaced; so are those of a command in a block ``bash`` below ``<!-- measured -->``.
    """
    found = {}
    for path in [root / "README.md", *sorted(set(root.glob("docs/**/*.md")) - set(root.glob("docs/papers/*")))]:
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        if len(_CONSOLE.findall(text)) != text.count("```console"):
            raise SpotbagError(f"{name}: a block 'console' is '$ spotbag ...' and what it prints, without backticks")
        if len(_TABLES.findall(text)) != len(re.findall("^<!-- (?:checked|measured): ", text, re.MULTILINE)):
            raise SpotbagError(
                f"{name}: a table is between '<!-- checked: python -m spotbag_papers.... -->' and '<!-- end -->'"
            )
        text = _TABLES.sub(lambda block: _tables(block, measured), text)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "examples").symlink_to(root / "examples")
            with contextlib.chdir(folder):
                found[name] = _CONSOLE.sub(lambda block: _rerun(block, measured), text)
                for command in _DRAWN.findall(text):
                    if any(word in command for word in measured):
                        _printed(command)
            for picture in re.findall(r"\]\((\S+\.(?:png|svg))\)", text):
                if (drawn := Path(folder) / Path(picture).name).is_file():
                    shutil.copyfile(drawn, path.parent / picture)
    return found


_CONSOLE = re.compile(r"^(<!-- measured -->\n)?```console\n\$ spotbag (.*)\n[^`]*(?=^```$)", re.MULTILINE)
_DRAWN = re.compile(r"^<!-- measured -->\n```bash\nspotbag (.*)\n```$", re.MULTILINE)
_TABLES = re.compile(
    r"^<!-- (checked|measured): python (-m spotbag_papers\.\S+|examples/\S+)(.*) -->\n[^<]*^<!-- end -->$", re.MULTILINE
)


def _rerun(block: re.Match[str], measured: Sequence[str]) -> str:
    """Return a command and what it prints now."""
    mark, command = block.groups(default="")
    if mark and not any(word in command for word in measured):
        return block[0]
    lines = [line.rstrip() for line in _printed(command).rstrip().splitlines()]
    return "\n".join([f"{mark}```console", f"$ spotbag {command}", *lines, ""])


def _printed(command: str) -> str:
    """Return the output of a command of ``spotbag``, given without that word.

    Late plans, and what is judged and not right, are shown as well.
    """
    from spotbag.cli import main
    from spotbag.cli.console import LATE, NOT_CORRECT, repeatable_tables

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), repeatable_tables():
        code = main(command.split())
    if code not in (0, NOT_CORRECT, LATE):
        raise SpotbagError(f"spotbag {command} ends with {code}")
    return printed.getvalue()


def _tables(block: re.Match[str], measured: Sequence[str]) -> str:
    """Return the tables that a module prints now, between their marks."""
    kind, program, words = block.groups()
    if kind == "measured" and not any(word in f"{program}{words}" for word in measured):
        return block[0]
    command = [sys.executable, *program.split(), *words.split()]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    # Titles stay out: the page has a sentence of its own above each table.
    tables = re.findall(r"(?:^\|.*\n)+", printed.stdout, re.MULTILINE)
    if printed.returncode != 0 or not tables:
        raise SpotbagError(f"python {program}{words} ends with {printed.returncode}, {len(tables)} tables")
    return "\n".join([f"<!-- {kind}: python {program}{words} -->\n", *tables, "<!-- end -->"])


def index(root: Path) -> Mapping[str, str]:
    """Text of the page that leads to those on the papers, by its path in a checkout."""
    from .page import FOLDER, PAGES, index_text

    return {f"docs/{FOLDER}/index.md": index_text(root / "docs", PAGES.values())}


def generated(root: Path, measured: Sequence[str] = ()) -> Iterator[tuple[Path, str]]:
    """All files that commands write, with the text that they should have; see `pages`."""
    for texts in (schemas(), library(), pages(root, measured), index(root)):
        for path, text in texts.items():
            yield root / path, text


def made_by_nothing(root: Path, made: Collection[Path]) -> Sequence[Path]:
    """Files of the library that say they are generated, and are not among those that are made."""
    data = root / "instances" / "data"
    return [
        path
        for path in sorted(data.rglob("*.json"))
        if path not in made and '"generator": ' in path.read_text(encoding="utf-8")
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the generated files, or compare them with what they would be; return the exit code."""
    os.environ[THREADS] = "1"
    parser = argparse.ArgumentParser(
        prog="python -m spotbag_papers.generated",
        description="Write schemas, library and figures of the docs anew.",
        epilog="Example:  python -m spotbag_papers.generated --check --papers thai",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 if something is stale")
    parser.add_argument(
        "--papers",
        nargs="*",
        metavar="NAME",
        help="the pages on the papers too, of some or of all: replays of minutes",
    )
    parser.add_argument(
        "--measured",
        nargs="+",
        metavar="WORD",
        default=(),
        help="measure tables of times anew too, those with such a word in their command: minutes, on an idle machine",
    )
    given = parser.parse_args(arguments)
    if given.check and given.measured:
        parser.error("--measured and --check exclude each other: measured times are others each time")
    root = Path.cwd()
    if not (root / "pyproject.toml").is_file() or not (root / "instances").is_dir():
        print(f"error: {root} is no checkout of spotbag: run this in its folder", file=sys.stderr)
        return 2
    try:
        found = _write_or_compare(root, given.check, given.papers, given.measured)
    except SpotbagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 1 if given.check and found else 0


def _write_or_compare(root: Path, check: bool, papers: Sequence[str] | None, measured: Sequence[str]) -> int:
    """Name each stale file, and write it unless files are only checked; return the number of stale files."""
    n_papers = 0 if papers is None else _papers(root / "docs", check, papers)
    files = dict(generated(root, measured))
    strangers = made_by_nothing(root, files)
    for path in strangers:
        print(f"stale: {path.relative_to(root).as_posix()} (made by no generator)")
    stale = [(path, text) for path, text in files.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path, text in stale:
        print(f"{'stale' if check else 'written'}: {path.relative_to(root).as_posix()}")
        if not check:
            path.write_text(text, encoding="utf-8")
    if check and stale:
        print("what is stale is written anew by: python -m spotbag_papers.generated", file=sys.stderr)
    return len(strangers) + len(stale) + n_papers


def _papers(docs: Path, check: bool, names: Sequence[str]) -> int:
    """Write pages on papers, those named or all, or name those that are stale; return how many are."""
    from .page import PAGES, is_stale, write_page

    unknown = [name for name in names if name not in PAGES]
    if unknown:
        raise SpotbagError(f"--papers: there is no page {unknown[0]!r} (there are {', '.join(PAGES)})")
    chosen = names or tuple(PAGES)
    if not check:
        for name in chosen:
            write_page(PAGES[name], docs)
        return 0
    stale = [name for name in chosen if is_stale(PAGES[name], docs)]
    for name in stale:
        print(f"stale: {docs.name}/{PAGES[name].files['page.md.j2']}")
    return len(stale)


if __name__ == "__main__":
    sys.exit(main())
