"""Bags from CSV files, logs and workflows on the command line, and the catalogue of VM types."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from spotbag.instances.bags.vm_catalogue import Catalogue
from spotbag.instances.instance import Instance
from tests.helpers.command_shell import Shell, type_in

FORMATS = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()

CSV = "id,command,memory_gb,runtime_min\na,run.sh --seed 1,1.5,10\nb,run.sh --seed 2,2,20\n"
TYPES = ("--types", "c6i.large,m6i.xlarge")


@pytest.fixture
def tasks(shell: Shell) -> str:
    path = shell.folder / "tasks.csv"
    path.write_text(CSV)
    return path.name


def test_a_csv_file_becomes_a_bag(shell: Shell, tasks: str) -> None:
    command = ("instance", "import", "csv", tasks, *TYPES)
    shell.run(*command, "--region", "us-east-1", "--deadline", "2h", "--out", "bag.json")
    bag = Instance.read("bag.json")
    assert (bag.name, bag.deadline_s, bag.n_tasks) == ("tasks", 7200, 2)
    assert [task.command for task in bag.tasks] == ["run.sh --seed 1", "run.sh --seed 2"]
    assert bag.checkpoint is None
    assert Instance.parse(shell.run(*command, "--deadline", "120m", "--out", "-")) == bag
    report = shell.json(*command, "--deadline", "7200", "--out", "again.json")
    assert report["written"] == ["again.json"]
    assert "prices of us-east-1" in report["warnings"][0]


def test_commands_that_take_an_instance_take_a_csv_file(
    shell: Shell, tasks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = (*TYPES, "--deadline", "2h", "-m", "greedy")
    solved = shell.json("solve", tasks, *options)
    assert "run times are taken to be the same on all types" in shell.err
    type_in(monkeypatch, CSV)
    assert shell.json("solve", "-", *options)["cost_usd"] == solved["cost_usd"]
    shell.run("compare", tasks, *options)
    shell.run("solve", tasks, *TYPES, "-m", "greedy", code=2)
    assert "a file of tasks has no deadline: --deadline 2h" in shell.err
    shell.run("solve", "none.csv", *options, code=2)
    assert "none.csv: no such file" in shell.err


def test_options_for_files_of_tasks_change_no_other_instance(shell: Shell) -> None:
    shell.run("solve", "tiny/two-cores", "--types", "c6i.large", "--limit", "3", "-m", "greedy")
    assert "tiny/two-cores has VM types of its own: --types, --limit changed nothing" in shell.err


def test_headings_of_ones_own_and_a_zone(shell: Shell) -> None:
    (shell.folder / "own.csv").write_text("RAM;t;note\n2;3;x\n")
    text = shell.run(
        *("instance", "import", "csv", "own.csv", "--types", "c6i.large", "--deadline", "1h", "--zone", "use1-az6"),
        *("--column", "memory_gb=RAM", "--column", "runtime=t", "--runtime-unit", "min", "--name", "mine"),
    )
    bag = Instance.parse(text)
    assert (bag.name, bag.tasks[0].memory_mb, bag.tasks[0].base_runtime_s) == ("mine", 2048, 180)
    assert bag.vm_types[0].offers["spot"].price_usd_per_hour == 0.0292


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--speed", "c6i.large"), "--speed c6i.large: must be TYPE=NUMBER"),
        (("--memory", "2"), "--memory 2: must be an amount with its unit, such as 512MB or 2GB"),
        (("--column", "RAM"), "--column RAM: must be ROLE=HEADING"),
        (("--prices", "none.json"), "none.json: no such file"),
    ],
)
def test_options_that_cannot_be_read(shell: Shell, tasks: str, words: tuple[str, ...], message: str) -> None:
    shell.run("instance", "import", "csv", tasks, *TYPES, "--deadline", "2h", "--out", "b.json", *words, code=2)
    assert message in shell.err
    assert not (shell.folder / "b.json").exists()


def test_logs_and_workflows_become_bags(shell: Shell) -> None:
    job = "1 0 0 100 1 -1 -1 1 200 -1 1 7 1 1 1 1 -1 -1"
    (shell.folder / "log.swf").write_text(f"; Version: 2.2\n{job}\n{job.replace(' 7 ', ' 8 ')}\n")
    (shell.folder / "log.gwf").write_text(f"# grid\n{job.rsplit(' ', 2)[0]} S1 S1 BoT b1 -1\n")
    task = {"id": "a", "runtimeInSeconds": 100, "coreCount": 2}
    specified = {"name": "a", "id": "a", "parents": [], "children": []}
    parts = {"specification": {"tasks": [specified]}, "execution": {"tasks": [task]}}
    flow = {"name": "f", "schemaVersion": "1.5", "workflow": parts}
    (shell.folder / "flow.json").write_text(json.dumps(flow))
    common = ("--types", "c6i.large", "--deadline", "1d", "--memory", "1GB")
    for words, count in (
        (("swf", "log.swf"), 2),
        (("swf", "log.swf", "--user", "8", "--from", "0", "--to", "1h", "--status", "all"), 1),
        (("gwf", "log.gwf", "--bag", "b1", "--multi-core", "split"), 1),
        (("wfformat", "flow.json", "--multi-core", "split"), 2),
    ):
        assert Instance.parse(shell.run("instance", "import", *words, *common)).n_tasks == count
    whole = Instance.parse(shell.run("instance", "import", "wfformat", "flow.json", *common))
    assert [task.cores for task in whole.tasks] == [2]
    shell.run("instance", "import", "swf", "log.swf", *common, "--status", "done", code=2)
    assert "--status done: must be whole numbers by commas, or all" in shell.err


def test_the_files_of_hads_need_no_name_of_their_format(shell: Shell) -> None:
    shell.run("instance", "export", "hads/J60", "--job", "job.json", "--env", "env.json")
    options = ("--job", "job.json", "--env", "env.json", "--deadline", "45m")
    assert shell.run("instance", "import", *options) == shell.run("instance", "import", "hads", *options)
    assert Instance.parse(shell.out).deadline_s == 2700


def test_types_are_filtered_and_sorted(shell: Shell) -> None:
    filters = ("--arch", "arm64", "--min-vcpus", "2", "--max-memory", "8GB", "--no-burstable", "--sort", "price")
    rows = shell.json("instance", "types", *filters, "--region", "us-east-1")["vm_types"]
    assert {row["architecture"] for row in rows} == {"arm64"}
    assert all(row["vcpus"] >= 2 and row["memory_mb"] <= 8192 and "burstable" not in row for row in rows)
    prices = [row["prices"]["on-demand"]["usd_per_core_hour"] for row in rows]
    assert prices == sorted(prices)
    assert len(prices) > 3
    table = shell.run("instance", "types", "--types", "t3.*", "--burstable", "--min-memory", "8GB", "--max-vcpus", "2")
    assert [line.split()[0] for line in table.splitlines() if line.startswith(" t3")] == ["t3.large"]
    assert "30 %, 36" in table
    assert "no VM type of the catalogue fits" in shell.run("instance", "types", "--types", "moon.*")


def test_types_of_a_region_that_is_not_there_and_memory_without_a_unit(shell: Shell) -> None:
    shell.run("instance", "types", "--region", "mars-1", code=2)
    assert "has no region 'mars-1' (it has us-east-1; 'spotbag instance prices' makes one)" in shell.err
    few = "instance", "types", "--types", "c6i.*", "--max-memory"
    assert shell.json(*few, "8") == shell.json(*few, "8GB")
    assert "region us-east-1" in shell.run(*few, "8")


def test_newer_prices_are_those_that_plans_are_made_at(shell: Shell, tasks: str) -> None:
    entry = {
        "AvailabilityZone": "us-east-1a",
        "InstanceType": "c6i.large",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": "0.011000",
        "Timestamp": "2026-11-03T12:00:00Z",
    }
    (shell.folder / "history.json").write_text(json.dumps({"SpotPriceHistory": [entry]}))
    shell.run("instance", "prices", "--spot-history", "history.json", "--out", "prices.json")
    command = ("instance", "import", "csv", tasks, *TYPES, "--prices", "prices.json", "--deadline", "2h")
    assert Instance.parse(shell.run(*command)).vm_types[0].offers["spot"].price_usd_per_hour == 0.011
    assert "spot of 2026-07-09 to 2026-11-03" in shell.err
    printed = shell.run("instance", "prices", "--spot-history", "history.json", "--out", "-")
    assert Catalogue.parse(printed) == Catalogue.read("prices.json")
    shell.run("instance", "prices", "--out", "prices.json", code=2)
    assert "there is nothing to take: --instance-types, --spot-history, --skypilot, --price-list or" in shell.err
    shell.run("instance", "prices", "--spot-history", "history.json", "--accelerators", "--out", "-", code=2)
    assert "--accelerators: no file says which types have some" in shell.err
    shell.run("instance", "prices", "--azure-retail", "page.json", "--window", "7d", "--out", "-", code=2)
    assert "--window: is of spot prices" in shell.err


def blocks(kind: str, start: str, end: str) -> list[str]:
    """Blocks of a kind in a part of the documentation."""
    part = FORMATS[FORMATS.index(start) : FORMATS.index(end)]
    return re.findall(rf"^```{kind}\n(.*?)^```$", part, re.DOTALL | re.MULTILINE)


def test_the_commands_of_the_documentation_run(shell: Shell) -> None:
    job = "1 200000 0 100 1 -1 -1 1 200 -1 1 12 1 1 1 1 -1 -1"
    types = [
        {"InstanceType": name, "VCpuInfo": {"DefaultVCpus": 2}, "MemoryInfo": {"SizeInMiB": 8192}}
        for name in ("m6i.large", "m7g.2xlarge")
    ]
    names = ("AvailabilityZone", "InstanceType", "ProductDescription", "SpotPrice", "Timestamp")
    price = dict(zip(names, ("us-east-1a", "m6i.large", "Linux/UNIX", "0.03", "2026-11-05T00:00:00Z"), strict=True))
    task = {"id": "a", "runtimeInSeconds": 10, "memoryInBytes": 1024**2, "name": "a", "parents": []}
    files = {
        "tasks.csv": blocks("csv", "## Tasks in a CSV", "## A catalogue")[0],
        "arrivals.csv": blocks("csv", "## Jobs that arrive", "## What commands")[0],
        "log.swf": job,
        "log.gwf": f"{job.rsplit(' ', 2)[0]} S1 S1 BoT 17",
        "blast.json": {"name": "b", "schemaVersion": "1.4", "workflow": {"tasks": [task]}},
        "types.json": {"InstanceTypes": types},
        "history.json": {"SpotPriceHistory": [price]},
    }
    for name, content in files.items():
        (shell.folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    lines = "".join(blocks("bash", "## Tasks in a CSV", "## Files of the HADS")).splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("spotbag ")]
    assert len(commands) == 9
    for words in commands:
        shell.run(*words, *(("-m", "greedy") if words[0] == "solve" else ()))


def test_the_catalogue_of_the_documentation_is_right() -> None:
    [text] = blocks("json catalogue", "## A catalogue", "## Logs of batch")
    [row] = Catalogue.parse(text).vm_types
    assert row.usd_per_core_hour("spot") == 0.01525
