"""Plans among which one for the days to come is chosen: along the front of cost and care.

What costs least on a quiet day may cost much on others. Plans that are more careful have spot VMs end earlier, trust
them with less, or trust one type with less; plans that end early leave more time. So candidates are made by the search
with an earlier D_spot, with other weights of cost and makespan, as the fastest plan that costs little more than the
cheapest, and as if some offers were dearer or scarcer than they are; beside them stand the
published schedulers. Each is a plan of the instance as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ...bounds.bags.infeasibility import types_with
from ...core.errors import SpotbagError
from ...core.limits import LimitReached, out_of_time, share_of_time, within
from ...core.quantities import IntArray
from ...heuristics.bags.d_spot import with_d_spot
from ...heuristics.bags.rescue_rules import MOST_TYPES
from ...instances.entries import RentalOffer, SurvivalLevel
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from .result import Result
from .solve import solve

_Changes: TypeAlias = dict[str, Any]
"""Changed fields of an instance."""

QUIET = "quiet-day optimum"
_OUT_OF_REACH = 1000.0
"""Factor of the price of what a plan is to do without."""
_MOVES = 100_000
_LOADS = (1.5, 2.0, 3.0)
_D_SPOT_SHARES = (0.8, 0.6, 0.4, 0.25)
_COST_WEIGHTS = (0.9, 0.75, 0.6, 0.5, 0.4, 0.25, 0.1)
_ALSO_WEIGHT = 0.5
_VM_SHARES = (2 / 3, 1 / 2, 1 / 3, 1 / 5)
_NEAR_LEAST = 0.05


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan that may be chosen.

    Attributes
    ----------
    name : str
        How it was made.
    method : str
        By which method.
    schedule : Schedule
        The plan.
    survives : bool or None
        Whether it is shown to survive what is asked of it; None if nothing is.
    """

    name: str
    method: str
    schedule: Schedule
    survives: bool | None


@dataclass(frozen=True, slots=True)
class _Recipe:
    """Changes of the instance, and the method that makes a candidate of it; ``near_least`` as for `solve`."""

    name: str
    method: str
    changes: _Changes
    published: bool = False
    near_least: float | None = None


def candidates(
    instance: Instance, quiet: Result, *, seed: int = 0, on_made: Callable[[str], None] | None = None
) -> list[Candidate]:
    """Make plans of an instance, each once.

    Parameters
    ----------
    instance : Instance
        The problem.
    quiet : Result
        The plan that is best on a quiet day; the first of the candidates.
    seed : int
        Of the search.
    on_made : callable, optional
        Called with how a plan is made, when that is done.

    Returns
    -------
    list of Candidate
        Those that could be made in time.
    """
    assert quiet.schedule is not None, "there is a plan to begin with"
    base = with_d_spot(instance)
    level = survival_level(instance)
    made = _Made(base, level)
    made.add(QUIET, quiet.method, quiet.schedule)
    recipes = list(_recipes(made.cheapest, quiet.schedule))
    for number, recipe in enumerate(recipes):
        if out_of_time():
            break
        with within(share_of_time(1 / (len(recipes) - number))):
            made.make(recipe, seed)
        if on_made is not None:
            on_made(recipe.name)
    return made.candidates


def survival_level(instance: Instance) -> SurvivalLevel | None:
    """Survival level that plans of an instance are to have, if they can."""
    level = instance.survive or "one-type"
    return None if level == "none" else level


class _Made:
    """Candidates so far, each plan once."""

    def __init__(self, base: Instance, level: SurvivalLevel | None) -> None:
        self.candidates: list[Candidate] = []
        self._base = base
        self.cheapest = base.replace(objective=base.objective_with("cheapest"))
        self._level = level
        self._keys: set[object] = set()

    def make(self, recipe: _Recipe, seed: int) -> None:
        """Make a plan by a recipe, if there is one."""
        options = {} if recipe.published else {"moves": _MOVES}
        try:
            # Whether a plan survives is asked of all of them when they are added: no method need look for it.
            asked = (self._base if recipe.published else self.cheapest).replace(**recipe.changes, survive="none")
            result = solve(asked, recipe.method, options=options, seed=seed, near_least=recipe.near_least)
        except (LimitReached, SpotbagError):
            return
        if result.schedule is None:
            return
        found = result.schedule.instance
        own = self._base.replace(d_spot_s=found.d_spot_s)
        self.add(recipe.name, recipe.method, replace(result.schedule, instance=own))

    def add(self, name: str, method: str, schedule: Schedule) -> None:
        """Add a plan, in an order in which it survives if there is one."""
        if not schedule.within_budget:
            return
        survives = None
        if self._level is not None:
            from .survival import in_surviving_order

            ordered = in_surviving_order(schedule, self._level)
            survives = ordered is not None
            schedule = ordered or schedule
        key = _key(schedule)
        if key not in self._keys:
            self._keys.add(key)
            self.candidates.append(Candidate(name, method, schedule, survives))


