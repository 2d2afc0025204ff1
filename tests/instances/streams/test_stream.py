"""Streams of jobs: what is refused, exact averages, the run times that are drawn, the library."""

from __future__ import annotations

import copy
import json
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import InputError, SpotbagError
from spotbag.core.quantities import FloatArray
from spotbag.instances.entries import Task
from spotbag.instances.library import stream_names
from spotbag.instances.streams.draws import SampledJobs, draw_jobs, draws
from spotbag.instances.streams.entries import Application, Job
from spotbag.instances.streams.run_times import SequenceRunTimes, UniformRunTimes
from spotbag.instances.streams.stream import Stream
from spotbag.instances.streams.stream_files import (
    library_stream,
    read_stream,
    stream_of_run_times,
    write_stream,
)
from tests.helpers.faulty_documents import errors_of
from tests.helpers.stream_strategies import random_streams, stream_documents

ROOT = Path(__file__).parents[3]
BASE: dict[str, Any] = {
    "format": "spotbag.jobs/1",
    "name": "demo",
    "block_s": 600,
    "creation_overhead_s": 15,
    "vm_types": [
        {"name": "small", "price_usd_per_block": 0.073},
        {"name": "big", "price_usd_per_block": 0.146, "vcpus": 2, "memory_mb": 7680},
    ],
    "applications": [
        {"name": "sort", "runtime_s": {"small": {"distribution": "constant", "value_s": 40}}},
        {"name": "render", "runtime_s": {"small": {"samples_s": [30, 50]}, "big": {"samples_s": [20]}}},
    ],
    "jobs": [
        {"id": "j1", "application": "sort", "submitted_s": 0, "deadline_s": 600, "n_tasks": 3},
        {"id": "j2", "application": "render", "submitted_s": 300, "deadline_s": 900, "n_tasks": 2},
    ],
}


def document(**changes: Any) -> dict[str, Any]:
    """A small valid document with some top-level keys changed; ``None`` leaves a key out."""
    changed = copy.deepcopy(BASE) | changes
    return {key: value for key, value in changed.items() if value is not None}


def with_first(key: str, **changes: Any) -> dict[str, Any]:
    """The document with the first entry of a list changed."""
    faulty = document()
    entry = faulty[key][0] | changes
    faulty[key][0] = {name: value for name, value in entry.items() if value is not None}
    return faulty


def with_run_times(run_times: Any) -> dict[str, Any]:
    """The document with other run times of ``sort`` on ``small``."""
    return with_first("applications", runtime_s={"small": run_times})


def errors(faulty: Any) -> str:
    """What is said about a faulty document."""
    return errors_of(Stream, faulty)


