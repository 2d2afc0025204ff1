"""Streams that can be worked out by hand: the arithmetic stands beside each."""

from __future__ import annotations

from typing import Any

import pytest

from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.streams.draws import draw_jobs
from spotbag.replay.streams.engine import StreamReplay
from spotbag.replay.streams.outcome import violation_cost_usd
from spotbag.replay.streams.policies import stream_policy
from spotbag.replay.streams.policies.fixed_fleet import FixedFleet
from spotbag.replay.streams.policies.known import Known, KnownPaidBlocks
from spotbag.replay.streams.policies.unknown import Sampling, Unknown, UnknownLearning
from spotbag.replay.streams.runs import replay_stream
from spotbag.replay.streams.state import StreamPolicy, StreamState, StreamVm
from tests.helpers.tiny_streams import described, sampled, stream


def starts(lines: list[tuple[Any, ...]]) -> list[tuple[int, str, str]]:
    """When what starts where."""
    return [(line[0], line[2], line[3]) for line in lines if line[1] == "start"]


def of_kind(lines: list[tuple[Any, ...]], *kinds: str) -> list[tuple[Any, ...]]:
    return [line for line in lines if line[1] in kinds]


# ---------------------------------------------------------------- Algorithm 1


def test_a_job_alone_gets_what_model_6_asks_for() -> None:
    # 80 s after the creation: small does 2 tasks, big 4; two small for 2.0 are cheaper than one big for 2.5.
    jobs = stream([("j", "a", 0, 90, 3)], {"a": {"small": 40, "big": 20}}, {"small": 1.0, "big": 2.5})
    replay, lines = described(sampled(jobs), Known())
    assert starts(lines) == [(10, "small-1", "j#1"), (10, "small-2", "j#2"), (50, "small-1", "j#3")]
    outcome = replay.outcome()
    assert outcome.blocks == {"small": 2, "big": 0}
    assert (outcome.cost_usd, outcome.makespan_s, outcome.late_tasks) == (2.0, 90, 0)
    # small-2 is ready at 10, works to 50 and ends with the stream at 90.
    assert (outcome.busy_s, outcome.idle_s) == (120, 40)


def test_existing_vms_are_filled_within_their_blocks_first_and_then_to_the_deadline() -> None:
    # At 50 the VM is free and paid to 100: j2 ends at 70. At 60: j3 may run to 200; one task fits the block (70-90),
    # the other two need the next one, to 110 and 130. No VM is rented for them.
    jobs = stream(
        [("j1", "a", 0, 90, 2), ("j2", "a", 50, 140, 1), ("j3", "a", 60, 200, 3)],
        {"a": {"small": 20}},
    )
    replay, lines = described(sampled(jobs), Known())
    assert [line[2] for line in of_kind(lines, "launch")] == ["small-1"]
    assert starts(lines) == [
        (10, "small-1", "j1#1"),
        (30, "small-1", "j1#2"),
        (50, "small-1", "j2#1"),
        (70, "small-1", "j3#1"),
        (90, "small-1", "j3#2"),
        (110, "small-1", "j3#3"),
    ]
    assert replay.outcome().blocks == {"small": 2}
    assert replay.outcome().makespan_s == 130


def test_to_the_letter_of_section_3_2_no_existing_vm_runs_into_a_block_that_is_not_paid() -> None:
    # As before, but the two tasks of j3 that would need a block of small-1 get a VM of their own: 70-90 and 90-110.
    jobs = stream(
        [("j1", "a", 0, 90, 2), ("j2", "a", 50, 140, 1), ("j3", "a", 60, 200, 3)],
        {"a": {"small": 20}},
    )
    replay, lines = described(sampled(jobs), KnownPaidBlocks())
    assert starts(lines)[3:] == [(70, "small-1", "j3#1"), (70, "small-2", "j3#2"), (90, "small-2", "j3#3")]
    assert replay.outcome().blocks == {"small": 2}
    assert replay.outcome().makespan_s == 110


