"""``spotbag bench``: tables beside the printed ones, files, JSON, bad input."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spotbag.replay.bags import runs
from tests.helpers.command_shell import Shell, interrupt_after_runs
from tests.helpers.paper_results import compared


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands print the comparison that the tests of the paper made."""
    monkeypatch.setattr("spotbag_papers.paper.compare", lambda paper, options, on_runs: compared(paper, options))


def demand_narrow(out: str) -> None:
    """Demand that no line but those of notes and reasons is wider than tables are elsewhere."""
    assert max(len(line) for line in out.splitlines() if not re.match(r"\[|\d+: ", line)) <= 140


# The options and groups are those of `tests/benchmarks`.
OPTIONS = {
    "hads": ["--runs", "2"],
    "burst-hads": ["--runs", "2"],
    "thai": ["--runs", "5", "--seed", "3"],
    "a2ha": ["--runs", "2", "--seed", "3", "--optimum-time", "0.3"],
}
GROUPS = {"hads": "published", "burst-hads": "published", "thai": "thai", "a2ha": "a2ha"}


def in_its_group(paper: str) -> pytest.MarkDecorator:
    """Have a test run where the comparison with a paper has been made."""
    return pytest.mark.xdist_group(GROUPS[paper])


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(
    "paper", [pytest.param(paper, marks=in_its_group(paper)) for paper in ("hads", "burst-hads", "thai")]
)
def test_one_screen_has_the_main_table_and_what_does_not_hold(shell: Shell, paper: str) -> None:
    out = shell.run("bench", paper, *OPTIONS[paper])
    demand_narrow(out)
    assert len(out.splitlines()) < 66
    assert "Plans" not in out
    assert re.search(r"^Of \d+ statements, ", out, re.MULTILINE)
    assert re.search(r"^Not decided: [\d, ]+\.$", out, re.MULTILINE)
    assert out.rstrip().endswith("--full prints all tables, all statements and the reasons.")


