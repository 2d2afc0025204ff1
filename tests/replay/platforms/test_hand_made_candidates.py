"""What local schedulers and agents of a hybrid platform offer, by hand (Caron & de Assuncao, Algorithms 1 to 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from spotbag.instances.platforms.entries import AllocatedCluster, AvailabilityStep, Cloud, DedicatedCluster
from spotbag.replay.platforms.candidate import Candidate, PlatformJob
from spotbag.replay.platforms.cloud import CloudScheduler, Machine
from spotbag.replay.platforms.cluster import ClusterScheduler
from spotbag.replay.platforms.local_scheduler import CloudEstimates, PlatformRules, selected

FOREVER_S = 10**8


def job(
    number: int,
    size: int,
    *,
    priority: int = 5,
    deadline_s: int = FOREVER_S,
    budget: float = 10**9,
) -> PlatformJob:
    """Make a job; its number is its place in the order of arrival."""
    return PlatformJob(number, f"job-{number}", size, priority, 0, deadline_s, budget)


def dedicated(processors: int = 4, **rules: Any) -> ClusterScheduler:
    """Make a cluster that is free of charge; its resource has the number 0."""
    return ClusterScheduler(
        0, DedicatedCluster(id="d", kind="dedicated", parent="root", processors=processors), PlatformRules(**rules)
    )


def allocated(*steps: tuple[int, int], repeat_s: int | None = None, price: float = 1) -> ClusterScheduler:
    """Make a cluster with processors from times on."""
    availability = tuple(AvailabilityStep(from_s=from_s, processors=processors) for from_s, processors in steps)
    return ClusterScheduler(
        1,
        AllocatedCluster(
            id="a",
            kind="allocated",
            parent="root",
            cost_per_processor_minute=price,
            availability=availability,
            repeat_s=repeat_s,
        ),
        PlatformRules(),
    )


def cloud(estimates: CloudEstimates = "printed", used: Sequence[int] = ()) -> CloudScheduler:
    """Make a cloud of 8-way machines at 960 an hour, some of them idle and paid until given times."""
    scheduler = CloudScheduler(2, Cloud(id="c", kind="cloud", parent="root"), PlatformRules(estimates=estimates))
    scheduler.give_back(
        [Machine(number, f"c-{number}", 2, 0, paid_until_s) for number, paid_until_s in enumerate(used)]
    )
    return scheduler


def only(candidates: Sequence[Candidate]) -> Candidate:
    """Return the one candidate there is."""
    (candidate,) = candidates
    return candidate


class TestDedicatedCluster:
    """Algorithm 1 on 4 processors: 4 processor-minutes a minute."""

    @pytest.mark.parametrize(
        ("size", "now_s", "end_s"),
        [
            (4, 0, 60),  # all processors for a minute
            (5, 0, 120),  # the second minute with one processor
            (10, 0, 180),
            (10, 1, 240),  # the minute that has begun is lost: minutes 1 to 3
            (10, 60, 240),
            (1, 59, 120),
        ],
    )
    def test_an_empty_cluster(self, size: int, now_s: int, end_s: int) -> None:
        assert only(dedicated().candidates(job(0, size), now_s)) == Candidate(0, True, end_s, 0.0)

    def test_the_end_at_the_deadline_is_good_and_a_second_later_is_not(self) -> None:
        assert only(dedicated().candidates(job(0, 10, deadline_s=180), 0)).good
        assert not only(dedicated().candidates(job(0, 10, deadline_s=179), 0)).good

    def test_what_is_left_of_a_minute_belongs_to_the_next_job(self) -> None:
        cluster = dedicated()
        cluster.accept(job(0, 10), (), 0)
        # 10 + 6 are 16 processor-minutes: 4 minutes, and not 3 + 2
        assert only(cluster.candidates(job(1, 6), 0)).end_s == 240

    @pytest.mark.parametrize(("priority", "end_s"), [(1, 360), (5, 300), (9, 180)])
    def test_larger_priorities_go_first_and_equal_ones_in_the_order_of_arrival(self, priority: int, end_s: int) -> None:
        cluster = dedicated()
        cluster.accept(job(0, 8, priority=5), (), 0)
        cluster.accept(job(1, 4, priority=4), (), 0)
        # behind 8 and 4: 24 / 4; behind 8: 20 / 4; first: 12 / 4
        assert only(cluster.candidates(job(2, 12, priority=priority), 0)).end_s == end_s

    def test_a_job_that_runs_is_not_interrupted(self) -> None:
        cluster = dedicated()
        cluster.accept(job(0, 40, priority=1), (), 0)
        assert [(begun.index, end_s) for begun, end_s in cluster.begin(0)] == [(0, 600)]
        # 40 processor-minutes run until 600 s, whatever the priority of the next
        assert only(cluster.candidates(job(1, 4, priority=9), 1)) == Candidate(0, True, 660, 0.0)

    def test_a_smaller_job_that_would_be_late_is_displaced(self) -> None:
        cluster = dedicated()
        cluster.accept(job(0, 8, priority=1, deadline_s=240), (), 0)
        # first 9, then 8: 17 processor-minutes, 5 minutes, after its deadline of 4
        assert only(cluster.candidates(job(1, 9), 0)) == Candidate(0, True, 180, 0.0, (0,))

    def test_an_end_at_its_deadline_does_not_displace_a_job(self) -> None:
        # Algorithm 1 has "<" in line 15, where Algorithm 2 and the test of the new job have "<="
        cluster = dedicated()
        cluster.accept(job(0, 8, priority=1, deadline_s=240), (), 0)
        assert only(cluster.candidates(job(1, 8), 0)).displaced == ()

    def test_an_end_at_its_deadline_displaces_no_job_where_another_is_displaced(self) -> None:
        cluster = dedicated()
        cluster.accept(job(0, 8, priority=2, deadline_s=240), (), 0)
        cluster.accept(job(1, 4, priority=1, deadline_s=240), (), 0)
        # 8, then 8 are the 16 processor-minutes to both deadlines, so job 0 stays; the 4 behind it would be late
        assert only(cluster.candidates(job(2, 8), 0)).displaced == (1,)

    def test_as_much_work_as_the_job_has_is_too_much_to_be_displaced(self) -> None:
        cluster = dedicated()
        cluster.accept(job(0, 8, priority=1, deadline_s=150), (), 0)
        assert cluster.candidates(job(1, 8), 0) == ()
        assert only(cluster.candidates(job(1, 9), 0)).displaced == (0,)

    def test_the_sizes_of_all_that_would_be_displaced_count_together(self) -> None:
        cluster = dedicated()
        cluster.accept(job(0, 4, priority=1, deadline_s=60), (), 0)
        cluster.accept(job(1, 4, priority=1, deadline_s=120), (), 0)
        assert cluster.candidates(job(2, 8), 0) == ()
        assert only(cluster.candidates(job(2, 9), 0)).displaced == (0, 1)

    def test_a_job_behind_a_displaced_one_moves_up(self) -> None:
        cluster = dedicated()
        cluster.accept(job(0, 8, priority=2, deadline_s=120), (), 0)
        cluster.accept(job(1, 4, priority=1, deadline_s=240), (), 0)
        # 10, then 4 are 14 of 16 processor-minutes to its deadline; with the 8 in between they would be 22
        assert only(cluster.candidates(job(2, 10), 0)).displaced == (0,)

    def test_jobs_of_larger_or_equal_priority_are_never_displaced(self) -> None:
        cluster = dedicated()
        cluster.accept(job(0, 4, priority=5, deadline_s=60), (), 0)
        assert only(cluster.candidates(job(1, 40, priority=5), 0)) == Candidate(0, True, 660, 0.0)

    def test_a_job_that_comes_from_another_queue_goes_behind_its_equals(self) -> None:
        cluster = dedicated()
        cluster.accept(job(5, 4, priority=5, deadline_s=60), (), 0)
        assert only(cluster.candidates(job(1, 40, priority=5), 0)) == Candidate(0, True, 660, 0.0)

    def test_a_full_cluster_offers_a_late_end(self) -> None:
        cluster = dedicated()
        for number in range(10):
            cluster.accept(job(number, 40, priority=20), (), 0)
        # 400 processor-minutes wait: 100 minutes, and one more
        assert only(cluster.candidates(job(10, 4, priority=19, deadline_s=6000), 0)) == Candidate(0, False, 6060, 0.0)

    def test_a_full_cluster_of_urgent_jobs_can_take_none_before_them(self) -> None:
        cluster = dedicated()
        for number in range(10):
            cluster.accept(job(number, 4, priority=1, deadline_s=60 * (number + 1)), (), 0)
        # every one of them would be late: 40 processor-minutes, and the new one has 40
        assert cluster.candidates(job(10, 40), 0) == ()
        assert only(cluster.candidates(job(10, 41), 0)).displaced == tuple(range(10))

    def test_a_displaced_job_leaves_the_queue(self) -> None:
        cluster = dedicated()
        cluster.accept(job(0, 8, priority=1, deadline_s=240), (), 0)
        cluster.accept(job(1, 9), (0,), 0)
        assert [begun.index for begun, _ in cluster.begin(0)] == [1]
        assert only(cluster.candidates(job(2, 3, priority=0), 0)).end_s == 180  # the rest of the third minute

    def test_a_job_that_is_late_anyhow_is_displaced_by_the_paper_and_may_stay(self) -> None:
        # 8 processor-minutes end after 2 minutes, a second too late; Algorithm 1 asks only for their end behind 9
        for late_jobs, displaced in (("displaced", (0,)), ("stay", ())):
            cluster = dedicated(late_jobs=late_jobs)
            cluster.accept(job(0, 8, priority=1, deadline_s=119), (), 0)
            assert only(cluster.candidates(job(1, 9), 0)).displaced == displaced
        # one that is late because of the new one is displaced all the same
        cluster = dedicated(late_jobs="stay")
        cluster.accept(job(0, 8, priority=1, deadline_s=120), (), 0)
        assert only(cluster.candidates(job(1, 9), 0)).displaced == (0,)

    def test_a_queue_by_deadline(self) -> None:
        cluster = dedicated(queue="deadline")
        cluster.accept(job(0, 8, priority=1, deadline_s=600), (), 0)
        # before it, though of lower priority; after it, though of higher; at the same deadline after it, too
        assert only(cluster.candidates(job(1, 4, priority=0, deadline_s=599), 0)).end_s == 60
        assert only(cluster.candidates(job(1, 4, priority=9, deadline_s=601), 0)).end_s == 180
        assert only(cluster.candidates(job(1, 4, priority=9, deadline_s=600), 0)).end_s == 180
        assert cluster.offer_behind_all(job(1, 4, deadline_s=10**9), 0).last


class TestAllocatedCluster:
    """Algorithm 2: what is available changes, and every processor-minute costs."""

    def test_it_costs_its_size(self) -> None:
        assert only(allocated((0, 4)).candidates(job(0, 10), 0)) == Candidate(1, True, 180, 10.0)
        assert only(allocated((0, 4), price=2.5).candidates(job(0, 10), 0)).cost == 25.0

    def test_a_budget_that_is_just_enough_and_one_that_is_just_short(self) -> None:
        assert only(allocated((0, 4)).candidates(job(0, 10, budget=10), 0)).good
        assert not only(allocated((0, 4)).candidates(job(0, 10, budget=9.99), 0)).good

    @pytest.mark.parametrize(
        ("size", "now_s", "end_s"),
        [
            (8, 0, 120),  # 4 a minute
            (9, 0, 360),  # none in minutes 2 to 4, then 1 a minute
            (12, 0, 540),
            (1, 120, 360),  # waits for the processors to come back
            (4, 30, 120),
            (5, 60, 360),
        ],
    )
    def test_availability(self, size: int, now_s: int, end_s: int) -> None:
        cluster = allocated((0, 4), (120, 0), (300, 1))
        assert only(cluster.candidates(job(0, size), now_s)).end_s == end_s

    @pytest.mark.parametrize(
        ("size", "now_s", "end_s"),
        [
            (4, 0, 60),
            (5, 0, 300),  # 4 in minute 0, none in 1 to 3, the next in minute 4
            (8, 0, 300),
            (9, 0, 540),
            (4, 60, 300),
            (12, 230, 780),  # minutes 4, 8 and 12
        ],
    )
    def test_availability_that_is_repeated(self, size: int, now_s: int, end_s: int) -> None:
        cluster = allocated((0, 4), (60, 0), repeat_s=240)
        assert only(cluster.candidates(job(0, size), now_s)).end_s == end_s

    def test_a_job_runs_in_several_reservations_and_the_next_one_follows(self) -> None:
        cluster = allocated((0, 4), (60, 0), (180, 2))
        cluster.accept(job(0, 6), (), 0)
        # 4 in minute 0, 2 in minute 3, which is full then
        assert [(begun.index, end_s) for begun, end_s in cluster.begin(0)] == [(0, 240)]
        assert only(cluster.candidates(job(1, 2), 0)).end_s == 300

    def test_a_smaller_job_is_displaced_by_what_is_available_later(self) -> None:
        cluster = allocated((0, 4), (60, 1))
        cluster.accept(job(0, 2, priority=1, deadline_s=180), (), 0)
        # 5 end with minute 1; then 2 would end with minute 3, after its deadline
        assert only(cluster.candidates(job(1, 5), 0)) == Candidate(1, True, 120, 5.0, (0,))
        assert only(cluster.candidates(job(1, 4), 0)).displaced == ()

    def test_a_job_over_its_budget_would_displace_others_all_the_same(self) -> None:
        cluster = allocated((0, 4))
        cluster.accept(job(0, 4, priority=1, deadline_s=60), (), 0)
        assert only(cluster.candidates(job(1, 8, budget=1), 0)) == Candidate(1, False, 120, 8.0, (0,))


class TestCloud:
    """Algorithm 3 with machines of 8 processors at 960 an hour."""

    @pytest.mark.parametrize(
        ("size", "deadline_s", "machines", "cost"),
        [
            (480, 3600, 1, 960),  # an hour of a machine is 480 processor-minutes
            (481, 3600, 2, 1920),
            (480, 1800, 2, 1920),  # half an hour costs what an hour does
            (480, 3601, 1, 1920),  # a second more is another hour
            (60, 27_000, 1, 7680),  # to the deadline, though seven and a half minutes are enough
        ],
    )
    def test_the_price_is_that_of_hours_to_the_deadline(
        self, size: int, deadline_s: int, machines: int, cost: float
    ) -> None:
        candidate = only(cloud().candidates(job(0, size, deadline_s=deadline_s), 0))
        assert candidate == Candidate(2, True, deadline_s, cost, (), machines)

    def test_exact_estimates_are_those_of_the_run(self) -> None:
        candidate = only(cloud("exact").candidates(job(0, 60, deadline_s=27_000), 0))
        assert candidate == Candidate(2, True, 450, 960, (), 1)

    def test_a_budget_that_is_just_enough(self) -> None:
        assert only(cloud().candidates(job(0, 480, deadline_s=1800, budget=1920), 0)).good

    def test_a_budget_that_is_just_short_offers_a_later_end_too(self) -> None:
        first, second = cloud().candidates(job(0, 480, deadline_s=1800, budget=1919.99), 0)
        assert first == Candidate(2, False, 1800, 1920, (), 2)
        assert second == Candidate(2, False, 3600, 1919.99, (), 1)  # one machine for an hour; the budget is spent

    def test_the_second_candidate_may_be_good(self) -> None:
        # to the deadline: 3 machines for two started hours each; within an hour: 3 machines in 2,850 s
        first, second = cloud().candidates(job(0, 1140, deadline_s=3900, budget=3000), 0)
        assert first == Candidate(2, False, 3900, 3 * 2 * 960, (), 3)
        assert second == Candidate(2, True, 2850, 3000, (), 3)

    def test_the_price_within_the_budget_if_estimates_are_exact(self) -> None:
        _, second = cloud("exact").candidates(job(0, 480, deadline_s=1800, budget=1919.99), 0)
        assert second == Candidate(2, False, 3600, 960, (), 1)

    def test_a_budget_below_the_first_hour_buys_nothing(self) -> None:
        candidate = only(cloud().candidates(job(0, 480, deadline_s=1800, budget=959), 0))
        assert candidate == Candidate(2, False, 1800, 1920, (), 2)

    def test_the_budget_buys_the_most_machines_that_it_can(self) -> None:
        # 4 machines take an hour each, 4 hours; 3 would take 80 minutes each, which are 6 hours
        _, second = cloud().candidates(job(0, 1920, deadline_s=600, budget=4 * 960 + 1), 0)
        assert second == Candidate(2, False, 3600, 3841, (), 4)

    def test_machines_half_used_cost_nothing_for_the_rest_of_their_hour(self) -> None:
        # at 1800 s an idle machine is paid until 3600 s
        assert only(cloud(used=[3600]).candidates(job(0, 240, deadline_s=3600), 1800)).cost == 0
        assert only(cloud(used=[3600]).candidates(job(0, 240, deadline_s=3601), 1800)).cost == 960
        # two machines, of which one is paid
        assert only(cloud(used=[3600]).candidates(job(0, 241, deadline_s=3600), 1800)).cost == 960

    def test_the_machines_with_the_most_paid_time_are_used_first(self) -> None:
        scheduler = cloud(used=[2400, 3600, 3000])
        # 20 minutes on one machine: the one with half an hour left
        assert only(scheduler.candidates(job(0, 160, deadline_s=3000), 1800)).cost == 0
        assert [machine.name for machine in scheduler.take_idle(2)] == ["c-1", "c-2"]
        assert [machine.name for machine in scheduler.take_idle(2)] == ["c-0"]

    def test_a_budget_that_paid_time_makes_enough(self) -> None:
        # two machines for half an hour, one of them paid: 960 are enough, 959 buy the paid one alone
        assert only(cloud(used=[3600]).candidates(job(0, 480, deadline_s=3600, budget=960), 1800)).good
        first, second = cloud(used=[7200]).candidates(job(0, 480, deadline_s=3600, budget=959), 1800)
        assert first == Candidate(2, False, 3600, 960, (), 2)
        assert second == Candidate(2, False, 5400, 959, (), 1)

    @pytest.mark.parametrize("now_s", [3600, 3590, 9999])
    def test_a_job_that_cannot_be_in_time_runs_for_a_minute(self, now_s: int) -> None:
        candidate = only(cloud().candidates(job(0, 17, deadline_s=3600), now_s))
        assert candidate == Candidate(2, False, now_s + 60, 3 * 960, (), 3)

    def test_no_job_has_more_than_ten_thousand_machines(self) -> None:
        # 10^9 processor-minutes on 10,000 machines are 12,500 minutes, or 209 hours of each; a minute was asked for
        candidate = only(cloud().candidates(job(0, 10**9, deadline_s=60, budget=1), 0))
        assert candidate == Candidate(2, False, 750_000, 10_000 * 209 * 960, (), 10_000)

    def test_an_hour_of_a_machine_is_charged_once(self) -> None:
        scheduler = cloud()
        machine = Machine(0, "c-1", 2, 100, 100)
        assert scheduler.charge(machine, 101) == 960
        assert scheduler.charge(machine, 3700) == 0
        assert scheduler.charge(machine, 3701) == 960
        assert machine.hours == 2


class TestAgent:
    """Algorithm 4: one good candidate goes up, or two bad ones."""

    def test_the_cheapest_good_one(self) -> None:
        dear, cheap = Candidate(0, True, 100, 5.0), Candidate(1, True, 900, 4.0)
        cheaper_but_bad = Candidate(2, False, 100, 0.0)
        assert selected([dear, cheaper_but_bad, cheap], job(0, 1)) == (cheap,)

    def test_of_equally_cheap_ones_the_first_to_end_then_the_first_resource(self) -> None:
        candidates = [Candidate(2, True, 100, 0.0), Candidate(1, True, 100, 0.0), Candidate(0, True, 160, 0.0)]
        assert selected(candidates, job(0, 1)) == (candidates[1],)

    def test_the_least_overspend_and_the_least_delay(self) -> None:
        late = Candidate(0, False, 900, 0.0)
        later = Candidate(1, False, 960, 0.0)
        dear = Candidate(2, False, 500, 80.0)
        dearer = Candidate(3, False, 400, 90.0)
        # deadline 600, budget 50: the first two cost nothing too much, the last two are in time
        assert selected([dearer, later, dear, late], job(0, 1, deadline_s=600, budget=50)) == (late, dear)

    def test_within_the_budget_the_faster_counts_and_in_time_the_cheaper(self) -> None:
        dear_but_within, cheap = Candidate(0, False, 900, 49.0), Candidate(1, False, 960, 1.0)
        assert selected([dear_but_within, cheap], job(0, 1, deadline_s=600, budget=50)) == (dear_but_within,)

    def test_nobody_offers_anything(self) -> None:
        assert selected([], job(0, 1)) == []