def test_what_finds_no_place_on_existing_vms_goes_to_new_ones() -> None:
    # At 50 the VM is free: j2 has 40 s, two tasks; the third needs a VM: 10 s to create, 20 to run.
    jobs = stream([("j1", "a", 0, 90, 2), ("j2", "a", 50, 90, 3)], {"a": {"small": 20}})
    replay, lines = described(sampled(jobs), Known())
    assert starts(lines)[2:] == [(50, "small-1", "j2#1"), (60, "small-2", "j2#3"), (70, "small-1", "j2#2")]
    assert replay.outcome().late_tasks == 0


def test_a_task_may_end_exactly_with_the_block_and_with_the_deadline() -> None:
    # Free at 80, paid to 100: a task of 20 s ends exactly there, and at its deadline.
    jobs = stream([("j1", "a", 0, 100, 1), ("j2", "b", 20, 100, 1)], {"a": {"small": 70}, "b": {"small": 20}})
    replay, lines = described(sampled(jobs), Known())
    assert starts(lines) == [(10, "small-1", "j1#1"), (80, "small-1", "j2#1")]
    assert replay.outcome().blocks == {"small": 1}
    assert replay.outcome().late_tasks == 0


def test_an_idle_vm_is_released_at_the_end_of_its_block() -> None:
    # Requested at 0, idle from 30: released at 100, not at 110. j2 comes at 150 and needs a new one.
    jobs = stream([("j1", "a", 0, 90, 1), ("j2", "a", 150, 240, 1)], {"a": {"small": 20}})
    replay, lines = described(sampled(jobs), Known())
    assert of_kind(lines, "block-end", "terminate", "launch") == [
        (0, "launch", "small-1"),
        (100, "block-end", "small-1"),
        (100, "terminate", "small-1"),
        (150, "launch", "small-2"),
        (180, "terminate", "small-2"),
    ]
    assert replay.outcome().blocks == {"small": 2}
    assert replay.outcome().idle_s == 70  # from 30 to 100


def test_a_job_that_arrives_with_the_end_of_a_block_still_finds_the_vm() -> None:
    jobs = stream([("j1", "a", 0, 90, 1), ("j2", "a", 100, 190, 1)], {"a": {"small": 20}})
    replay, lines = described(sampled(jobs), Known())
    assert starts(lines) == [(10, "small-1", "j1#1"), (100, "small-1", "j2#1")]
    assert len(replay.vms) == 1


def test_a_vm_that_works_through_the_end_of_a_block_pays_the_next() -> None:
    # 5 tasks of 40 s from 10: to 210, blocks to 300.
    jobs = stream([("j", "a", 0, 210, 5)], {"a": {"small": 40}})
    replay, _ = described(sampled(jobs), Known())
    assert replay.outcome().blocks == {"small": 3}
    assert replay.outcome().cost_usd == 3.0
    [bill] = replay.outcome().bills
    assert (bill.ready_s, bill.hibernated_s, bill.stopped_s) == (0, 0, 0)  # billed from its request; never hibernates


def test_a_job_that_cannot_meet_its_deadline_runs_late_on_the_fastest_type() -> None:
    # 20 s after the creation; small takes 40, big 25: none can finish one. A block of big holds 3 tasks (90 / 25), so
    # two of them: each two tasks, to 35 and 60: late by 5, 5, 30, 30.
    jobs = stream([("j", "a", 0, 30, 4)], {"a": {"small": 40, "big": 25}}, {"small": 1.0, "big": 2.5})
    replay, lines = described(sampled(jobs), Known())
    # None is in time: the bag may last until the fastest can end.
    assert draw_jobs(jobs, 0).instance.deadline_s == 10 + 25
    assert starts(lines) == [(10, "big-1", "j#1"), (10, "big-2", "j#2"), (35, "big-1", "j#3"), (35, "big-2", "j#4")]
    outcome = replay.outcome()
    assert (outcome.late_tasks, outcome.late_s, outcome.unfinished_tasks) == (4, 70, 0)
    assert outcome.violation_cost_usd is None  # no task is in time


