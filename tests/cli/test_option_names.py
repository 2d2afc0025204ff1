"""One table of options for the whole command line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from spotbag.cli.app import make_app
from tests.helpers.command_shell import Shell

_TWO_MEANINGS = {
    "--late": "with a scenario, also what a late day counts",
    "--d-spot": "imported files have a time only, not a rule",
    "--job": "of a stream to size, and job.json of the HADS authors",
    "--out": "a file, and the folder that a plan is exported to",
    "--to": "where jobs of a log end, and what a plan is exported to",
    "--memory": "one amount for a file without any, and a distribution to draw from",
}
"""Options whose values are of two kinds, and why that is no accident."""

_CHOICES = ("--arch", "--interruption", "--d-spot-rule", "--market", "--multi-core", "--of", "--scales", "--sort")
"""Options of which the help lists the values."""


@pytest.fixture(scope="module")
def options() -> dict[str, list[Any]]:
    """All options by their long names."""
    found = defaultdict(list)
    for command in _commands(get_command(make_app())):
        for option in command.params:
            if option.param_type_name == "option" and option.name not in ("install_completion", "show_completion"):
                found[max(option.opts, key=len)].append(option)
    return found


def _commands(command: Any) -> Iterator[Any]:
    if not hasattr(command, "commands"):
        yield command
    for part in getattr(command, "commands", {}).values():
        yield from _commands(part)


def test_an_option_has_one_name_and_one_kind_of_value_everywhere(options: dict[str, list[Any]]) -> None:
    for name, uses in options.items():
        assert len({tuple(option.opts) for option in uses}) == 1, name
        assert len({option.metavar for option in uses}) == (2 if name in _TWO_MEANINGS else 1), name
    shorts = [short for uses in options.values() for short in uses[0].opts if not short.startswith("--")]
    assert sorted(shorts) == sorted(set(shorts))


def test_every_option_says_what_it_takes_in_a_sentence(options: dict[str, list[Any]]) -> None:
    for name, uses in options.items():
        for option in uses:
            assert re.fullmatch(r"[A-Za-z].*[.)]", option.help), name
            assert option.metavar or option.is_flag or name in _CHOICES, name


def test_data_is_written_by_out_and_charts_are_drawn_by_plot_or_gantt(options: dict[str, list[Any]]) -> None:
    assert {option.metavar for name in ("--plot", "--gantt", "--trace") for option in options[name]} == {"FILE"}
    assert {option.metavar for name in ("--plans", "--plots") for option in options[name]} == {"FOLDER"}
    assert options["--option"][0].opts == ["--option", "-o"]
    assert "--output" not in options


def test_commands_that_take_an_instance_take_the_same_options_for_it(options: dict[str, list[Any]]) -> None:
    uses = {name: len(options[name]) for name in ("--goal", "--survive", "--d-spot", "--budget", "--markets")}
    assert uses == {"--goal": 11, "--survive": 11, "--d-spot": 12, "--budget": 11, "--markets": 11}
    for name in ("--goal", "--survive", "--budget", "--markets", "--cost-weight"):
        assert len({option.help for option in options[name]}) == 1


def test_the_names_that_options_had_before_are_understood(shell: Shell) -> None:
    rows = shell.json("compare", "tiny/two-cores", "--methods", "greedy,lpt")["rows"]
    assert [row["method"] for row in rows] == ["greedy", "lpt"]
    shell.run("solve", "tiny/two-cores", "-m", "greedy", "--convergence", "c.svg")
    assert "c.svg is not drawn: greedy" in shell.err


def test_several_methods_are_named_one_by_one_or_by_commas(shell: Shell) -> None:
    for given in (("-m", "greedy,lpt"), ("-m", "greedy", "-m", "lpt"), ("-m", "greedy, lpt", "-m", "greedy")):
        rows = shell.json("compare", "tiny/two-cores", *given)["rows"]
        assert [row["method"] for row in rows] == ["greedy", "lpt"]
    shell.run("solve", "tiny/two-cores", "-m", "greedy,lpt", code=2)
    assert "one plan is made by one method; 'spotbag compare' takes several" in shell.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("solve", "hads/J60", "-m", "greedy", "--seed", "3"), "--seed changes nothing: greedy uses no random numbers"),
        (("solve", "hads/J60", "-m", "greedy", "--threads", "2"), "--threads changes nothing: greedy is no exact"),
        (
            ("solve", "hads/J60", "-m", "greedy", "--goal", "cheapest", "--cost-weight", "0.3"),
            "--cost-weight changes nothing: the goal is cheapest",
        ),
        (
            ("bound", "hads/J60", "--markets", "on-demand", "--d-spot", "10m"),
            "--d-spot changes nothing: hads/J60 has no spot VMs",
        ),
        (("pareto", "tiny/two-cores", "--goal", "fastest"), "--goal changes nothing: a front is of all goals"),
        (("best-known", "tiny/boot", "--time-limit", "5"), "--time-limit changes nothing without --update"),
    ],
)
def test_options_that_do_nothing_are_warned_of(shell: Shell, words: tuple[str, ...], said: str) -> None:
    shell.run(*words)
    assert f"warning: {said}" in shell.err


def test_shells_complete_names(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spotbag.cli.app.make_app", make_app)
    monkeypatch.setenv("_SPOTBAG_COMPLETE", "complete_bash")
    for words, completed in (
        ("solve --method gr", ["greedy"]),
        ("compare a -m ils,gr", ["ils,greedy"]),
        ("show hads/J", ["hads/J100", "hads/J60", "hads/J80"]),
        ("replay x -s burst-hads/sc5", ["burst-hads/sc5"]),
    ):
        monkeypatch.setenv("COMP_WORDS", f"spotbag {words}")
        monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
        assert shell.run().split() == completed
