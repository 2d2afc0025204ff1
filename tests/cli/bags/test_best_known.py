"""``spotbag best-known``: the table, and updates to a file of one's own."""

from __future__ import annotations

import json

import pytest

from spotbag.instances.bags.best_known import best_known
from spotbag.instances.library import library_names
from tests.helpers.command_shell import Shell


def test_the_table_has_every_library_instance(shell: Shell) -> None:
    out = shell.run("best-known")
    for name in library_names():
        assert name in out
    for heading in ("value", "bound", "gap (%)", "status", "plan by"):
        assert heading in out
    found = shell.json("best-known", "tiny/boot", "hads/J60")["entries"]
    assert [entry["instance"] for entry in found] == ["tiny/boot", "hads/J60"]
    assert found[0]["gap"] == pytest.approx(0, abs=1e-9)
    assert "hads/J80" not in shell.run("best-known", "hads/J60")


def test_updates_to_a_file_of_ones_own(shell: Shell) -> None:
    before = best_known()
    words = ["best-known", "--update", "hads/J60", "--file", "mine.json", "--method"]
    assert "new: " in shell.run(*words, "greedy")
    [update] = shell.json(*words, "lpt")["updates"]
    assert update["change"] == "better plan"
    assert update["after"]["value"] < update["before"]["value"]
    assert "unchanged" in shell.run(*words, "greedy")
    assert shell.json("best-known", "--file", "mine.json")["entries"] == [update["after"]]
    shell.run("check", "hads/J60", "mine/hads/J60.json")
    assert "nothing is known of hads/J80" in shell.run("best-known", "hads/J80", "--file", "mine.json")
    assert best_known() == before


def test_a_contradiction_leaves_the_entry_alone_and_is_exit_code_2(shell: Shell) -> None:
    shell.run("best-known", "--update", "tiny/boot", "--file", "mine.json", "--method", "lpt")
    document = json.loads((shell.folder / "mine.json").read_text())
    # A plan that was too good to be true: the bound is above it.
    document["entries"][0] |= {"value": 0.1, "bound": 0.05, "status": "feasible"}
    (shell.folder / "mine.json").write_text(json.dumps(document))
    (shell.folder / "mine" / "tiny" / "boot.json").unlink()
    written = (shell.folder / "mine.json").read_text()
    shell.run("best-known", "--update", "tiny/boot", "--file", "mine.json", "--method", "lpt", code=2)
    assert "is above the plan of lpt, 0.1; one of them is wrong" in shell.err
    assert (shell.folder / "mine.json").read_text() == written


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hads/J61"], "did you mean hads/J60"),
        (["--file", "none.json"], "no such file"),
        (["--update", "hads/J61", "--file", "x.json"], "did you mean hads/J60"),
        (["--update", "tiny/boot", "--file", "x.json", "--method", "magic"], "is unknown"),
        (["--update", "tiny/boot", "--file", "x.json", "--time-limit", "0"], "must be a positive number"),
        (["--update", "tiny/boot", "--file", "no/x.json"], "the folder does not exist"),
    ],
)
def test_bad_input_is_exit_code_2_and_writes_nothing(shell: Shell, words: list[str], said: str) -> None:
    shell.run("best-known", *words, code=2)
    assert said in shell.err
    assert list(shell.folder.iterdir()) == []
