"""Bags of tasks from logs of batch systems: SWF and GWF."""

from __future__ import annotations

import io
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.bags.imported import Asked, Imported
from spotbag.instances.bags.job_logs import JobFilter, MultiCore, _Log, instance_of_log
from spotbag.instances.bags.vm_catalogue import VmChoice
from spotbag.instances.table_formats import LogFormat

ASKED = Asked(86400, VmChoice(types=["c6i.large"]), memory_mb=512)


def job(number: int, **fields: Any) -> str:
    """A line of a log: of one core, completed, without a known memory."""
    values = {
        "submit": 10 * number,
        "wait": 0,
        "run": 100,
        "cores": 1,
        "used_kb": -1,
        "asked_cores": -1,
        "time": 3600,
        "asked_kb": -1,
        "status": 1,
        "user": 7,
        "preceding": -1,
    } | fields
    head = (number, values["submit"], values["wait"], values["run"], values["cores"], -1, values["used_kb"])
    middle = (values["asked_cores"], values["time"], values["asked_kb"], values["status"], values["user"])
    return " ".join(map(str, (*head, *middle, 1, 1, 1, 1, values["preceding"], -1)))


def grid_job(number: int, bag: str = "-1", structure: str = "UNITARY", **fields: Any) -> str:
    """The same in GWF."""
    cells = job(number, **fields).split()[:16]
    return "\t".join([*cells, "S1", "S1", structure, bag, *["-1"] * 9])


def read(folder: Path, lines: list[str], kind: LogFormat = "swf", asked: Asked = ASKED, **wanted: Any) -> Imported:
    """Write a log, and read it."""
    path = folder / f"log.{kind}"
    path.write_text("; Version: 2.2\n\n" + "\n".join(lines) + "\n")
    return instance_of_log(path, kind, asked, JobFilter(**wanted))


def bag(imported: Imported) -> list[tuple[str, float, float, int]]:
    """Id, run time, memory and count of each entry."""
    return [(task.id, task.base_runtime_s or 0, task.memory_mb, task.count) for task in imported.instance.tasks]


def test_jobs_that_are_the_same_are_counted(tmp_path: Path) -> None:
    lines = [
        job(1),
        job(2, run=50, used_kb=2048),
        job(3),
        job(4, asked_kb=1024),
        job(5, run=50, used_kb=2048, asked_kb=9),
    ]
    assert bag(read(tmp_path, lines)) == [("j1", 100, 512, 2), ("j2", 50, 2, 2), ("j4", 100, 1, 1)]


def test_jobs_that_do_not_say_their_cores_are_counted_with_those_of_one(tmp_path: Path) -> None:
    assert bag(read(tmp_path, [job(1), job(2, cores=-1), job(3, cores=0)])) == [("j1", 100, 512, 3)]


def test_jobs_are_chosen_by_user_window_status_and_number(tmp_path: Path) -> None:
    lines = [job(1), job(2, user=8), job(3, status=0), job(4, status=5), job(5, status=-1), job(6), job(7, run=-1)]

    def taken(**wanted: Any) -> set[float]:
        return {task.base_runtime_s or 0 for task in read(tmp_path, numbered, **wanted).instance.tasks}

    numbered = [line.replace(" 100 ", f" {100 + number} ", 1) for number, line in enumerate(lines, 1)]
    assert taken() == {101, 102, 105, 106}
    assert taken(user="8") == {102}
    assert taken(from_s=20, to_s=60) == {102, 105}
    assert taken(statuses=(0, 5)) == {103, 104}
    assert taken(statuses=()) == {101, 102, 103, 104, 105, 106}
    assert taken(most_jobs=2) == {101, 102}
    assert taken(requested_times=True) == {3600}
    assert [warning.split(": ", 1)[1] for warning in read(tmp_path, numbered).warnings[:3]] == [
        "1 jobs with status 0 left out",
        "1 jobs with status 5 left out",
        "1 jobs without a run time left out",
    ]


def test_jobs_of_several_cores_are_kept_split_or_skipped(tmp_path: Path) -> None:
    lines = [job(1), job(2, cores=4, run=60), job(3, cores=8, asked_cores=2, run=60)]
    with pytest.raises(InputError, match=r"line 4 'j2': cores 4 are more than any .* has \(most 2\)"):
        read(tmp_path, lines)
    large = Asked(86400, VmChoice(types=("c6i.4xlarge",)), memory_mb=512)
    one, four, two = read(tmp_path, lines, asked=large).instance.tasks
    assert [(task.id, task.cores, task.count) for task in (one, four, two)] == [
        ("j1", 1, 1),
        ("j2", 4, 1),
        ("j3", 2, 1),
    ]
    assert four.memory_mb == 4 * one.memory_mb  # logs have the memory of a processor

    def counts(choice: MultiCore) -> list[tuple[str, int]]:
        return [(task.id, task.count) for task in read(tmp_path, lines, multi_core=choice).instance.tasks]

    assert counts("skip") == [("j1", 1)]
    assert counts("split") == [("j1", 1), ("j2", 6)]


def test_what_a_job_needs_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"2 jobs do not say their memory .the first in line 3.: --memory 1GB"):
        read(tmp_path, [job(1), job(2), job(3, used_kb=5)], asked=Asked(86400, ASKED.vms))
    with pytest.raises(InputError, match=r"has no job that is wanted .1 with status 0."):
        read(tmp_path, [job(1, status=0)])


