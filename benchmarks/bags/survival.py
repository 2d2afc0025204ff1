"""Promises of survival, and their price: ``python -m spotbag_papers.bags.survival``.

Prints two tables, or that of ``--table``. ``promises``: random bags, each planned to survive the loss of any one spot
type; at the worst moment, at a random one and at the last, each type goes down for good, and all at once where the plan
survives that; the same days for all policies. ``d-spot``: what D_spot of Algorithm 1 of HADS costs, and what survival
costs, on the library and on random bags, as multiples of the cost without either. Goal: the least cost. ``--bags 20``
takes fewer bags.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spotbag.core.quantities import SAME
from spotbag.core.workers import each
from spotbag.heuristics.bags.rescue import Certificate, certify, rescue_at, spot_types
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.bags.timeline import Timeline, TimelineEvent
from spotbag.instances.entries import FULL_SPEED
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance, library_names
from spotbag.replay.bags.runs import replay_day
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.result import Result
from spotbag.solvers.bags.solve import solve

from ..measuring import asked, print_table

_POLICIES = ("rescue", "hads", "burst-hads", "static")
_BAGS = {"promises": 200, "d-spot": 100}
_MOVES = {"promises": 200_000, "d-spot": 1_000_000}
_LEAST_TASKS = 10
_WORKERS = 2
_SECONDS = 100


def bag(seed: int) -> Instance:
    """Return a random bag of 30 to 300 tasks, from tight to loose, without a D_spot."""
    rng = random.Random(f"survival {seed}")
    return generate_instance(
        rng.choice([30, 60, 120, 300]),
        classes=rng.choice([None, None, 5]),
        catalogue=rng.choice(["hads", "burst-hads"]),
        limit=rng.choice([2, 5, 10]),
        max_on_demand=rng.choice([10, 20, None]),
        tightness=rng.choice([0.1, 0.2, 0.3, 0.5]),
        goal="cheapest",
        seed=seed,
    )


def library() -> Iterator[Instance]:
    """Return the bags of the library, without their D_spot, for the least cost."""
    for name in library_names():
        instance = library_instance(name)
        if instance.n_tasks >= _LEAST_TASKS:
            yield instance.replace(d_spot_s=None, d_spot_rule=None).with_goal("cheapest")


def planned(instance: Instance, table: str, **changes: Any) -> Result:
    """Plan by the search, with less effort than usual."""
    return solve(instance.replace(**changes), "search", options={"moves": _MOVES[table]})


# ------------------------------------------------------------------------ promises


@dataclass(frozen=True, slots=True)
class Kept:
    """Outcome of the certificates of a bag.

    Attributes
    ----------
    levels : tuple of str
        What its plan survives.
    seconds : int
        Random seconds that were looked at; ``dearer`` counts those with a rescue that is late or dearer than the worst
        case.
    days : dict of str to list
        Of each policy and day: whether the deadline was missed, and the bill over the worst-case cost.
    """

    levels: tuple[str, ...]
    seconds: int
    dearer: int
    days: dict[str, list[tuple[bool, float]]]


def keep(seed: int) -> Kept | None:
    """Replay days of one bag; None if no plan was found that survives."""
    result = planned(bag(seed), "promises")
    plan, rng = result.schedule, random.Random(seed)
    if plan is None or result.survival is None or result.survival.verdict != "survives":
        return None
    levels: list[str] = []
    seconds = dearer = 0
    days: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    names = spot_types(plan)
    for level, sets in (("one-type", [(name,) for name in names]), ("blackout", [names])):
        certificate = certify(plan, level)  # type: ignore[arg-type]
        if not certificate.survives or certificate.worst_cost_usd is None:
            continue
        levels.append(level)
        for types in sets if names else ():
            looked_at = rng.sample(range(plan.makespan_s), min(plan.makespan_s, _SECONDS))
            seconds += len(looked_at)
            dearer += sum(_is_dearer(plan, certificate, types, at_s) for at_s in looked_at)
            moments = {rng.randrange(plan.makespan_s), plan.makespan_s - 1}
            if certificate.worst_at_s is not None and certificate.worst_types == types:
                moments.add(certificate.worst_at_s)
            for at_s in sorted(moments):
                day = Timeline(tuple(TimelineEvent(at_s, name, "hibernate") for name in sorted(types)))
                for policy in _POLICIES:
                    outcome = replay_day(plan, policy, day)
                    days[policy].append((not outcome.meets_deadline, outcome.cost_usd / certificate.worst_cost_usd))
    return Kept(tuple(levels), seconds, dearer, dict(days))


def _is_dearer(plan: Schedule, certificate: Certificate, types: tuple[str, ...], at_s: int) -> bool:
    """True if the rescue of a second breaks the promise."""
    rescue = rescue_at(plan, types, at_s)
    if rescue is None or rescue.end_s > plan.instance.deadline_s:
        return True
    instance, boot_s = plan.instance, plan.instance.boot_overhead_s
    named = [instance.offers[index].vm_type.name in types for index in plan.vm_offer.tolist()]
    lost = instance.offer_is_spot[plan.vm_offer] & np.array(named)
    # Lost VMs are paid for until they go down, all others as planned, whatever the rescue uses them for.
    ends = np.where(lost, np.clip(at_s, boot_s, np.maximum(plan.vm_end_s, boot_s)), plan.vm_end_s)
    cost = float((instance.offer_price_usd_per_s[plan.vm_offer] * (ends - boot_s)).sum()) + rescue.cost_usd
    assert certificate.worst_cost_usd is not None
    return cost > certificate.worst_cost_usd * (1 + SAME)


def print_promises(bags: int) -> None:
    """Print the numbers of plans that survive, and of policies on the same days."""
    results = [kept for kept in each(keep, range(bags), _WORKERS) if kept is not None]
    levels = [level for kept in results for level in kept.levels]
    seconds, dearer = sum(kept.seconds for kept in results), sum(kept.dearer for kept in results)
    columns = ("bags", "plans that survive one-type", "blackout", "seconds looked at", "rescues late or too dear")
    counts = (bags, levels.count("one-type"), levels.count("blackout"), seconds, dearer)
    print_table("certificates of random bags", dict.fromkeys(columns, ","), [counts])
    numbers = {"days": ",", "late": "", "bills over the worst case": "", "largest bill": ".3f", "mean bill": ".3f"}
    title = "the promise, replayed (bills over the worst-case cost)"
    print_table(title, {"policy": "", **numbers}, _days(results), words=1)


def _days(results: Sequence[Kept]) -> Iterator[Sequence[object]]:
    for policy in _POLICIES:
        days = [day for kept in results for day in kept.days.get(policy, ())]
        bills = [bill for missed, bill in days if not missed]
        over, late = sum(bill > 1 + SAME for bill in bills), len(days) - len(bills)
        yield policy, len(days), late, over, max(bills, default=0.0), np.mean([bill for _, bill in days])


# -------------------------------------------------------------------------- D_spot


@dataclass(frozen=True, slots=True)
class Compared:
    """A way to find D_spot, on one bag: whether it is 0, before any spot task fits; cost over the least; seconds."""

    zero: bool
    early: bool
    ratio: float | None
    seconds: float


_WAYS: dict[str, dict[str, Any]] = {
    "Algorithm 1": {"d_spot_rule": "paper", "survive": "none"},
    "one-type": {"survive": "one-type"},
    "blackout": {"survive": "blackout"},
}


def compare(instance: Instance) -> dict[str, Compared] | None:
    """Plan a bag in all ways; None if it has no plan at all."""
    free = planned(instance, "d-spot", survive="none")
    if free.schedule is None:
        return None
    found = {}
    for name, changes in _WAYS.items():
        begin = time.process_time()
        result = planned(instance, "d-spot", **changes)
        seconds = time.process_time() - begin
        resolved = result.instance
        spot = [offer.index for offer in resolved.offers if offer.market == "spot"]
        shortest = int(resolved.duration_s[:, spot, FULL_SPEED].min()) + resolved.boot_overhead_s
        d_spot_s = resolved.d_spot_s or 0
        cost = None if result.schedule is None else result.schedule.cost_usd
        found[name] = Compared(
            d_spot_s == 0,
            d_spot_s < shortest,
            None if cost is None else cost / free.schedule.cost_usd,
            seconds,
        )
    return found


def d_spot_rows(bags: int) -> Iterator[Sequence[object]]:
    """Ways to find D_spot, on the library and on random bags."""
    groups: Iterable[tuple[str, Iterable[Instance]]] = (
        ("library", library()),
        (f"{bags} random bags", map(bag, range(1000, 1000 + bags))),
    )
    for group, instances in groups:
        results = [found for found in each(compare, instances, _WORKERS) if found is not None]
        for name in _WAYS:
            ways = [found[name] for found in results]
            ratios = [way.ratio for way in ways if way.ratio is not None]
            counts = len(ways), sum(way.zero for way in ways), sum(way.early for way in ways), len(ways) - len(ratios)
            costs = np.mean(ratios), np.median(ratios), max(ratios)
            yield group, name, *counts, *costs, np.mean([way.seconds for way in ways])


def main() -> None:
    """Run as a command."""
    given = asked(__doc__, table=_BAGS, bags=0)
    for name in given.table:
        bags = given.bags or _BAGS[name]
        if name == "promises":
            print_promises(bags)
        else:
            counts = ("", "D_spot by", "bags", "D_spot 0", "before any spot task fits", "no plan found")
            means = ("mean cost", "median cost", "largest cost", "processor time (s)")
            columns = dict.fromkeys(counts, "") | dict.fromkeys(means, ".2f")
            title = "D_spot by Algorithm 1 and by survival (costs over that of the plan that need not survive)"
            print_table(title, columns, d_spot_rows(bags), words=2)


if __name__ == "__main__":
    main()
