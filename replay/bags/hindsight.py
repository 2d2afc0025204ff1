"""The best that is found for a known day: what the clairvoyant bound is not above, and perhaps far below.

A bound says what no policy can beat, not what one could reach who knows the day. Here is something that was reached: a
plan made for the day itself and replayed on it, with or without tasks that are cut, or what a policy came to, whichever
is cheapest of all that met the deadline. So the least that a day can cost lies between the bound and this reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...heuristics.bags.known_day import known_day_plan
from ...instances.bags.timeline import Timeline
from ...instances.clouds import Cloud
from ...instances.entries import MARKETS
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from .cut_tasks import with_cut_tasks
from .engine import Replay
from .outcome import DayOutcome
from .plan import PlannedVm, ReplayPlan, replay_plan
from .policies.static import Static
from .policy import Policy
from .state import ReplayState
from .vm import Vm


class Hindsight:
    """What is found for many known days of an instance.

    Parameters
    ----------
    plan : ReplayPlan
        Any plan of the instance. `Instance.markets` restricts it, not what is found here: a policy may start any VM.
    cloud : Cloud
        What interruptions are, and how VMs are billed.

    Notes
    -----
    What is found for a day depends on nothing but the day and the outcomes: not on days looked at before.
    """

    def __init__(self, plan: ReplayPlan, cloud: Cloud) -> None:
        self._cloud = cloud
        self._instance = _without_d_spot(plan.instance)
        # How long each spot VM is up is found out by a replay of all that may be rented, without tasks.
        vms = []
        for offer in self._instance.offers:
            if offer.market == "spot":
                limit = min(offer.limit, self._instance.n_tasks)
                cores = ((),) * offer.vcpus
                vms += [PlannedVm(f"{offer.index}-{number}", offer, cores) for number in range(limit)]
        self._empty = ReplayPlan(self._instance, plan.work, tuple(vms), plan.schedule)

    def cheapest_usd(self, timeline: Timeline, outcomes: Iterable[DayOutcome] = ()) -> float | None:
        """Return the least cost found that meets the deadline; None if nothing is found that does.

        Parameters
        ----------
        timeline : Timeline
            The day.
        outcomes : iterable of DayOutcome
            What policies made of it, within the limits of the instance.
        """
        replayed = (self._replayed(schedule, policy, timeline) for schedule, policy in self.plans(timeline))
        return min((day.cost_usd for day in [*outcomes, *replayed] if day.meets_deadline), default=None)

    def plans(self, timeline: Timeline) -> Iterator[tuple[Schedule, Policy]]:
        """Plan for the day, in each of the ways in which VMs may be counted on; with what carries the plans out.

        VMs that hibernate can be counted on whenever they are up. Those that are stopped lose what is not saved, and
        those that are terminated are gone: they are counted on until then, or only until they have notice of it.
        """
        tried = []
        for time_of in self._times(timeline):
            if time_of in tried:
                continue
            tried.append(time_of)
            up_s = {offer: [seconds for seconds, _ in times] for offer, times in time_of.items()}
            schedule = known_day_plan(self._instance, up_s)
            if schedule is not None:
                yield schedule, Static()
                yield from with_cut_tasks(schedule, time_of, self._empty.work)

    def _times(self, timeline: Timeline) -> Iterator[dict[int, Sequence[tuple[int, int]]]]:
        """For how many seconds the VMs of each spot offer are up by the deadline: in all, until gone, until notice.

        Each with the moment until which that is.
        """
        empty = Replay(self._empty, _Watch(), timeline, self._cloud)
        empty.run()
        watch, deadline_s = empty.policy, self._instance.deadline_s
        assert isinstance(watch, _Watch)
        spans: list[list[tuple[int, int]]] = []
        for vm in empty.state.vms:
            spans.append([(start, min(end, deadline_s)) for start, end, _ in vm.sessions if start < deadline_s])
        in_all = [(sum(end - start for start, end in of), of[-1][1] if of else 0) for of in spans]
        first = [of[0] if of else (0, 0) for of in spans]
        until_gone = [(end - start, end) for start, end in first]
        warned = [max(min(end, watch.warned_s.get(number, end)), start) for number, (start, end) in enumerate(first)]
        until_notice = [(end - start, end) for (start, _), end in zip(first, warned, strict=True)]
        for times in (in_all, until_gone, until_notice):
            by_offer: dict[int, Sequence[tuple[int, int]]] = {}
            for vm, time in zip(empty.state.vms, times, strict=True):
                by_offer[vm.offer.index] = [*by_offer.get(vm.offer.index, ()), time]
            yield by_offer

    def _replayed(self, schedule: Schedule, policy: Policy, timeline: Timeline) -> DayOutcome:
        return Replay(replay_plan(schedule), policy, timeline, self._cloud).run()


class _Watch(Policy):
    """Takes down when each VM first has notice; else it does nothing but keep the replay going until the deadline."""

    name = "watch"

    def __init__(self) -> None:
        self.warned_s: dict[int, int] = {}

    def woken(self, replay: ReplayState) -> None:
        """Stay until the deadline."""
        if replay.now_s < replay.instance.deadline_s:
            replay.wake_at(replay.instance.deadline_s)

    def noticed(self, replay: ReplayState, vm: Vm) -> None:
        """Take it down."""
        self.warned_s.setdefault(vm.index, replay.now_s)


def _without_d_spot(instance: Instance) -> Instance:
    """Return the instance as whoever knows the day sees it: both markets, spot until the deadline, least cost."""
    both = instance.with_goal("cheapest").replace(markets=MARKETS)
    return both if both.d_spot_s is None else both.replace(d_spot_s=both.deadline_s)