def test_a_job_with_less_time_than_a_creation_takes_runs_late() -> None:
    jobs = stream([("j", "a", 0, 5, 1)], {"a": {"small": 20}})
    replay, _ = described(sampled(jobs), Known())
    assert [(job.late_tasks, job.late_s) for job in replay.outcome().jobs] == [(1, 25)]


# ---------------------------------------------------------------- Algorithm 3


def test_a_task_that_would_be_late_moves_to_the_vm_with_the_largest_permissible_delay() -> None:
    # Each VM does 3 of 25 s by 90 (85). small-1's first takes 60, not 25: at 45 its queue is expected to end at 70
    # and 95, the second is late. small-2 is to be done at 85 and can wait 5 s: not enough. j2 has had small-3 since 5;
    # it is idle from 40 and takes j1#5 at 45.
    jobs = stream([("j1", "a", 0, 90, 6), ("j2", "b", 5, 50, 1)], {"a": {"small": 25}, "b": {"small": 25}})
    actual = {"j1": {"small": [60, 25, 25, 25, 25, 25]}}
    replay, lines = described(sampled(jobs, actual), Known())
    assert [line[2] for line in of_kind(lines, "launch")] == ["small-1", "small-2", "small-3"]
    assert of_kind(lines, "return") == [(45, "return", "small-1", "j1#5")]
    assert (45, "small-3", "j1#5") in starts(lines)
    assert (
        replay.outcome().late_tasks == 1
    )  # j1#3: expected by 70 when it was looked at, it starts at 70 and ends at 95
    assert replay.outcome().late_s == 5


def test_a_vm_that_could_do_a_late_task_in_time_does_not_take_it_at_the_cost_of_its_own() -> None:
    # Each VM does 3 of 25 s by 90 (85). small-1's first takes 60, not 25: at 45, j#5 is expected at 95. As the next of
    # small-2 it would run from 60 to 85, in time, but would delay j#6, expected at 85, by 25 s to 110: it may wait 5 s.
    jobs = stream([("j", "a", 0, 90, 6)], {"a": {"small": 25}})
    replay, lines = described(sampled(jobs, {"j": {"small": [60, 25, 25, 25, 25, 25]}}), Known())
    assert [line[2] for line in of_kind(lines, "launch")] == ["small-1", "small-2"]
    assert not of_kind(lines, "return")
    # j#3 runs from 70 to 95, j#5 from 95 to 120.
    assert (replay.outcome().late_tasks, replay.outcome().late_s) == (2, 5 + 30)


def test_a_vm_that_can_wait_just_as_long_as_a_late_task_runs_takes_it() -> None:
    # As before, with 85 s for the first and a deadline of 110: at 75, j#5 is expected at 125. small-2 is to be done at
    # 85 and can wait 25 s, as long as j#5 runs: to 110. Only j#3 on small-1 is late, which runs from 95 to 120.
    jobs = stream([("j", "a", 0, 110, 6)], {"a": {"small": 25}})
    replay, lines = described(sampled(jobs, {"j": {"small": [85, 25, 25, 25, 25, 25]}}), Known())
    assert of_kind(lines, "return") == [(75, "return", "small-1", "j#5")]
    assert (85, "small-2", "j#5") in starts(lines)
    assert (replay.outcome().late_tasks, replay.outcome().late_s) == (1, 10)


def test_tasks_of_years_on_vms_paid_by_the_second_take_a_few_events() -> None:
    # All three on one VM, one after the other, in time: 3 x 10^8 blocks of a second at a dollar. The first is late at
    # no time, so nothing is to be moved before the VM is free: 1 arrival, 1 VM that is ready, 3 ends, and a look at
    # what waits after the arrival and after each end that leaves something waiting.
    jobs = stream([("j", "a", 0, 10**9, 3)], {"a": {"small": 10**8}}, block_s=1, creation_overhead_s=0)
    outcome = StreamReplay(sampled(jobs), Known()).run()
    assert (outcome.cost_usd, outcome.makespan_s, outcome.late_tasks) == (3e8, 3 * 10**8, 0)
    assert outcome.blocks == {"small": 3 * 10**8}
    assert outcome.events <= 8


