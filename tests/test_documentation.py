"""The examples of the documentation are true."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer

import spotbag
from spotbag.audits.bags.plan import check
from spotbag.cli import main
from spotbag.cli.app import make_app
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.instance import Instance
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.table_formats import FORMATS
from spotbag.schedules.schedule_files import format_schedule, parse_schedule_document
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.route import STEPS
from spotbag.solvers.bags.solve import solve
from tests.helpers.served import served

ROOT = Path(__file__).parents[1]


def test_the_plan_in_formats_md_is_that_of_the_greedy_for_the_instance_in_it() -> None:
    instance_text, plan_text = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "formats.md").read_text(), re.DOTALL)
    instance = Instance.parse(instance_text)
    schedule = solve(instance, "greedy").schedule
    assert schedule is not None
    assert format_schedule(schedule, "greedy") == plan_text
    assert check(with_d_spot(instance), parse_schedule_document(plan_text)).feasible


PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_a_file_and_to_a_heading(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text()):
        if not target.startswith("https://"):
            file = page.parent / target if target else page
            assert file.exists(), target
            assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


def test_every_public_name_is_in_the_reference_of_python() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    assert sorted(re.findall(r"^::: spotbag\.(\w+)$", page, re.MULTILINE)) == sorted(spotbag.__all__)


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    named = set(re.findall(r"[:\-] (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")}
    assert pages == {name for name in named if not name.startswith("examples/")}


def test_every_step_of_the_route_is_in_the_page_on_how_a_plan_is_made() -> None:
    page = (ROOT / "docs" / "how_a_plan_is_made.md").read_text()
    rows = re.findall(r"^\| ([\w -]+) \| (start|both|search|proof) \|", page, re.MULTILINE)
    assert rows == [(step.name, step.lane) for step in STEPS]


@pytest.mark.parametrize("name", ["development.md", "how_a_plan_is_made.md"])
def test_files_that_a_newcomer_is_to_read_are_there(name: str) -> None:
    page = (ROOT / "docs" / name).read_text()
    named = set(re.findall(r"`((?:src|instances|schedules|solvers|heuristics|bounds|audits|replay)/[\w/]+\.py)`", page))
    assert len(named) > 5
    assert not {path for path in named if not (ROOT / path).is_file()}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_the_headings_in_the_tutorial_are_those_of_its_tasks() -> None:
    [shown] = re.findall(r"```csv\n(.*?)```", (ROOT / "docs" / "tutorial.md").read_text(), re.DOTALL)
    assert (ROOT / "examples" / "tasks.csv").read_text().startswith(shown)


def test_the_tasks_of_the_tutorial_are_read_in_python_as_by_the_command(tmp_path: Path) -> None:
    tasks, bag = ROOT / "examples" / "tasks.csv", tmp_path / "bag.json"
    assert main(["instance", "import", "csv", str(tasks), "--deadline", "90m", "--limit", "7", "--out", str(bag)]) == 0
    assert spotbag.read_tasks(tasks, deadline_s=5400, limit=7) == spotbag.read_instance(bag)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/howto/scheduler.md", "docs/changing_rules.md"])
def test_the_python_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, page, "exec", dont_inherit=True), {"__name__": "example"})


def test_the_ten_lines_of_embed_md_are_those_of_the_example() -> None:
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "howto" / "embed.md").read_text(), re.DOTALL)[0]
    assert shown in (ROOT / "examples" / "embed.py").read_text()


@pytest.mark.slow
def test_the_python_of_embed_md_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"stop": threading.Event()}
    for example in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "howto" / "embed.md").read_text(), re.DOTALL):
        exec(example, names)
    assert names["state"].done == ("part-3",)


def _is_part(shown: Any, found: Any) -> bool:
    """True if all that is shown is found, as objects have it."""
    if isinstance(shown, dict):
        return all(key in found and _is_part(value, found[key]) for key, value in shown.items())
    if isinstance(shown, list) and shown:
        return len(shown) == len(found) and all(map(_is_part, shown, found))
    return shown == [] or bool(shown == found)


def test_the_messages_in_embed_md_are_answered_as_shown() -> None:
    page = (ROOT / "docs" / "howto" / "embed.md").read_text()
    [block] = re.findall(r"```text\n(--> .*?)```", page, re.DOTALL)
    sent, shown = (re.findall(rf"^{arrow} (.*)$", block, re.MULTILINE) for arrow in ("-->", "<--"))
    methods = set(re.findall(r"^\| `(\w+)` \| ", page.partition("| method | what it does")[2], re.MULTILINE))
    with served() as client:
        for line, expected in zip(sent, shown, strict=True):
            client.write(line)
            answer = client.message()
            assert _is_part(json.loads(re.sub(r"(, )?\.\.\.", "", expected)), answer), answer
            if answer["id"] == 1:
                assert {*answer["result"]["methods"]} <= methods


def test_commands_in_pages_have_only_options_that_there_are() -> None:
    commands = typer.main.get_command(make_app())
    unknown, n_lines = [], 0
    for page in PAGES:
        for line in re.findall(r"^(?:\$ |\.venv/bin/)?spotbag ([^\n#|&]*)", _blocks(page.read_text()), re.MULTILINE):
            command, words = commands, line.split()
            while words and words[0] in getattr(command, "commands", {}):
                command = command.commands[words.pop(0)]
            known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
            options = {word.partition("=")[0] for word in words if word.startswith("--")}
            published = "instance import --job" in f"spotbag {line}"  # `instance import hads`, as it was called
            unknown += [f"{page.name}: spotbag {line}"] if options - known - {"--help"} and not published else []
            n_lines += 1
    assert unknown == []
    assert n_lines > 80


def _blocks(text: str) -> str:
    """Return the blocks of commands of a page."""
    return "\n".join(re.findall(r"^```(?:bash|console)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


def test_modules_that_pages_run_exist() -> None:
    texts = [page.read_text() for page in PAGES if page.name != "CHANGELOG.md"]  # which names old ones as well
    modules = {
        module for text in texts for module in re.findall(r"python\s+-m\s+(spotbag(?:_papers)?(?:\.\w+)+)", text)
    }
    assert len(modules) > 8
    for module in modules:
        assert find_spec(module) is not None, module


def test_the_limits_of_the_numbers_of_a_platform_are_those_of_the_model() -> None:

    section = (ROOT / "docs" / "formats.md").read_text().partition("| number | from | to |")[2].partition("\n\n")[0]
    said: dict[str, set[tuple[float, float]]] = {}
    for names, low, high in re.findall(r"^\| (.*) \| ([\d,]+) \| ([\d,^]+) \|$", section, re.MULTILINE):
        for name in re.findall(r"`(\w+)`", names.split("(")[0].partition(" of a step")[0]):
            limits = tuple(float(limit.replace("10^", "1e").replace(",", "")) for limit in (low, high))
            said.setdefault(name, set()).add((limits[0], limits[1]))
    models: dict[str, set[tuple[float, float]]] = {}
    for definition in json.loads(Platform.schema_text())["$defs"].values():
        for name, field in definition["properties"].items():
            for number in (field, *field.get("anyOf", ())):
                if "minimum" in number:
                    models.setdefault(name, set()).add((number["minimum"], number["maximum"]))
    assert said == models


def test_every_rule_of_the_checker_is_in_formats_md() -> None:
    from spotbag.audits.bags.plan import RULES

    text = (ROOT / "docs" / "formats.md").read_text()
    for rule, meaning in RULES.items():
        assert f"| `{rule}` | {meaning} |" in text


def test_the_example_of_a_stream_of_ones_own_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "streams.md").read_text()
    [example] = [code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "read_stream" in code]
    monkeypatch.chdir(tmp_path)
    assert main(["stream", "thai/table2", "--write", "mine.json"]) == 0
    capsys.readouterr()
    exec(example, {})
    average, sizing, *policies = capsys.readouterr().out.splitlines()
    assert f"# {average}" in example
    assert sizing.startswith("optimal")
    assert [line.split()[0] for line in policies] == ["known", "large.4"]


def platform_example(part: str) -> str:
    """Python block of docs/platforms.md that has some text in it."""
    text = (ROOT / "docs" / "platforms.md").read_text()
    [example] = [code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if part in code]
    return str(example)


def test_the_example_of_a_platform_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(platform_example("write_replay"), {})
    *policies, run, least, in_time = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [words[0] for words in policies] == ["money-saving", "round-robin"]
    assert run[-1] in ("dedicated", "allocated", "cloud")
    assert 0 <= float(least[2]) <= float(run[0])
    assert float(least[2]) <= float(in_time[-1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["platform.html", "platform.jsonl"]


def test_the_example_of_a_platform_policy_of_ones_own_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(platform_example("class WorthOfTime"), {"__name__": "example"})
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["money-saving"] * 2 + ["time-saving"] * 2 + ["worth-of-time"] * 2
    for _, cost, delay_s, _, _, least_cost, least_delay_s in rows:
        assert 0 <= float(least_cost) <= float(cost)
        assert 0 <= float(least_delay_s) <= float(delay_s)
    assert len({tuple(row[1:]) for row in rows[::2]}) == 3  # in the first run, all three decide differently


def test_the_example_of_a_stream_policy_of_ones_own_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "streams.md").read_text()
    [example] = [code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class OneForEach" in code]
    exec(example, {"__name__": "example"})
    known, own = (line.split() for line in capsys.readouterr().out.splitlines())
    assert [known[0], own[0]] == ["known", "one-for-each"]
    assert float(known[2]) < float(own[2]), "one VM for each job is late with more tasks"


def test_every_path_in_development_md_exists() -> None:
    page = "".join((ROOT / "docs" / name).read_text() for name in ("development.md", "changing_rules.md"))
    systems = {"bags/", "streams/", "platforms/"}  # sub-folders of the stages
    paths = [path for path in re.findall(r"`([\w./-]+/[\w./-]*)`", page) if path not in systems]
    assert len(paths) > 50
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_everything_that_recipes_name_stands_in_the_files_that_they_name() -> None:
    table = (ROOT / "docs" / "development.md").read_text().split("\n## Recipes\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| an? .*", table, re.MULTILINE)
    assert len(rows) > 4
    for row in rows:
        _, what, touch, _, _ = re.split(r" ?\| ?", row)
        files = [ROOT / path for path in re.findall(r"`([\w./-]+\.(?:py|toml))`", touch)]
        words = {*re.findall(r"\w+", "".join(file.read_text() for file in files))}
        named = set(re.findall(r"`(\w+)(?:\([^`]*\))?`", touch))
        assert not named - words, f"{what}: none of its files has {named - words}"


@pytest.mark.parametrize(
    ("names", "pages"),
    [(METHODS, ["heuristics.md", "exact.md"]), (METHODS, ["bill.md"]), (FORMATS, ["howto/files.md"])],
)
def test_everything_that_is_chosen_by_name_is_in_the_documentation(names: Mapping[str, Any], pages: list[str]) -> None:
    text = "".join((ROOT / "docs" / page).read_text() for page in pages)
    missing = [name for name in names if f"`{name}`" not in text]
    assert not missing, f"{' and '.join(pages)} in docs/ do not name {missing}"


def test_everything_that_pages_name_of_the_rules_of_replays_exists() -> None:
    walk = (ROOT / "docs" / "development.md").read_text().split("## A day, step by step")[1].split("\n## ")[0]
    prose = re.sub(r"```.*?```", "", walk + (ROOT / "docs" / "changing_rules.md").read_text(), flags=re.DOTALL)
    names = {
        name for name in re.findall(r"`(?:\w+\.)*(\w+)(?:\([^`]*\))?`", prose) if not name.islower() or "_" in name
    }
    folders = (ROOT / "replay" / "bags", ROOT / "core", ROOT / "tests" / "helpers", ROOT / "tests" / "replay" / "bags")
    code = "\n".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    words = {*re.findall(r"\w+", code)}
    assert len(names) > 60
    assert names <= words


def replay_example(part: str) -> str:
    """Python block of docs/replay.md that has some text in it."""
    text = (ROOT / "docs" / "replay.md").read_text()
    [example] = [code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if part in code]
    return str(example)


def test_the_example_of_a_policy_of_ones_own_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(replay_example("class Impatient"), {"__name__": "example"})
    hads, burst, *story, last = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in (hads, burst)] == ["hads", "burst-hads"]
    assert story
    assert len({float(number) for number in last.split()}) == 3  # it costs something else than HADS


def test_the_example_of_options_of_policies_changes_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    exec(replay_example("A2haSettings"), {"__name__": "example"})
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    bags = ["hads", "hads+trigger-once", "hads+spare-time-spot+idle_limit_s=30"]
    assert [name for name, _ in rows] == [*bags, "a2ha", "eager", "time-saving", "urgent-first"]
    numbers = [float(number) for _, number in rows]
    assert numbers[2] < numbers[0], "on-demand VMs that run are filled up to the deadline"
    assert numbers[4] > numbers[3], "more hosts, which are paid"
    assert numbers[6] < numbers[5], "more jobs end in time on the clusters: less of the cloud"


def test_what_platforms_md_says_of_its_bounds_is_what_is_shown() -> None:
    from spotbag.instances.platforms.job_draws import JobSet
    from spotbag.instances.platforms.platform_files import library_platform
    from spotbag.replay.platforms.runs import bounds_of_runs, replay_platform

    jobs, platform = JobSet("small", 30), library_platform("caron/hybrid")
    runs = replay_platform(platform, ["money-saving", "time-saving"], job_set=jobs)
    [frugal], [fast] = bounds_of_runs(platform, runs, job_set=jobs)
    [thrifty], [prompt] = runs.outcomes
    assert (thrifty.delay_s, prompt.delay_s) == (18, 0)
    assert (frugal.cost, frugal.delay_s, fast.cost) == (0, 18, 202)
    assert thrifty.cost < 960


@pytest.mark.parametrize(
    ("page", "command"),
    [
        ("streams", "stream tiny/two-jobs --once"),
        ("streams", "size tiny/two-jobs"),
        ("platforms", "platform tiny/hybrid --once"),
        ("platforms", "platform tiny/hybrid --once --draw small"),
    ],
)
def test_the_keys_of_json_are_in_the_documentation(capsys: pytest.CaptureFixture[str], page: str, command: str) -> None:
    words = command.split()
    assert main([*words, "--json"]) == 0
    text = (ROOT / "docs" / f"{page}.md").read_text()
    table = text.partition(f"| `{words[0]} --json` |")[2].partition("\n\n")[0]
    for key in _keys(json.loads(capsys.readouterr().out)) - {"format"}:
        assert re.search(rf"\b{key}\b", table), key


def _keys(value: Any) -> set[str]:
    """Keys of records at any depth; those that are names of the example are none."""
    if isinstance(value, list):
        return {key for child in value for key in _keys(child)}
    if not isinstance(value, dict):
        return set()
    return {key for key in value if key not in _NAMES} | {key for child in value.values() for key in _keys(child)}


_NAMES = {"small", "big", "known", "unknown", "money-saving", "time-saving", "round-robin"}
"""VM types of ``tiny/two-jobs``, and policies: keys of what is listed by name."""


def test_the_example_of_a_method_of_ones_own_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "howto" / "plugins.md").read_text()
    function, method, policy = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(function, {"__name__": "example"})
    status, cost, bound = capsys.readouterr().out.split()
    assert status == "feasible"
    assert float(cost) >= float(bound)
    folder = ROOT / "examples" / "plugin"
    assert method in (folder / "spotbag_example" / "method.py").read_text()
    assert policy in (folder / "spotbag_example" / "policy.py").read_text()
    [entries] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert entries in (folder / "pyproject.toml").read_text()
