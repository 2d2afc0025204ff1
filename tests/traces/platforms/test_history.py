"""What resources, machines and jobs of hybrid platforms went through, put together from traces."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any

import pytest

from spotbag.core.errors import SpotbagError
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.replay.platforms.runs import replay_platform_once
from spotbag.traces.platforms.history import JobMove, JobSpan, PlatformHistory, read_platform_history
from spotbag.traces.trace import Trace
from tests.helpers.tiny_hybrid_traces import tiny, with_sampled_jobs

FIRST, HUMBLE, URGENT, HOPELESS, LARGE = range(5)
DEDICATED, ALLOCATED, CLOUD = range(3)


def history_of(trace: Trace) -> PlatformHistory:
    """History of a trace."""
    return read_platform_history(Platform.from_document(trace.instance, "platform of the trace"), trace)


def test_jobs_run_on_their_resources() -> None:
    history = history_of(tiny())
    assert [entry.resource.id for entry in history.resources] == ["dedicated", "allocated", "cloud"]
    assert history.spans == [
        JobSpan(FIRST, DEDICATED, [(0, 1), (300, 0)]),
        JobSpan(HUMBLE, ALLOCATED, [(120, 1), (420, 0)]),
        JobSpan(LARGE, CLOUD, [(240, 1), (840, 0)], row=0),
        JobSpan(LARGE, CLOUD, [(240, 1), (840, 0)], row=1),
        JobSpan(URGENT, DEDICATED, [(300, 1), (720, 0)]),
        JobSpan(HOPELESS, DEDICATED, [(720, 1), (900, 0)], late=True),
    ]
    assert history.moves == [JobMove(HUMBLE, 120, DEDICATED, ALLOCATED)]
    assert history.end_s == 240 + 3600  # what is paid for is longer than what is used


def test_machines_to_the_end_of_their_hours() -> None:
    cloud = history_of(tiny()).resources[CLOUD]
    assert [(vm.row, vm.launched_s, vm.terminated_s, list(vm.hour_ends_s)) for vm in cloud.machines] == [
        (0, 240, 3840, [3840]),
        (1, 240, 3840, [3840]),
    ]


def test_rows_of_machines_are_used_again() -> None:
    jobs = [
        {"id": name, "size_processor_minutes": 60, "arrival_s": at_s, "deadline_s": at_s + 3600, "budget": 1e6}
        for name, at_s in (("a", 0), ("b", 60), ("c", 3700))
    ]
    document = library_platform("tiny/hybrid").to_document() | {"jobs": jobs}
    document["resources"] = [resource for resource in document["resources"] if resource["kind"] == "cloud"]
    platform = Platform.from_document(document, "clouds only")
    [entry] = history_of(replay_platform_once(platform, "money-saving")[1]).resources
    assert [(vm.row, vm.launched_s, vm.terminated_s) for vm in entry.machines] == [
        (0, 0, 3600),
        (1, 60, 3660),
        (0, 3700, 7300),
    ]
    assert entry.rows == 2


def test_a_job_has_what_is_available() -> None:
    steps = [{"from_s": 0, "processors": 2}, {"from_s": 120, "processors": 0}, {"from_s": 240, "processors": 1}]
    document = library_platform("tiny/hybrid").to_document()
    document["resources"] = [document["resources"][1] | {"availability": steps}]
    document["jobs"] = [document["jobs"][0] | {"size_processor_minutes": 5}]
    [span] = history_of(replay_platform_once(Platform.from_document(document, "p"), "money-saving")[1]).spans
    assert span.profile == [(0, 1), (120, 0), (240, 0.5), (300, 0)]


def test_jobs_of_a_cluster_have_their_processor_minutes_and_do_not_overlap() -> None:
    platform = with_sampled_jobs("caron/two-sites", 80, "big", 700)  # for some 16 hours: availability changes
    sizes = [job.size_processor_minutes for job in platform.jobs_by_arrival]
    history = history_of(replay_platform_once(platform, "round-robin")[1])
    steps = 0
    for resource, shown in enumerate(history.resources):
        spans = [span for span in history.spans if span.resource == resource]
        assert spans
        for span, following in pairwise(spans):
            assert shown.cloud or span.end_s <= following.start_s + 1e-6
        for span in spans if not shown.cloud else []:
            minutes = [(end - start) / 60 * height for (start, height), (end, _) in pairwise(span.profile)]
            assert 32 * sum(minutes) == pytest.approx(sizes[span.job])
            steps += len(minutes) > 1
    assert steps


@pytest.mark.parametrize("policy", ["money-saving", "round-robin"])
def test_what_is_read_is_what_is_counted(policy: str) -> None:
    platform = with_sampled_jobs("caron/hybrid", 80, "mixed", 60)
    outcome, trace = replay_platform_once(platform, policy)
    history = history_of(trace)
    assert len({span.job for span in history.spans}) == 80
    assert len({span.job for span in history.spans if span.late}) == outcome.late_jobs > 0
    assert len(history.moves) == outcome.displaced - outcome.stays
    machines = [vm for entry in history.resources for vm in entry.machines]
    assert sum(len(vm.hour_ends_s) for vm in machines) == sum(machine.hours for machine in outcome.machines)
    ends = {job.id: job.end_s for job in outcome.jobs}
    jobs = [job.id for job in platform.jobs_by_arrival]
    for span in history.spans:
        assert ends[jobs[span.job]] - 60 < span.end_s <= ends[jobs[span.job]]


def changed(**change: Any) -> Trace:
    """Trace in which the first start is another one."""
    trace = tiny()
    place = next(index for index, event in enumerate(trace.events) if event["event"] == "start")
    events = [*trace.events[:place], trace.events[place] | change, *trace.events[place + 1 :]]
    return dataclasses.replace(trace, events=events)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"job": "nobody"}, "'nobody'"),
        ({"resource": "nowhere"}, "'nowhere'"),
        ({"resource": "cloud", "vms": ["cloud-9"]}, "'cloud-9'"),
        ({"job": "large"}, "'first'"),  # which finishes without a start
        ({"t": 60}, "'first'"),  # which finishes too early for that
        ({"event": "launch", "vm": "v", "resource": "nowhere"}, "'nowhere'"),
        ({"event": "terminate", "vm": "v"}, "'v'"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(SpotbagError, match=rf"event \d+ of the trace .* s\): {says}.*audit"):
        history_of(changed(**change))


def test_a_start_while_another_job_has_all_processors_is_refused() -> None:
    trace = tiny()
    events = [
        event | {"t": 240} if event["event"] == "start" and event["job"] == "urgent" else event
        for event in trace.events
    ]
    with pytest.raises(SpotbagError, match="'urgent' is not known, or not in a state"):
        history_of(dataclasses.replace(trace, events=events))
