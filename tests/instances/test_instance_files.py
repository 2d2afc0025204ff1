"""Reading and writing instances: what is refused, with which words, and that nothing is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from spotbag.core.errors import InputError
from spotbag.instances import instance_checks
from spotbag.instances.entries import Limits, Offer, Task
from spotbag.instances.instance import (
    Instance,
    instance_warnings,
    read_instance,
    write_instance,
)
from spotbag.instances.library import library_instance, library_names
from tests.helpers.command_shell import type_in
from tests.helpers.faulty_documents import errors_of
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak_of


def document(**changes: Any) -> dict[str, Any]:
    """A small valid document with some top-level keys changed; ``None`` leaves a key out."""
    base: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "demo",
        "deadline_s": 100,
        "vm_types": [
            {"name": "a", "vcpus": 2, "memory_mb": 4096, "offers": {"spot": {"price_usd_per_hour": 1, "limit": 2}}},
            {
                "name": "b",
                "vcpus": 4,
                "memory_mb": 8192,
                "offers": {"on-demand": {"price_usd_per_hour": 2, "limit": 3}},
            },
        ],
        "tasks": [
            {"id": "t0", "memory_mb": 10, "runtime_s": {"a": 10, "b": 9}},
            {"id": "t1", "memory_mb": 20.5, "base_runtime_s": 30, "count": 3},
        ],
    }
    base.update(changes)
    return {key: value for key, value in base.items() if value is not None}


def with_task(**changes: Any) -> dict[str, Any]:
    """The document with its first task changed."""
    task = {"id": "t0", "memory_mb": 10, "runtime_s": {"a": 10, "b": 9}} | changes
    return document(tasks=[{key: value for key, value in task.items() if value is not None}])


def with_type(**changes: Any) -> dict[str, Any]:
    """The document with its first VM type changed."""
    base = document()
    first = base["vm_types"][0] | changes
    base["vm_types"][0] = {key: value for key, value in first.items() if value is not None}
    return base


def with_offer(**changes: Any) -> dict[str, Any]:
    """The document with the offer of its first VM type changed."""
    return with_type(offers={"spot": {"price_usd_per_hour": 1, "limit": 2} | changes})


def errors(given_document: Any) -> str:
    """What is said about a faulty document."""
    return errors_of(Instance, given_document)


BAD_NUMBERS = [-1, 0, float("nan"), float("inf"), "3", True, None, [], 10**30]


@pytest.mark.parametrize("value", BAD_NUMBERS)
def test_a_bad_run_time_is_refused(value: object) -> None:
    assert "tasks[0] 't0': runtime_s.a" in errors(with_task(runtime_s={"a": value}))


@pytest.mark.parametrize("value", [*BAD_NUMBERS[:6], [], 10**30])
def test_a_bad_base_run_time_is_refused(value: object) -> None:
    assert "tasks[0] 't0': base_runtime_s" in errors(with_task(runtime_s=None, base_runtime_s=value))


@pytest.mark.parametrize("value", [value for value in BAD_NUMBERS if value is not None])
def test_a_bad_memory_is_refused(value: object) -> None:
    assert "tasks[0] 't0': memory_mb" in errors(with_task(memory_mb=value))
    assert "vm_types[0] 'a': memory_mb" in errors(with_type(memory_mb=value))


@pytest.mark.parametrize("value", BAD_NUMBERS)
def test_a_bad_price_is_refused(value: object) -> None:
    assert "vm_types[0] 'a': offers.spot.price_usd_per_hour" in errors(with_offer(price_usd_per_hour=value))


@pytest.mark.parametrize("value", [*(value for value in BAD_NUMBERS if value != 0), 1.5])
def test_a_bad_limit_of_vms_is_refused(value: object) -> None:
    assert "vm_types[0] 'a': offers.spot.limit" in errors(with_offer(limit=value))


@pytest.mark.parametrize("value", [value for value in [*BAD_NUMBERS, 99.5] if value is not None])
def test_a_bad_deadline_is_refused(value: object) -> None:
    assert "deadline_s" in errors(document(deadline_s=value))


@pytest.mark.parametrize("value", [-1, 0.5, "many", float("inf"), 10**12])
def test_a_bad_market_limit_is_refused(value: object) -> None:
    assert "limits.max_spot" in errors(document(limits={"max_spot": value}))


@pytest.mark.parametrize("value", [0, -0.1, 1.01, 2, float("nan"), "half"])
def test_a_baseline_outside_0_to_1_is_refused(value: object) -> None:
    burstable = {"baseline_fraction": value, "credits_per_hour": 24}
    assert "vm_types[0] 'a': burstable.baseline_fraction" in errors(with_type(burstable=burstable))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", "is not a JSON object"),
        ("[1, 2]", "is not a JSON object"),
        ('{"format": ', "is not JSON"),
        ('{"format": "spotbag.instance/1"} trailing', "is not JSON"),
        ('{"a":' * 100_000, "is nested too deeply"),
        ('{"deadline_s": ' + "9" * 5000 + "}", "too many digits"),
        ('{"name": "x", "name": "y"}', "gives the key 'name' more than once"),
        ('{"tasks": [{"id": "a"}, {"id": "b", "id": "c"}]}', "tasks[1]: gives the key 'id' more than once"),
        ("{}", '"format" is missing'),
        ('{"format": "spotbag.instance/2"}', "version that cannot be read"),
        ('{"format": "spotbag.schedule/1"}', "is not 'spotbag.instance/1'"),
        ('{"format": 3}', "is not 'spotbag.instance/1'"),
    ],
)
def test_what_is_no_instance_is_refused(text: str, said: str) -> None:
    assert said in errors(text)


@pytest.mark.parametrize(
    ("faulty", "said"),
    [
        (document(tasks=None), "tasks is missing"),
        (document(name=None), "name is missing"),
        (document(tasks=[]), "tasks (an array) must have at least 1 entry"),
        (document(vm_types=[]), "vm_types (an array) must have at least 1 entry"),
        (document(tasks={"t0": {}}), "tasks (an object) must be an array"),
        (document(tasks=["t0"]), "tasks[0]: 't0' must be an object"),
        (document(deadlines=5), "deadlines is an unknown key (did you mean 'deadline_s'?)"),
        (with_task(memory=3), "tasks[0] 't0': memory is an unknown key (did you mean 'memory_mb'?)"),
        (with_offer(cap=3), "vm_types[0] 'a': offers.spot.cap is an unknown key (known: limit, price_usd_per_hour)"),
        (with_type(offers={"spott": {}}), "'spott' must be 'spot' or 'on-demand'"),
        (with_task(memory_mb=9000), "tasks[0] 't0': memory_mb 9000 fits no VM type (largest 8192)"),
        (
            with_task(memory_mb=5000, runtime_s={"a": 10}),
            "tasks[0] 't0': memory_mb 5000 fits none of the VM types that it has a run time for",
        ),
        (
            with_task(runtime_s={"a": 120, "b": 101}),
            "tasks[0] 't0': shortest run time 101 is 1 s longer than the deadline allows",
        ),
        (with_task(runtime_s={"c": 10}), "tasks[0] 't0': runtime_s.c names no VM type of the catalogue (a, b)"),
        (with_task(runtime_s={}), "tasks[0] 't0': runtime_s (an object) must have at least 1 entry"),
        (with_task(base_runtime_s=3), "tasks[0] 't0': needs exactly one of runtime_s and base_runtime_s"),
        (with_task(runtime_s=None), "tasks[0] 't0': needs exactly one of runtime_s and base_runtime_s"),
        (document(tasks=[with_task()["tasks"][0]] * 2), "tasks[1]: id 't0' is a duplicate of tasks[0]"),
        (document(vm_types=[document()["vm_types"][0]] * 2), "vm_types[1]: name 'a' is a duplicate of vm_types[0]"),
        (
            document(tasks=[*document()["tasks"], {"id": "t1#2", "memory_mb": 1, "base_runtime_s": 1}]),
            "tasks[2]: id 't1#2' is also the id of a copy of tasks[1] 't1' (count 3)",
        ),
        (with_task(count=0), "tasks[0] 't0': count 0 must be greater than or equal to 1"),
        (with_task(count=10**30), "tasks[0] 't0': count (a number of more than 20 digits)"),
        (document(tasks=[{"id": f"t{i}", "memory_mb": 1, "base_runtime_s": 1, "count": 6_000_000} for i in (0, 1)]),
         "tasks are 12000000 tasks in all, more than 10000000"),
        (document(limits={"max_spot": 0, "max_on_demand": 0}), "nothing can be rented"),
        (document(markets=["spot"], limits={"max_spot": 0}), "nothing can be rented"),
        (document(markets=["spot", "spot"]), "markets is named twice: spot"),
        (document(markets=[]), "markets (an array) must have at least 1 entry"),
        (document(markets=["spotty"]), "markets[0] 'spotty' must be 'spot' or 'on-demand'"),
        (document(d_spot_s=101), "d_spot_s 101 is after the deadline (100 s)"),
        (document(boot_overhead_s=100), "boot_overhead_s 100 leaves no time before the deadline (100 s)"),
        (with_task(id="a\nb"), "must be printable text without line breaks"),
        (with_task(id=""), "must not be empty"),
        (document(objective={"cost_weight": 1.5}), "objective.cost_weight 1.5 must be less than or equal to 1"),
        (
            document(checkpoint={"overhead_fraction": 0.1, "dump_base_s": -1}),
            "checkpoint.dump_base_s -1 must be greater than or equal to 0",
        ),
        (
            with_type(burstable={"baseline_fraction": 0.2, "credits_per_hour": 24, "initial_credits": 577}),
            "vm_types[0] 'a': burstable.initial_credits 577 is above the most the VM can hold (576)",
        ),
    ],
)  # fmt: skip
def test_each_fault_is_named_with_place_value_and_rule(faulty: dict[str, Any], said: str) -> None:
    assert said in errors(faulty)


def test_tables_of_durations_that_fill_the_memory_are_refused_with_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 tasks on 20,000 VM types, 3 MB of JSON, took 4.5 GB."""
    assert instance_checks.MAX_DURATIONS == 25_000_000
    monkeypatch.setattr(instance_checks, "MAX_DURATIONS", 1_000_000)  # the refused table is never made
    first = document()["vm_types"][0]
    vm_types = [first | {"name": f"a{number}"} for number in range(1_001)]
    tasks = [{"id": f"t{number}", "memory_mb": 1, "base_runtime_s": 30} for number in range(1_000)]
    rule = (
        "tasks are 1000 entries, on 1001 offers of VM types: 1001000 durations, more than 1000000; let identical "
        "tasks be one entry with a count, or leave VM types out"
    )
    assert errors(document(vm_types=vm_types, tasks=tasks)) == f"demo.json: {rule}"
    assert rule in errors(document(vm_types=vm_types, tasks=tasks, deadline_s=0))
    instance = Instance.from_document(document(vm_types=vm_types, tasks=[tasks[0] | {"count": 1_000}]), "demo")
    assert instance.duration_s.shape == (1, 1_001, 2)
    with pytest.raises(InputError, match="1001000 durations"):
        instance.replace(tasks=tuple(Task(**task) for task in tasks))


