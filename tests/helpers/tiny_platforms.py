"""Small hybrid platforms, and what schedules come to, minute by minute: code that shares nothing with the bounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from spotbag.instances.platforms.entries import AllocatedCluster, Cloud, DedicatedCluster, MalleableJob
from spotbag.instances.platforms.platform import Platform


class Metrics(NamedTuple):
    """What a schedule comes to."""

    cost: float
    execution_time_s: int
    delay_s: int


def job(number: int, size: int, arrival_s: int, deadline_s: int) -> MalleableJob:
    return MalleableJob(
        id=f"job-{number}", size_processor_minutes=size, arrival_s=arrival_s, deadline_s=deadline_s, budget=0
    )


def platform(resources: Sequence[dict[str, Any]], jobs: Sequence[tuple[int, int, int]]) -> Platform:
    """Make a platform of resources (without ids) below one agent, and jobs (size, arrival, deadline)."""
    return Platform(
        name="tiny",
        agents=({"id": "root"},),
        resources=tuple({"id": f"r{n}", "parent": "root", **each} for n, each in enumerate(resources)),
        jobs=tuple(job(number, *each) for number, each in enumerate(jobs)),
    )


def processors_in(cluster: DedicatedCluster | AllocatedCluster, minute: int) -> int:
    """How many processors a cluster has in a minute."""
    if isinstance(cluster, DedicatedCluster):
        return cluster.processors
    second = 60 * minute
    if cluster.repeat_s is not None:
        second %= cluster.repeat_s
    return [step.processors for step in cluster.availability if step.from_s <= second][-1]


def cluster_ends(cluster: DedicatedCluster | AllocatedCluster, queue: Sequence[MalleableJob]) -> dict[str, int]:
    """Give the processors of each minute to the first of the queue that has arrived, what it leaves to the next."""
    left = {each.id: each.size_processor_minutes for each in queue}
    ends: dict[str, int] = {}
    minute = 0
    while len(ends) < len(queue):
        free = processors_in(cluster, minute)
        for each in queue:
            if each.id in ends or each.arrival_s > 60 * minute:
                continue
            taken = min(free, left[each.id])
            free -= taken
            left[each.id] -= taken
            if left[each.id] == 0:
                ends[each.id] = 60 * (minute + 1)
        minute += 1
    return ends


def cloud_ends(cloud: Cloud, jobs: Sequence[tuple[MalleableJob, int]]) -> tuple[dict[str, int], float]:
    """Run jobs on so many machines each, those first whose paid time lasts longest; return ends and cost."""
    machines: list[list[int]] = []  # free from, paid until
    ends: dict[str, int] = {}
    hours = 0
    for each, number in sorted(jobs, key=lambda pair: pair[0].arrival_s):
        now = each.arrival_s
        end = now + -(-60 * each.size_processor_minutes // (number * cloud.processors_per_vm))
        idle = sorted((m for m in machines if m[0] <= now < m[1]), key=lambda m: -m[1])[:number]
        fresh = [[now, now] for _ in range(number - len(idle))]
        machines += fresh
        for machine in (*idle, *fresh):
            more = max(-(-(end - machine[1]) // 3600), 0)
            hours += more
            machine[:] = [end, machine[1] + 3600 * more]
        ends[each.id] = end
    return ends, hours * cloud.cost_per_vm_hour


def schedule_metrics(tiny: Platform, order: Sequence[MalleableJob], places: Sequence[tuple[int, int]]) -> Metrics:
    """Replay jobs in an order of the queues, each on a resource, and in a cloud on so many machines."""
    ends: dict[str, int] = {}
    cost = 0.0
    for index, resource in enumerate(tiny.resources):
        mine = [(each, number) for each, (place, number) in zip(order, places, strict=True) if place == index]
        if isinstance(resource, Cloud):
            of_cloud, paid = cloud_ends(resource, mine)
            ends |= of_cloud
            cost += paid
        else:
            ends |= cluster_ends(resource, [each for each, _ in mine])
            price = resource.cost_per_processor_minute if isinstance(resource, AllocatedCluster) else 0
            cost += sum(price * each.size_processor_minutes for each, _ in mine)
    return Metrics(
        cost,
        sum(ends[each.id] - each.arrival_s for each in tiny.jobs),
        sum(max(ends[each.id] - each.deadline_s, 0) for each in tiny.jobs),
    )


def choices(tiny: Platform, most_machines: int) -> list[tuple[int, int]]:
    """Resources for a job, with the numbers of machines in a cloud."""
    return [
        (index, number)
        for index, resource in enumerate(tiny.resources)
        for number in range(1, most_machines + 1 if isinstance(resource, Cloud) else 2)
    ]


def all_metrics(tiny: Platform, most_machines: int = 2) -> Iterator[Metrics]:
    """What all orders, places and numbers of machines come to."""
    for places in itertools.product(choices(tiny, most_machines), repeat=len(tiny.jobs)):
        for order in itertools.permutations(range(len(tiny.jobs))):
            yield schedule_metrics(tiny, [tiny.jobs[n] for n in order], [places[n] for n in order])


clusters = st.one_of(
    st.builds(lambda processors: {"kind": "dedicated", "processors": processors}, st.integers(1, 4)),
    st.builds(
        lambda price, first, second, repeat: {
            "kind": "allocated",
            "cost_per_processor_minute": price,
            "availability": ({"from_s": 0, "processors": first}, {"from_s": 120, "processors": second}),
            "repeat_s": repeat,
        },
        st.sampled_from([0.0, 0.1, 1.0, 3.0]),
        st.integers(0, 4),
        st.integers(1, 4),
        st.sampled_from([None, 180, 300]),
    ),
)
clouds = st.builds(
    lambda processors, cost: {"kind": "cloud", "processors_per_vm": processors, "cost_per_vm_hour": cost},
    st.integers(1, 3),
    st.sampled_from([0.0, 60.0, 100.0]),
)


@st.composite
def tiny_platforms(draw: st.DrawFn, most_jobs: int = 3, most_resources: int = 3) -> Platform:
    """Platforms of a few resources and jobs; at least one of each."""
    resources = draw(st.lists(st.one_of(clusters, clouds), min_size=1, max_size=most_resources))
    jobs = []
    for _ in range(draw(st.integers(1, most_jobs))):
        arrival = draw(st.one_of(st.integers(0, 300), st.sampled_from([0, 60, 5000])))
        jobs.append((draw(st.integers(1, 12)), arrival, arrival + draw(st.integers(1, 900))))
    return platform(resources, jobs)
