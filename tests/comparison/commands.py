"""Examples of every command, and the files that they are given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from typer.main import get_command

from spotbag import State, library_instance, read_schedule
from spotbag.cli import main
from spotbag.cli.app import make_app
from tests.helpers.exported_plans import BAG_WITH_COMMANDS, drive

_TYPES = "--types c6i.large,m6i.xlarge"
_LOG = "--types c6i.large --memory 1GB --deadline 1d"
_TASKS = f"tasks.csv {_TYPES} --deadline 2h"

EXAMPLES = f"""
solve burst-hads/J60 -m ils --out made.json
solve hads/J100 -m greedy --survive blackout --markets spot,on-demand --out made.csv
solve memory/m10 -m search --goal fastest --budget 1.5 --survive none
solve tiny/credits --goal cheapest
solve tiny/checkpoints -m interval --deadline 1h
solve tiny/checkpoints -m greedy --scenario hads/sc4 --policy hads --days 20 --seed 3
solve {_TASKS} -m lpt --limit 3
solve tiny/two-cores -m greedy --deadline 1s
solve tiny/too-long-for-spot --markets spot
replan tiny/memory-parts-them state.json --start plan.json --survive none --out made.json
check tiny/memory-parts-them plan.json --survive one-type
check tiny/boot plan.json
audit trace.jsonl --instance hads/J60
bound burst-hads/J60 --markets spot
bound memory/m20 --goal fastest
compare tiny/boot hads/J60 --method greedy,lpt,ils --seeds 2 --out made.csv
best-known
best-known memory/m10 hads/J60
best-known --update hads/J60 --file made.json --method greedy
pareto tiny/fast-or-cheap --out made.csv
replay hads/J60 -m greedy --scenario hads/sc4 --runs 20 --policy static,hads,rescue,on-time,clairvoyant,hindsight
replay burst-hads/J60 -m greedy --scenario vms/stormy --cloud aws-stop --notice 30s --runs 10 --seed 2
replay burst-hads/J60 -m greedy --scenario poisson --k-h 3 --k-r 2 --day 3 --trace made.jsonl
size thai/table2 --job j4 --deadline 900
stream thai/table2 --runs 5
stream thai/table2 --once -p unknown -p large.4 --trace made.jsonl
stream --run-times run_times.txt -p a2ha --runs 3
stream --list
platform caron/hybrid --draw mixed --number 60 -p money-saving -p round-robin+exact --runs 3
platform tiny/hybrid --once -p time-saving --trace made.jsonl
platform --list
export own_plan.json --out made --instance own.json
export own_plan.json --out made --to skypilot --infra aws
import-log own.json own_plan.json run --out made.json
show hads/J100
show plan.json --instance tiny/memory-parts-them
methods
methods search
policies
warm-up solv
serve --most-requests 0
schema
schema solve
report plan.json --instance tiny/memory-parts-them --out made.html
report trace.jsonl --out made.html
experiment run mine.toml --out made
experiment list
experiment show gaps
experiment results one
experiment compare one two
experiment judge one
suite show suite-1
suite submit one --suite suite-1 --out rows.jsonl
suite check rows.jsonl
suite rank rows.jsonl
bench hads --runs 2
bench burst-hads --runs 2
bench thai --runs 2
bench uniform-progress --runs 2
bench a2ha --runs 2
bench caron --runs 2 --number 20
instance types --arch arm64 --min-vcpus 2 --max-memory 16GB --sort spot
instance prices --spot-history history.json --out made.json
instance clouds
instance scenario hads/sc4 --day 13 --instance hads/J60 --out made.json
instance list
instance generate --tasks 50 --runtime lognormal:300:0.8 --seed 4 --out made.json
instance export hads/J60 --job job.json --env made.json
instance schema
instance import csv {_TASKS} --out made.json
instance import nextflow trace.txt {_LOG} --out made.json
instance import sacct sacct.txt {_LOG} --out made.json
instance import joblog joblog.txt {_LOG} --out made.json
instance import snakemake bench.tsv {_LOG} --out made.json
instance import htcondor history_of_condor.json {_LOG} --out made.json
instance import lsf bjobs.txt {_LOG} --out made.json
instance import batch jobs.json {_LOG} --out made.json
instance import json tasks.json {_LOG} --out made.json
instance import swf log.swf --user 7 {_LOG} --out made.json
instance import gwf log.gwf --bag b1 {_LOG} --out made.json
instance import stream arrivals.csv --types c6i.large --block 10m --out made.json
instance import platform log.swf --status all --stretch 3 --out made.json
instance import wfformat flow.json {_LOG} --out made.json
instance import hads --job hads_job.json --env hads_env.json --deadline 45m --out made.json
"""
"""One a line; those that can print JSON do. What depends on the clock has no place here."""

_JOB = "1 0 0 100 1 -1 -1 1 200 -1 1 7 1 1 1 1 -1 -1"
_PRICE = {"AvailabilityZone": "us-east-1a", "InstanceType": "c6i.large", "ProductDescription": "Linux/UNIX"}
_TASK = {"id": "a", "runtimeInSeconds": 100, "memoryInBytes": 1024**2, "name": "a", "parents": []}

_FILES: dict[str, Any] = {
    "tasks.csv": "id,command,memory_gb,runtime_min\na,run.sh --seed 1,1.5,10\nb,run.sh --seed 2,2,20\n",
    "arrivals.csv": "arrival_s,runtime_min,count,within_h,app\n0,10,3,1,fit\n90,5,1,2,scan\n",
    "run_times.txt": "\n".join(str(60 + 7 * number % 45) for number in range(40)),
    "mine.toml": 'instances = ["tiny/boot", "hads/J60"]\nmethods = ["greedy", "lpt"]\n',
    "log.swf": f"; Version: 2.2\n{_JOB}\n",
    "log.gwf": f"{_JOB.rsplit(' ', 2)[0]} S1 S1 BoT b1\n",
    "flow.json": {"name": "f", "schemaVersion": "1.4", "workflow": {"tasks": [_TASK]}},
    "history.json": {"SpotPriceHistory": [_PRICE | {"SpotPrice": "0.011", "Timestamp": "2026-11-03T12:00:00Z"}]},
    "trace.txt": "task_id\tname\tstatus\trealtime\n1\tA (1)\tCOMPLETED\t1m\n",
    "sacct.txt": "JobID|State|Elapsed|MaxRSS\n1|COMPLETED|00:01:00|\n1.batch|COMPLETED|00:01:00|900K\n",
    "joblog.txt": "Seq\tJobRuntime\tExitval\tSignal\tCommand\n1\t  64.795\t0\t0\techo\n",
    "bench.tsv": "s\th:m:s\tmax_rss\n61.5\t0:01:01\t12.5\n",
    "history_of_condor.json": [{"ClusterId": 1, "ProcId": 0, "RemoteWallClockTime": 60, "JobStatus": 4}],
    "bjobs.txt": "JOBID|STAT|RUN_TIME\n1|DONE|60 second(s)\n",
    "jobs.json": {"jobs": [{"jobId": "a", "jobName": "a", "startedAt": 1000, "stoppedAt": 61000}]},
    "tasks.json": [{"id": "a", "runtime_s": 60}],
    "rows.jsonl": "{}",
    "own.json": BAG_WITH_COMMANDS,
}

_MADE_BY = """
solve tiny/memory-parts-them -m greedy --survive none --out plan.json
replay hads/J60 -m greedy --scenario hads/sc4 --policy hads,on-time --day 1 --trace trace.jsonl
solve own.json -m greedy --out own_plan.json
export own_plan.json --out run --instance own.json
experiment run mine.toml --out one
experiment run mine.toml --out two
instance export hads/J60 --job hads_job.json --env hads_env.json
"""


def write_files() -> None:
    """Write the files that the examples are given into the present folder."""
    for name, content in _FILES.items():
        Path(name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    for line in _MADE_BY.strip().splitlines():
        if main(line.split()) != 0:
            raise RuntimeError(f"spotbag {line} fails")
    for script in Path("run").glob("*/run.sh"):
        drive(script.parent.absolute())
    plan = read_schedule("plan.json", library_instance("tiny/memory-parts-them"))
    State.planned(plan, plan.instance.boot_overhead_s + 1).write("state.json")


def examples() -> list[list[str]]:
    """The words of each example.

    Raises
    ------
    LookupError
        If a command has none.
    """
    words = [line.split() for line in EXAMPLES.strip().splitlines()]
    found: list[list[str]] = []
    for name, command in _commands(get_command(make_app())):
        of_command = [line for line in words if line[: len(name)] == name]
        if not of_command:
            raise LookupError(f"spotbag {' '.join(name)} has no example in {Path(__file__).name}")
        prints_json = any("--json" in option.opts for option in command.params)
        found += [[*line, "--json"] if prints_json else line for line in of_command]
    return found


def _commands(command: Any, name: Sequence[str] = ()) -> Iterator[tuple[list[str], Any]]:
    if not hasattr(command, "commands"):
        yield [*name], command
    for word, part in getattr(command, "commands", {}).items():
        yield from _commands(part, [*name, word])
