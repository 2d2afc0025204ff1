"""``audit --instance``: whether a trace is of the instance, stream or platform that should have been replayed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from spotbag.audits.auditor import audit, audit_traces
from spotbag.audits.given import Given
from spotbag.core.errors import SpotbagError
from spotbag.instances.instance import Instance
from spotbag.instances.platforms.job_draws import JobSet
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.instances.streams.stream_files import library_stream
from spotbag.replay.platforms.runs import replay_platform_once
from spotbag.replay.streams.runs import replay_stream_once
from spotbag.traces.trace import Trace, document_sha256
from tests.helpers.hand_made_traces import recovered

STREAM = library_stream("tiny/two-jobs")
HYBRID = library_platform("caron/hybrid")
JOBS = JobSet("mixed", 8)


def instance(**changes: Any) -> Instance:
    """That of the traces by hand."""
    document = recovered().instance | changes
    return Instance.from_document({key: value for key, value in document.items() if value is not None}, "by hand")


def differences(trace: Trace, given: Given) -> list[str]:
    """What is found against what is given, and nothing else."""
    report = audit(trace, given=given)
    assert {finding.rule for finding in report.findings} <= {"instance"}
    assert all(finding.amount > 0 for finding in report.findings)
    return [finding.message for finding in report.findings]


def test_what_was_replayed_is_what_is_given() -> None:
    assert differences(recovered(), instance()) == []
    assert differences(replay_stream_once(STREAM, "known", seed=7)[1], STREAM) == []
    trace = replay_platform_once(HYBRID, "money-saving", job_set=JOBS, seed=7)[1]
    assert differences(trace, HYBRID) == []
    own = HYBRID.with_jobs(JOBS.draw(HYBRID, 7))
    assert differences(replay_platform_once(own, "money-saving", seed=7)[1], own) == []


def test_fields_that_are_left_out_are_those_with_their_defaults() -> None:
    assert differences(recovered(), instance(markets=["spot", "on-demand"])) == []


def test_every_field_that_differs_is_named_with_both_values() -> None:
    types = copy.deepcopy(recovered().instance["vm_types"])
    types[0]["offers"]["spot"]["price_usd_per_hour"] = 0.35
    given = instance(vm_types=types, deadline_s=1001, tasks=recovered().instance["tasks"] * 1, name="other")
    assert differences(recovered(), given) == [
        "name is 'by hand' in the trace, 'other' in the instance that is given",
        "deadline_s is 1000 in the trace, 1001 in the instance that is given",
        "vm_types[0].offers.spot.price_usd_per_hour is 0.36 in the trace, 0.35 in the instance that is given",
    ]


def test_a_d_spot_that_is_left_open_is_not_compared() -> None:
    report = audit(recovered(), given=instance(d_spot_s=None))
    assert report.correct
    assert report.notes[0] == "d_spot_s (350) is not compared: by hand has none"
    assert differences(recovered(), instance(d_spot_s=351)) == [
        "d_spot_s is 350 in the trace, 351 in the instance that is given"
    ]


def test_very_many_differences_are_counted() -> None:
    tasks = [{"id": f"t{number}", "memory_mb": 1, "runtime_s": {"two": 5}} for number in range(30)]
    trace = recovered()
    others = [task | {"memory_mb": 2} for task in tasks]
    trace.instance["tasks"] = tasks
    report = audit(trace, given=instance(tasks=others))
    found = [finding for finding in report.findings if finding.rule == "instance"]
    assert len(found) == 21
    assert (found[-1].amount, found[-1].message) == (10, "10 more fields differ")


def test_the_seed_of_a_stream_is_checked_by_drawing_again() -> None:
    stream = library_stream("thai/table2").replace(jobs=library_stream("thai/table2").jobs[:1])
    trace = replay_stream_once(stream, "known", seed=7)[1]
    assert differences(trace, stream) == []
    trace.run["seed"] = 8
    assert any("with run times of seed 8" in message for message in differences(trace, stream))


def test_a_stream_is_identified_by_its_name_and_its_digest() -> None:
    trace = replay_stream_once(STREAM, "known", seed=7)[1]
    assert trace.run["stream"] == {"name": STREAM.name, "sha256": document_sha256(STREAM.to_document())}
    assert differences(trace, STREAM.replace(description="the same jobs, in other words"))[0].startswith(
        f"the trace is of stream {STREAM.name!r} with the digest {trace.run['stream']['sha256']}"
    )


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("jobs", 0, "application"), "another", "jobs[0].application is 'another' in the trace, "),
        (("jobs", 0, "deadline_s"), 10**6, "jobs[0].deadline_s is 1000000 in the trace, "),
    ],
)
def test_labels_and_limits_of_jobs_are_those_of_the_stream(place: tuple[Any, ...], value: Any, message: str) -> None:
    trace = replay_stream_once(STREAM, "known", seed=7)[1]
    entry: Any = trace.run
    for key in place[:-1]:
        entry = entry[key]
    entry[place[-1]] = value
    assert differences(trace, STREAM)[0].startswith(message)


def test_the_seed_and_the_set_of_jobs_of_a_platform_are_checked_by_drawing_again() -> None:
    trace = replay_platform_once(HYBRID, "money-saving", job_set=JOBS, seed=7)[1]
    assert trace.run["job_set"] == {"kind": "mixed", "number": 8}
    for change in ({"seed": 8}, {"job_set": {"kind": "small", "number": 8}}, {"job_set": None}):
        forged = Trace(trace.instance, trace.run | change, trace.events, trace.end)
        assert differences(forged, HYBRID)


def test_what_is_given_is_of_the_kind_that_was_replayed() -> None:
    with pytest.raises(SpotbagError, match="tiny/two-jobs: is a stream; the trace is to be compared with an instance"):
        audit(recovered(), given=STREAM)
    with pytest.raises(SpotbagError, match="by hand: is an instance; the trace is to be compared with a stream"):
        audit(replay_stream_once(STREAM, "known")[1], given=instance())


def test_many_traces_are_compared_one_by_one() -> None:
    reports = audit_traces([recovered(), recovered()], given=instance(deadline_s=999))
    assert [len(report.findings) for report in reports] == [1, 1]
