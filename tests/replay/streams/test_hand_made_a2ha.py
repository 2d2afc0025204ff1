"""Bags under ``a2ha`` that can be worked out by hand: the arithmetic stands beside each.

Units of 100 s, 10 s to boot: a fresh host has 90 s. Tasks are taken in order, unless a test is about that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.instances.streams.draws import SampledJobs, draw_jobs
from spotbag.instances.streams.stream import Stream
from spotbag.instances.streams.stream_files import library_stream
from spotbag.replay.streams.engine import StreamReplay
from spotbag.replay.streams.policies import stream_policy
from spotbag.replay.streams.policies.a2ha import A2ha, A2haSettings
from spotbag.replay.streams.runs import replay_stream, replay_stream_once
from spotbag.replay.streams.state import StreamState
from tests.helpers.tiny_streams import described, sampled, stream

NEVER_S = 10**6


class NoChance:
    """What stands for the random numbers: tasks in order, one that is put back is the last."""

    def shuffle(self, tasks: list[int]) -> None:
        tasks.sort(reverse=True)

    def integers(self, high: int) -> int:
        return 0


class InOrder(A2ha):
    def begin(self, replay: StreamState) -> None:
        super().begin(replay)
        self._rng = NoChance()  # type: ignore[assignment]


def bag(runs_s: Sequence[int], **unit_s: int) -> SampledJobs:
    """One job whose tasks run so long."""
    jobs = stream([("j", "a", 0, NEVER_S, len(runs_s))], {"a": {"small": 1}}, **unit_s)
    return sampled(jobs, {"j": {"small": runs_s}})


def settings(creation_ratio: float = 1.0, increase_ratio: float = 0.0, **more: Any) -> A2haSettings:
    """All necessary hosts are created at once; no ticks, no rule for long tasks."""
    return A2haSettings(creation_ratio, increase_ratio, **{"period_s": NEVER_S, "long_tasks": "off", **more})


def replayed(draw: SampledJobs, parameters: A2haSettings) -> tuple[StreamReplay, list[tuple[Any, ...]]]:
    return described(draw, InOrder(parameters))


def launched(lines: list[tuple[Any, ...]]) -> dict[int, int]:
    """How many hosts are created when."""
    return dict(Counter(line[0] for line in lines if line[1] == "launch"))


def of_kind(lines: list[tuple[Any, ...]], *kinds: str) -> list[tuple[Any, ...]]:
    return [line for line in lines if line[1] in kinds]


# ------------------------------------------------------------- Fig. 3: prediction


def test_hosts_for_what_the_host_cannot_do_by_the_end_of_its_unit() -> None:
    # Ready at 10; at 20 the first of 20 tasks of 10 s is done: 19 remain, 8 fit from 20 to 100; 11 * 10 / 90 = 1.2.
    # Then small-2 (ready at 30, to 120) can do 9. By 100, small-1 has done 9 and stops, small-2 has done 7; it does
    # two more by 120, and two more to 140 as the last host.
    replay, lines = replayed(bag([10] * 20), settings())
    assert launched(lines) == {0: 1, 20: 1}
    assert of_kind(lines, "terminate") == [(100, "terminate", "small-1"), (140, "terminate", "small-2")]
    outcome = replay.outcome()
    assert (outcome.makespan_s, outcome.cost_usd) == (140, 3.0)
    assert outcome.policy_counts == {
        "hosts": 2,
        "unused_hosts": 0,
        "interrupted_tasks": 0,
        "wasted_s": 0,
        "continued_hosts": 1,
    }


@pytest.mark.parametrize(
    ("n_tasks", "hosts"), [(8, {0: 1}), (9, {0: 1, 25: 1}), (14, {0: 1, 25: 1}), (15, {0: 1, 25: 2})]
)
def test_half_a_host_is_a_host(n_tasks: int, hosts: dict[int, int]) -> None:
    # At 25 a task of 15 s is done, 5 fit to 100. Of 9, 8 - 5 = 3 are too many: 3 * 15 / 90 = 0.5; of 8, 2: 0.33.
    # Of 14, 8: 1.33; of 15, 9: 1.5.
    _, lines = replayed(bag([15] * n_tasks), settings())
    assert {time: count for time, count in launched(lines).items() if time <= 25} == hosts


def test_hosts_that_boot_count_from_when_they_are_ready() -> None:
    # 40 s to boot: 60 s a unit. At 50: 23 remain, 5 fit: 18 * 10 / 60 = 3, half of it is 2 hosts, from 90 to 150. At
    # 60: 22 remain, 4 + 6 + 6 fit: 6 * 10 / 60 = 1, half of it is 1 host, from 100 to 160. Now all fit, without a gap.
    replay, lines = replayed(bag([10] * 24, creation_overhead_s=40), settings(0.5))
    assert launched(lines) == {0: 1, 50: 2, 60: 1}
    assert (replay.outcome().makespan_s, replay.outcome().cost_usd) == (160, 4.0)
    assert replay.outcome().idle_s == 0


def test_budget_of_twice_the_least_payment() -> None:
    # 45 s of work a unit: small-1 to 55. At 20: 19 remain, 3 fit: 16 * 10 / 45 = 3.6. At 30: 18 remain; small-1 can do
    # 2, the others, from 30 to 75, 4 each.
    _, lines = replayed(bag([10] * 20), settings(budget_factor=2.0))
    assert [time for time in launched(lines) if time <= 30] == [0, 20]
    assert launched(lines)[20] == 4


def test_work_that_is_added_inside_a_unit_joins_on_the_work_in_it() -> None:
    # Work to 55 in a stay to 100. At 40: 9 remain, none fits in 15 s: 9 * 30 / 45 = 6; 2 + 6 hosts are more than 5, so
    # the two stay to 200, with work to 55 + 50 = 105. At 60: 8 remain, one fits into 45 s on each: 6 * 25 / 45 = 3.3.
    parameters = settings(initial_hosts=2, budget_factor=2.0, long_tasks="total")
    _, lines = replayed(bag([30, 60, 20] + [60] * 7), parameters)
    assert {time: count for time, count in launched(lines).items() if time <= 60} == {0: 2, 60: 3}


def test_initial_hosts_but_never_more_than_tasks() -> None:
    replay, lines = replayed(bag([10] * 4), settings(initial_hosts=3))
    assert launched(lines) == {0: 3}
    assert replay.outcome().makespan_s == 30
    replay, lines = replayed(bag([10] * 2), settings(initial_hosts=3))
    assert launched(lines) == {0: 2}


# ----------------------------------------------------- Fig. 5: how many are created


def test_the_creation_ratio_rounds_up_and_grows() -> None:
    # At 55: 47 remain, one fits: 46 * 45 / 90 = 23; times 0.4 is 9.2: 10 hosts, from 65 to 155. At 100: 46 remain,
    # each of the 10 can do one: 36 * 45 / 90 = 18; times 0.4 + 0.6 * 0.5 = 0.7 is 12.6: 13 hosts.
    _, lines = replayed(bag([45] * 48), settings(0.4, 0.5))
    assert {time: count for time, count in launched(lines).items() if time <= 100} == {0: 1, 55: 10, 100: 13}


def test_the_creation_ratio_can_round_to_the_nearest_number() -> None:
    # As above, but 9.2 are 9 hosts, as the text of section 3.3 has it. At 100: 46 remain, one can be done on each of
    # 9: 37 * 45 / 90 = 18.5, which is 19 (line 10 of Fig. 3); times 0.7 is 13.3: 13 hosts.
    _, lines = replayed(bag([45] * 48), settings(0.4, 0.5, rounding="nearest"))
    assert {time: count for time, count in launched(lines).items() if time <= 100} == {0: 1, 55: 9, 100: 13}


def test_more_work_expected_of_a_host_makes_fewer_hosts() -> None:
    # At 25 a task of 15 s is done, 5 fit to 100. Of 17, 16 - 5 = 11 are too many: 11 * 15 / 90 = 1.8 is 2 hosts; by
    # units of 100 s, 1.65 is 2 as well; by units of 120 s, 1.375 is one.
    hosts = {}
    for expected_s in (None, 90, 100, 120):
        _, lines = replayed(bag([15] * 17), settings(host_processing_time_s=expected_s))
        hosts[expected_s] = launched(lines).get(25)
    assert hosts == {None: 2, 90: 2, 100: 2, 120: 1}


def test_a_negative_prediction_creates_nothing_and_leaves_the_ratio() -> None:
    # At 15: 20 remain, 3 * 17 fit: -31 * 5 / 90 = -1.7. At 70: the average is 65 / 2, 19 remain, none fits in the 30 s
    # to 100: 19 * 32.5 / 90 = 6.9, and half of 7 is 4. Only now the ratio becomes 1: at 72 the average is 127 / 3, 18
    # remain, the 4 can do 2 each from 80 to 170: 10 * 42.3 / 90 = 4.7.
    _, lines = replayed(bag([5, 60, 62] + [60] * 18), settings(0.5, 1.0, initial_hosts=3))
    assert {time: count for time, count in launched(lines).items() if time <= 72} == {0: 3, 70: 4, 72: 5}


def test_a_creation_ratio_of_0_creates_nothing_at_first() -> None:
    # As in the first test, but at 20 the ratio is 0, then 0.5; at 30: 18 remain, 7 fit: 11 * 10 / 90 = 1.2.
    _, lines = replayed(bag([10] * 20), settings(0.0, 0.5))
    assert [time for time in launched(lines) if time <= 30] == [0, 30]


def test_no_host_is_created_while_no_task_waits() -> None:
    # Nothing ends before 310. At 80 it has run for 70: 3 * 70 / 90 = 2.3. At 160 for 150, 70 and 70: 96.7 on average,
    # none fits in 40, 20 and 20 s: 3 * 96.7 / 90 = 3.2 more would be 6 hosts for 3 tasks, which all run.
    replay, lines = replayed(bag([300] * 3), settings(period_s=40))
    assert launched(lines) == {0: 1, 80: 2}
    assert replay.outcome().makespan_s == 390
    # At 75: 2 remain, none fits in 25 s: 2 * 32.5 / 90 = 0.7; but both run, on hosts that end them.
    replay, lines = replayed(bag([20, 85, 85, 45]), settings(initial_hosts=3))
    assert launched(lines) == {0: 3}
    assert replay.outcome().cost_usd == 3.0


def test_no_more_hosts_are_created_than_tasks_wait_for() -> None:
    # At 95: 2 remain, none fits in 5 s: 2 * 85 / 90 = 1.9. One of them is for small-1, though 3 hosts are for 3 tasks.
    _, lines = replayed(bag([85, 300, 300]), settings())
    assert launched(lines) == {0: 1, 95: 1}


def test_hosts_that_never_ran_are_counted() -> None:
    # At 75: 3 remain, none fits in 25 s: 3 * 65 / 90 = 2.2; small-3 is for the fourth, which small-2 takes at 80.
    replay, lines = replayed(bag([65, 70, 20, 15]), settings(initial_hosts=2))
    assert launched(lines) == {0: 2, 75: 1}
    assert replay.outcome().policy_counts["unused_hosts"] == 1


# ---------------------------------------------------------------- Fig. 7: the tick


def test_the_tick_looks_at_what_runs_before_anything_has_finished() -> None:
    # At 40, 30 s: 8 remain, 2 fit to 100: 6 * 30 / 90 = 2. At 80, 70 and 2 * 30 s: 43.3 on average; none fits to 100,
    # one each to 140: 6 * 43.3 / 90 = 2.9.
    _, lines = replayed(bag([80] * 8), settings(period_s=40))
    assert {time: count for time, count in launched(lines).items() if time < 90} == {0: 1, 40: 2, 80: 3}


def test_the_tick_averages_over_the_finished_and_those_that_run() -> None:
    # Two of 10 s are done at 30. At 80 the third has run for 50: (20 + 50) / 3 = 23.3, none fits to 100: 10 * 23.3 /
    # 90 = 2.6. As printed, (50 + 10) / 3 = 20: one would fit, and 9 * 20 / 90 = 2.
    _, lines = replayed(bag([10, 10] + [60] * 10), settings(period_s=80))
    assert {time: count for time, count in launched(lines).items() if time <= 80} == {0: 1, 80: 3}


def test_the_tick_changes_nothing_if_what_runs_is_younger_than_the_average() -> None:
    # At 50: 9 remain, one fits: 8 * 40 / 90 = 3.6, half of 4 is 2. At 60 the second has run for 10: no prediction,
    # which would be 9 - 1 - 2 * 2 = 4: 1.8, and half of 2 is 1.
    _, lines = replayed(bag([40] * 10), settings(0.5, period_s=60))
    assert {time: count for time, count in launched(lines).items() if time <= 60} == {0: 1, 50: 2}


# ------------------------------------------------------ 3.5: when a unit ends

NO_MORE = {"creation_ratio": 0.0, "increase_ratio": 0.0}


def test_a_young_task_is_killed_and_put_back_and_the_last_host_goes_on() -> None:
    # Both hosts: 10 to 50, 50 to 90, and 10 s of the third when the unit ends: less than 40. small-1 stops; small-2 is
    # the last one, ends its third at 130 and does the other from 130 to 170.
    replay, lines = replayed(bag([40] * 6), settings(**NO_MORE, initial_hosts=2))
    assert of_kind(lines, "suspend", "return", "terminate") == [
        (100, "suspend", "small-1", "j#5"),
        (100, "return", "small-1", "j#5"),
        (100, "terminate", "small-1"),
        (170, "terminate", "small-2"),
    ]
    outcome = replay.outcome()
    assert outcome.policy_counts == {
        "hosts": 2,
        "unused_hosts": 0,
        "interrupted_tasks": 1,
        "wasted_s": 10,
        "continued_hosts": 1,
    }
    assert (outcome.makespan_s, outcome.blocks, outcome.busy_s) == (170, {"small": 3}, 6 * 40 + 10)


def test_a_task_older_than_the_average_goes_on() -> None:
    # small-1: 10 to 30, and the long one from 30 on. small-2 does the other four by 90: 20 on average. At 100 the long
    # one has run for 70 and may end, at 115; small-2 has no work and stops.
    replay, lines = replayed(bag([20, 20, 85, 20, 20, 20]), settings(**NO_MORE, initial_hosts=2))
    assert of_kind(lines, "terminate", "suspend") == [(100, "terminate", "small-2"), (115, "terminate", "small-1")]
    assert replay.outcome().policy_counts == {
        "hosts": 2,
        "unused_hosts": 0,
        "interrupted_tasks": 0,
        "wasted_s": 0,
        "continued_hosts": 1,
    }
    assert replay.outcome().cost_usd == 3.0


@pytest.mark.parametrize(("first_s", "interrupted"), [(45, 0), (46, 1)])
def test_a_task_as_old_as_the_average_goes_on(first_s: int, interrupted: int) -> None:
    # At 100 small-2 ends its second task: 45 s on average, or a third more. small-1's second has run for 45 or 44.
    replay, _ = replayed(bag([first_s, 45, 45, 60]), settings(**NO_MORE, initial_hosts=2))
    assert replay.outcome().policy_counts["interrupted_tasks"] == interrupted


def test_tasks_longer_than_a_unit_go_on_however_young() -> None:
    # At 100 nothing has finished. At 160 a task has, of 150 s, which do not fit into 90: so the third goes on at 200
    # after 40 s.
    replay, _ = replayed(bag([150, 240, 98]), settings(**NO_MORE, initial_hosts=2))
    assert replay.outcome().policy_counts["interrupted_tasks"] == 0
    assert replay.outcome().blocks == {"small": 3 + 3}


def test_a_host_that_gets_free_as_its_unit_ends_is_not_given_another_task() -> None:
    # Both are free at 100, with two tasks left. small-1 stops; small-2, now the last, does both.
    replay, lines = replayed(bag([90] * 4), settings(**NO_MORE, initial_hosts=2))
    assert of_kind(lines, "terminate", "suspend") == [(100, "terminate", "small-1"), (280, "terminate", "small-2")]
    assert [line for line in lines if line[1] == "start"][2:] == [
        (100, "start", "small-2", "j#3"),
        (190, "start", "small-2", "j#4"),
    ]
    assert replay.outcome().cost_usd == 4.0


def test_hosts_without_work_stop_and_the_next_job_gets_new_ones() -> None:
    jobs = stream([("j", "a", 0, 90, 2), ("k", "a", 300, 900, 2)], {"a": {"small": 20}})
    replay, lines = replayed(sampled(jobs), settings(initial_hosts=2))
    assert launched(lines) == {0: 2, 300: 2}
    assert [vm.terminated_s for vm in replay.vms] == [100, 100, 330, 330]
    # One that arrives as the unit ends still finds a host.
    jobs = stream([("j", "a", 0, 90, 2), ("k", "a", 100, 900, 2)], {"a": {"small": 20}})
    replay, lines = replayed(sampled(jobs), settings(**NO_MORE))
    assert launched(lines) == {0: 1}
    assert (replay.outcome().makespan_s, replay.outcome().cost_usd) == (140, 2.0)


def test_where_booting_takes_longer_than_a_unit_the_first_is_two() -> None:
    # Ready at 150; at 160, 2 remain and 4 fit to 200.
    replay, lines = replayed(bag([10] * 3, creation_overhead_s=150), settings())
    assert launched(lines) == {0: 1}
    assert (replay.outcome().makespan_s, replay.outcome().cost_usd) == (180, 2.0)
    assert replay.outcome().policy_counts["continued_hosts"] == 0


# ------------------------------------------------------ 3.6: long-running tasks


@pytest.mark.parametrize(
    ("rule", "creation_ratio", "created"),
    [
        ("total", 0.28, 2),  # 4 + 2 = 12 / 2
        ("total", 0.42, 0),  # 4 + 3 are more
        ("untaken", 0.70, 5),  # the 4 leave 8; half of them, and one
        ("untaken", 0.85, 0),
        ("new", 0.85, 6),  # 12 / 2
        ("new", 1.00, 0),
        ("off", 1.00, 7),
    ],
)
def test_too_many_hosts_for_the_number_of_tasks_are_none(rule: Any, creation_ratio: float, created: int) -> None:
    # At 70 the first of 12 tasks is done: 11 remain, none fits: 11 * 60 / 90 = 7.3.
    parameters = settings(creation_ratio, initial_hosts=4, long_tasks=rule)
    _, lines = replayed(bag([60] + [99] * 11), parameters)
    assert launched(lines).get(70, 0) == created


@pytest.mark.parametrize(("initial", "printed"), [(1, 129), (50, 154), (100, 179)])
def test_the_hosts_of_table_2(initial: int, printed: int) -> None:
    # No other rule but the default comes near for all three.
    parameters = A2haSettings(initial_hosts=initial)
    runs = replay_stream(library_stream("a2ha/long"), ["a2ha"], 3, a2ha=parameters)
    for outcome in runs.outcomes[0]:
        assert outcome.policy_counts["hosts"] == printed
        assert outcome.unfinished_tasks == 0


def test_where_hosts_are_refused_the_others_stay_for_two_units() -> None:
    # At 70: 4 remain: 4 * 60 / 90 = 2.7; 2 + 3 hosts are more than 5 / 2. So nobody stops at 100, though the tasks are
    # young, and three of them end at 190 on small-1.
    replay, lines = replayed(bag([60] * 5), settings(initial_hosts=2, long_tasks="total"))
    assert launched(lines) == {0: 2}
    assert not of_kind(lines, "suspend")
    outcome = replay.outcome()
    assert (outcome.makespan_s, outcome.cost_usd, outcome.policy_counts["continued_hosts"]) == (190, 4.0, 2)


def test_a_host_that_was_to_stay_but_finds_no_work_stops() -> None:
    # At 70: 4 remain: 4 * 60 / 90 = 2.7, of which one would have a task; 3 + 1 hosts are more than 5 / 2. small-2 and
    # small-3 have nothing to do from 90 on and stop at 100; small-1 does the fourth.
    replay, _ = replayed(bag([60, 70, 70, 60, 10]), settings(initial_hosts=3, long_tasks="total"))
    assert [vm.terminated_s for vm in replay.vms] == [130, 100, 100]


def test_a_refusal_holds_until_the_next_prediction() -> None:
    # At 90: 6 remain: 6 * 80 / 90 = 5.3, half of 5 is 3; 1 + 3 hosts are more than 7 / 2. At 160: 5 * 75 / 90 = 4.2,
    # half of 4 is 2: small-2 and small-3. At 180: 4 remain, they can do one each: 2 * 53.3 / 90 = 1.2; 3 + 1 are too
    # many, so they stay to 360. At 200: 3 remain, they can do 3 each: -3 * 50 / 90 = -1.7. small-1, free now, stops.
    _, lines = replayed(bag([80, 70, 40, 40, 10, 40, 40]), settings(0.5, long_tasks="total"))
    assert launched(lines) == {0: 1, 160: 2}
    assert of_kind(lines, "terminate")[0] == (200, "terminate", "small-1")


# -------------------------------------------------------------- random selection


def test_tasks_are_selected_at_random_by_the_seed_of_the_draw() -> None:
    jobs = stream([("j", "a", 0, NEVER_S, 9)], {"a": {"small": 7}})

    def order(seed: int) -> list[str]:
        _, lines = described(draw_jobs(jobs, seed), A2ha(settings()))
        return [line[3] for line in lines if line[1] == "start"]

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == sorted(order(2)) == [f"j#{number}" for number in range(1, 10)] != order(1)


# ----------------------------------------------------------------- by its name


def test_the_policy_goes_by_its_name() -> None:
    jobs = stream([("j", "a", 0, NEVER_S, 9)], {"a": {"small": 7}})
    runs = replay_stream(jobs, ["a2ha"], 3, a2ha=settings(initial_hosts=2))
    assert [outcome.policy_counts["hosts"] for outcome in runs.outcomes[0]] == [2, 2, 2]
    [summary] = runs.summaries()
    assert summary.policy_counts["hosts"].mean == 2
    assert set(summary.policy_counts) == {"hosts", "unused_hosts", "interrupted_tasks", "wasted_s", "continued_hosts"}
    outcome, trace = replay_stream_once(jobs, "a2ha")
    assert outcome.policy_counts["hosts"] == sum(record.get("event") == "launch" for record in trace.events) == 1
    assert replay_stream(jobs, ["known"], 1).summaries()[0].policy_counts == {}


def test_streams_that_it_cannot_run_are_refused() -> None:
    types = {"small": 1.0, "big": 2.0}
    jobs = stream([("j", "a", 0, 90, 1), ("k", "b", 0, 90, 1)], {"a": {"small": 7}, "b": {"big": 7}}, types)
    with pytest.raises(InputError, match=r"a2ha.* cannot do it: b cannot run on small, the only VM type"):
        stream_policy(jobs, "a2ha")


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("creation_ratio", 1.1, "must be from 0 to 1"),
        ("increase_ratio", -0.1, "must be from 0 to 1"),
        ("initial_hosts", 0, "must be 1 or more"),
        ("period_s", 0, "must be 1 or more"),
        ("budget_factor", 0.9, "must be 1 or more"),
        ("budget_factor", float("nan"), "must be 1 or more"),
        ("long_tasks", "text", "must be one of untaken, new, total, off"),
        ("host_processing_time_s", 0, "must be 1 or more"),
        ("rounding", "down", "must be one of up, nearest"),
    ],
)
def test_settings_out_of_range_are_refused(name: str, value: Any, rule: str) -> None:
    with pytest.raises(InputError, match=f"{name} .*{rule}"):
        A2haSettings(**{name: value})


def test_blocks_of_a_second_over_years_are_counted_and_refused() -> None:
    # Three tasks of 10^8 s are 3 x 10^8 blocks of a second; of 3,600 s they are 83,333, but 10^8 periods of 3 s.
    def years(block_s: int) -> Stream:
        return stream([("j", "a", 0, 10**9, 3)], {"a": {"small": 10**8}}, block_s=block_s, creation_overhead_s=0)

    with pytest.raises(InputError, match=r"about 300,000,000 blocks of 1 s: 10,000,000 at most"):
        stream_policy(years(1), "a2ha")
    with pytest.raises(InputError, match=r"about 100,000,000 periods \(period_s\) of 3 s: 10,000,000 at most"):
        stream_policy(years(3600), "a2ha", a2ha=A2haSettings(period_s=3))
    assert stream_policy(years(3600), "a2ha")().name == "a2ha"