def test_all_faults_are_reported_at_once() -> None:
    faulty = document(deadline_s=-5, d_spot=3)
    faulty["vm_types"][0]["vcpus"] = 0
    faulty["tasks"] += [
        {"id": "t0", "memory_mb": 1, "base_runtime_s": 1},
        {"id": "t9", "memory_mb": -1, "base_runtime_s": 1},
    ]
    message = errors(faulty)
    assert "5 errors" in message
    for part in ("deadline_s -5", "d_spot is an unknown key", "vcpus 0", "memory_mb -1", "duplicate of tasks[0]"):
        assert part in message


def test_cross_references_of_the_valid_parts_are_checked_beside_a_faulty_part() -> None:
    faulty = document(boot_overhead_s=-1)
    faulty["tasks"].append({"id": "big", "memory_mb": 9000, "base_runtime_s": 1})
    message = errors(faulty)
    assert "boot_overhead_s -1" in message
    assert "'big': memory_mb 9000 fits no VM type" in message


def test_thousands_of_faults_are_summed_up() -> None:
    faulty = document(tasks=[{"id": f"t{number}", "memory_mb": -1} for number in range(5000)])
    assert "... and 4980 more" in errors(faulty)


def test_a_task_without_a_run_time_on_a_type_cannot_run_there() -> None:
    instance = Instance(**with_task(runtime_s={"b": 9}))
    on_a, on_b = instance.duration_s[0, :, 0]
    assert on_a > 10**9
    assert on_b == 9


