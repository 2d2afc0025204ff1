"""What resources of a hybrid platform did: counted from the jobs, the clusters and the bills."""

from __future__ import annotations

import pytest

from spotbag.instances.platforms.job_draws import JobSet
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.replay.platforms.outcome import ResourceUse, resource_use
from spotbag.replay.platforms.runs import platform_with_jobs, replay_platform_once


def test_use_by_hand() -> None:
    platform = library_platform("tiny/hybrid")
    outcome, _ = replay_platform_once(platform, "money-saving")
    # All is done after 15 minutes; the cloud's two machines of two processors are paid for an hour.
    assert resource_use(platform, outcome) == [
        ResourceUse("dedicated", "dedicated", 3, 1, 30, 30, 0, 0, 0.0),
        ResourceUse("allocated", "allocated", 1, 0, 10, 30, 0, 0, 10.0),
        ResourceUse("cloud", "cloud", 1, 0, 40, 240, 2, 2, 480.0),
    ]
    assert [use.use for use in resource_use(platform, outcome)] == [1, 1 / 3, 1 / 6]


def test_use_counts_from_the_first_arrival() -> None:
    document = library_platform("tiny/hybrid").to_document()
    for job in document["jobs"]:
        job["arrival_s"] += 28_000  # and 40 seconds into a minute: that minute counts
        job["deadline_s"] += 28_000
    platform = Platform.from_document(document, "morning")
    outcome, _ = replay_platform_once(platform, "money-saving")
    [dedicated, *_] = resource_use(platform, outcome)
    minutes = -(-outcome.end_s // 60) - 28_000 // 60
    assert dedicated.available_processor_minutes == 2 * minutes
    assert dedicated.use is not None
    assert dedicated.use > 0.9


def test_nothing_available_has_no_use() -> None:
    document = library_platform("tiny/hybrid").to_document()
    document["jobs"] = document["jobs"][:1]
    document["resources"][1]["availability"] = [{"from_s": 0, "processors": 0}, {"from_s": 600, "processors": 2}]
    platform = Platform.from_document(document, "p")
    outcome, _ = replay_platform_once(platform, "money-saving")
    assert [use.use for use in resource_use(platform, outcome)] == [1, None, None]


@pytest.mark.parametrize("policy", ["money-saving", "round-robin"])
def test_resources_add_up_to_the_run(policy: str) -> None:
    platform = platform_with_jobs(library_platform("caron/two-sites"), JobSet("mixed", 60), 5)
    outcome, _ = replay_platform_once(platform, policy)
    uses = resource_use(platform, outcome)
    assert sum(use.jobs for use in uses) == 60
    assert sum(use.late_jobs for use in uses) == outcome.late_jobs
    assert sum(use.work_processor_minutes for use in uses) == sum(job.size_processor_minutes for job in platform.jobs)
    assert sum(use.cost for use in uses) == pytest.approx(outcome.cost)
    assert sum(use.machines for use in uses) == len(outcome.machines)
    assert uses[-1].cost == 960 * uses[-1].vm_hours
    assert all(use.use is None or 0 <= use.use <= 1 for use in uses)
