"""The hybrid platforms of the library; `spotbag.instances.data.generate` writes them."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.quantities import SECONDS_PER_HOUR
from ..entries import Provenance
from ..platforms.entries import Agent, AllocatedCluster, AvailabilityStep, Cloud, DedicatedCluster, MalleableJob
from ..platforms.platform import Platform

_CARON = "Caron, de Assuncao 2016, Multi-Criteria Malleable Task Management for Hybrid-Cloud Platforms"
_PRINTED = (
    "Printed: processors of one speed, given away by the minute; a processor-minute of the allocated cluster costs 1; "
    "an hour of a cloud machine of 8 processors costs 960, which is 2 for a processor-minute."
)
_DAY_S = 24 * SECONDS_PER_HOUR


def platforms() -> Iterator[Platform]:
    """Hybrid platforms of the library."""
    yield _hybrid()
    yield _two_sites()
    yield _tiny()


def _hybrid() -> Platform:
    return Platform(
        name="caron/hybrid",
        description="A dedicated cluster, an allocated one and a cloud below one agent; jobs are drawn for it.",
        provenance=Provenance(
            source=f"{_CARON}: section VI",
            notes=f"{_PRINTED} The three types of resources, one of each, are those that are simulated. Ours: the sizes"
            " of the clusters, which are not printed, and that they hang below one agent, as nothing is said of the "
            "tree.",
        ),
        agents=(Agent(id="root"),),
        resources=_one_of_each(processors=64, processors_per_vm=8, cost_per_vm_hour=960),
    )


def _one_of_each(
    *, processors: int, processors_per_vm: int, cost_per_vm_hour: float
) -> tuple[DedicatedCluster, AllocatedCluster, Cloud]:
    """Two clusters of the same size, one of them paid for by the processor-minute, and a cloud, below one agent."""
    return (
        DedicatedCluster(id="dedicated", kind="dedicated", parent="root", processors=processors),
        AllocatedCluster(
            id="allocated",
            kind="allocated",
            parent="root",
            cost_per_processor_minute=1,
            availability=(AvailabilityStep(from_s=0, processors=processors),),
        ),
        Cloud(
            id="cloud",
            kind="cloud",
            parent="root",
            processors_per_vm=processors_per_vm,
            cost_per_vm_hour=cost_per_vm_hour,
        ),
    )


def _two_sites() -> Platform:
    return Platform(
        name="caron/two-sites",
        description="Two sites, each with a dedicated cluster and one that partners need by day, and a cloud for both.",
        provenance=Provenance(
            source=f"{_CARON}: sections II, V (the structure of Fig. 1) and VI",
            notes=f"{_PRINTED} Ours: the tree, the sizes of the clusters, and the days of the allocated ones, of which "
            "the paper says only that not all their resources are controlled by the scheduler: from 8 to 18 h 8 of 32 "
            "processors are left, six hours later at the second site.",
        ),
        agents=(Agent(id="root"), Agent(id="site-1", parent="root"), Agent(id="site-2", parent="root")),
        resources=(
            DedicatedCluster(id="dedicated-1", kind="dedicated", parent="site-1", processors=32),
            _by_day("allocated-1", "site-1", busy_h=(8, 18)),
            DedicatedCluster(id="dedicated-2", kind="dedicated", parent="site-2", processors=32),
            _by_day("allocated-2", "site-2", busy_h=(14, 24)),
            Cloud(id="cloud", kind="cloud", parent="root", processors_per_vm=8, cost_per_vm_hour=960),
        ),
    )


def _by_day(name: str, parent: str, busy_h: tuple[int, int]) -> AllocatedCluster:
    """32 processors, of which 8 are left in the busy hours of each day."""
    start_s, end_s = (hour * SECONDS_PER_HOUR for hour in busy_h)
    steps = [AvailabilityStep(from_s=0, processors=32), AvailabilityStep(from_s=start_s, processors=8)]
    if end_s < _DAY_S:
        steps.append(AvailabilityStep(from_s=end_s, processors=32))
    return AllocatedCluster(
        id=name,
        kind="allocated",
        parent=parent,
        cost_per_processor_minute=1,
        availability=tuple(steps),
        repeat_s=_DAY_S,
    )


def _tiny() -> Platform:
    return Platform(
        name="tiny/hybrid",
        description="A cluster of 2 processors, one of 2 that are paid for, a cloud of machines of 2, and five jobs.",
        provenance=Provenance(
            source="spotbag",
            notes="Small enough to be followed by hand. In the minutes of the arrivals: 0, 'first' runs on the "
            "dedicated cluster until 5. 1, 'humble' could follow it there until 10, in time. 2, 'urgent' goes before "
            "it, until 12, so that 'humble' would be late; it is smaller, and moves to the allocated cluster, until 7. "
            "3, 'hopeless' is in time nowhere but in the cloud, which is beyond its budget. 4, 'large' is in time in "
            "the cloud only, on two machines, and has the budget for that.",
        ),
        agents=(Agent(id="root"),),
        resources=_one_of_each(processors=2, processors_per_vm=2, cost_per_vm_hour=240),
        jobs=(
            _job("first", size=10, priority=5, arrival=0, deadline=10, budget=20),
            _job("humble", size=10, priority=1, arrival=1, deadline=11, budget=12),
            _job("urgent", size=14, priority=9, arrival=2, deadline=14, budget=20),
            _job("hopeless", size=6, priority=5, arrival=3, deadline=8, budget=5),
            _job("large", size=40, priority=5, arrival=4, deadline=18, budget=500),
        ),
    )


def _job(name: str, *, size: int, priority: int, arrival: int, deadline: int, budget: float) -> MalleableJob:
    """A job whose times are given in minutes."""
    return MalleableJob(
        id=name,
        size_processor_minutes=size,
        priority=priority,
        arrival_s=60 * arrival,
        deadline_s=60 * deadline,
        budget=budget,
    )
