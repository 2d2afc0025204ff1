"""Texts of files on a terminal: they are shown, and neither command it nor mislead its reader."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from rich.progress_bar import ProgressBar

import spotbag
from spotbag.cli import main
from spotbag.cli.console import busy, counting, points_found, print_table, progress
from spotbag.core.errors import SpotbagError
from spotbag.core.text_tables import Column, Table
from spotbag.core.wording import printable, printable_line
from spotbag.instances.library import library_instance
from spotbag.schedules.method import TracePoint
from tests.helpers.command_shell import Shell

BOLD = "a[/bold]b[/a][red]"
HOSTILE = "evil\x9b31m\u202eliame\u2066"
TITLE = "\x1b]0;owned\x07\r\x1b[2Kfine\u202e"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
OF_RICH = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Terminal:
    """A pseudo-terminal that takes what commands print."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def run(self, *words: str) -> tuple[int, str]:
        """Run a command with both its outputs on a terminal; return its exit code and what the terminal was sent."""
        master, slave = pty.openpty()
        sent = bytearray()

        def receive() -> None:
            while True:
                try:
                    sent.extend(os.read(master, 65536))
                except OSError:  # all ends are closed
                    return

        receiver = threading.Thread(target=receive)
        receiver.start()
        with self.monkeypatch.context() as patched, open(slave, "w", encoding="utf-8", newline="\n") as screen:
            patched.setattr(sys, "stdout", screen)
            patched.setattr(sys, "stderr", screen)
            patched.setenv("TERM", "xterm-256color")
            patched.setenv("COLUMNS", "200")
            code = main([*words])
        receiver.join()
        os.close(master)
        return code, sent.decode("utf-8").replace("\r\n", "\n")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Terminal:
    monkeypatch.chdir(tmp_path)
    return Terminal(monkeypatch)


def written(name: str, of: Any, path: str, **changes: Any) -> str:
    """Write an example of the library to a file under another name, with other keys as well."""
    document = json.loads(of.to_text()) | {"name": name} | changes
    Path(path).write_text(json.dumps(document), encoding="utf-8")
    return path


def test_markup_in_a_name_or_a_folder_is_shown_and_crashes_nothing(terminal: Terminal) -> None:
    folder = Path("out[/bold][/a]")
    folder.mkdir(parents=True)
    bag = written(BOLD, library_instance("tiny/two-cores"), "bag.json")
    stream = written(BOLD, spotbag.library_stream("tiny/two-jobs"), "stream.json")
    platform = written(BOLD, spotbag.library_platform("tiny/hybrid"), "platform.json")
    picture = str(folder / "picture.html")
    for words in (
        ["solve", bag, "-m", "search", "--gantt", picture, "--out", str(folder / "plan.json")],
        ["show", str(folder / "plan.json"), "--instance", bag, "--gantt", picture],
        ["replay", bag, "-m", "greedy", "--runs", "2"],
        ["replay", bag, "-m", "greedy", "--day", "0", "-p", "hads", "--gantt", picture],
        ["pareto", bag, "--plot", picture],
        ["compare", bag, "-m", "greedy"],
        ["stream", stream, "--runs", "2"],
        ["stream", stream, "--once", "--gantt", picture],
        ["platform", platform, "--runs", "2"],
        ["platform", platform, "--once", "--gantt", picture],
    ):
        code, sent = terminal.run(*words)
        assert code == 0, sent
        # What a narrow column breaks in two is not looked for.
        assert "a[/bold]b" in sent or "out[/bold][/a]" in sent