def test_python_callers_get_the_same_errors() -> None:
    with pytest.raises(InputError, match="deadline_s 0 must be greater than or equal to 1"):
        Instance(**document(deadline_s=0))


@given(instance_documents())
@settings(max_examples=25, deadline=None)
def test_writing_and_reading_gives_the_same_instance(valid: dict[str, Any]) -> None:
    _write_and_read(valid)


@soak_of(instance_documents(), sample=100, whole=2000)
def test_writing_and_reading_gives_the_same_thousands_of_instances(valid: dict[str, Any]) -> None:
    _write_and_read(valid)


def _write_and_read(valid: dict[str, Any]) -> None:
    instance = Instance.from_document(valid, "random")
    text = instance.to_text()
    assert Instance.parse(text) == instance
    assert json.loads(text) == valid
    assert Instance.parse(text).to_text() == text


def test_files_round_trip_and_are_written_whole(tmp_path: Path) -> None:
    instance = Instance(**document())
    path = tmp_path / "demo.json"
    write_instance(instance, path)
    assert read_instance(path) == instance
    assert os.listdir(tmp_path) == ["demo.json"]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(document())
    type_in(monkeypatch, text)
    assert read_instance("-") == Instance(**document())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n ", "is empty"),
        (b"\xff\xfe{}", "is not UTF-8 text"),
        (b"\x00" * 1000, "is not a JSON object"),
    ],
)
def test_unreadable_content_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_instance(path)