def _key(schedule: Schedule) -> object:
    """Key of a plan: which tasks run where and when, VMs unnamed."""
    # Tasks of a group are alike, and so are VMs of an offer: plans that differ in their names only are one.
    group = schedule.instance.task_group
    vms: list[list[tuple[int, int, int, bool]]] = [[] for _ in schedule.vm_ids]
    rows = zip(
        schedule.task_vm.tolist(),
        schedule.task_core.tolist(),
        schedule.task_start_s.tolist(),
        group.tolist(),
        schedule.task_baseline.tolist(),
        strict=True,
    )
    for vm, *row in rows:
        vms[vm].append(tuple(row))
    return tuple(
        sorted((offer, tuple(sorted(rows))) for offer, rows in zip(schedule.vm_offer.tolist(), vms, strict=True))
    )


def _recipes(base: Instance, quiet: Schedule) -> Iterator[_Recipe]:
    """All recipes, the published schedulers first: each change of the offers for the least cost, and for less time."""
    yield _Recipe("greedy", "greedy", {}, True)
    yield _Recipe("ils", "ils", {}, True)
    yield _Recipe("search", "search", {})
    yield _Recipe(f"fastest within {_NEAR_LEAST:.0%} of the least", "search", {}, near_least=_NEAR_LEAST)
    weighing = {weight: {"objective": base.objective_with("balanced", cost_weight=weight)} for weight in _COST_WEIGHTS}
    for weight, changes in weighing.items():
        yield _Recipe(f"cost weight {weight:g}", "search", changes)
    for name, changes in _less_trust(base, quiet):
        yield _Recipe(name, "search", changes)
        yield _Recipe(f"{name}, cost weight {_ALSO_WEIGHT:g}", "search", changes | weighing[_ALSO_WEIGHT])


def _less_trust(base: Instance, quiet: Schedule) -> Iterator[tuple[str, _Changes]]:
    """Changes of an instance that make spot VMs, or some of them, less attractive."""
    spot = [offer for offer in base.offers if offer.market == "spot" and offer.limit]
    used = np.bincount(quiet.vm_offer, minlength=len(base.offers))
    if not spot:
        return
    yield "no spot VMs", _dearer(base, spot, _OUT_OF_REACH)
    for load in _LOADS:
        yield f"spot x {load:g}", _dearer(base, spot, load)
    # Shares of when the last task on spot VMs ends now: any D_spot after that would change nothing.
    latest = _spot_end_s(quiet)
    for share in _D_SPOT_SHARES:
        yield f"D_spot {int(share * latest):,} s", {"d_spot_s": int(share * latest)}
    for share in _VM_SHARES:
        yield f"{share:.0%} of the VMs of a type", _scarcer(base, used, share)
    # What the plan relies on most is what it is to do without: other types would hardly change it.
    most_used = sorted(spot, key=lambda offer: (-used[offer.index], offer.price_usd_per_hour / offer.vcpus))
    for one in most_used[:MOST_TYPES]:
        yield f"no spot {one.vm_type.name}", _dearer(base, [one], _OUT_OF_REACH)
        others = [offer for offer in spot if offer is not one]
        if others:
            yield f"spot {one.vm_type.name} only", _dearer(base, others, _OUT_OF_REACH)


def _spot_end_s(schedule: Schedule) -> int:
    """End of the last task on spot VMs; the makespan if none is there."""
    spot = schedule.instance.offer_is_spot[schedule.vm_offer[schedule.task_vm]]
    return int(schedule.task_end_s[spot].max(initial=0)) or schedule.makespan_s


def _with_offers(instance: Instance, changed: Callable[[RentalOffer], dict[str, float]]) -> _Changes:
    """Return VM types with changed fields of their offers."""
    types = instance.vm_types
    for offer in instance.offers:
        types = types_with(types, offer, **changed(offer))
    return {"vm_types": types}


def _dearer(instance: Instance, offers: Iterable[RentalOffer], factor: float) -> _Changes:
    """Return VM types of which some offers are dearer."""
    indices = {offer.index for offer in offers}
    return _with_offers(
        instance,
        lambda offer: {"price_usd_per_hour": offer.price_usd_per_hour * (factor if offer.index in indices else 1.0)},
    )


def _scarcer(instance: Instance, used: IntArray, share: float) -> _Changes:
    """Return VM types of which there is a share of the spot VMs of a plan."""

    def fewer(offer: RentalOffer) -> dict[str, float]:
        several = offer.market == "spot" and used[offer.index] > 1
        return {"limit": max(1, math.floor(share * used[offer.index]))} if several else {}

    return _with_offers(instance, fewer)
