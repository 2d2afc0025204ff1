"""The files of the HADS authors: job.json, env.json, map.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.bags.hads_files import hads_files, read_hads_files, write_hads_files
from spotbag.instances.library import library_instance
from spotbag.schedules.hads_map import read_hads_map, write_hads_map
from spotbag.solvers.bags.solve import solve
from tests.helpers.second_by_second import broken_rules


def job(**changes: Any) -> dict[str, Any]:
    runtime = {"c3.large": 10.0, "c4.large": 9.0, "t3.large": 6.0, "c5.large": 8.0}
    tasks = {str(index): {"memory": 13.5, "io": 0.0, "command": "run", "runtime": runtime} for index in range(3)}
    return {"job_id": 7, "job_name": "demo", "description": "d", "tasks": tasks} | changes


def environment() -> dict[str, Any]:
    def entry(spot_limit: int, on_demand_limit: int, burstable: str = "no", **prices: float) -> dict[str, Any]:
        return {
            "vcpu": 2,
            "memory": 3.75,
            "gflops": 22.09,
            "provider": "ec2",
            "prices": {"on-demand": 0.1, "preemptible": 0.03},
            "restrictions": {
                "limits": {"on-demand": on_demand_limit, "preemptible": spot_limit},
                "markets": {
                    "on-demand": "Yes" if on_demand_limit else "no",
                    "preemptible": "yes" if spot_limit else "NO",
                },
                "burstable": {"burstable": burstable, "cpu_credit_rate": 36, "baseline": 30.0},
            },
        }

    return {
        "global_limits": {"ec2": {"on-demand": 10, "preemptible": 8}},
        "instances": {
            "c3.large": entry(3, 2),
            "c4.large": entry(3, 0),
            "c4.xlarge": entry(0, 0),
            "t3.large": entry(0, 1, "yes"),
        },
    }


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "job.json", tmp_path / "env.json"
    for path, content in zip(paths, (job(), environment()), strict=True):
        path.write_text(json.dumps(content))
    return paths


def test_import_reads_units_limits_and_markets(files: tuple[Path, Path]) -> None:
    imported = read_hads_files(*files, 100, 80)
    instance = imported.instance
    assert (instance.name, instance.deadline_s, instance.d_spot_s, instance.checkpoint) == ("demo", 100, 80, None)
    assert [str(offer) for offer in instance.offers] == [
        "c3.large spot",
        "c3.large on-demand",
        "c4.large spot",
        "t3.large on-demand",
    ]
    assert [offer.limit for offer in instance.offers] == [3, 2, 3, 1]
    assert instance.vm_types[0].memory_mb == 3840
    assert instance.vm_types[2].burstable is not None
    assert instance.vm_types[2].burstable.baseline_fraction == 0.3
    assert instance.limits.max_spot == 8
    assert instance.task_ids == ("0", "1", "2")
    assert [warning.split(":")[0] for warning in imported.warnings] == [
        "c4.xlarge",
        "run times on c5.large left out",
    ]


@pytest.mark.parametrize(
    ("which", "change", "said"),
    [
        (0, {"tasks": {"0": {"memory": 1}}}, "tasks.0.runtime is missing"),
        (0, {"job_id": "x"}, "job_id 'x' must be a whole number"),
        (0, {"tasks": {}}, "tasks (an array) must have at least 1 entry"),
        (1, {"global_limits": {}}, "global_limits.ec2 is missing"),
        (1, {"instances": {}}, "vm_types (an array) must have at least 1 entry"),
        (1, {"instances": {"c3.large": 5}}, "instances.c3.large 5 must be an object"),
    ],
)
def test_faulty_files_are_refused(files: tuple[Path, Path], which: int, change: dict[str, Any], said: str) -> None:
    content = json.loads(files[which].read_text()) | change
    files[which].write_text(json.dumps(content))
    with pytest.raises(InputError) as caught:
        read_hads_files(*files, 100)
    assert said in str(caught.value)


def test_a_market_switch_other_than_yes_or_no_is_refused(files: tuple[Path, Path]) -> None:
    content = environment()
    content["instances"]["c3.large"]["restrictions"]["markets"]["on-demand"] = "maybe"
    files[1].write_text(json.dumps(content))
    with pytest.raises(InputError, match="must be yes or no"):
        read_hads_files(*files, 100)


def test_export_and_import_give_the_same_problem(tmp_path: Path) -> None:
    instance = library_instance("hads/J60")
    paths = tmp_path / "job.json", tmp_path / "env.json"
    warnings = write_hads_files(instance, *paths)
    assert any("tasks are renamed 0 .. 59" in warning for warning in warnings)
    assert any("deadline_s, migration_overhead_s, checkpoint" in warning for warning in warnings)
    back = read_hads_files(*paths, instance.deadline_s).instance
    assert back.vm_types == instance.vm_types
    assert (back.runtime_s == instance.runtime_s[instance.task_group]).all()
    assert (back.memory_kb == instance.memory_kb[instance.task_group]).all()


def test_what_cannot_be_said_in_their_files_is_refused() -> None:
    tiny = library_instance("tiny/one-task")
    no_gflops = tiny.replace(vm_types=[vm_type.model_copy(update={"gflops": None}) for vm_type in tiny.vm_types])
    with pytest.raises(SpotbagError, match="need gflops"):
        hads_files(no_gflops)
    on_spot = [task.model_copy(update={"markets": ("spot",)}) for task in tiny.tasks]
    with pytest.raises(SpotbagError, match="no place for the markets of a task"):
        hads_files(tiny.replace(tasks=on_spot))
    two = library_instance("tiny/fast-or-cheap")
    partial = two.replace(tasks=[{"id": "t", "memory_mb": 1, "runtime_s": {"fast": 3}}])
    with pytest.raises(SpotbagError, match="task 't' has none on cheap"):
        hads_files(partial)


def test_a_plan_survives_the_way_through_map_json(tmp_path: Path) -> None:
    instance = library_instance("burst-hads/J60").replace(boot_overhead_s=60)
    schedule = solve(instance, "greedy").schedule
    assert schedule is not None
    paths = tmp_path / "job.json", tmp_path / "env.json"
    write_hads_files(schedule.instance, *paths)
    write_hads_map(schedule, tmp_path / "map.json")
    # Their files know neither boot nor checkpoints, so those are put back.
    imported = read_hads_files(*paths, instance.deadline_s, schedule.instance.d_spot_s).instance
    twin = imported.replace(boot_overhead_s=60, checkpoint=instance.checkpoint)
    back, warnings = read_hads_map(tmp_path / "map.json", twin)
    assert warnings == []
    assert (back.cost_usd, back.makespan_s) == (pytest.approx(schedule.cost_usd), schedule.makespan_s)
    assert broken_rules(twin, back.to_document()) == {}


def test_a_map_of_vms_that_are_ready_at_different_times_is_refused(tmp_path: Path) -> None:
    """Its makespan was less the boot of whichever VM came last."""
    instance = library_instance("tiny/two-cores")
    [vm_type] = instance.vm_types
    kinds = [vm_type.model_copy(update={"name": name, "setup_s": setup_s}) for name, setup_s in (("a", 0), ("b", 5))]
    runtime_s = next(iter(instance.tasks[0].runtime_s.values()))  # type: ignore[union-attr]
    tasks = [{"id": name, "memory_mb": 1, "runtime_s": {name: runtime_s}} for name in ("a", "b")]
    plan = solve(instance.replace(vm_types=kinds, tasks=tasks), "greedy", survive="none").schedule
    assert plan is not None
    with pytest.raises(SpotbagError, match="those of the plan are ready between 0 and 5 s"):
        write_hads_map(plan, tmp_path / "map.json")
    assert not (tmp_path / "map.json").exists()


def test_a_baseline_task_keeps_its_start_and_gets_our_duration(files: tuple[Path, Path], tmp_path: Path) -> None:
    instance = read_hads_files(*files, 100, 80).instance
    vms = {
        "id1": {
            "type": "c3.large",
            "market": "preemptible",
            "price": 0.03,
            "map": {"vcpu_0": {"0": {"start": 0.0, "end": 10.0}}, "vcpu_1": {"1": {"start": 2.0, "end": 12.0}}},
        },
        # Their baseline: 6 s * 30 / 10 = 18 s; here 6 / 0.3 = 20 s.
        "id2": {
            "type": "t3.large",
            "market": "on-demand",
            "price": 0.1,
            "map": {"vcpu_0": {"2": {"start": 0, "end": 18}}},
        },
    }
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"job_id": 7, "instances": vms}))
    schedule, warnings = read_hads_map(path, instance)
    assert schedule.task_start_s.tolist() == [0, 2, 0]
    assert schedule.task_end_s.tolist() == [10, 12, 20]
    assert schedule.task_baseline.tolist() == [False, False, True]
    (warning,) = warnings
    assert warning.startswith("1 tasks end at other times than in the map")
    assert warning.endswith("task 2 on t3.large in baseline mode: 18 s in the map, 20 s here")
    assert broken_rules(instance, schedule.to_document()) == {}


@pytest.mark.parametrize(
    ("vm", "said"),
    [
        ({"type": "m5.large"}, "is not offered"),
        ({"map": {"vcpu_2": {}}}, "c3.large has vcpu_0 to vcpu_1"),
        ({"map": {"core": {}}}, "c3.large has vcpu_0 to vcpu_1"),
        ({"map": {"vcpu_0": {"9": {"start": 0, "end": 1}}}}, "is not a task of the instance"),
        ({"map": {"vcpu_0": {"0": {"start": 0.5, "end": 1}}}}, "must be whole seconds"),
        ({"map": {"vcpu_0": {"0": {"start": -1, "end": 1}}}}, "must be greater than or equal to 0"),
        ({"map": {}}, "task '0' of the instance is in no map"),
    ],
)
def test_a_faulty_map_is_refused(files: tuple[Path, Path], tmp_path: Path, vm: dict[str, Any], said: str) -> None:
    instance = read_hads_files(*files, 100, 80).instance
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"instances": {"id1": {"type": "c3.large", "market": "preemptible", "map": {}} | vm}}))
    with pytest.raises(InputError) as caught:
        read_hads_map(path, instance)
    assert said in str(caught.value)
