"""The schemas of what ``--json`` prints; `Shell.json` judges the output of every command of every test by them."""

from __future__ import annotations

import json

from jsonschema import Draft202012Validator

from spotbag.cli.answers import KINDS
from tests.helpers.command_shell import Shell, kind_of
from tests.helpers.exported_plans import BAG_WITH_COMMANDS

_PRINTED = {
    "solve": "solve tiny/two-cores -m greedy",
    "replan": "replan tiny/two-cores state.json --start plan.json",
    "check": "check tiny/two-cores plan.json",
    "audit": "audit day.jsonl",
    "bound": "bound tiny/two-cores",
    "compare": "compare tiny/two-cores -m greedy,lpt",
    "best-known": "best-known tiny/boot",
    "best-known-update": "best-known --update -m greedy tiny/boot --file best.json",
    "pareto": "pareto tiny/two-cores",
    "replay": "replay tiny/two-cores --plan plan.json --runs 2 -p static,clairvoyant",
    "replay-day": "replay tiny/two-cores --plan plan.json --day 0 -p static",
    "no-plan": "replay tiny/credits -m greedy",
    "experiment-run": "experiment run mine.toml --out mine",
    "experiment-results": "experiment results mine",
    "experiment-judge": "experiment judge mine",
    "experiment-compare": "experiment compare mine mine",
    "experiment-list": "experiment list",
    "suite-shown": "suite show suite-1",
    "submission-checked": "suite check rows.jsonl",
    "suite-ranking": "suite rank rows.jsonl",
    "size": "size tiny/two-jobs",
    "stream-runs": "stream tiny/two-jobs --once",
    "stream-list": "stream --list",
    "platform-runs": "platform tiny/hybrid --once --bound",
    "platform-list": "platform --list",
    "show": "show tiny/two-cores",
    "schedule": "show plan.json",
    "methods": "methods",
    "policies": "policies",
    "warm-up": "warm-up replan",
    "instance-list": "instance list",
    "types": "instance types --types c5.*",
    "clouds": "instance clouds",
    "export": "export own-plan.json --out run",
    "import-log": "import-log own.json own-plan.json own.jsonl",
    "written": "instance generate --tasks 2 --out bag.json",
    "schemas": "schema",
    "error": "solve none.json",
}
"""A command that prints each kind; the comparisons with papers are among the tests of ``spotbag bench``, and what is
served among those of ``spotbag serve``."""

_CODES = {"no-plan": 1, "submission-checked": 1, "suite-ranking": 1, "error": 2}


def test_every_command_prints_what_its_schema_says(shell: Shell) -> None:
    shell.run("solve", "tiny/two-cores", "-m", "greedy", "--out", "plan.json")
    shell.run("replay", "tiny/two-cores", "--plan", "plan.json", "--day", "0", "-p", "static", "--trace", "day.jsonl")
    (shell.folder / "own.json").write_text(json.dumps(BAG_WITH_COMMANDS))
    shell.run("solve", "own.json", "-m", "greedy", "--out", "own-plan.json")
    (shell.folder / "state.json").write_text('{"format": "spotbag.state/1", "instance": "tiny/two-cores"}')
    (shell.folder / "mine.toml").write_text('instances = ["tiny/boot"]\nmethods = ["lpt"]\n')
    row = {"format": "spotbag.submission/1", "suite": "suite-0", "suite_sha256": "", "entry": "e", "instance": "i"}
    row |= {"cost_usd": 1.0, "makespan_s": 1, "objective": 1.0, "plan": {}}  # it is refused
    (shell.folder / "rows.jsonl").write_text(json.dumps(row))
    begin = {"at": 0, "event": "begin", "format": "spotbag.log/1", "vm": "two-spot-1"}
    (shell.folder / "own.jsonl").write_text(json.dumps(begin))
    assert set(_PRINTED) | {"published-comparison", "serve"} == {*KINDS, "schedule"}
    for kind, words in _PRINTED.items():
        assert kind_of(shell.json(*words.split(), code=_CODES.get(kind, 0))) == kind


def test_a_schema_is_printed_by_the_name_of_what_it_is_of(shell: Shell) -> None:
    schema = json.loads(shell.run("schema", "solve"))
    solved = shell.json("solve", "tiny/two-cores", "-m", "greedy")
    Draft202012Validator(schema).validate(solved)
    assert not Draft202012Validator(schema).is_valid(solved | {"cost_usd": "much"})
    assert "spotbag.solve/1" in shell.run("schema")
    shell.run("schema", "solv", code=2)
    assert "did you mean solve" in shell.err