@pytest.mark.parametrize(
    ("faulty", "said"),
    [
        ("hello", "is not a JSON object"),
        ("{}", '"format" is missing; it must say "spotbag.jobs/1"'),
        (document(format="spotbag.jobs/2"), "version that cannot be read"),
        (document(format="spotbag.instance/1"), "is not 'spotbag.jobs/1'"),
        (document(jobs=None), "jobs is missing"),
        (document(jobs=[]), "jobs (an array) must have at least 1 entry"),
        (document(applications=[]), "applications (an array) must have at least 1 entry"),
        (document(vm_types=[]), "vm_types (an array) must have at least 1 entry"),
        (document(vm_types=[{"name": f"t{number}", "price_usd_per_block": 1} for number in range(1001)]),
         "vm_types (an array) must have at most 1000 entries"),
        (document(name="x" * 171), "must have at most 170 characters"),
        (document(block_s=0), "block_s 0 must be greater than or equal to 1"),
        (document(blocks=5), "blocks is an unknown key (did you mean 'block_s'?)"),
        (document(creation_overhead_s=-1), "creation_overhead_s -1 must be greater than or equal to 0"),
        (with_first("vm_types", price_usd_per_block=0), "vm_types[0] 'small': price_usd_per_block 0 must be greater"),
        (with_first("vm_types", price_usd_per_block=1e6),
         "vm_types[0] 'small': price_usd_per_block 1000000 is 6e+06 $ an hour in blocks of 600 s; must be between"),
        (with_first("vm_types", price_usd_per_hour=3), "vm_types[0] 'small': price_usd_per_hour is an unknown key "
         "(did you mean 'price_usd_per_block', the price of one block of block_s seconds?)"),
        (with_first("vm_types", memory_mb=0.5), "memory_mb 0.5 must be greater than or equal to 1"),
        (with_first("vm_types", name="big"), "vm_types[1]: name 'big' is a duplicate of vm_types[0]"),
        (with_first("applications", name="render"), "applications[1]: name 'render' is a duplicate of applications[0]"),
        (with_first("applications", runtime_s={}), "runtime_s (an object) must have at least 1 entry"),
        (with_first("applications", runtime_s={"smal": {"samples_s": [1]}}),
         "applications[0] 'sort': runtime_s.smal names no VM type (did you mean small?)"),
        (with_run_times(3), "applications[0] 'sort': runtime_s.small 3 must have a distribution ('constant', "),
        (with_run_times({}), "runtime_s.small (an object) must have a distribution"),
        (with_run_times({"distribution": "gaussian"}), "applications[0] 'sort': runtime_s.small (an object) has a "
         "distribution 'gaussian' that is unknown; there are constant, uniform, normal, lognormal"),
        (with_run_times({"sample_s": [3]}), "(an object) has an unknown key 'sample_s' (did you mean 'samples_s'?)"),
        (with_run_times({"sequence": [3]}), "(an object) has an unknown key 'sequence' (did you mean 'sequence_s'?)"),
        (with_run_times({"distribition": "normal"}), "'distribition' (did you mean 'distribution'?)"),
        (with_run_times({"zzz": [3]}), "runtime_s.small (an object) must have a distribution"),
        (with_run_times({"samples_s": [1], "sequence_s": [1]}), "has samples_s and sequence_s: give one of them"),
        (with_run_times({"distribution": ["normal"]}), "runtime_s.small (an object) must have a distribution"),
        (with_run_times({"distribution": "constant"}), "applications[0] 'sort': runtime_s.small.value_s is missing"),
        (with_run_times({"distribution": "constant", "value_s": 0}), "runtime_s.small.value_s 0 must be greater"),
        (with_run_times({"distribution": "constant", "value_s": 2e8}), "must be less than or equal to 100 000 000"),
        (with_run_times({"distribution": "uniform", "low_s": 1, "high": 2}),
         "runtime_s.small.high is an unknown key (did you mean 'high_s'?)"),
        (with_run_times({"distribution": "uniform", "low_s": 9, "high_s": 8}),
         "applications[0] 'sort': runtime_s.small.low_s 9 is above high_s (8)"),
        (with_run_times({"distribution": "normal", "mean_s": 9, "sd_s": 0}), "runtime_s.small.sd_s 0 must be greater"),
        (with_run_times({"distribution": "normal", "mean_s": 9, "sd_s": 1, "min_s": 10}),
         "runtime_s.small.min_s 10 is above mean_s (9)"),
        (with_run_times({"distribution": "lognormal", "mean_s": "9", "sd_s": 1}), "mean_s '9' must be a number"),
        (with_run_times({"samples_s": []}), "runtime_s.small.samples_s (an array) must have at least 1 entry"),
        (with_run_times({"samples_s": [1, -1]}), "applications[0] 'sort': runtime_s.small.samples_s[1] -1 must be"),
        (with_run_times({"sequence_s": [1, 2, 0]}), "applications[0] 'sort': runtime_s.small.sequence_s[2] 0 must be"),
        (with_run_times({"sequence_s": [1, 2]}),
         "jobs[0] 'j1': n_tasks 3 is more than the 2 run times of 'sort' on small (sequence_s)"),
        (with_run_times({"samples_s": [1], "zzz": 1}), "runtime_s.small.zzz is an unknown key (known: samples_s)"),
        (with_run_times({"distribution": "constant", "value_s": 3, "samples_s": [1]}),
         "has distribution and samples_s: give one of them"),
        (with_first("jobs", id="j2"), "jobs[1]: id 'j2' is a duplicate of jobs[0]"),
        (with_first("jobs", id="x" * 191), "must have at most 190 characters"),
        (with_first("jobs", id="a\nb"), "must be printable text without line breaks"),
        (with_first("jobs", application="sorting"),
         "jobs[0] 'j1': application 'sorting' is no application (did you mean sort?)"),
        (with_first("jobs", application="zzz"), "application 'zzz' is no application (known: sort, render)"),
        (with_first("jobs", submitted_s=600), "jobs[0] 'j1': deadline_s 600 must be after submitted_s (600)"),
        (with_first("jobs", n_tasks=0), "jobs[0] 'j1': n_tasks 0 must be greater than or equal to 1"),
        (with_first("jobs", n_tasks=10**6 - 1), "jobs have 1000001 tasks in all, more than 1000000"),
    ],
)  # fmt: skip
def test_each_fault_is_named_with_place_value_and_rule(faulty: Any, said: str) -> None:
    assert said in errors(faulty)