def test_what_progress_shows_is_no_markup_and_commands_no_terminal(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(_: list[str]) -> int:
        text = BOLD + TITLE
        with busy(text):
            pass
        with progress(text) as show:
            assert show is not None
        with counting(text, 2) as count:
            count(text)
        with points_found(text, 60.0) as show:
            assert show is not None
        return 0

    monkeypatch.setattr("spotbag.cli._run", work)
    code, sent = terminal.run()
    assert code == 0
    assert sent.count("a[/bold]b[/a][red]\\u001b]0;owned\\u0007\\r") >= 4
    assert "\x1b]" not in sent
    assert "\u202e" not in sent


def test_a_bar_of_a_time_limit_follows_the_time(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[tuple[float, float]] = []

    def work(_: list[str]) -> int:
        for limit_s in (10.0, 4.0, None):
            with progress("planning", limit_s) as show:
                assert show is not None
                show(TracePoint(900, 1.0, 1.0), 1000)
        return 0

    monkeypatch.setattr("rich.progress.Task.elapsed", 5.0)
    monkeypatch.setattr(ProgressBar, "update", lambda self, completed, total: moved.append((completed, total)))
    monkeypatch.setattr("spotbag.cli._run", work)
    code, _ = terminal.run()
    assert code == 0
    assert set(moved) == {(5.0, 10.0), (4.0, 4.0)}


def test_only_the_console_prints_by_rich() -> None:
    commands = Path(main.__code__.co_filename).parent
    users = {path.stem for path in commands.rglob("*.py") if re.search(r"(from|import) rich\b", path.read_text())}
    assert users == {"console"}


def hostile_files() -> list[list[str]]:
    """Write files full of what must not be printed; return commands that show or refuse them."""
    bag = library_instance("tiny/two-cores")
    document = json.loads(bag.to_text())
    document["vm_types"][0]["name"] = HOSTILE
    for task in document["tasks"]:
        task["runtime_s"] = {
            HOSTILE if name == bag.vm_types[0].name else name: s for name, s in task["runtime_s"].items()
        }
        task["id"] += HOSTILE
    files = {
        "bag": document | {"name": HOSTILE, "description": TITLE},
        "keys": document | {TITLE: 1, "name\nerror: all is well": 2},
        "value": document | {"deadline_s": TITLE},
        "format": {"format": TITLE},
        "stream": json.loads(spotbag.library_stream("tiny/two-jobs").to_text()) | {"name": HOSTILE},
        "platform": json.loads(spotbag.library_platform("tiny/hybrid").to_text()) | {"name": HOSTILE},
    }
    for name, value in files.items():
        Path(f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    assert main(["solve", "bag.json", "-m", "greedy", "--out", "plan.json"]) == 0
    plan = json.loads(Path("plan.json").read_text(encoding="utf-8")) | {"method": TITLE, "cost_usd": 7}
    Path("plan.json").write_text(json.dumps(plan), encoding="utf-8")
    return [
        ["show", "bag.json"],
        ["show", "plan.json"],
        ["show", "plan.json", "--instance", "bag.json"],
        ["check", "bag.json", "plan.json"],
        ["check", "tiny/boot", "plan.json"],
        ["solve", "bag.json", "-m", "lpt"],
        ["solve", "keys.json"],
        ["solve", "value.json"],
        ["solve", "format.json"],
        ["solve", HOSTILE],
        ["solve", "--" + TITLE],
        ["solve", "tiny/boot", "--deadline", TITLE],
        [TITLE],
        ["bound", "bag.json"],
        ["compare", "bag.json", "-m", "greedy"],
        ["instance", "generate", "--tasks", "5", "--name", HOSTILE],
        ["replay", "bag.json", "-m", "greedy", "--day", "0", "-p", "hads", "--trace", "trace.jsonl"],
        ["audit", "trace.jsonl"],
        ["stream", "stream.json", "--once"],
        ["size", "stream.json"],
        ["platform", "platform.json", "--once"],
    ]


def test_escapes_and_overrides_of_files_reach_no_output(shell: Shell) -> None:
    for words in hostile_files():
        code = main(words)
        assert code in (0, 1, 2), words
        said = shell.capsys.readouterr()
        assert said.out + said.err, words
        assert not RAW.search(said.out + said.err), words


def test_escapes_and_overrides_of_files_reach_no_terminal(terminal: Terminal) -> None:
    for words in hostile_files():
        _, sent = terminal.run(*words)
        assert not RAW.search(OF_RICH.sub("", sent)), words
        assert "\x1b[2Kfine" not in sent
        assert "\nerror: all is well" not in sent


def test_a_wide_table_that_goes_to_a_file_loses_no_column(capsys: pytest.CaptureFixture[str]) -> None:
    """It was cut off at 140 columns, amid a number."""
    columns = [Column("policy"), *(Column(f"policy-{number}", numeric=True) for number in range(20))]
    print_table(Table(columns, [["cost ($)", *(f"1.79{number:02} ± 0.1234" for number in range(20))]]))
    text = " ".join(capsys.readouterr().out.split())
    assert all(f"policy-{number}" in text and f"1.79{number:02} ± 0.1234" in text for number in range(20))


def test_an_error_is_printable_for_whoever_prints_it() -> None:
    with pytest.raises(SpotbagError) as caught:
        spotbag.Instance.parse(json.dumps({"format": "spotbag.instance/1", "a\x1b[2J\nb\u202e": 1}))
    assert "a\\u001b[2J\\nb\\u202e is an unknown key" in str(caught.value)


def test_a_document_that_is_printed_stays_the_same_document(shell: Shell) -> None:
    text = written(HOSTILE, library_instance("tiny/boot"), "bag.json", description=TITLE)
    assert printable(json.dumps(TITLE, ensure_ascii=False)) == json.dumps(TITLE)
    shell.run("show", text)
    assert json.loads(printable(spotbag.read_instance(text).to_text())) == json.loads(Path(text).read_text())


def test_what_is_printable_is_left_alone() -> None:
    for text in ("", "plain", "two\nlines\tand a tab", "日本 é \u00a0 👩\u200d🔬", "[bold]"):
        assert printable(text) == text
    assert printable_line("a\nb\t\x1b") == "a\\nb\\t\\u001b"
    assert printable("\U000e0041") == "\\udb40\\udc41"


@pytest.mark.slow
def test_pictures_hold_no_control_characters(shell: Shell) -> None:
    from xml.etree import ElementTree

    bag = written("x", library_instance("tiny/two-cores"), "bag.json")
    shell.run("solve", bag, "-m", "greedy", "--out", "plan.json")
    plan = json.loads(Path("plan.json").read_text()) | {"method": TITLE + "$\\frac$<script>alert(1)</script>"}
    Path("plan.json").write_text(json.dumps(plan), encoding="utf-8")
    for picture in ("plan.svg", "plan.html", "plan.png", "plan.pdf"):
        shell.run("show", "plan.json", "--instance", bag, "--gantt", picture)
    ElementTree.parse("plan.svg")
    assert "\\u001b]0;owned" in Path("plan.svg").read_text(encoding="utf-8")
    page = Path("plan.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "\u202e" not in page.replace("\\u202e", "")


def run_closed(command: str) -> subprocess.CompletedProcess[str]:
    code = f"{sys.executable} -m spotbag {command}"
    return subprocess.run(code, shell=True, stdout=subprocess.PIPE, text=True, check=False)


@pytest.mark.slow
def test_with_standard_error_closed_only_the_object_is_on_standard_output() -> None:
    done = run_closed("solve nothing.json --json 2>&-")
    assert done.returncode == 2
    assert json.loads(done.stdout)["status"] == "error"
    done = run_closed("solve tiny/credits -m greedy --json 2>&-")  # with a warning
    assert done.returncode == 1
    assert json.loads(done.stdout)["warnings"]
    assert run_closed("solve nothing.json 2>&-").stdout == ""


def test_with_standard_error_closed_an_interrupt_is_not_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(given: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("spotbag.cli._run", interrupted)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["methods"]) == 130
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_with_standard_error_closed_no_file_takes_its_place(tmp_path: Path) -> None:
    target = tmp_path / "plan.json"
    done = run_closed(f"solve tiny/two-cores -m patterns --survive none --json --out {target} <&- 2>&-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["status"] == "optimal"
    assert json.loads(target.read_text())["format"] == "spotbag.schedule/1"