def test_a_task_that_gets_late_while_nothing_happens_is_moved_in_the_next_period() -> None:
    # j#1 was to run to 110 and runs on; j#2 behind it has until 300, and is late if it starts after 200: at 210, the
    # next multiple of 15 s, it moves to big-1, which has been idle since 30, and ends at 230. Nothing happens between.
    jobs = stream(
        [("j", "a", 0, 300, 2), ("k", "b", 0, 300, 1)],
        {"a": {"small": 100, "big": 20}, "b": {"big": 20}},
        {"small": 1.0, "big": 9.0},
        block_s=1000,
    )
    actual_s = {"j": {"small": [5000, 100], "big": [20, 20]}}
    _, lines = described(sampled(jobs, actual_s), Known())
    assert starts(lines) == [(10, "small-1", "j#1"), (10, "big-1", "k#1"), (210, "big-1", "j#2")]
    assert of_kind(lines, "return") == [(210, "return", "small-1", "j#2")]
    # Wakes at 15, after the arrivals; at 30, with an end; at 210, and after the move. Then nothing waits.
    assert [line[0] for line in of_kind(lines, "wake")] == [15, 30, 210, 225]


def test_where_nobody_can_take_it_a_task_stays_and_is_late() -> None:
    jobs = stream([("j", "a", 0, 90, 4)], {"a": {"small": 20}})
    replay, lines = described(sampled(jobs, {"j": {"small": [45, 20, 20, 10]}}), Known())
    assert not of_kind(lines, "return")
    assert replay.outcome().late_s == 5 + 15


# ------------------------------------------------------------- sampling phase


def test_a_type_that_finishes_no_sample_is_excluded() -> None:
    # 30 s from 10 to 40. big finishes its three of 10 s, small none of 40 s; what small had goes to big.
    jobs = stream([("j", "a", 0, 300, 6)], {"a": {"small": 40, "big": 10}}, {"small": 1.0, "big": 2.0})
    policy = Unknown()
    replay, lines = described(sampled(jobs), policy)
    assert of_kind(lines, "suspend", "return") == [
        (40, "suspend", "small-1", "j#1"),
        (40, "return", "small-1", "j#1"),
        (40, "return", "small-1", "j#3"),
        (40, "return", "small-1", "j#5"),
    ]
    assert starts(lines)[-3:] == [(40, "big-1", "j#1"), (50, "big-1", "j#3"), (60, "big-1", "j#5")]
    assert policy.forecast.exact_runtime_s(0) == [None, 10]
    assert replay.outcome().blocks == {"small": 1, "big": 1}
    # small-1 is ready for 60 s and works for 30, in vain.
    assert (replay.outcome().idle_s, replay.outcome().busy_s) == (30, 90)


def test_samples_go_before_the_tasks_of_a_vm_which_then_go_on_where_they_stopped() -> None:
    # j1#2 runs from 50, is stopped at 60 after 10 s of 40. Samples of j2 have 40 s: 15, 15, 10 of 15. j1#2 goes on from
    # 100 with 30 s. j2#3 is given back to the VM behind j1 (5 left of 15).
    jobs = stream(
        [("j1", "a", 0, 300, 6), ("j2", "b", 60, 460, 5), ("j3", "b", 300, 500, 2)],
        {"a": {"small": 40}, "b": {"small": 15}},
    )
    replay, lines = described(sampled(jobs), Unknown(Sampling(samples_per_vm=3)))
    assert of_kind(lines, "suspend") == [(60, "suspend", "small-1", "j1#2"), (100, "suspend", "small-1", "j2#3")]
    assert starts(lines)[1:6] == [
        (50, "small-1", "j1#2"),
        (60, "small-1", "j2#1"),
        (75, "small-1", "j2#2"),
        (90, "small-1", "j2#3"),
        (100, "small-1", "j1#2"),
    ]
    assert (130, "finish", "small-1", "j1#2") in lines
    assert (290, "small-1", "j2#3") in starts(lines)
    assert (295, "finish", "small-1", "j2#3") in lines
    # The second job of b is not sampled: it is appended at 300.
    assert (325, "small-1", "j3#1") in starts(lines)
    outcome = replay.outcome()
    assert (outcome.suspensions, outcome.late_tasks, len(replay.vms)) == (2, 0, 1)


