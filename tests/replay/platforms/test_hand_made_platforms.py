"""Replays on hybrid platforms, worked out by hand: displacement, chains, unwanted jobs, machines by the hour."""

from __future__ import annotations

from typing import Any

import pytest

from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.replay.platforms.outcome import PlatformOutcome
from spotbag.replay.platforms.runs import replay_platform_once
from tests.helpers.hand_made_platform_traces import job


def free(name: str, processors: int = 2) -> dict[str, Any]:
    """Describe a dedicated cluster."""
    return {"id": name, "kind": "dedicated", "parent": "root", "processors": processors}


CLOUD = {"id": "c", "kind": "cloud", "parent": "root"}


def submitted(name: str, arrival_s: int, size: int, priority: int, deadline_s: int = 10**6) -> dict[str, Any]:
    """Describe a job with all the money in the world."""
    return job(name, size, priority, arrival_s, deadline_s, budget=10**6)


def replayed(
    resources: list[dict[str, Any]], jobs: list[dict[str, Any]], policy: str = "money-saving"
) -> PlatformOutcome:
    """Replay jobs on resources below one agent."""
    document = {
        "format": "spotbag.platform/1",
        "name": "hand-made",
        "agents": [{"id": "root"}],
        "resources": resources,
        "jobs": jobs,
    }
    return replay_platform_once(Platform.from_document(document, "hand-made"), policy)[0]


def runs(outcome: PlatformOutcome) -> dict[str, tuple[str, int, int]]:
    """Where each job ran, and from when to when."""
    return {job.id: (job.resource, job.start_s, job.end_s) for job in outcome.jobs}


HOPELESS = {"money-saving": ("dedicated", 720, 900), "time-saving": ("cloud", 180, 360)}


@pytest.mark.parametrize("policy", HOPELESS)
def test_the_library_platform_that_is_small_enough_for_a_hand(policy: str) -> None:
    outcome, _ = replay_platform_once(library_platform("tiny/hybrid"), policy)
    assert runs(outcome) == {
        "first": ("dedicated", 0, 300),
        "humble": ("allocated", 120, 420),  # pushed out by the next
        "urgent": ("dedicated", 300, 720),
        "hopeless": HOPELESS[policy],
        "large": ("cloud", 240, 840),
    }
    saves = policy == "money-saving"
    # 10 of the allocated cluster, two machines, and a third where time is saved
    assert outcome.cost == 10 + 2 * 240 + (0 if saves else 240)
    assert outcome.delay_s == (420 if saves else 0)
    assert outcome.execution_time_s == 300 + 360 + 600 + (720 if saves else 180) + 600
    assert (outcome.late_jobs, outcome.overspent_jobs) == ((1, 0) if saves else (0, 1))
    assert outcome.overspend == (0 if saves else 240 - 5)
    assert (outcome.displaced, outcome.stays, outcome.good, outcome.bad) == (1, 0, 5, 1)
    # five jobs ask three resources, the displaced one asks two; a question and an answer each
    assert (outcome.placements, outcome.messages) == (6, 2 * (5 * 3 + 2))


def test_a_displaced_job_that_nobody_else_takes_stays_though_it_is_late() -> None:
    jobs = [submitted("a", 10, 4, 1, deadline_s=240), submitted("b", 20, 6, 5)]
    outcome = replayed([free("d")], jobs)
    # a was to run from 60 to 180; b takes three minutes before it
    assert runs(outcome) == {"a": ("d", 240, 360), "b": ("d", 60, 240)}
    assert (outcome.displaced, outcome.stays, outcome.delay_s) == (1, 1, 120)


def test_a_new_job_that_nobody_offers_to_run_is_the_last_of_the_queue() -> None:
    jobs = [
        submitted("a", 10, 4, 1, deadline_s=240),
        submitted("b", 20, 4, 5),  # would displace as much work as it has
        submitted("c", 30, 2, 0),  # goes before b, whatever their priorities
    ]
    outcome = replayed([free("d")], jobs)
    assert runs(outcome) == {"a": ("d", 60, 180), "b": ("d", 240, 360), "c": ("d", 180, 240)}
    assert (outcome.unwanted, outcome.displaced) == (1, 0)


def test_a_job_that_nobody_wants_stays_behind_all_others_after_it_is_displaced() -> None:
    jobs = [
        submitted("a", 10, 4, 1, deadline_s=240),
        submitted("b", 20, 4, 5, deadline_s=300),  # would displace as much work as it has; last, from 180 to 300
        submitted("c", 30, 6, 0, deadline_s=900),  # goes before b, which would be late, and stays: late, but last
        submitted("d", 40, 6, 0, deadline_s=900),  # goes before b, too
    ]
    outcome = replayed([free("d")], jobs)
    assert runs(outcome) == {"a": ("d", 60, 180), "b": ("d", 540, 660), "c": ("d", 180, 360), "d": ("d", 360, 540)}
    assert (outcome.unwanted, outcome.displaced, outcome.stays) == (1, 2, 2)


