"""Bags of tasks from WfFormat, versions 1.4 and 1.5."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.instances.bags.imported import Asked, Imported
from spotbag.instances.bags.vm_catalogue import VmChoice
from spotbag.instances.bags.wfformat import instance_of_wfformat

ASKED = Asked(7200, VmChoice(types=["c6i.large"]))


def task(name: str, **fields: Any) -> dict[str, Any]:
    """What a task took."""
    return {"id": name, "runtimeInSeconds": 60.5, "coreCount": 1, "memoryInBytes": 3 * 1024**2} | fields


def read(folder: Path, workflow: dict[str, Any], asked: Asked = ASKED, **more: Any) -> Imported:
    """Write a workflow, and read it."""
    path = folder / "flow.json"
    path.write_text(json.dumps({"name": "flow", "schemaVersion": "1.5", "workflow": workflow}))
    return instance_of_wfformat(path, asked, **more)


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
        read(tmp_path, {"tasks": [task("a", children=["b"]), task("b", parents=["a"])]})


def test_tasks_of_several_cores(tmp_path: Path) -> None:
    workflow = in_two_parts(task("a", coreCount=3), task("b"))
    with pytest.raises(InputError, match="task 1 'a': coreCount 3 is more than one; --multi-core split"):
        read(tmp_path, workflow)
    instance = read(tmp_path, workflow, split_cores=True).instance
    assert [(entry.id, entry.count, entry.memory_mb) for entry in instance.tasks] == [("a", 3, 1), ("b", 1, 3)]


@pytest.mark.parametrize(
    ("workflow", "message"),
    [
        ({}, "has no tasks"),
        ({"specification": {"tasks": []}}, "has no execution"),
        (in_two_parts(task("a", runtimeInSeconds=None)), "task 1 'a': runtimeInSeconds null must be greater than 0"),
        (in_two_parts(task("a", memoryInBytes=None)), "task 1 'a': memoryInBytes is missing (--memory 1GB"),
        (
            in_two_parts(task("a", runtimeInSeconds=9999)),
            "a takes 9,999 s on the fastest VM type that it fits; the least deadline that could do is 9,999 s",
        ),
        ({"tasks": [task("a"), task("a")]}, "id 'a' is a duplicate of task 1"),
    ],
)
def test_workflows_that_cannot_be_used(tmp_path: Path, workflow: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, workflow)
    assert message in str(caught.value)