def test_jobs_that_wait_for_others_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lines 4, 5: '2' depends on another job"):
        read(tmp_path, [job(1), job(2, preceding=1), job(3, preceding=2)])
    with pytest.raises(InputError, match="line 3: '1' depends on another job"):
        read(tmp_path, [grid_job(1, structure="DAG")], "gwf")


def test_bags_of_grids(tmp_path: Path) -> None:
    lines = [grid_job(1, "b1", "BoT"), grid_job(2, "b2", "BoT", run=7.5), grid_job(3, "b1", "BoT"), grid_job(4)]
    assert bag(read(tmp_path, lines, "gwf", bag="b1")) == [("j1", 100, 512, 2)]
    assert bag(read(tmp_path, lines, "gwf")) == [("j1", 100, 512, 3), ("j2", 7.5, 512, 1)]
    with pytest.raises(SpotbagError, match="--bag: SWF has no bags of tasks"):
        read(tmp_path, [job(1)], bag="b1")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 2 3", "line 3: has 3 columns; a line of SWF has 18"),
        (job(1, run="long"), "line 3: column 4 'long' must be a number"),
        (job(1, status="ok"), "line 3: column 11 'ok' must be a number"),
        (job(1, run=200_000), "the least deadline that could do is 200,000 s"),
        (job(1, used_kb=9_000_000), "line 3 'j1': memory_mb 8789.0625 fits no VM type"),
    ],
)
def test_lines_that_cannot_be_used(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, [line])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "column"),
    [
        *(({"run": text}, 4) for text in ("nan", "inf", "1_0", "１０", "1e10", "-2", "0x5", "1e-400")),
        *(({"cores": text}, 5) for text in ("2.9", "-4", "1e9", "1,000")),
        ({"asked_cores": "1.5"}, 8),
        ({"used_kb": "-5"}, 7),
        ({"asked_kb": "inf"}, 10),
        ({"status": "1.9"}, 11),
        ({"submit": "nan"}, 2),
        ({"user": "７"}, 12),
        ({"preceding": "nan"}, 17),
    ],
)
def test_what_no_column_can_hold_is_refused(tmp_path: Path, fields: dict[str, Any], column: int) -> None:
    for kind in ("swf", "gwf"):
        if kind == "gwf" and column > 11:  # users of GWF have names, and what a job waits for is another column
            continue
        line = (job if kind == "swf" else grid_job)(1, **fields)
        [value] = fields.values()
        with pytest.raises(InputError, match=rf"line 3: column {column} '{value}' must be "):
            read(tmp_path, [line], "swf" if kind == "swf" else "gwf")
    with pytest.raises(InputError, match="line 3: column 1 '１' must be the number of a job"):
        read(tmp_path, [job(1).replace("1", "１", 1)])
    with pytest.raises(InputError, match="line 4: column 1 '2_' must be the number of a job"):
        read(tmp_path, [job(1), job(2).replace("2", "2_", 1)])


def test_minus_one_is_unknown_and_a_run_time_of_less_than_a_second_is_0(tmp_path: Path) -> None:
    lines = [job(1, cores=-1), job(2, run=0), job(3, run=-1), job(4, run="2.5e1", submit="0.5")]
    imported = read(tmp_path, lines)
    assert bag(imported) == [("j1", 100, 512, 1), ("j4", 25, 512, 1)]
    assert [warning.split(": ", 1)[1] for warning in imported.warnings[:3]] == [
        "1 jobs with a run time of 0 left out",
        "1 jobs without a run time left out",
        "1 jobs do not say their cores, and are taken to have one",
    ]


def test_a_column_that_is_missing_does_not_move_the_others(tmp_path: Path) -> None:
    whole = grid_job(1).replace("\t", " ")
    with pytest.raises(InputError, match="line 4: has 28 columns, the line before 29: which of them is missing"):
        read(tmp_path, [whole, whole.replace(" 0 ", " ", 1)], "gwf")
    with pytest.raises(InputError, match="line 3: column 4 '' must be a number"):
        read(tmp_path, [grid_job(1).replace("\t100\t", "\t\t")], "gwf")
    with pytest.raises(InputError, match=r"line 3: column 4 '1.xa0000' must be a number"):
        read(tmp_path, [whole.replace(" 100 ", " 1\u00a0000 ")], "gwf")


def test_users_of_swf_are_numbers(tmp_path: Path) -> None:
    assert bag(read(tmp_path, [job(1, user="7.0"), job(2, user=8)], user="7")) == [("j1", 100, 512, 1)]
    with pytest.raises(SpotbagError, match="--user ann: users of SWF are numbers"):
        read(tmp_path, [job(1)], user="ann")


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        instance_of_log(tmp_path / "none.swf", "swf", ASKED)
    with pytest.raises(InputError, match="is a folder"):
        instance_of_log(tmp_path, "swf", ASKED)


def test_a_log_is_read_without_being_kept() -> None:
    # 5,000 lines of 280 KB in all; only their 100 kinds of jobs are kept.
    lines = [job(number, run=number % 100 + 1) for number in range(1, 5_001)]
    log = _Log("swf", JobFilter(), 512, "log")
    tracemalloc.start()
    log.read(iter(lines))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(log.tasks()) == 100
    assert most < 100_000


class _Broken(io.StringIO):
    """Standard input that cannot be read."""

    def __next__(self) -> str:
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    ("stdin", "said"), [(_Broken(), "cannot be read: input/output error"), (None, "standard input is closed")]
)
def test_standard_input_that_cannot_be_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO | None, said: str
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(InputError, match=f"standard input: .*{said}"):
        instance_of_log("-", "swf", ASKED, JobFilter())
