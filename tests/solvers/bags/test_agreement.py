"""Exact methods find the optimum of the exhaustive oracle, or refuse; nothing else."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

from spotbag.audits.bags.plan import check
from spotbag.core.errors import ModelRefusal, SpotbagError
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import tiny_optimum
from tests.helpers.tiny_instances import FAMILIES, tiny_instance

pytestmark = pytest.mark.xdist_group("tiny optimum")  # one process: they share optima that take long

EXACT_METHODS = [name for name, method in METHODS.items() if method.exact]
RELAX_BURSTABLES = {"patterns", "columns"}
"""Exact unless the optimum rents burstable VMs; then they give a bound, and perhaps a plan."""
FAST_SEEDS = 1
SEEDS_OF_A_BLOCK = 100
SAMPLE = 12
BLOCKS = {
    "cores": 34,
    "memory": 14,
    "burstable": 2,
    "markets": 5,
    "several": 50,
    "cores and memory": 8,
    "quotas": 6,
    "everything": 10,
}  # 12,900; those with CPU credits take longest
TOLERANCE = 1e-7
REFUSED = "refused"


@cache
def outcome(method: str, family: str, seed: int) -> str:
    """What is wrong with the answer of a method; empty if nothing is, `REFUSED` if it gave none."""
    instance = tiny_instance(seed, **FAMILIES[family])
    plan = tiny_optimum(family, seed)
    best = None if plan is None else plan.objective
    try:
        result = solve(instance, method)
    except ModelRefusal:
        return REFUSED
    except SpotbagError as error:
        return str(error)
    if method in RELAX_BURSTABLES and family == "burstable" and best is None and result.status == "no-plan":
        return ""
    if best is None:
        return "" if result.status == "infeasible" else f"{result.status} {result.objective}, but there is no plan"
    if method in RELAX_BURSTABLES and family == "burstable" and result.status in ("feasible", "no-plan"):
        relaxed = result.bound is not None and result.bound <= best * (1 + TOLERANCE)
        worse = result.objective is None or result.objective >= best * (1 - TOLERANCE)
        return "" if relaxed and worse else f"{result.objective}, bound {result.bound}, but the optimum is {best}"
    if result.status != "optimal" or result.objective is None or result.schedule is None:
        return f"{result.status} {result.objective}, but the optimum is {best}: {result.message}"
    if abs(result.objective - best) > TOLERANCE * best:
        return f"claims the optimum {result.objective}, but it is {best}"
    if result.bound is None or result.bound > best * (1 + TOLERANCE):
        return f"claims the bound {result.bound}, but the optimum is {best}"
    violations = check(instance, result.schedule).violations
    return str(violations[0]) if violations else ""


def disagreements(method: str, family: str, seeds: range) -> dict[int, str]:
    """What is wrong, by seed."""
    outcomes = {seed: outcome(method, family, seed) for seed in seeds}
    return {seed: said for seed, said in outcomes.items() if said not in ("", REFUSED)}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", EXACT_METHODS)
def test_exact_methods_find_the_optimum_or_refuse(method: str, family: str) -> None:
    assert disagreements(method, family, range(FAST_SEEDS)) == {}


@pytest.mark.parametrize(
    ("family", "seeds"),
    [
        # Blocks share no optima: each is a group of its own.
        pytest.param(
            family, seeds, id=f"{family}-{seeds.start}", marks=[mark, pytest.mark.xdist_group(f"{family} {seeds}")]
        )
        for family, blocks in BLOCKS.items()
        for mark, seeds in (
            (pytest.mark.slow, range(FAST_SEEDS, FAST_SEEDS + SAMPLE)),
            *(
                (pytest.mark.soak, range(first, first + SEEDS_OF_A_BLOCK))
                for first in range(FAST_SEEDS, FAST_SEEDS + blocks * SEEDS_OF_A_BLOCK, SEEDS_OF_A_BLOCK)
            ),
        )
    ],
)
def test_exact_methods_find_the_optimum_or_refuse_on_thousands(family: str, seeds: range) -> None:
    found = {method: disagreements(method, family, seeds) for method in EXACT_METHODS}
    assert {method: wrong for method, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("method", EXACT_METHODS)
def test_exact_methods_do_not_refuse_most_of_what_they_are_for(method: str) -> None:
    outcomes = [outcome(method, family, seed) for family, seed in itertools.product(FAMILIES, range(FAST_SEEDS))]
    assert outcomes.count(REFUSED) <= 0.8 * len(outcomes)


def test_a_method_that_is_not_exact_would_be_found_out() -> None:
    # The greedy proves nothing itself; only the divisible bound of every result proves some of its plans optimal.
    assert len(disagreements("greedy", "cores", range(20))) >= 10
