"""Dates and weights of tasks: their place in instances, files and CSV tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.instances.bags.csv_tasks import read_tasks
from spotbag.instances.entries import due_s
from spotbag.instances.instance import Instance


def bag(*tasks: dict[str, Any], **fields: Any) -> Instance:
    rented = {"name": "a", "vcpus": 2, "memory_mb": 100, "offers": {"spot": {"price_usd_per_hour": 1.0, "limit": 2}}}
    entries = [{"id": f"t{k}", "memory_mb": 1, "base_runtime_s": 10} | task for k, task in enumerate(tasks)]
    return Instance(**{"name": "dated", "deadline_s": 100, "vm_types": [rented], "tasks": entries} | fields)


def test_tables_by_group() -> None:
    dated = bag({"ready_s": 50, "deadline_s": 80, "weight": 2.5}, {}, {"deadline_s": 200}, d_spot_s=70)
    assert dated.has_dates
    assert dated.release_s.tolist() == [50, 0, 0]
    assert dated.due_s.tolist() == [80, 100, 100]  # a deadline of the bag that is earlier counts
    assert dated.weight.tolist() == [2.5, 1.0, 1.0]
    assert dated.latest_end_s.tolist() == [[70], [70], [70]]
    assert [due_s(task, 100) for task in dated.tasks] == [80, 100, 100]
    assert dated.replace(deadline_s=75, d_spot_s=75).latest_end_s.tolist() == [[75], [75], [75]]


def test_a_weight_is_no_date_and_a_deadline_at_0_is_one() -> None:
    assert not bag({"weight": 3.0}).has_dates
    assert bag({"weight": 3.0}).due_s.tolist() == [100]
    state_left = bag({}).model_copy(update={"tasks": [bag({}).tasks[0].model_copy(update={"deadline_s": 0})]})
    assert state_left.has_dates
    assert due_s(state_left.tasks[0], 100) == 0


def test_documents_keep_dates_and_have_none_where_none_are_given(tmp_path: Path) -> None:
    for count in (1, 2_000):  # short documents are read in another way than long ones
        dated = bag(*[{"ready_s": 5.0, "deadline_s": 90, "weight": 0.5}, {}] * count)
        dated.write(tmp_path / "bag.json")
        again = Instance.read(tmp_path / "bag.json")
        assert again == dated
        assert again.release_s.tolist() == dated.release_s.tolist()
        assert again.due_s.tolist() == dated.due_s.tolist()
        assert again.weight.tolist() == dated.weight.tolist()
    bag({}).write(tmp_path / "bag.json")
    text = (tmp_path / "bag.json").read_text()
    assert not any(f'"{name}"' in text for name in ("ready_s", "weight"))


@pytest.mark.parametrize(
    ("task", "rule"),
    [
        ({"ready_s": 95}, "tasks[0] 't0': ready_s 95 is 5 s too late: from 95 s on, the task takes 10 s"),
        ({"deadline_s": 5}, "tasks[0] 't0': deadline_s 5 is 8 s too early: from 3 s on, the task takes 10 s"),
        ({"deadline_s": -1}, "tasks[0] 't0': deadline_s -1 is 14 s too early"),
        ({"ready_s": 50, "deadline_s": 59}, "tasks[0] 't0': deadline_s 59 is 1 s too early: from 50 s on"),
        ({"ready_s": -1}, "ready_s"),
        ({"weight": 0}, "weight"),
    ],
)
def test_what_cannot_be_kept_is_named(task: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError) as caught:
        bag(task, boot_overhead_s=3)
    assert rule in str(caught.value)
    with pytest.raises(InputError):  # of many, as well
        bag(*[{}] * 200, task, boot_overhead_s=3)
    with pytest.raises(InputError):  # and of one that is changed
        bag({}, boot_overhead_s=3).replace(tasks=[{"id": "t", "memory_mb": 1, "base_runtime_s": 10} | task])


def test_dates_that_just_suffice() -> None:
    bag({"ready_s": 90}, {"ready_s": 50, "deadline_s": 60}, {"deadline_s": 13}, boot_overhead_s=3)


def test_columns_of_dates(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(
        "id,memory_mb,runtime_s,ready_min,due,weight\n"
        "a,1,10,0.501,2min,3\n"  # 30.06 s
        "b,1,20,0,,\n"
        "c,1,20,,0:01:30.9,0.5\n"
        "d,1,20,,,\n"
    )
    tasks = read_tasks(path, 3600, ["c6i.large"]).tasks
    assert [(task.ready_s, task.deadline_s, task.weight) for task in tasks] == [
        (31, 120, 3.0),  # not before, and not after
        (0, None, None),
        (None, 90, 0.5),
        (None, None, None),
    ]


def test_cells_that_are_no_dates(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("id,memory_mb,runtime_s,ready,deadline_s,weight\na,1,10,5,-3,x\nb,1,20,2s,9,-1\n")
    with pytest.raises(InputError) as caught:
        read_tasks(path, 3600, ["c6i.large"])
    text = str(caught.value)
    assert "line 2: ready '5' has no unit: call the column ready_s" in text
    assert "line 2: deadline_s '-3' must be at least 0" in text
    path.write_text("id,memory_mb,runtime_s,deadline\na,1,10,2026-11-28T10:00\n")
    with pytest.raises(InputError, match="must be a duration since the bag was begun such as 90s"):
        read_tasks(path, 3600, ["c6i.large"])
    assert "line 2: weight 'x' must be a number" in text
    assert "line 3 'b': weight -1" in text
    path.write_text("id,memory_mb,runtime_s,ready_s,deadline_s\na,1,10,5,100\nb,1,20,5,24\n")
    with pytest.raises(InputError) as caught:
        read_tasks(path, 3600, ["c6i.large"])
    assert "line 3" in str(caught.value)
    assert "1 s too early" in str(caught.value)
