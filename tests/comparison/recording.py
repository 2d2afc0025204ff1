"""Record what a commit makes of inputs: ``python -m tests.comparison.recording PART INPUTS OUT``.

This runs with the package of another commit, maybe of one that is months older, so it calls what is public, and from
the tests only what is made of that. A line is a case and its values. Whatever a commit fails with is a value, too.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import spotbag
from spotbag.cli import main as run_command
from tests.comparison.differences import LEFT_OUT
from tests.helpers import random_days, random_streams

Entry: TypeAlias = dict[str, Any]
Records: TypeAlias = Iterator[tuple[str, Any]]

PROOF_S = 20
"""Seconds for a method to prove an optimum; where it needs more, the plan depends on the clock and is left out."""

MEASURED = frozenset(
    {
        *("runtime_s", "runtime_s_mean", "runtime_s_total", "solving_s", "cell_s", "peak_memory_mb"),
        *("time_to_best_s", "trace", "stages", "steps", "version"),
    }
)
"""Keys of what commands print and write that hold times of the clock, memory that was used, or versions."""


class Days:
    """A scenario of given days."""

    name, cloud, fixed, law = "given", None, False, None

    def __init__(self, days: list[Any]) -> None:
        self._days = days

    def day(self, instance: spotbag.Instance, seed: int, day: int) -> Any:
        """Return a day by its number."""
        return self._days[day]


def record_days(entry: Entry) -> Records:
    """Outcomes of every day of a plan under every policy, and the bound of the first."""
    schedule, cloud, days = _schedule(entry), _cloud(entry["cloud"]), [_timeline(events) for events in entry["days"]]
    replay = partial(spotbag.replay_days, schedule, scenario=Days(days), cloud=cloud)
    first = entry["number"] * len(days)
    for name, policy in _policies(entry, random_days.Anything):
        outcomes = _attempt(lambda policy=policy: replay([policy], runs=len(days), bounds=False).outcomes[0])
        for number in range(len(days)):
            yield f"days/{first + number} {name}", outcomes[number] if isinstance(outcomes, list) else outcomes
    yield f"days/{first} bound", _attempt(lambda: replay([], runs=1).bounds_usd)


def record_scenarios(entry: Entry) -> Records:
    """Outcomes of days of a scenario, of all policies at once, as many replays go through compiled loops."""
    scenario = spotbag.find_scenario(entry["scenario"])
    replay = partial(spotbag.replay_days, _schedule(entry), scenario=scenario, cloud=_cloud(entry["cloud"]))
    where = f"scenarios/{entry['bag']} {entry['scenario']} {entry['cloud']['name']}"
    able = []
    for policy in entry["policies"]:
        first = _attempt(lambda policy=policy: replay([policy], runs=1, bounds=False))
        if "error" in first:
            yield f"{where} {policy}", first
        else:
            able.append(policy)
    outcomes = _attempt(lambda: replay(able, runs=entry["runs"], bounds=False).outcomes)
    for number, policy in enumerate(able):
        for day in range(entry["runs"]):
            outcome = outcomes[number][day] if isinstance(outcomes, list) else outcomes
            yield f"{where} day {day} {policy}", outcome
    yield f"{where} bounds", _attempt(lambda: replay(["rescue"], runs=3, hindsight=True))


def record_streams(entry: Entry) -> Records:
    """Outcomes of a stream under every policy."""
    stream = spotbag.Stream.from_document(entry["stream"], "random")
    for name, policy in _policies(entry, random_streams.Anything):
        outcome = _attempt(lambda policy=policy: spotbag.replay_stream(stream, [policy], 3).outcomes)
        yield f"streams/{entry['number']} {name}", outcome


def record_platforms(entry: Entry) -> Records:
    """Outcomes of the jobs of a platform under every policy."""
    platform = spotbag.Platform.from_document(entry["platform"], "random")
    for name in entry["policies"]:
        outcome = _attempt(lambda name=name: spotbag.replay_platform(platform, [name], 2).outcomes)
        yield f"platforms/{entry['number']} {name}", outcome


def record_traces(entry: Entry) -> Records:
    """Traces of a day under every policy, as the command writes them."""
    schedule, cloud = _schedule(entry), entry["cloud"]
    spotbag.write_instance(schedule.instance, "bag.json")
    spotbag.write_schedule(schedule, "plan.json")
    day = {"format": "spotbag.timeline/1", "name": "random", "events": entry["days"][0]}
    Path("day.json").write_text(json.dumps(day), encoding="utf-8")
    billing = cloud["billing"]
    options = {
        "--plan": "plan.json",
        "--scenario": "day.json",
        "--day": entry["number"],
        "--trace": "trace.jsonl",
        "--interruption": cloud["interruption"],
        "--notice": cloud["notice_s"],
        "--minimum-billed": billing["minimum_s"],
        "--billing-block": billing["block_s"],
        "--hibernated-rate": billing["hibernated_usd_per_gb_hour"],
        "--stopped-rate": billing["stopped_usd_per_gb_hour"],
    }
    words = ["replay", "bag.json", "--first-hour-free" if billing["first_hour_free"] else "--first-hour-paid"]
    words += [str(word) for option in options.items() for word in option]
    for policy in [*entry["policies"], f"{random_days.__name__}:{random_days.Anything.__name__}"]:
        Path("trace.jsonl").unlink(missing_ok=True)
        code, _ = _run([*words, "--policy", policy])
        yield f"traces/{entry['number']} {policy}", code or _json_lines(Path("trace.jsonl"))


def record_commands(entry: Entry) -> Records:
    """What a command prints and writes, in a folder with the files that commands are given."""
    folder = Path("files")
    shutil.copytree(entry["files"], folder)
    given = {path: path.read_bytes() for path in _files(folder)}
    with contextlib.chdir(folder):
        code, printed = _run(entry["words"])
    made = [path for path in _files(folder) if given.get(path) != path.read_bytes()]
    written = {path.relative_to(folder).as_posix(): _content(path) for path in made}
    shutil.rmtree(folder)
    record = {"code": code, "printed": _read(printed), "written": written}
    yield f"commands/{' '.join(entry['words'])}", _without_measured(record)


def record_papers(entry: Entry) -> Records:
    """Our numbers beside the printed ones."""
    code, printed = _run(["bench", entry["paper"], "--runs", str(entry["runs"]), *entry["words"], "--json"])
    yield f"papers/{entry['paper']}", _without_measured({"code": code, "printed": _read(printed)})


def record_pages(entry: Entry) -> Records:
    """The page of the docs on a paper, by lines."""
    yield f"pages/{entry['paper']}", _attempt(lambda: _page(entry["paper"], entry["runs"]))


def _page(name: str, runs: int) -> list[str]:
    from spotbag_papers.page import PAGES, page_texts
    from spotbag_papers.paper import compare

    page = PAGES[name]
    settings = page.paper.replays(dataclasses.replace(page.options, runs=runs, workers=1))
    texts = page_texts(page, {setting.name: compare(page.paper, setting.options) for setting in settings})
    return "\n".join(texts.values()).splitlines()


def record_plans(entry: Entry) -> Records:
    """The plan of a heuristic; of a method that proves optima, what it proves in time."""
    method, exact = entry["method"], entry["exact"]
    case = f"plans/{entry['instance']['name']} {method} {entry['goal']}"
    instance = spotbag.Instance.from_document(entry["instance"], "library")
    limit = {"time_limit_s": float(PROOF_S)} if exact else {}
    result = _attempt(lambda: spotbag.solve(instance, method, goal=entry["goal"], **limit), as_it_is=True)
    if isinstance(result, dict):
        yield case, result
    elif exact and result.status not in ("optimal", "infeasible"):
        yield case, {LEFT_OUT: f"no proof within {PROOF_S} s"}
    else:
        plan = {} if result.schedule is None or method == "auto" else {"plan": result.schedule.to_document()}
        yield case, {"status": result.status, "objective": result.objective} | plan


RECORDERS: dict[str, Callable[[Entry], Records]] = {
    name.removeprefix("record_"): function for name, function in globals().items() if name.startswith("record_")
}
"""What records a part, by its name."""


def plain(value: Any) -> Any:
    """Return a value as JSON has it, numbers exactly."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {entry.name: plain(getattr(value, entry.name)) for entry in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def _attempt(function: Callable[[], Any], as_it_is: bool = False) -> Any:
    """Return what a function returns, or its error as a value."""
    try:
        return function() if as_it_is else plain(function())
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _schedule(entry: Entry) -> spotbag.Schedule:
    columns = {name: np.array(column) for name, column in entry["schedule"].items() if name != "vm_ids"}
    instance = spotbag.Instance.from_document(entry["instance"], "random")
    return spotbag.Schedule(instance, vm_ids=tuple(entry["schedule"]["vm_ids"]), **columns)