def test_the_document_without_faults_is_read() -> None:
    stream = Stream.parse(json.dumps(document()))
    assert stream.type_names == ("small", "big")
    assert stream.n_tasks == 5


def test_all_faults_are_reported_at_once_also_between_the_valid_parts() -> None:
    faulty = document(block_s=-5, blok=3)
    faulty["vm_types"][1]["vcpus"] = 0
    faulty["applications"][1]["runtime_s"]["huge"] = {"samples_s": [1]}
    faulty["jobs"][1]["n_tasks"] = "many"
    faulty["jobs"][0] |= {"deadline_s": 5, "submitted_s": 6, "application": "sorr"}
    message = errors(faulty)
    assert "7 errors" in message
    for part in (
        "block_s -5",
        "blok",
        "vcpus 0",
        "'render': runtime_s.huge",
        "n_tasks 'many'",
        "deadline_s 5",
        "sort?",
    ):
        assert part in message


def test_faulty_names_are_not_held_against_those_who_use_them() -> None:
    faulty = document()
    del faulty["applications"][0]["name"]
    faulty["vm_types"][0]["name"] = 7
    message = errors(faulty)
    assert "2 errors" in message
    assert "applications[0]: name is missing" in message
    assert "vm_types[0]: name 7 must be a text" in message


def test_thousands_of_unknown_applications_are_refused_in_time() -> None:
    job = BASE["jobs"][0]
    jobs = [job | {"id": f"j{number}", "application": f"a{number}"} for number in range(5_000)]
    applications = [BASE["applications"][0] | {"name": f"b{number}"} for number in range(1_000)]
    assert "... and 4980 more" in errors(document(jobs=jobs, applications=applications))


def test_python_callers_get_the_same_errors() -> None:
    with pytest.raises(InputError, match="deadline_s 5 must be after submitted_s"):
        Job(id="a", application="b", submitted_s=5, deadline_s=5, n_tasks=1)
    with pytest.raises(InputError, match="low_s 2 is above high_s"):
        UniformRunTimes(distribution="uniform", low_s=2, high_s=1)
    with pytest.raises(InputError, match=r"runtime_s\.x\.low_s 2 is above high_s"):
        Application(name="a", runtime_s={"x": {"distribution": "uniform", "low_s": 2, "high_s": 1}})
    with pytest.raises(InputError, match="is no application"):
        Stream(**with_first("jobs", application="zzz"))


@given(stream_documents())
@settings(max_examples=30, deadline=None)
def test_writing_and_reading_gives_the_same_stream_and_the_schema_accepts_it(valid: dict[str, Any]) -> None:
    stream = Stream.from_document(valid, "random")
    text = stream.to_text()
    assert Stream.parse(text) == stream
    assert json.loads(text) == valid
    jsonschema.Draft202012Validator(json.loads(Stream.schema_text())).validate(valid)


def test_files_round_trip(tmp_path: Path) -> None:
    stream = Stream(**document())
    write_stream(stream, tmp_path / "jobs.json")
    assert read_stream(tmp_path / "jobs.json") == stream
    with pytest.raises(InputError, match="no such file"):
        read_stream(tmp_path / "none.json")


def test_the_shipped_schema_is_that_of_the_model_and_refuses_what_the_reader_refuses() -> None:
    schema = json.loads(Stream.schema_text())
    assert schema == Stream.model_json_schema()
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(document())
    assert not validator.is_valid(document(extra=1))
    assert not validator.is_valid(with_run_times({"value_s": 3}))
    assert not validator.is_valid(with_run_times({"distribution": "constant", "value_s": 3, "samples_s": [1]}))
    assert not validator.is_valid(with_run_times({"distribution": "constant", "mean_s": 3}))


def test_names_are_found_and_unknown_ones_refused_with_close_ones() -> None:
    stream = Stream(**document())
    assert stream.job("j2") is stream.jobs[1]
    assert stream.application("render") is stream.applications[1]
    with pytest.raises(InputError, match=r"demo: has no job 'j22' \(did you mean j2\?\)"):
        stream.job("j22")
    with pytest.raises(InputError, match=r"has no application 'sorts' \(did you mean sort\?\)"):
        stream.application("sorts")
    with pytest.raises(InputError, match="has no application 'sorts'"):
        stream.average_s("sorts", "small")
    with pytest.raises(InputError, match=r"has no VM type 'zzz' \(known: small, big\)"):
        stream.average_s("sort", "zzz")


