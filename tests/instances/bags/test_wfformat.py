"""Bags of tasks from WfFormat, versions 1.4 and 1.5."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.instances.bags.csv_tasks import instance_of_csv
from spotbag.instances.bags.imported import Asked, Imported
from spotbag.instances.bags.vm_catalogue import VmChoice
from spotbag.instances.table_columns import CsvFormat

ASKED = Asked(7200, VmChoice(types=["c6i.large"]))


def task(name: str, /, **fields: Any) -> dict[str, Any]:
    """What a task took."""
    return {"id": name, "runtimeInSeconds": 60.5, "coreCount": 1, "memoryInBytes": 3 * 1024**2} | fields


def read(folder: Path, workflow: dict[str, Any], asked: Asked = ASKED, **more: Any) -> Imported:
    """Write a workflow, and read it."""
    path = folder / "flow.json"
    version = "1.4" if "tasks" in workflow else "1.5"
    path.write_text(json.dumps({"name": "flow", "schemaVersion": version, "workflow": workflow}))
    return instance_of_csv(path, asked, CsvFormat(**more), "wfformat")


def in_two_parts(*tasks: dict[str, Any], **links: list[str]) -> dict[str, Any]:
    """A workflow of version 1.5."""
    specified = [{"name": "x", "id": one["id"], "parents": links.get(one["id"], []), "children": []} for one in tasks]
    return {"specification": {"tasks": specified}, "execution": {"makespanInSeconds": 99, "tasks": [*tasks]}}


def test_tasks_with_their_commands(tmp_path: Path) -> None:
    command = {"program": "blast", "arguments": ["-n", "5"]}
    expected = [
        {"id": "a", "memory_mb": 3, "base_runtime_s": 60.5, "command": "blast -n 5"},
        {"id": "b", "memory_mb": 512, "base_runtime_s": 7},
    ]
    tasks = [task("a", command=command), {"id": "b", "runtimeInSeconds": 7}]
    asked = Asked(7200, ASKED.vms, memory_mb=512)
    for workflow in (in_two_parts(*tasks), {"tasks": [one | {"parents": [], "name": "x"} for one in tasks]}):
        instance = read(tmp_path, workflow, asked).instance
        assert [entry.model_dump(exclude_unset=True) for entry in instance.tasks] == expected
        assert instance.name == "flow"


def test_tasks_that_depend_on_each_other_are_refused(tmp_path: Path) -> None:
    message = r"has 2 dependencies between its 3 tasks \('b' waits for 'a', for example\)"
    with pytest.raises(InputError, match=message):
        read(tmp_path, in_two_parts(task("a"), task("b"), task("c"), b=["a"], c=["a"]))
    with pytest.raises(InputError, match="has 1 dependencies"):
        read(tmp_path, {"tasks": [task("a", name="a", parents=[], children=["b"]), task("b", name="b", parents=["a"])]})


def test_tasks_that_read_what_others_write_depend_on_them(tmp_path: Path) -> None:
    flow = in_two_parts(task("a"), task("b"))
    one, other = flow["specification"]["tasks"]
    one |= {"inputFiles": ["in", "own"], "outputFiles": ["f", "own"]}
    other |= {"inputFiles": ["in"]}
    assert read(tmp_path, flow).instance.n_tasks == 2
    other |= {"inputFiles": ["in", "f"]}
    message = r"has 1 dependencies between its 2 tasks \('b' waits for 'a', for example\)"
    with pytest.raises(InputError, match=message):
        read(tmp_path, flow)
    files = [[{"name": "f", "link": link, "sizeInBytes": 1}] for link in ("output", "input")]
    with pytest.raises(InputError, match=message):
        read(
            tmp_path,
            {"tasks": [task(name, name=name, parents=[], files=of) for name, of in zip("ab", files, strict=True)]},
        )


def test_both_parts_have_the_same_tasks_and_all_their_links(tmp_path: Path) -> None:
    flow = in_two_parts(task("a"), task("b"))
    ran = flow["execution"]["tasks"]
    with pytest.raises(InputError, match=r"flow.json: workflow.execution: lacks b of the specification"):
        read(tmp_path, flow | {"execution": {"tasks": ran[:1]}})
    with pytest.raises(InputError, match=r"flow.json: workflow.specification: lacks c of the execution"):
        read(tmp_path, flow | {"execution": {"tasks": [*ran, task("c")]}})
    twice = [*ran, task("a", runtimeInSeconds=None)]
    with pytest.raises(InputError, match=r"task 3: id 'a' is a duplicate of task 1"):
        read(tmp_path, flow | {"execution": {"tasks": twice}})
    specified = flow["specification"]["tasks"]
    with pytest.raises(InputError, match=r"task 3: id 'a' is a duplicate of task 1"):
        read(tmp_path, flow | {"specification": {"tasks": [*specified, specified[0]]}})
    one = specified[1] | {"parents": ["z"]}
    with pytest.raises(InputError, match="task 2 'b': depends on z, which is not there"):
        read(tmp_path, flow | {"specification": {"tasks": [specified[0], one]}})
    del specified[1]["children"]
    with pytest.raises(InputError, match="task 2 'b': children is missing: whether a task depends on others must be"):
        read(tmp_path, flow)


@pytest.mark.parametrize("version", ["1.3", "1.50", "2", ""])
def test_a_version_that_is_not_known_is_refused(tmp_path: Path, version: str) -> None:
    document = {"name": "f", "schemaVersion": version, "workflow": in_two_parts(task("a"))}
    (tmp_path / "f.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"f.json: schemaVersion '.*' must be '1.4', '1.5' or '1.6'"):
        instance_of_csv(tmp_path / "f.json", ASKED)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("coreCount", -4, "tasks[0].coreCount -4 must be greater than or equal to 1"),
        ("coreCount", 0.5, "tasks[0].coreCount 0.5 must be greater than or equal to 1"),
        ("coreCount", 0, "tasks[0].coreCount 0 must be greater than or equal to 1"),
        ("coreCount", 1.5, "task 1: coreCount '1.5' must be a whole number of cores, up to 10,000,000"),
        ("coreCount", 10**9, "task 1: coreCount '1000000000.0' must be a whole number"),
        ("memoryInBytes", -1, "tasks[0].memoryInBytes -1 must be greater than or equal to 0"),
        ("runtimeInSeconds", -1, "tasks[0].runtimeInSeconds -1 must be greater than or equal to 0"),
    ],
)
def test_numbers_that_no_task_can_have_are_refused(tmp_path: Path, field: str, value: float, said: str) -> None:
    for multi_core in ("keep", "split"):
        with pytest.raises(InputError, match=re.escape(said)):
            read(tmp_path, in_two_parts(task("a", **{field: value})), multi_core=multi_core)


def test_tasks_of_version_1_4_have_names_and_are_called_by_them_if_one_has_no_id(tmp_path: Path) -> None:
    tasks = [task("1", name="a", parents=[]), task("2", name="b", parents=[])]
    assert [entry.id for entry in read(tmp_path, {"tasks": tasks}).instance.tasks] == ["1", "2"]
    tasks[1]["name"] = "b" * 300
    assert [entry.id for entry in read(tmp_path, {"tasks": tasks}).instance.tasks] == ["1", "2"]
    tasks[1]["name"] = "b"
    del tasks[1]["id"]
    assert [entry.id for entry in read(tmp_path, {"tasks": tasks}).instance.tasks] == ["a", "b"]
    del tasks[0]["name"]
    with pytest.raises(InputError, match=r"workflow.tasks\[0\].name is missing"):
        read(tmp_path, {"tasks": tasks})


def test_a_memory_of_0_was_not_measured(tmp_path: Path) -> None:
    flow = in_two_parts(task("a", memoryInBytes=0))
    assert read(tmp_path, flow, Asked(7200, ASKED.vms, memory_mb=7)).instance.tasks[0].memory_mb == 7
    with pytest.raises(InputError, match="memoryInBytes is missing"):
        read(tmp_path, flow)


def test_tasks_of_several_cores(tmp_path: Path) -> None:
    workflow = in_two_parts(task("a", coreCount=3), task("b"))
    with pytest.raises(InputError, match=r"task 1 'a': cores 3 are more than any .* has \(most 2\)"):
        read(tmp_path, workflow)
    kept = read(tmp_path, workflow, Asked(7200, VmChoice(types=("c6i.xlarge",)))).instance
    assert [(entry.id, entry.count, entry.cores, entry.memory_mb) for entry in kept.tasks] == [
        ("a", 1, 3, 3),
        ("b", 1, 1, 3),
    ]
    instance = read(tmp_path, workflow, multi_core="split").instance
    assert [(entry.id, entry.count, entry.memory_mb) for entry in instance.tasks] == [("a", 3, 1), ("b", 1, 3)]
    workflow["execution"]["tasks"][0].pop("memoryInBytes")  # nobody needs that of what is left out
    imported = read(tmp_path, workflow, multi_core="skip")
    assert [entry.id for entry in imported.instance.tasks] == ["b"]
    assert "1 row of several cores left out (the first in task 1)" in imported.warnings[1]


def test_a_stage_of_a_workflow_is_a_bag_if_its_tasks_do_not_wait_for_each_other(tmp_path: Path) -> None:
    names = ("split_ID1", "align_ID2", "align_ID3", "join_ID4")
    workflow = in_two_parts(*(task(name) for name in names))
    specified = workflow["specification"]["tasks"]
    for entry, parents in zip(specified, ([], names[:1], names[:1], names[1:3]), strict=True):
        entry |= {"name": entry["id"], "parents": [*parents]}
    with pytest.raises(InputError, match=r"has 4 dependencies .* of a stage: split \(1\), align \(2\), join \(1\)"):
        read(tmp_path, workflow)
    imported = read(tmp_path, workflow, stage="align")
    assert [entry.id for entry in imported.instance.tasks] == ["align_ID2", "align_ID3"]
    assert "2 rows of other stages than align left out (the first in task 1)" in imported.warnings[1]
    assert "4 dependencies on tasks that are not planned" in imported.warnings[2]
    with pytest.raises(InputError, match=r"no task .* stages than sort .*; stages are split \(1\), align \(2\), join"):
        read(tmp_path, workflow, stage="sort")


def test_tasks_without_a_run_time_are_counted_and_left_out(tmp_path: Path) -> None:
    workflow = in_two_parts(task("a", runtimeInSeconds=0), task("b"), task("c", runtimeInSeconds=None))
    imported = read(tmp_path, workflow)
    assert [entry.id for entry in imported.instance.tasks] == ["b"]
    assert "1 row with a run time of 0 left out (the first in task 1)" in imported.warnings[1]
    assert "1 row without a run time left out (the first in task 3)" in imported.warnings[2]


@pytest.mark.parametrize(
    ("workflow", "message"),
    [
        ({"tasks": []}, "has no tasks"),
        ({}, "is no workflow of version 1.5, which has workflow.specification, with all dependencies, and"),
        ({"execution": {"tasks": [task("a")]}}, "is no workflow of version 1.5"),
        (in_two_parts(task("a")) | {"tasks": []}, "is no workflow of version 1.4, which has workflow.tasks"),
        ({"specification": {"tasks": []}}, "has no execution"),
        (in_two_parts(task("a", runtimeInSeconds=None)), "has no task that can be planned: 1 row without a run time"),
        (in_two_parts(task("a", memoryInBytes=None)), "task 1: memoryInBytes is missing (--memory 1GB"),
        (
            in_two_parts(task("a", runtimeInSeconds=9999)),
            "a takes 9,999 s on the fastest VM type that it fits; the least deadline that could do is 9,999 s",
        ),
        ({"tasks": [task("a", name="a", parents=[])] * 2}, "id 'a' is a duplicate of task 1"),
    ],
)
def test_workflows_that_cannot_be_used(tmp_path: Path, workflow: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, workflow)
    assert message in str(caught.value)
