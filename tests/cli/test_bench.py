"""``spotbag bench``: tables beside the printed ones, files, JSON, bad input."""

from __future__ import annotations

import csv
import json

import pytest
from command_shell import Shell


def test_the_tables_of_hads(shell: Shell) -> None:
    out = shell.run("bench", "hads", "--runs", "1", "--out", "rows.csv")
    for title in ("Plans", "Table 9", "Table 10", "Table 11", "Fig. 8", "Figs 9 and 10", "Fig. 11", "Fig. 12"):
        assert f"\n{title}" in out
    assert "What the paper says" in out
    assert "[1] Run times are generated" in out
    assert max(len(line) for line in out.splitlines() if not line.startswith("[")) <= 140
    [line] = [line.split() for line in out.splitlines() if line.split()[:2] == ["J60", "sc2"] and "0.256" in line]
    assert line[2] == "2,064"
    with open(shell.folder / "rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    [cost] = [row for row in rows if (row["job"], row["scenario"], row["quantity"]) == ("J60", "sc2", "cost_usd")]
    assert cost["printed"] == "0.256"
    assert f"{float(cost['mean']):.3f}" in line


def test_the_tables_of_burst_hads(shell: Shell) -> None:
    out = shell.run("bench", "burst-hads", "--runs", "1", "--out", "figures.json")
    for title in ("Plans", "Table IV", "Table VI: cost", "Table VI: makespan"):
        assert f"\n{title}" in out
    assert "Averages over Table VI" in out
    assert "25.87" in out
    assert max(len(line) for line in out.splitlines() if not line.startswith("[")) <= 140
    document = json.loads((shell.folder / "figures.json").read_text())
    assert document["scales"] == "paper"


def test_json_holds_plans_claims_and_rows(shell: Shell) -> None:
    found = shell.json(
        "bench", "burst-hads", "--runs", "1", "--rate-scale", "0.5", "--d-spot", "estimated", "--scales", "instance"
    )
    assert (found["rate_scale"], found["d_spot"], found["scales"]) == (0.5, "estimated", "instance")
    assert {plan["d_spot_source"] for plan in found["plans"]} == {"Algorithm 1"}
    assert {claim["verdict"] for claim in found["claims"]} <= {"holds", "does not hold", "not decided"}
    assert all(row["low"] is None for row in found["rows"])  # one day has no interval


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hads", "--runs", "0"], "--runs"),
        (["hads", "--rate-scale", "-1"], "--rate-scale"),
        (["hads", "--out", "rows.txt"], "must end in .csv or .json"),
        (["hads", "--out", "no/rows.csv"], "the folder does not exist"),
        (["burst-hads", "--d-spot", "guessed"], "--d-spot"),
        (["hads2"], "No such command"),
    ],
)
def test_bad_input_is_exit_code_2_before_any_work(shell: Shell, words: list[str], said: str) -> None:
    shell.run("bench", *words, code=2)
    assert said in shell.err
    assert list(shell.folder.iterdir()) == []


def test_a_user_who_stops_it_gets_exit_code_130(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("spotbag.benchmarks.published.hads.hads_days", stop)
    shell.run("bench", "hads", "--out", "rows.csv", code=130)
    assert not (shell.folder / "rows.csv").exists()