def test_jobs_are_iterated_by_submission_and_ties_by_the_file() -> None:
    base = BASE["jobs"][0]
    jobs = [base | {"id": name, "submitted_s": at_s} for name, at_s in [("c", 5), ("b", 0), ("a", 5), ("d", 1)]]
    stream = Stream(**document(jobs=jobs))
    assert [job.id for job in stream.jobs_by_submission] == ["b", "d", "c", "a"]
    assert [job.id for job in stream.jobs] == ["c", "b", "a", "d"]


@pytest.mark.parametrize(
    ("run_times", "average_s"),
    [
        ({"distribution": "constant", "value_s": 0.1}, Fraction(1, 10)),
        ({"distribution": "uniform", "low_s": 0.1, "high_s": 0.2}, Fraction(3, 20)),
        ({"distribution": "normal", "mean_s": 1e-6, "sd_s": 5}, Fraction(1, 10**6)),
        ({"distribution": "lognormal", "mean_s": 12.7, "sd_s": 99}, Fraction(127, 10)),
        ({"samples_s": [0.1, 0.2, 0.4]}, Fraction(7, 30)),
        ({"sequence_s": [0.1, 0.2, 0.4, 0.5]}, Fraction(3, 10)),
    ],
)
def test_averages_are_exact(run_times: dict[str, Any], average_s: Fraction) -> None:
    stream = Stream(**with_run_times(run_times))
    assert stream.average_s("sort", "small") == average_s
    assert stream.average_s("sort", "big") is None


MANY = [
    ({"distribution": "constant", "value_s": 1200.5}, 1200.5, 1200.5),
    ({"distribution": "uniform", "low_s": 1000, "high_s": 2000}, 1000, 2000),
    ({"distribution": "normal", "mean_s": 1000, "sd_s": 100}, 100, 1900),
    ({"distribution": "normal", "mean_s": 1000, "sd_s": 900}, 100, 1900),
    ({"distribution": "normal", "mean_s": 1000, "sd_s": 900, "min_s": 400}, 400, 1600),
    ({"distribution": "normal", "mean_s": 1000, "sd_s": 10**8}, 100, 1900),
    ({"distribution": "lognormal", "mean_s": 1000, "sd_s": 500}, 0, 10**8),
    ({"samples_s": [4000, 1000, 1000, 2000.5]}, 1000, 4000),
]


@pytest.mark.parametrize(("run_times", "shortest_s", "longest_s"), MANY)
def test_the_mean_of_many_draws_is_near_the_average(
    run_times: dict[str, Any], shortest_s: float, longest_s: float
) -> None:
    many = with_run_times(run_times)
    many["jobs"][0]["n_tasks"] = 4_000
    stream = Stream(**many)
    sampled = draw_jobs(stream, 5)
    seconds = np.array([sampled.runtime_s(task, 0) for task in sampled.tasks(0)])
    average_s = stream.average_s("sort", "small")
    assert average_s is not None
    assert abs(seconds.mean() - float(average_s)) <= 4 * seconds.std() / np.sqrt(len(seconds))
    assert shortest_s <= seconds.min()
    assert seconds.max() <= longest_s


def test_a_normal_and_a_lognormal_distribution_have_their_standard_deviation() -> None:
    for run_times in ({"distribution": name, "mean_s": 1000, "sd_s": 200} for name in ("normal", "lognormal")):
        many = with_run_times(run_times)
        many["jobs"][0]["n_tasks"] = 4_000
        sampled = draw_jobs(Stream(**many), 5)
        seconds = np.array([sampled.runtime_s(task, 0) for task in sampled.tasks(0)])
        assert seconds.std() == pytest.approx(200, rel=0.05)


def test_samples_are_drawn_equally_often() -> None:
    many = with_run_times({"samples_s": [7, 3, 3, 5]})
    many["jobs"][0]["n_tasks"] = 4_000
    sampled = draw_jobs(Stream(**many), 5)
    values, counts = np.unique([sampled.runtime_s(task, 0) for task in sampled.tasks(0)], return_counts=True)
    assert values.tolist() == [3, 5, 7]
    assert counts.tolist() == pytest.approx([2_000, 1_000, 1_000], rel=0.05)