def _cloud(document: Entry) -> Any:
    from spotbag.instances.clouds import Billing, Cloud

    return Cloud(**document | {"billing": Billing(**document["billing"])})


def _timeline(events: list[Entry]) -> Any:
    from spotbag.instances.bags.timeline import timeline_of_document

    return timeline_of_document({"format": "spotbag.timeline/1", "name": "random", "events": events})


def _policies(entry: Entry, anything: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The policies by their names, and one that does whatever is allowed."""
    yield from zip(entry["policies"], entry["policies"], strict=True)
    yield "anything", partial(anything, entry["number"])
    if anything is random_days.Anything:
        yield "anything that preempts", partial(anything, entry["number"], preempts=True)


def _run(words: list[str]) -> tuple[Any, str]:
    """Run a command in this process; return its exit code, or its error, and what it prints."""
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        code = _attempt(lambda: run_command(words))
    return (code if code == 0 else {"error": code, "said": said.getvalue().splitlines()}), printed.getvalue()


def _read(text: str) -> Any:
    """Return the JSON, or else the lines, of a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text.splitlines()


def _json_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _content(path: Path) -> Any:
    if path.suffix == ".jsonl":
        return _json_lines(path)
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))
    return _read(path.read_text(encoding="utf-8", errors="replace"))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _without_measured(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_measured(entry) for key, entry in value.items() if key not in MEASURED}
    return [_without_measured(entry) for entry in value] if isinstance(value, list) else value


def main() -> None:
    """Record a part."""
    part, inputs, out = sys.argv[1:4]
    assert Path(spotbag.__file__).is_relative_to(Path.cwd()), f"{spotbag.__file__} is not the commit's"
    if part == "plans":
        _attempt(spotbag.warm_up)  # compiling is not to take the time of a proof
    with open(inputs, encoding="utf-8") as lines, open(out, "w", encoding="utf-8") as recorded:
        for line in lines:
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                for case, record in RECORDERS[part](json.loads(line)):
                    print(json.dumps([case, plain(record)]), file=recorded)
            recorded.flush()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # what still compiles in a thread would be waited for