def test_a_vm_that_cannot_wait_so_long_takes_no_samples() -> None:
    # j1 ends at 90 for a deadline of 95: it can wait 5 s. The samples of j2 take 10 s: a new VM.
    jobs = stream([("j1", "a", 0, 95, 2), ("j2", "b", 60, 160, 1)], {"a": {"small": 40}, "b": {"small": 5}})
    replay, lines = described(sampled(jobs), Unknown(Sampling(fraction=0.1)))
    assert [line for line in lines if line[1] == "launch"] == [(0, "launch", "small-1"), (60, "launch", "small-2")]
    assert not of_kind(lines, "suspend")
    assert replay.outcome().late_tasks == 0


def test_a_phase_without_any_finished_sample_lasts_until_the_first_and_other_jobs_wait() -> None:
    # The phase should end at 20; the first sample ends at 50. j2 comes at 5 and is sampled at 50.
    jobs = stream([("j1", "a", 0, 100, 2), ("j2", "b", 5, 400, 1)], {"a": {"small": 40}, "b": {"small": 15}})
    replay, lines = described(sampled(jobs), Unknown())
    assert (50, "launch", "small-2") in lines  # small-1 cannot wait 35 s
    assert starts(lines) == [(10, "small-1", "j1#1"), (50, "small-1", "j1#2"), (60, "small-2", "j2#1")]
    assert replay.outcome().unfinished_tasks == 0


def test_a_sampling_phase_ends_early_when_all_samples_are_done() -> None:
    # Two samples of 10 s on the one type: done at 30, not at 10 + 50. The other three follow at once.
    jobs = stream([("j", "a", 0, 500, 5)], {"a": {"small": 10}})
    _, lines = described(sampled(jobs), Unknown(Sampling(samples_per_vm=2)))
    assert [line[0] for line in of_kind(lines, "start")] == [10, 20, 30, 40, 50]
    assert not of_kind(lines, "suspend", "return")


def test_the_average_of_the_samples_decides_and_learning_corrects_it() -> None:
    # Samples of 10 and 12 s; all others take 30.
    jobs = stream([("j1", "a", 0, 400, 4), ("j2", "a", 200, 600, 1)], {"a": {"small": 10}})
    actual = {"j1": {"small": [10, 12, 30, 30]}, "j2": {"small": [30]}}
    plain, learning = Unknown(Sampling(samples_per_vm=2)), UnknownLearning(Sampling(samples_per_vm=2))
    described(sampled(jobs, actual), plain)
    described(sampled(jobs, actual), learning)
    assert plain.forecast.exact_runtime_s(0) == [11]
    # The last task of all teaches nobody any more.
    assert learning.forecast.exact_runtime_s(0) == [pytest.approx((10 + 12 + 30 + 30) / 4)]


def test_a_small_job_is_sampled_on_every_type() -> None:
    jobs = stream([("j", "a", 0, 500, 2)], {"a": {"small": 10, "big": 5}}, {"small": 1.0, "big": 2.0})
    _, lines = described(sampled(jobs), Unknown())
    assert starts(lines) == [(10, "small-1", "j#1"), (10, "big-1", "j#2")]


def test_types_that_cannot_run_an_application_are_not_sampled() -> None:
    jobs = stream([("j", "a", 0, 500, 4)], {"a": {"big": 5}}, {"small": 1.0, "big": 2.0})
    replay, _ = described(sampled(jobs), Unknown())
    assert replay.outcome().blocks == {"small": 0, "big": 1}


# ---------------------------------------------------------------- fixed fleets