def test_a_sequence_is_taken_one_by_one_whatever_the_seed() -> None:
    stream = Stream(**with_run_times({"sequence_s": [7, 0.2, 3.5, 9]}))
    for sampled in draws(stream, [0, 5]):
        assert [sampled.runtime_s(task, 0) for task in sampled.tasks(0)] == [7, 0.2, 3.5]


def test_draws_of_a_stream_without_chance_share_their_instance() -> None:
    fixed = with_run_times({"sequence_s": [7, 9, 3]})
    fixed["applications"][1]["runtime_s"] = {"small": {"distribution": "constant", "value_s": 3}}
    first, second = draws(Stream(**fixed), [3, 2**64 - 1])
    assert (first.seed, second.seed) == (3, 2**64 - 1)
    assert first.instance is second.instance
    assert second.instance == draw_jobs(Stream(**fixed), 2**64 - 1).instance
    with pytest.raises(SpotbagError, match=r"seed 18446744073709551616 must be"):
        list(draws(Stream(**fixed), [3, 2**64]))
    stream = Stream(**document())
    assert [sampled.instance for sampled in draws(stream, [3, 4])] == [
        draw_jobs(stream, seed).instance for seed in (3, 4)
    ]
    # An application that no job has does not matter.
    fixed["applications"].append({"name": "other", "runtime_s": {"small": {"samples_s": [1]}}})
    assert Stream(**fixed).is_the_same_for_all_seeds