def test_of_several_queues_a_job_that_nobody_wants_takes_that_in_which_it_ends_first() -> None:
    jobs = [
        submitted("a", 10, 6, 1, deadline_s=240),
        submitted("b", 10, 4, 1, deadline_s=180),
        submitted("c", 20, 4, 5),
    ]
    outcome = replayed([free("d"), free("e")], jobs)
    assert runs(outcome)["c"] == ("e", 180, 300)
    assert outcome.unwanted == 1


def test_a_chain_of_displacements() -> None:
    jobs = [
        submitted("w1", 0, 2, 9),  # on d until 60
        submitted("w2", 0, 2, 9),  # on e until 60
        submitted("q", 5, 4, 3, deadline_s=180),  # on d, 60 to 180
        submitted("x", 10, 4, 1, deadline_s=240),  # on e, 60 to 180
        submitted("r", 15, 1, 0, deadline_s=240),  # on d or e, 180 to 240
        # y pushes x (4 < 6) from e; x, late everywhere, pushes r (1 < 4) from d; r is late on e
        submitted("y", 20, 6, 2, deadline_s=600),
    ]
    outcome = replayed([free("d"), free("e")], jobs)
    assert runs(outcome) == {
        "w1": ("d", 0, 60),
        "w2": ("e", 0, 60),
        "q": ("d", 60, 180),
        "x": ("d", 180, 300),
        "r": ("e", 240, 300),
        "y": ("e", 60, 240),
    }
    assert [job.displaced for job in outcome.jobs] == [0, 0, 0, 1, 1, 0]
    assert (outcome.placements, outcome.delay_s) == (8, 60 + 60)


def test_of_equally_good_clusters_the_one_where_nothing_is_displaced() -> None:
    jobs = [
        submitted("w1", 0, 2, 9),
        submitted("w2", 0, 2, 9),
        submitted("x", 10, 2, 1, deadline_s=120),  # on d, 60 to 120
        submitted("y", 20, 4, 2, deadline_s=180),  # on d it would push x out; on e it ends at the same time
    ]
    assert runs(replayed([free("d"), free("e")], jobs))["y"] == ("e", 60, 180)


def test_a_machine_is_used_again_in_its_paid_hour_and_given_back_at_its_end() -> None:
    jobs = [
        submitted("a", 0, 240, 1, deadline_s=1800),  # a machine for half an hour
        submitted("b", 1800, 240, 1, deadline_s=3600),  # the other half is paid
        submitted("c", 3600, 8, 1, deadline_s=3660),  # the hour is over
    ]
    outcome = replayed([CLOUD], jobs)
    assert [job.cost for job in outcome.jobs] == [960, 0, 960]
    bills = [(bill.name, bill.launched_s, bill.terminated_s, bill.hours, bill.cost) for bill in outcome.machines]
    assert bills == [("c-1", 0, 3600, 1, 960), ("c-2", 3600, 7200, 1, 960)]


def test_who_works_beyond_a_paid_hour_pays_the_next() -> None:
    jobs = [
        submitted("a", 0, 240, 1, deadline_s=1800),
        submitted("b", 2400, 240, 1, deadline_s=4200),  # on the same machine to 4200
        submitted("c", 4200, 400, 1, deadline_s=7200),  # to the very end of the second hour
    ]
    outcome = replayed([CLOUD], jobs)
    assert [job.cost for job in outcome.jobs] == [960, 960, 0]
    assert [(bill.terminated_s, bill.hours) for bill in outcome.machines] == [(7200, 2)]


def test_a_busy_machine_is_not_used() -> None:
    jobs = [submitted("a", 0, 240, 1, deadline_s=1800), submitted("b", 1799, 8, 1, deadline_s=3000)]
    outcome = replayed([CLOUD], jobs)
    assert [job.cost for job in outcome.jobs] == [960, 960]
    assert [bill.launched_s for bill in outcome.machines] == [0, 1799]


def test_a_job_that_arrives_with_a_minute_has_the_processors_of_that_minute() -> None:
    jobs = [submitted("low", 30, 2, 1), submitted("high", 60, 2, 9)]
    assert runs(replayed([free("d")], jobs)) == {"low": ("d", 120, 180), "high": ("d", 60, 120)}


def test_the_second_job_of_a_minute_is_not_interrupted_either() -> None:
    # low has the rest of high's minute, so it has begun when the most urgent one arrives
    jobs = [submitted("high", 0, 1, 5), submitted("low", 0, 3, 1), submitted("urgent", 1, 2, 9)]
    outcome = replayed([free("d")], jobs)
    assert runs(outcome) == {"high": ("d", 0, 60), "low": ("d", 0, 120), "urgent": ("d", 120, 180)}