def test_a_fixed_fleet_gives_every_idle_vm_the_next_task() -> None:
    # Two VMs, ready at 10; four tasks of 20 s to 50, two of 30 s to 80.
    jobs = stream([("j1", "a", 0, 40, 4), ("j2", "b", 30, 90, 2)], {"a": {"small": 20}, "b": {"small": 30}})
    replay, lines = described(sampled(jobs), FixedFleet("small.2", 0, 2))
    assert [line[0] for line in starts(lines)] == [10, 10, 30, 30, 50, 50]
    outcome = replay.outcome()
    assert (outcome.late_tasks, outcome.late_s) == (2, 20)  # j1#3 and j1#4 at 50 for 40
    assert (outcome.idle_s, outcome.busy_s, outcome.cost_usd) == (0, 140, 2.0)
    assert outcome.violation_cost_usd == pytest.approx(2.0 / 4 * 2)


def test_a_fixed_fleet_deals_in_turns_and_pays_while_it_waits() -> None:
    # j1#1 on small-1 (0), so j2#1 is small-2's. From 10 to 330 two VMs are up: 640 s, 80 of them busy.
    jobs = stream([("j0", "a", 0, 90, 2), ("j1", "a", 40, 90, 1), ("j2", "a", 310, 400, 1)], {"a": {"small": 20}})
    replay, lines = described(sampled(jobs), FixedFleet("small.2", 0, 2))
    assert starts(lines)[2:] == [(40, "small-1", "j1#1"), (310, "small-2", "j2#1")]
    assert replay.outcome().blocks == {"small": 8}
    assert replay.outcome().idle_s == 560


def test_policies_go_by_name() -> None:
    jobs = stream([("j", "a", 0, 500, 4)], {"a": {"m3.big": 5, "m4.big": 5}}, {"m3.big": 2.0, "m4.big": 3.0})
    assert stream_policy(jobs, "known")().name == "known"
    assert stream_policy(jobs, "m4.big.3")().name == "m4.big.3"
    with pytest.raises(InputError, match=r"could be m3.big.3 or m4.big.3"):
        stream_policy(jobs, "big.3")
    with pytest.raises(InputError, match="did you mean unknown"):
        stream_policy(jobs, "unknwon")
    with pytest.raises(InputError, match=r"there are known, .*unknown-learning, .*and fixed fleets such as m3\.big\.4"):
        stream_policy(jobs, "zzz")
    with pytest.raises(InputError, match="number of VMs from 1"):
        stream_policy(jobs, "m3.big.0")
    with pytest.raises(InputError, match=r"from 1 to 10000$"):
        stream_policy(stream([("j", "a", 0, 500, 20_000)], {"a": {"small": 5}}), "small.10001")
    other = stream([("j", "a", 0, 500, 4)], {"a": {"small": 5}}, {"small": 1.0, "big": 3.0})
    with pytest.raises(InputError, match=r"big\.2.* do it: a cannot run on big.*; all applications can run on small$"):
        stream_policy(other, "big.2")
    split = stream(
        [("j", "a", 0, 500, 4), ("k", "b", 0, 500, 4)], {"a": {"small": 5}, "b": {"big": 5}}, {"small": 1.0, "big": 3.0}
    )
    with pytest.raises(InputError, match=r"small\.2.* b cannot run on small.*; no VM type can run all of them"):
        stream_policy(split, "small.2")
    with pytest.raises(InputError, match="sampling_fraction"):
        stream_policy(jobs, "unknown", Sampling(fraction=1.5))
    with pytest.raises(InputError, match="samples_per_vm"):
        stream_policy(jobs, "unknown-learning", Sampling(samples_per_vm=0))


def test_all_policies_that_cannot_be_used_are_named() -> None:
    jobs = stream([("j", "a", 0, 500, 4)], {"a": {"small": 5}}, {"small": 1.0, "big": 3.0})
    with pytest.raises(InputError, match="2 errors") as caught:
        replay_stream(jobs, ["big.2", "known", "knwon"], 1)
    assert [issue.value for issue in caught.value.issues] == ["big.2", "knwon"]
    with pytest.raises(InputError, match=r"policies must be a list, also of a single policy: \['known'\]"):
        replay_stream(jobs, "known", 1)