def test_a_missing_file_a_folder_and_an_unreadable_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_instance(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a folder"):
        read_instance(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_instance("a\0b")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match="permission denied"):
        read_instance(tmp_path / "secret.json")


@pytest.mark.parametrize("unit", ['{"x":', "nonsense ", '{"tasks": [1,', '{"format": "spotbag.instance/1", "a": "'])
@pytest.mark.parametrize("megabytes", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_hundreds_of_mb_of_nonsense_are_refused(megabytes: int, unit: str) -> None:
    assert errors(unit + unit[-1] * 1000 + unit * (megabytes * 10**6 // len(unit)))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        pytest.param("1,", "has 11000001 entries, more than 10000000", marks=pytest.mark.slow),
        ('{"a":"' + "x" * 200 + '"},', "only the first 1000 of"),
    ],
)
def test_millions_of_nonsense_entries_are_refused(entry: str, said: str) -> None:
    text = '{"format": "spotbag.instance/1", "tasks": [' + entry * (22_000_000 // len(entry)) + "1]}"
    assert said in errors(text)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "bom.json"
    path.write_text("\ufeff" + json.dumps(document()), encoding="utf-8")
    assert read_instance(path).name == "demo"


def test_rounding_up_of_run_times_is_warned_of_when_it_adds_more_than_one_percent() -> None:
    fine = Instance(**with_task(runtime_s={"a": 99.5}))
    coarse = Instance(**with_task(runtime_s={"a": 1.2}))
    assert instance_warnings(fine) == []
    (warning,) = instance_warnings(coarse)
    assert "adds 66.7 % to the work" in warning
    assert coarse.runtime_s[0, 0] == 2


@pytest.mark.slow
def test_library_instances_obey_the_schema_and_foreign_keys_do_not() -> None:
    schema = json.loads(Instance.schema_text())
    validator = jsonschema.Draft202012Validator(schema)
    for name in library_names():
        validator.validate(json.loads(library_instance(name).to_text()))
    assert not validator.is_valid(document(extra=1))
    assert not validator.is_valid(document(deadline_s=0))


def test_the_shipped_schema_is_that_of_the_model() -> None:
    assert json.loads(Instance.schema_text()) == Instance.model_json_schema()


def test_whole_numbers_may_be_written_with_a_point() -> None:
    given = document(deadline_s=100.0)
    instance = Instance.parse(json.dumps(given))
    assert instance.deadline_s == 100
    assert isinstance(instance.deadline_s, int)
    assert json.loads(instance.to_text()) == given


@pytest.mark.parametrize("value", [1e-320, 1e-300])
def test_prices_and_scales_too_small_to_reckon_with_are_refused(value: float) -> None:
    assert "price_usd_per_hour" in errors(with_offer(price_usd_per_hour=value))
    assert "objective.cost_scale_usd" in errors(document(objective={"cost_scale_usd": value}))
    assert "runtime_s.a" in errors(with_task(runtime_s={"a": value}))
    assert "gflops" in errors(with_type(gflops=value))


@pytest.mark.parametrize("key", ["description", "command"])
def test_lone_surrogates_in_free_text_are_refused(key: str) -> None:
    faulty = with_task(command="\ud800") if key == "command" else document(description="\ud800")
    assert f"{key} '\\ud800' must be valid Unicode text" in errors(faulty)


def test_unknown_vm_types_are_named_in_the_order_of_the_file() -> None:
    message = errors(with_task(runtime_s=dict.fromkeys("zyxw", 1)))
    assert [line.split("runtime_s.")[1][0] for line in message.splitlines()[1:]] == list("zyxw")


@pytest.mark.parametrize("model", [Task, Limits, Offer])
def test_parts_raise_our_errors_too(model: type) -> None:
    with pytest.raises(InputError):
        model(nonsense=1)


def test_thousands_of_unknown_keys_are_refused_at_once() -> None:
    faulty = document() | {f"k{number}": 1 for number in range(20_000)}
    assert "has 20005 keys, most of them unknown" in errors(faulty)
