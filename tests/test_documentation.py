"""The examples of the documentation are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spotbag.cli import main
from spotbag.heuristics import with_d_spot
from spotbag.instances import parse_instance
from spotbag.schedules import check, format_schedule, parse_schedule_document
from spotbag.solvers import solve

ROOT = Path(__file__).parent.parent


def test_the_plan_in_formats_md_is_that_of_the_greedy_for_the_instance_in_it() -> None:
    instance_text, plan_text = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "formats.md").read_text(), re.DOTALL)
    instance = parse_instance(instance_text)
    schedule = solve(instance, "greedy").schedule
    assert schedule is not None
    assert format_schedule(schedule, "greedy") == plan_text
    assert check(with_d_spot(instance), parse_schedule_document(plan_text)).feasible


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_every_rule_of_the_checker_is_in_formats_md() -> None:
    from spotbag.schedules import RULES

    text = (ROOT / "docs" / "formats.md").read_text()
    for rule, meaning in RULES.items():
        assert f"| `{rule}` | {meaning} |" in text


def test_the_output_shown_of_commands_is_what_they_print(capsys: pytest.CaptureFixture[str]) -> None:
    shown = 0
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for command, text in re.findall(r"```console\n\$ spotbag (.*)\n([^`]*)```", page.read_text()):
            assert main(command.split()) == 0
            printed = [line.rstrip() for line in capsys.readouterr().out.rstrip().splitlines()]
            assert text.splitlines() == printed, f"{page}: spotbag {command}"
            shown += 1
    assert shown
