"""Pictures that commands of bags draw beside their answers."""

from __future__ import annotations

import json
from pathlib import Path

from spotbag.schedules.documents import Survival
from spotbag.schedules.plan_text import survival_text
from tests.helpers.command_shell import Shell


def test_the_page_of_a_plan_says_what_it_survives(shell: Shell) -> None:
    found = shell.run("solve", "hads/J60", "-m", "lpt", "--survive", "one-type", "--gantt", "plan.html", "--json")
    survival = Survival.model_validate_json(json.dumps(json.loads(found)["survival"]))
    assert survival.verdict == "survives"
    assert f'<p class="note">{survival_text(survival)}</p>' in Path("plan.html").read_text(encoding="utf-8")