def test_a_fixed_fleet_has_no_more_vms_than_can_be_rented() -> None:
    jobs = stream([("j", "a", 0, 500, 4)], {"a": {"small": 5, "big": 5}}, {"small": 1.0, "big": 3.0})
    [outcome] = replay_stream(jobs, ["big.6"], 1).outcomes[0]  # 4 tasks and 2 types
    assert outcome.blocks == {"small": 0, "big": 6}
    with pytest.raises(InputError, match=r"'big\.7' .* from 1 to 6 \(tiny has 4 tasks and 2 VM types; more VMs"):
        replay_stream(jobs, ["big.7"], 1)


# ------------------------------------------------- what a policy may not decide


class Wilful(StreamPolicy):
    """Does one thing to its first VM when the job arrives."""

    name = "wilful"

    def __init__(self, deed: str) -> None:
        self.deed = deed

    def submitted(self, replay: StreamState, job: int) -> None:
        vm = replay.start_vm(0)
        task = replay.sampled.tasks(job)[0]
        getattr(self, self.deed)(replay, vm, task)

    def assign_twice(self, replay: StreamState, vm: StreamVm, task: int) -> None:
        replay.assign(task, vm)
        replay.assign(task, vm)

    def take_what_is_not_there(self, replay: StreamState, vm: StreamVm, task: int) -> None:
        replay.take_back(task, vm)

    def suspend_nothing(self, replay: StreamState, vm: StreamVm, task: int) -> None:
        replay.suspend(vm)

    def terminate_busy(self, replay: StreamState, vm: StreamVm, task: int) -> None:
        replay.assign(task, vm)
        replay.terminate(vm)

    def terminate_twice(self, replay: StreamState, vm: StreamVm, task: int) -> None:
        replay.terminate(vm)
        replay.terminate(vm)

    def assign_to_terminated(self, replay: StreamState, vm: StreamVm, task: int) -> None:
        replay.terminate(vm)
        replay.assign(task, vm)

    def assign_where_it_cannot_run(self, replay: StreamState, vm: StreamVm, task: int) -> None:
        replay.assign(task, replay.start_vm(1))

    def assign_what_has_not_come(self, replay: StreamState, vm: StreamVm, task: int) -> None:
        replay.assign(replay.sampled.tasks(1)[0], vm)


@pytest.mark.parametrize(
    ("deed", "message"),
    [
        ("assign_twice", "task 'j1#1' is not there to be assigned"),
        ("take_what_is_not_there", "task 'j1#1' does not wait for small-1"),
        ("suspend_nothing", "small-1 runs no task"),
        ("terminate_busy", "small-1 has tasks left"),
        ("terminate_twice", "small-1 is terminated already"),
        ("assign_to_terminated", "small-1 is terminated and takes no task"),
        ("assign_where_it_cannot_run", "task 'j1#1' cannot run on big-1"),
        ("assign_what_has_not_come", "task 'j2#1' is not there to be assigned"),
    ],
)
def test_impossible_decisions_are_refused(deed: str, message: str) -> None:
    jobs = stream([("j1", "a", 0, 90, 1), ("j2", "a", 50, 90, 1)], {"a": {"small": 20}}, {"small": 1.0, "big": 2.0})
    with pytest.raises(SpotbagError, match=f"wilful at 0 s: .*{message}"):
        StreamReplay(sampled(jobs), Wilful(deed)).run()


def test_tasks_that_no_policy_cares_for_stay_unfinished() -> None:
    jobs = stream([("j", "a", 0, 90, 2)], {"a": {"small": 20}})

    class Idle(StreamPolicy):
        name = "idle"

    replay = StreamReplay(sampled(jobs), Idle())
    outcome = replay.run()
    assert (outcome.unfinished_tasks, outcome.makespan_s, outcome.cost_usd) == (2, None, 0.0)
    assert replay.unfinished_ids() == ["j#1", "j#2"]


