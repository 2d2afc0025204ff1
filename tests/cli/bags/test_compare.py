"""``spotbag compare``: the table, the notes below it, the files, the exit codes."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from spotbag.core.limits import stop_point
from spotbag.instances.library import library_instance
from tests.helpers.command_shell import Shell
from tests.helpers.stops import interrupt_command

LATE = library_instance("burst-hads/ED200").replace(name="late", markets=["spot"]).to_text()


def lines(out: str) -> dict[str, list[str]]:
    """Words of each line after its first."""
    split = [line.split() for line in out.splitlines() if line.split()]
    return {words[0]: words[1:] for words in split}


def test_the_table_has_a_line_for_each_method_and_one_for_the_optimum(shell: Shell) -> None:
    out = shell.run("compare", "tiny/two-cores", "--methods", "greedy,lpt", "--time-limit", "5")
    for heading in ("objective", "cost ($)", "makespan (s)", "gap to bound", "(% of the plan)", "status", "time (s)"):
        assert heading in out
    found = lines(out)
    assert found["greedy"][:7] == ["0.400000", "0.040000", "40", "25.000", "25.000", "no", "feasible"]
    assert found["lpt"][:7] == ["0.300000", "0.030000", "30", "0.000", "0.000", "no", "optimal"]
    assert found["="][:4] == ["optimum", "0.300000", "by", "lpt"]
    assert "2 runs on 1 instance, 5 s each at most" in out
    assert "worst seed" not in out
    assert "All instances" not in out


def test_cheapest_plans_are_measured_by_their_cost_alone(shell: Shell) -> None:
    out = shell.run("compare", "tiny/two-cores", "--method", "greedy", "--goal", "cheapest", "--survive", "none")
    assert "objective" not in out
    assert "survives" not in out
    assert next(word for word in out.splitlines() if word.startswith("   =")).split()[3] == "0.030000"


def test_compare_passes_on_warnings_and_says_what_survives(shell: Shell) -> None:
    words = "compare", "tiny/two-cores", "--method", "greedy,lpt"
    rows = shell.json(*words)["rows"]
    assert {row["survives"] for row in rows} == {"does-not-survive"}
    found = shell.json("compare", "hads/J60", "--deadline", "900", "--method", "greedy")["rows"][0]
    assert "too early for any task on a spot VM" in found["warnings"][0]
    assert shell.err.count("warning: hads/J60 by greedy: D_spot is estimated at 74 s") == 1


def test_seeds_are_averaged_and_the_worst_is_shown(shell: Shell) -> None:
    found = shell.json("compare", "hads/J60", "--method", "ils,greedy", "--seeds", "2")
    rows = [row["objective"] for row in found["rows"] if row["method"] == "ils"]
    assert [row["method"] for row in found["rows"]] == ["ils", "ils", "greedy"]
    ils = found["summaries"][0]
    assert ils["objective_mean"] == pytest.approx(sum(rows) / 2)
    assert ils["objective_worst"] == max(rows)
    out = shell.run("compare", "hads/J60", "--method", "ils,greedy", "--seeds", "2")
    assert "worst seed" in out
    assert f"{max(rows):.6f}" in out


def test_what_is_known_of_a_library_instance_measures_the_plans(shell: Shell) -> None:
    out = shell.run("compare", "hads/J60", "--method", "greedy")
    assert lines(out)["="][2:] == ["by", "best", "known"]
    (shell.folder / "mine.json").write_text(library_instance("hads/J60").replace(deadline_s=2101).to_text())
    assert "best known" not in shell.run("compare", "mine.json", "--method", "greedy")


def test_a_method_that_refuses_is_explained_below_the_table(shell: Shell) -> None:
    out = shell.run("compare", "tiny/memory-parts-them", "tiny/two-cores", "--method", "patterns,lpt")
    assert "refused [1]" in out
    assert "[1] patterns: the pattern model knows core loads only" in out
    assert "solved" in out
    totals = lines(out[out.index("All instances") :])
    assert totals["patterns"][:5] == ["1", "of", "2", "1", "0.000"]
    assert totals["lpt"][:3] == ["2", "of", "2"]


def test_no_plan_for_an_instance_is_exit_code_1(shell: Shell) -> None:
    (shell.folder / "late.json").write_text(LATE)
    out = shell.run("compare", "late.json", "tiny/two-cores", "--method", "greedy", code=1)
    assert "infeasible [1]" in out
    assert "[1] greedy: " in out
    assert "= best bound" in out
    assert lines(out[out.index("All instances") :])["greedy"][:3] == ["1", "of", "2"]
    found = shell.json("compare", "late.json", "--method", "greedy", code=1)
    assert found["references"][0]["bound"] is None
    shell.run("compare", "tiny/memory-parts-them", "--method", "patterns", code=1)


@pytest.mark.slow
@pytest.mark.xdist_group("processes")
def test_every_run_goes_to_a_file(shell: Shell) -> None:
    words = ["compare", "tiny/two-cores", "tiny/boot", "--method", "greedy,ils", "--seeds", "2", "--survive", "none"]
    shell.run(*words, "--out", "rows.csv")
    with open(shell.folder / "rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["instance"], row["method"], row["seed"]) for row in rows] == [
        (f"tiny/{name}", *run)
        for name in ("two-cores", "boot")
        for run in (("greedy", "0"), ("ils", "0"), ("ils", "1"))
    ]
    shell.run(*words, "--out", "rows.json", "--workers", "2")
    document = json.loads((shell.folder / "rows.json").read_text())
    assert document["format"] == "spotbag.comparison/1"
    assert [row["objective"] for row in document["rows"]] == [float(row["objective"]) for row in rows]


def test_instances_of_the_same_name_are_distinguished_by_their_files(shell: Shell) -> None:
    for file in ("a.json", "b.json"):
        (shell.folder / file).write_text(library_instance("tiny/boot").replace(name="mine").to_text())
    found = shell.json("compare", "a.json", "b.json", "a.json", "--method", "lpt")
    assert [row["instance"] for row in found["rows"]] == ["a.json", "b.json"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.json"], "none.json: no such file"),
        (["tiny/boot", "--method", "magic"], "is unknown"),
        (["tiny/boot", "--time-limit", "0"], "must be a positive number"),
        (["tiny/boot", "--out", "rows.xlsx"], "must end in .csv or .json"),
        (["tiny/boot", "--out", "no/rows.csv"], "the folder does not exist"),
        (["tiny/boot", "--seeds", "0"], "--seeds"),
        ([], "Usage"),
    ],
)
def test_bad_input_is_exit_code_2_before_any_work(shell: Shell, words: list[str], said: str) -> None:
    shell.run("compare", *words, code=2)
    assert said in shell.err
    assert list(shell.folder.iterdir()) == []


def test_rows_never_overwrite_an_instance(shell: Shell) -> None:
    (shell.folder / "a.json").write_text(LATE)
    shell.run("compare", "a.json", "--out", "./a.json", code=2)
    assert (shell.folder / "a.json").read_text() == LATE


def test_an_interrupt_prints_what_there_is(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from spotbag.experiments.bags import comparison

    run_case = comparison.run_case

    def interrupted_at_lpt(case: comparison.Case, **limits: Any) -> comparison.Row:
        if case.method == "lpt":
            interrupt_command()
            stop_point()
        return run_case(case, **limits)

    monkeypatch.setattr(comparison, "run_case", interrupted_at_lpt)
    out = shell.run("compare", "tiny/two-cores", "--method", "greedy,lpt", "--out", "rows.csv", code=130)
    assert "0.400000" in out
    assert "interrupted: 1 of 2 runs are here" in shell.err
    assert (shell.folder / "rows.csv").read_text().count("\n") == 2


def test_the_experiment_that_a_comparison_is_can_be_grown(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shell.folder)
    words = ["compare", "tiny/two-cores", "--method", "greedy,ils", "--seeds", "2", "-o", "max_iteration=7"]
    found = shell.json(*words, "--spec", "mine.toml")
    assert (shell.folder / "mine.toml").read_text() == (
        'instances = ["tiny/two-cores"]\nmethods = ["greedy", "ils"]\nseeds = 2\n\n[options.ils]\nmax_iteration = "7"\n'
    )
    assert shell.json("experiment", "run", "mine.toml", "--out", "mine-rows")["run"] == 3
    rows = [json.loads(line) for line in (shell.folder / "mine-rows" / "rows.jsonl").read_text().splitlines()]
    assert [row["objective"] for row in rows] == [row["objective"] for row in found["rows"]]
    # What the command line changes of an instance lies beside the experiment.
    [row] = shell.json("compare", "tiny/boot", "--method", "lpt", "--goal", "cheapest", "--spec", "cheap.toml")["rows"]
    shell.json("experiment", "run", "cheap.toml", "--out", "cheap-rows")
    [again] = shell.json("experiment", "results", "cheap-rows")["results"]
    assert (again["instance"], again["objective"]) == ("cheap-instances/1-tiny-boot.json", row["objective"])
    shell.run(*words, "--spec", "mine.csv", code=2)
    assert "must end in .toml" in shell.err


def test_a_narrow_terminal_leaves_columns_out_and_says_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spotbag.cli.bags.compare.terminal_width", lambda: 80)
    out = shell.run("compare", "tiny/two-cores", "--method", "greedy")
    assert "cost ($)" not in out
    assert "A wider terminal shows cost" in out
    assert lines(out)["greedy"][:3] == ["0.400000", "25.000", "feasible"]