def test_a_list_of_run_times_is_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "measured.txt"
    path.write_text("# seconds\n\n12.5  # the first\n  3e2\n0.4\n")
    stream = stream_of_run_times(path)
    assert (stream.name, stream.block_s, stream.creation_overhead_s, stream.n_tasks) == ("measured", 3600, 300, 3)
    assert stream.jobs[0].deadline_s == 300 + 313  # 312.9 s of work
    assert [seconds for (seconds,) in by_job(draw_jobs(stream, 9))["job"]] == [12.5, 300, 0.4]
    assert Stream.parse(stream.to_text()) == stream
    stream = stream_of_run_times(
        path, name="x", block_s=60, creation_overhead_s=0, price_usd_per_block=0.5, deadline_s=7
    )
    assert (stream.name, stream.block_s, stream.creation_overhead_s, stream.jobs[0].deadline_s) == ("x", 60, 0, 7)
    assert stream.vm_types[0].price_usd_per_block == 0.5
    path.rename(tmp_path / ".#!.txt")
    assert stream_of_run_times(tmp_path / ".#!.txt").name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2,5\n", "line 2: '2,5' must be a number of seconds, one a line, from 1e-06 to 100000000"),
        ("1\n\n0 # none\n-3\n", "2 errors\n  line 3: '0' must be .*\n  line 4: '-3' must be"),
        ("nan\ninf\n1e9\n1 2\n", "4 errors\n  line 1: .*\n  line 2: .*\n  line 3: .*\n  line 4: '1 2' must"),
        ("# nothing\n", "has no run times"),
        ("1\n" * 100_001, "has 100001 run times, more than 100000"),
        ("", "is empty"),
    ],
)
def test_faulty_lists_of_run_times_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "measured.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        stream_of_run_times(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    "entry", ["1_0", "１２", "٣", "0x10", "1e", "infinity", "1\v2", "1\x852", "1\u20282", "\u30001"]
)
def test_only_decimal_numbers_are_run_times(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "measured.txt"
    path.write_text(f"3\n{entry}\n5\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: .* must be a number of seconds, one a line"):
        stream_of_run_times(path)


def test_lines_of_run_times_end_as_on_any_system(tmp_path: Path) -> None:
    path = tmp_path / "measured.txt"
    path.write_bytes(b"+1\r\n2.\r.5\n\t1E+1 \n")
    (application,) = stream_of_run_times(path).applications
    assert application.runtime_s["host"].sequence_s == (1, 2, 0.5, 10)


def test_a_list_of_faults_ends(tmp_path: Path) -> None:
    path = tmp_path / "measured.txt"
    path.write_text("x\n" * 5000)
    with pytest.raises(InputError) as caught:
        stream_of_run_times(path)
    assert len(caught.value.issues) == 1000


def by_job(sampled: SampledJobs) -> dict[str, list[list[int | None]]]:
    """Run times on every type of the tasks of each job."""
    types = range(len(sampled.stream.vm_types))
    return {
        job.id: [[sampled.runtime_s(task, type_index) for type_index in types] for task in sampled.tasks(index)]
        for index, job in enumerate(sampled.stream.jobs_by_submission)
    }


@given(random_streams(), st.integers(0, 2**64 - 1))
@settings(max_examples=30, deadline=None)
def test_what_is_drawn_is_an_instance_of_the_stream(stream: Stream, seed: int) -> None:
    sampled = draw_jobs(stream, seed)
    instance = sampled.instance
    jobs = stream.jobs_by_submission
    assert instance.name == ("random" if stream.is_the_same_for_all_seeds else f"random seed {seed}")
    assert instance.task_ids == tuple(f"{job.id}#{number}" for job in jobs for number in range(1, job.n_tasks + 1))
    assert [task for index in range(len(jobs)) for task in sampled.tasks(index)] == list(range(stream.n_tasks))
    assert sampled.job_of == [index for index in range(len(jobs)) for _ in sampled.tasks(index)]
    for index, job in enumerate(jobs):
        able = set(stream.application(job.application).runtime_s)
        for task in sampled.tasks(index):
            row = {name: sampled.runtime_s(task, place) for place, name in enumerate(stream.type_names)}
            assert {name: seconds for name, seconds in row.items() if seconds} == instance.tasks[task].runtime_s
            assert {name for name, seconds in row.items() if seconds is not None} == able
    assert by_job(sampled) == by_job(draw_jobs(stream, seed))


@given(random_streams(), st.integers(0, 100))
@settings(max_examples=12, deadline=None)
def test_a_task_that_is_long_on_one_type_is_long_on_all(stream: Stream, seed: int) -> None:
    for name, rows in by_job(draw_jobs(stream, seed)).items():
        by_level = [
            index
            for index, vm_type in enumerate(stream.type_names)
            if not isinstance(
                stream.application(stream.job(name).application).runtime_s.get(vm_type), SequenceRunTimes | None
            )
        ]
        able = [[row[index] for index in by_level] for row in rows]
        ordered = sorted(able)
        for shorter, longer in pairwise(ordered):
            assert all(one <= other for one, other in zip(shorter, longer, strict=True))


@given(random_streams(), st.integers(0, 1000), st.integers(0, 100))
@settings(max_examples=12, deadline=None)
def test_other_jobs_leave_the_tasks_of_a_job_alone(stream: Stream, submitted_s: int, seed: int) -> None:
    added = stream.jobs[0].model_dump() | {"id": "new", "submitted_s": submitted_s, "deadline_s": 5000}
    more = Stream.from_document(stream.to_document() | {"jobs": [added, *stream.to_document()["jobs"]]}, "more")
    before, after = by_job(draw_jobs(stream, seed)), by_job(draw_jobs(more, seed))
    assert after.pop("new")
    assert after == before


def test_jobs_and_seeds_differ() -> None:
    rows = by_job(draw_jobs(library_stream("thai/table2"), 1))
    assert rows["j1"] != rows["j4"][:50]
    assert rows["j1"] != by_job(draw_jobs(library_stream("thai/table2"), 2))["j1"]
    for seed in (-1, 2**64):
        with pytest.raises(SpotbagError, match=r"must be from 0 to 2\*\*64 - 1"):
            draw_jobs(library_stream("thai/table2"), seed)


def test_the_instance_has_the_prices_by_the_hour_and_the_times_of_the_stream() -> None:
    sampled = draw_jobs(Stream(**document()), 3)
    small, big = sampled.instance.offers
    assert small.price_usd_per_hour == pytest.approx(6 * 0.073)
    assert (small.market, small.limit, small.vcpus, big.vcpus) == ("on-demand", 7, 1, 1)
    assert [vm_type.memory_mb for vm_type in sampled.instance.vm_types] == [1024, 7680]
    assert sampled.instance.markets == ("on-demand",)
    assert (sampled.instance.deadline_s, sampled.instance.d_spot_s) == (900, 900)
    assert (sampled.instance.boot_overhead_s, sampled.instance.allocation_cycle_s) == (15, 600)
    assert sampled.first_task == (0, 3)
    assert sampled.runtime_s(0, 0) == 40
    assert sampled.runtime_s(0, 1) is None


@pytest.mark.parametrize("value_s", [1e-6, 0.001, 0.2, 40.499, 40.5, 40, 1 / 3, 99_999_999.999999])
def test_listed_run_times_are_those_of_plan_and_replay_to_the_microsecond(value_s: float) -> None:
    for run_times in ({"distribution": "constant", "value_s": value_s}, {"sequence_s": [value_s] * 3}):
        stream = Stream(**with_run_times(run_times))
        drawn = draw_jobs(stream, 0).exact_runtime_s[0][0]
        assert drawn == stream.average_s("sort", "small") == Fraction(round(value_s * 10**6), 10**6)


def drawn_s(run_times: dict[str, Any], seed: int = 5) -> FloatArray:
    """Run times of 4,000 tasks."""
    many = with_run_times(run_times)
    many["jobs"][0]["n_tasks"] = 4_000
    sampled = draw_jobs(Stream(**many), seed)
    return np.array([sampled.runtime_s(task, 0) for task in sampled.tasks(0)], dtype=float)


@pytest.mark.parametrize(
    "run_times",
    [
        {"distribution": "uniform", "low_s": 11.333, "high_s": 22.667},  # 17 on average
        {"distribution": "uniform", "low_s": 0.5, "high_s": 3.5},
        {"distribution": "normal", "mean_s": 12, "sd_s": 0.12},
        {"distribution": "normal", "mean_s": 5.5, "sd_s": 3},  # 0.55 at least
    ],
)
def test_draws_are_whole_seconds_where_that_leaves_the_average_as_it_is(run_times: dict[str, Any]) -> None:
    seconds = drawn_s(run_times)
    assert (seconds == np.floor(seconds)).all()
    assert seconds.min() >= 1


@pytest.mark.parametrize(
    ("run_times", "average_s"),
    [
        ({"distribution": "uniform", "low_s": 0.1, "high_s": 0.3}, 0.2),  # whole seconds: all 1
        ({"distribution": "uniform", "low_s": 1.2, "high_s": 1.4}, 1.3),  # whole seconds: all 1
        ({"distribution": "normal", "mean_s": 1, "sd_s": 1}, 1),  # whole seconds: none of 0
        ({"distribution": "lognormal", "mean_s": 0.5, "sd_s": 0.5}, 0.5),
    ],
)
def test_draws_are_microseconds_where_whole_seconds_would_change_the_average(
    run_times: dict[str, Any], average_s: float
) -> None:
    seconds = drawn_s(run_times)
    assert abs(seconds.mean() - average_s) <= 4 * seconds.std() / np.sqrt(len(seconds))
    assert seconds.tolist() == [round(one, 6) for one in seconds.tolist()]
    assert (seconds != np.floor(seconds)).any()


def test_the_clock_may_have_begun_at_any_time() -> None:
    epoch_s = 1_766_000_000
    moved = document()
    for job in moved["jobs"]:
        job["submitted_s"] += epoch_s
        job["deadline_s"] += epoch_s
    stream = Stream(**moved)
    assert stream.jobs_by_submission == Stream(**document()).jobs_by_submission
    assert draw_jobs(stream, 3).instance == draw_jobs(Stream(**document()), 3).instance
    assert Stream.parse(stream.to_text()) == stream


def test_deadlines_are_not_too_long_after_the_first_arrival() -> None:
    late = with_first("jobs", deadline_s=10**9 + 1)
    said = "deadline_s 1000000001 is more than 1000000000 s after the first arrival (submitted_s 0)"
    assert said in errors(late)


def test_the_longest_names_and_the_lowest_prices_can_be_drawn() -> None:
    longest = with_first("jobs", id="x" * 190) | {"name": "x" * 170, "block_s": 10**8, "creation_overhead_s": 10**8}
    longest["vm_types"][0] |= {"price_usd_per_block": 3e-5, "memory_mb": 1}
    instance = draw_jobs(Stream(**longest), 2**64 - 1).instance
    assert len(instance.name) == 196
    assert instance.vm_types[0].offers["on-demand"].price_usd_per_hour == pytest.approx(1.08e-9)


def test_tasks_longer_than_every_deadline_are_drawn() -> None:
    stream = Stream(**with_run_times({"distribution": "constant", "value_s": 1000}))
    sampled = draw_jobs(stream, 0)
    assert sampled.runtime_s(0, 0) == 1000
    assert sampled.instance.deadline_s == 1015
    endless = with_run_times({"distribution": "lognormal", "mean_s": 1e8, "sd_s": 1e8})
    assert draw_jobs(Stream(**endless), 0).instance.deadline_s <= 10**8 + 15


def test_the_stream_of_thai_has_the_printed_figures() -> None:
    stream = library_stream("thai/table2")
    assert (stream.block_s, stream.creation_overhead_s) == (600, 15)
    assert [(vm_type.name, vm_type.vcpus, vm_type.price_usd_per_block) for vm_type in stream.vm_types] == [
        ("m3.medium", 1, 0.073),
        ("m3.large", 2, 0.146),
        ("m3.xlarge", 4, 0.293),
    ]
    jobs = [(job.id, job.application, job.submitted_s, job.n_tasks, job.deadline_s) for job in stream.jobs]
    assert jobs == [
        ("j1", "app1", 0, 50, 600),
        ("j2", "app2", 300, 50, 900),
        ("j3", "app3", 600, 50, 1200),
        ("j4", "app1", 900, 100, 1500),
        ("j5", "app2", 1200, 100, 1800),
        ("j6", "app3", 1500, 100, 2100),
    ]
    averages = [[stream.average_s(name, vm_type) for vm_type in stream.type_names] for name in ("app1", "app2", "app3")]
    assert averages == [[42, 21, 17], [40, 17, 17], [48, 24, 12]]


def test_the_streams_of_a2ha_have_the_printed_figures() -> None:
    names = ("synthetic", "image", "long", "test-suite")
    for name, n_tasks, mean_s, sd_s in zip(
        names, (256, 256, 256, 1480), (150, 220, 5400, 60), (30, 125, 1200, None), strict=True
    ):
        stream = library_stream(f"a2ha/{name}")
        assert (stream.block_s, stream.creation_overhead_s, stream.n_tasks) == (3600, 300, n_tasks)
        run_times = stream.applications[0].runtime_s["host"]
        assert float(run_times.average_s) == pytest.approx(mean_s, rel=0.01)
        if sd_s is not None:
            given = getattr(run_times, "sd_s", None) or np.std(run_times.quantiles_s(np.zeros(n_tasks)))
            assert given == pytest.approx(sd_s, rel=0.01)
    image, tests = (
        library_stream(f"a2ha/{name}").applications[0].runtime_s["host"].quantiles_s(np.zeros(count))
        for name, count in (("image", 256), ("test-suite", 1480))
    )
    assert image.max() - image.min() == 9 * 60
    assert np.median(tests) < 30
    assert 1 <= (tests > 15 * 60).sum() <= 10


@pytest.mark.parametrize("name", stream_names())
def test_streams_of_the_library_have_all_their_tasks(name: str) -> None:
    stream = library_stream(name)
    assert draw_jobs(stream, 0).instance.n_tasks == stream.n_tasks


def test_an_unknown_stream_is_refused_with_close_ones() -> None:
    a2ha = ["a2ha/image", "a2ha/long", "a2ha/synthetic", "a2ha/test-suite"]
    assert stream_names() == [*a2ha, "thai/table2", "tiny/two-jobs"]
    with pytest.raises(InputError, match=r"did you mean thai/table2\?"):
        library_stream("thai/table1")
    with pytest.raises(InputError, match=r"known: a2ha/image, .*, thai/table2, tiny/two-jobs"):
        library_stream("zzz")


def test_the_stream_in_formats_md_is_read_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    (text,) = re.findall(r"```json jobs\n(.*?)```", page, re.DOTALL)
    stream = Stream.parse(text)
    assert stream.to_text() == text
    assert [stream.average_s("sort", "small"), stream.average_s("sort", "big")] == [40, 20]
    assert draw_jobs(stream, 0).instance.task_ids[:2] == ("first#1", "first#2")
    (code,) = re.findall(r"```python\n(from \S+ import draw_jobs.*?)```", page, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out.startswith("42\n")


def test_drawn_tasks_are_as_if_their_fields_had_been_checked() -> None:
    tasks = draw_jobs(library_stream("thai/table2"), 3).instance.tasks
    checked = tuple(Task(id=task.id, memory_mb=1, runtime_s=dict(task.runtime_s or {})) for task in tasks)
    assert tasks == checked
    for drawn, made in zip(tasks, checked, strict=True):
        assert drawn.model_fields_set == made.model_fields_set
        assert repr(drawn) == repr(made)
        assert type(drawn.runtime_s) is type(made.runtime_s)
        assert {type(seconds) for seconds in (drawn.runtime_s or {}).values()} == {float}
