"""``spotbag experiment``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spotbag.experiments.bags.specification import ready_names
from tests.helpers.command_shell import Shell
from tests.helpers.paper_results import compared


def test_commands_of_experiments(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('instances = ["tiny/boot"]\nmethods = ["lpt"]\n', encoding="utf-8")
    for folder in ("one", "two"):
        made = shell.json("experiment", "run", "mine.toml", "--out", folder)
        assert (made["cells"], made["run"], made["interrupted"]) == (1, 1, False)
    assert shell.json("experiment", "compare", "one", "two")["methods"][0]["same"] == 1
    [result] = shell.json("experiment", "results", "one")["results"]
    assert (result["plans"], result["status"], result["gap"]) == (1, "optimal", pytest.approx(0, abs=1e-9))
    assert "tiny/boot" in shell.run("experiment", "results", "one")
    assert {entry["name"] for entry in shell.json("experiment", "list")["experiments"]} == set(ready_names())


def test_a_method_is_judged_beside_days(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    days = '[days]\nscenarios = ["hads/sc4"]\npolicies = ["static"]\ndays = 2\n'
    (tmp_path / "mine.toml").write_text(f'instances = ["hads/J60"]\nmethods = ["greedy"]\n{days}', encoding="utf-8")
    assert shell.json("experiment", "run", "mine.toml", "--out", "mine")["run"] == 2
    [cell] = shell.json("experiment", "judge", "mine")["cells"]
    assert (cell["verdict"], cell["makespan_s"]) == ("held", 1269)


def test_cells_are_drawn_and_a_method_is_judged_by_them(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'methods = ["first-fit", "lpt"]\n[[draws]]\nname = "some"\ncells = 9\naxes.n_tasks = [8, 12]\n'
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    words = "experiment", "run", "mine.toml", "--out", "mine", "--seed", "5"
    assert shell.json(*words, "--cells", "1")["cells"] == 2
    assert shell.json(*words, "--cells", "2")["before"] == 2
    shell.run("experiment", "run", "mine.toml", "--out", "mine", "--seed", "6", code=2)
    assert "holds rows of another experiment" in shell.err
    found = shell.json("experiment", "judge", "mine")
    assert (found["method"], len(found["cells"]), sum(found["verdicts"].values())) == ("first-fit", 2, 2)
    printed = shell.run("experiment", "judge", "mine", "--all", "--method", "lpt")
    assert all(words in printed for words in ("some 5.0 ", "some 5.1 ", "lpt, 2 cells", "fewer than 60 tasks"))
    shell.run("experiment", "judge", "mine", "--method", "ils", code=2)
    assert "none of the experiment" in shell.err
    (tmp_path / "other.toml").write_text('instances = ["tiny/boot"]\n', encoding="utf-8")
    shell.run("experiment", "run", "other.toml", "--out", "other", "--seed", "6", code=2)
    assert "draws no cells" in shell.err


@pytest.mark.slow
def test_a_paper_is_replayed_again_where_something_else_is_asked_of_it(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # Replays of other options are others: those of the same are made once.
    monkeypatch.setattr("spotbag_papers.paper.compare", lambda paper, options, on_runs: compared(paper, options))
    (tmp_path / "mine.toml").write_text('papers = ["thai"]\npaper_runs = 2\n', encoding="utf-8")
    words = "experiment", "run", "mine.toml", "--out", "mine"
    assert shell.json(*words)["papers"] == ["thai"]
    assert "wrote mine/thai.json" in shell.err
    assert shell.json("bench", "thai", "--runs", "2") == json.loads((tmp_path / "mine" / "thai.json").read_text())
    shell.json(*words)
    assert "wrote" not in shell.err
    (tmp_path / "mine.toml").write_text('papers = ["thai"]\npaper_runs = 3\n', encoding="utf-8")
    shell.json(*words)
    assert "wrote mine/thai.json" in shell.err
    (tmp_path / "mine.toml").write_text('papers = ["thai"]\npaper_options.thai.rate_scale = 2\n', encoding="utf-8")
    shell.run(*words, code=2)
    assert "is no option of this paper" in shell.err


def test_what_cannot_be_run_is_bad_input(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shell.run("experiment", "run", "gasp", "--out", "x", code=2)
    assert "none of the experiments that are ready" in shell.err
    shell.run("experiment", "compare", "x", "x", code=2)
    assert "has no experiment.json" in shell.err
    assert not (tmp_path / "x").exists()
    (tmp_path / "mine.toml").write_text('instances = ["tiny/boot"]\nmethods = ["lpt"]\n', encoding="utf-8")
    shell.run("experiment", "run", "mine.toml", "--out", "mine.toml", code=2)
    assert "cannot be written" in shell.err