def test_what_a_suspended_task_has_done_is_lost_when_it_starts_elsewhere() -> None:
    jobs = stream([("j", "a", 0, 900, 1)], {"a": {"small": 40}})

    class Mover(StreamPolicy):
        name = "mover"

        def submitted(self, replay: StreamState, job: int) -> None:
            replay.assign(0, replay.start_vm(0))
            replay.start_vm(0)
            replay.wake_at(20, 1)
            replay.wake_at(35, 0)

        def woken(self, replay: StreamState, datum: int) -> None:
            source, target = replay.vms[1 - datum], replay.vms[datum]
            replay.suspend(source)
            replay.take_back(0, source)
            replay.assign(0, target)

    # small-1 runs it from 10 to 20, small-2 from 20 to 35, anew; small-1 from 35, anew: what it did there is forgotten.
    replay, lines = described(sampled(jobs), Mover())
    assert starts(lines) == [(10, "small-1", "j#1"), (20, "small-2", "j#1"), (35, "small-1", "j#1")]
    assert replay.outcome().makespan_s == 75
    assert replay.outcome().busy_s == 10 + 15 + 40


def test_violation_cost_of_the_paper() -> None:
    # Thai et al., eq. 7 and 8, with a row of Table 3: medium.8, 450 tasks.
    assert violation_cost_usd(2.91, 126, 450) == pytest.approx(2.91 / 324 * 126)
    assert violation_cost_usd(2.91, 0, 450) == 0.0
    assert violation_cost_usd(2.91, 450, 450) is None


# ----------------------------------------------------------------- found later


def test_a_float_sum_does_not_push_the_last_task_off_a_paid_vm() -> None:
    # 33.3 s ten times from 100 end exactly at 433, in floating point a little later.
    jobs = stream(
        [("j1", "a", 0, 100, 1), ("j2", "b", 100, 433, 10)], {"a": {"small": 90}, "b": {"small": 33.3}}, block_s=500
    )
    replay, _ = described(sampled(jobs, {"j2": {"small": [33] * 10}}), Known())
    assert len(replay.vms) == 1


def test_no_vm_is_rented_for_samples_that_there_are_not() -> None:
    # Two tasks and three types: the two cheapest are sampled.
    applications = {"a": {"dear": 5, "small": 10, "big": 8}}
    jobs = stream([("j", "a", 0, 500, 2)], applications, {"dear": 9.0, "small": 1.0, "big": 2.0})
    replay, lines = described(sampled(jobs), Unknown())
    assert starts(lines) == [(10, "small-1", "j#1"), (10, "big-1", "j#2")]
    assert replay.outcome().blocks == {"dear": 0, "small": 1, "big": 1}


def test_what_is_late_anyhow_fills_paid_blocks_before_a_vm_is_rented() -> None:
    # small-1 is paid to 100 and idle from 30. j2 cannot be done in the 5 s it has: its first two tasks run there, to 60
    # and 80; the third would need another block: a new VM runs it from 50.
    jobs = stream([("j1", "a", 0, 90, 1), ("j2", "a", 40, 45, 4)], {"a": {"small": 20}})
    replay, lines = described(sampled(jobs), Known())
    assert starts(lines)[1:] == [
        (40, "small-1", "j2#1"),
        (50, "small-2", "j2#4"),
        (60, "small-1", "j2#2"),
        (80, "small-1", "j2#3"),
    ]
    assert replay.outcome().late_tasks == 4


def test_where_creation_takes_most_of_a_block_late_jobs_get_vms_for_two() -> None:
    # 90 s to create, 20 s a task, blocks of 100: a task ends at 110, in the second block, which holds 5. Two VMs for 7.
    jobs = stream([("j", "a", 0, 95, 7)], {"a": {"small": 20}}, creation_overhead_s=90)
    replay, _ = described(sampled(jobs), Known())
    assert replay.outcome().blocks == {"small": 4}