@pytest.mark.usefixtures("shared")
@in_its_group("hads")
def test_the_tables_of_hads(shell: Shell) -> None:
    out = shell.run("bench", "hads", *OPTIONS["hads"], "--full", "--out", "rows.csv")
    titles = ("Plans", "Table 9", "Table 10", "Table 11", "Fig. 8", "Figs 9 and 10", "Fig. 11", "Fig. 12", "Fig. 13")
    for title in titles:
        assert f"\n{title}" in out
    assert "What the paper says" in out
    assert "[1] Run times are generated" in out
    demand_narrow(out)
    [line] = [line.split() for line in out.splitlines() if line.split()[:2] == ["J60", "sc2"] and "0.256" in line]
    assert line[2] == "2,064"
    with open(shell.folder / "rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    [cost] = [row for row in rows if (row["job"], row["scenario"], row["quantity"]) == ("J60", "sc2", "cost_usd")]
    assert cost["printed"] == "0.256"
    assert f"{float(cost['mean']):.3f}" in " ".join(line)


@pytest.mark.usefixtures("shared")
@in_its_group("burst-hads")
def test_the_tables_of_burst_hads(shell: Shell) -> None:
    out = shell.run("bench", "burst-hads", *OPTIONS["burst-hads"], "--full", "--out", "figures.json")
    for title in ("Plans", "Table IV", "Table VI: cost", "Table VI: makespan"):
        assert f"\n{title}" in out
    assert "Numbers of the text" in out
    assert "25.87" in out
    demand_narrow(out)
    document = json.loads((shell.folder / "figures.json").read_text())
    assert document["scales"] == "paper"


@pytest.mark.slow
def test_json_holds_plans_claims_and_rows(shell: Shell) -> None:
    found = shell.json(
        *("bench", "burst-hads", "--runs", "2", "--rate-scale", "0.5"),
        *("--d-spot-rule", "estimated", "--scales", "instance"),
    )
    assert (found["rate_scale"], found["d_spot"], found["scales"]) == (0.5, "estimated", "instance")
    assert {plan["d_spot_source"] for plan in found["plans"]} == {"Algorithm 1"}
    assert {claim["verdict"] for claim in found["claims"]} <= {"holds", "does not hold", "not decided"}


@pytest.mark.usefixtures("shared")
@in_its_group("thai")
def test_the_tables_of_thai(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spotbag_papers.paper_pictures.figure_bytes", lambda *_: b"picture")
    out = shell.run("bench", "thai", *OPTIONS["thai"], "--full", "--plots", "pictures", "--out", "rows.csv")
    assert out.startswith("Thai et al.: 5 draws of the run times, seed 3")
    for title in ("Table 3 and Fig. 3", "Fig. 4: blocks", "Fig. 5: mis-utilisation", "unknown by the length"):
        assert f"\n{title}" in out
    assert "Plans" not in out
    assert "What the paper says" in out
    assert "[1] The run times are lost" in out
    demand_narrow(out)
    [line] = [line.split() for line in out.splitlines() if line.split()[:2] == ["large.4", "2.420"]]
    with open(shell.folder / "rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    [late] = [
        row for row in rows if row["table"] == "Table 3" and row["policy"] == line[0] and "late" in row["quantity"]
    ]
    assert (late["printed"], f"{float(late['mean']):.1f}") == (line[3], line[4].split("±")[0])
    [none] = [line.split() for line in out.splitlines() if line.startswith(" known, no sampling")]
    assert none[-2:] == ["-", "-"]
    assert "xlarge.3 against unknown: violation cost, times    > 700" in out
    names = sorted(path.name for path in (shell.folder / "pictures").iterdir())
    assert len(names) == 5
    assert all(f"wrote {Path('pictures', name)}" in shell.err for name in names)


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
@in_its_group("a2ha")
def test_the_tables_of_a2ha(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spotbag_papers.paper_pictures.figure_bytes", lambda *_: b"picture")
    out = shell.run(
        *("bench", "a2ha", *OPTIONS["a2ha"], "--full"),
        *("--plots", "pictures", "--out", "a.json"),
    )
    assert out.startswith("A2HA: 2 orderings of the tasks, seed 3")
    for title in ("Optimal numbers", "Table 1: hosts", "Table 2: long", "Figs 9 to 11", "Fig. 12", "What not knowing"):
        assert f"\n{title}" in out
    assert "What the paper says" in out
    assert "[1] The distributions of image and test suite are drawn" in out
    demand_narrow(out)
    [line] = [line.split() for line in out.splitlines() if line.split()[:2] == ["test-suite", "29"]]
    assert line[2] == "27"
    document = json.loads((shell.folder / "a.json").read_text())
    assert (document["runs"], document["seed"], document["optimum_s"]) == (2, 3, 0.3)
    names = sorted(path.name for path in (shell.folder / "pictures").iterdir())
    assert len(names) == 6
    assert all(f"wrote {Path('pictures', name)}" in shell.err for name in names)


@pytest.mark.slow
def test_the_tables_of_caron(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spotbag_papers.platforms.caron.settings.FAN_OUTS", {8: (2, 8), 16: (2, 16)})
    out = shell.run("bench", "caron", "--full", "--runs", "2", "--seed", "7", "--number", "6", "--out", "a.json")
    assert out.startswith("Caron & de Assuncao: 2 draws of each set of jobs, seed 7")
    for title in (
        "Figs 2 to 7",
        "Where the work",
        "Lower bounds",
        "Other rules",
        "Against round robin",
        "Policy A (money-saving) and B",
        "The same res",
    ):
        assert f"\n{title}" in out
    assert "What the paper says" in out
    assert "[1] The figures are not in the text" in out
    demand_narrow(out)
    document = json.loads((shell.folder / "a.json").read_text())
    assert (document["runs"], document["seed"], document["numbers"]) == (2, 7, [6])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hads", "--runs", "1"], "--runs"),
        (["hads", "--rate-scale", "-1"], "--rate-scale"),
        (["hads", "--out", "rows.txt"], "must end in .csv or .json"),
        (["hads", "--out", "no/rows.csv"], "the folder does not exist"),
        (["burst-hads", "--d-spot-rule", "guessed"], "--d-spot-rule"),
        (["thai", "--runs", "1"], "--runs"),
        (["thai", "--out", "rows.txt", "--plots", "pictures"], "must end in .csv or .json"),
        (["thai", "--plots", "/dev/null/pictures"], "no folder for pictures can be made there"),
        (["a2ha", "--runs", "1"], "--runs"),
        (["a2ha", "--optimum-time", "0"], "--optimum-time"),
        (["caron", "--runs", "1"], "--runs"),
        (["caron", "--number", "0"], "--number"),
        (["caron", "--plots", "/dev/null/pictures"], "no folder for pictures can be made there"),
        (["a2ha", "--plots", "/dev/null/pictures"], "no folder for pictures can be made there"),
        (["hads2"], "No such command"),
        (["uniform-progress", "--one-means", "up"], "--one-means"),
        (["uniform-progress", "--one-means", "available"], "one_means 'available' is about recorded traces"),
        (["uniform-progress", "--traces", "there", "--seed", "3"], "seed 3 cannot be given with traces"),
        (["uniform-progress", "--traces", "there"], "there: is no folder"),
        (["uniform-progress", "--traces", "."], ".: has no recorded trace"),
    ],
)
def test_bad_input_is_exit_code_2_before_any_work(shell: Shell, words: list[str], said: str) -> None:
    shell.run("bench", *words, code=2)
    assert said in shell.err
    assert list(shell.folder.iterdir()) == []


@pytest.mark.slow
def test_a_user_who_stops_it_gets_exit_code_130(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after_runs(monkeypatch, runs, 1)
    shell.run("bench", "hads", "--out", "rows.csv", code=130)
    assert "interrupted: means of fewer runs would not be comparable" in shell.err
    assert shell.out == ""
    assert not (shell.folder / "rows.csv").exists()


_WITHOUT = """
import sys
sys.modules["spotbag_papers"] = None
from spotbag.cli import main
print([main(words.split()) for words in sys.argv[1:]])
"""


@pytest.mark.slow
def test_where_the_papers_are_not_installed_it_is_said_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('papers = ["thai"]\n')
    asking = ["bench thai", f"experiment run {tmp_path}/mine.toml --out {tmp_path}/out", "schema published-comparison"]
    words = [*asking, "schema", "--help"]
    done = subprocess.run([sys.executable, "-c", _WITHOUT, *words], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[2, 2, 2, 0, 0]\n")
    assert done.stderr.count("pip install spotbag-papers") == len(asking)
    assert "published-comparison" not in done.stdout


@pytest.mark.slow
def test_recorded_traces_take_the_place_of_drawn_ones(shell: Shell, tmp_path: Path) -> None:
    up = [1, 1, 1, 0] * 150
    for name in ("high_v100_1", "low_v100_1"):
        data = up if name.startswith("high") else [1 - entry for entry in up]
        (tmp_path / f"{name}.json").write_text(json.dumps({"metadata": {"gap_seconds": 600}, "data": data}))
    words = ("bench", "uniform-progress", "--traces", str(tmp_path), "--runs", "2")
    shell.run(*words, code=2)
    assert "high_v100_1.json: is an availability trace; say what a 1 in its data means" in shell.err
    found = shell.json(*words, "--one-means", "available")
    rows = {(row["table"], row["policy"]): row["mean"] for row in found["rows"] if row["quantity"] == "spot_h"}
    assert rows["Table 3", "omniscient"] >= rows["Table 3", "uniform-progress"] > 0
    available = {row["scenario"]: row["mean"] for row in found["rows"] if row["quantity"] == "availability"}
    assert available == {"high_v100_1": pytest.approx(0.75, abs=0.01), "low_v100_1": pytest.approx(0.25, abs=0.01)}
    printed = shell.run(*words, "--one-means", "available", "--full")
    assert printed.startswith(f"Wu et al.: 2 windows of each trace, recorded in {tmp_path}; 'paper' is printed")
    assert re.search(r"^ high_v100_1 +- +0.75 ", printed, re.MULTILINE)
