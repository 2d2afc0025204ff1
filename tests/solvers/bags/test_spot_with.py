"""The line on a plan that survives and has no spot VMs: each change that it names brings some in."""

from __future__ import annotations

import random
from typing import Any

from spotbag.audits.bags.plan import check
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.entries import NEVER
from spotbag.instances.instance import Instance
from spotbag.schedules.plan_text import survival_lines
from spotbag.schedules.rescuable import RescuableInstance
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.solve import solve
from tests.helpers.soaks import soak


def has_spot(schedule: Schedule | None) -> bool:
    assert schedule is not None
    return any(schedule.instance.offers[offer].market == "spot" for offer in schedule.vm_offer.tolist())


def tight_bag(seed: int) -> Instance:
    """Tasks that take more than about half of the time, of one class or of all lengths; some with checkpoints."""
    draw = random.Random(seed)
    shortest = draw.randint(1300, 3000)
    return generate_instance(
        draw.randint(3, 40),
        classes=draw.choice((None, 1, 3)),
        runtime_s=f"beta:{shortest}:{shortest + 200}:{shortest + 400}",
        catalogue=draw.choice(("hads", "ten-types")),
        limit=draw.choice((5, 20)),
        max_on_demand=draw.choice((20, 60)),
        deadline_s=draw.randint(int(1.2 * shortest) + 400, 2 * shortest + 400),
        goal=draw.choice(("cheapest", "cheapest", "balanced")),
        seed=seed,
    ).replace(
        checkpoint=draw.choice((None, None, {"overhead_fraction": 0.01, "dump_base_s": 13.0, "dump_s_per_mb": 0.02})),
        boot_overhead_s=draw.choice((0, 60)),
        migration_overhead_s=draw.choice((0, 120)),
    )


def judge(seed: int) -> bool:
    """Check the line of a bag; return whether it has one."""
    instance, level = tight_bag(seed), random.Random(seed).choice((None, "one-type", "blackout", "each"))
    result = solve(instance, survive=level, threads=1)
    if result.schedule is None or result.survival is None:
        return False
    ways = result.survival.spot_with
    text = "; ".join(line for _, line in survival_lines(result.survival))
    assert ("spot VMs are left out" in text) == (ways is not None)
    if ways is None:
        assert has_spot(result.schedule) or result.survival.cost_without_usd is None or level is None
        return False
    assert not has_spot(result.schedule)
    assert check(result.instance, result.schedule.to_document("auto", result.survival)).violations == ()
    assert result.survival.cost_without_usd is not None
    assert result.survival.cost_without_usd < result.schedule.cost_usd
    for way in ways:
        changes: dict[str, Any] = way.model_dump(exclude_none=True, exclude={"cost_usd", "level"})
        other = solve(instance.replace(**changes), survive=way.level or level, threads=1)
        assert has_spot(other.schedule), (way, other.schedule)
        assert other.survival is not None
        assert other.survival.verdict == "survives"
        assert f"$ {way.cost_usd:.4f} with " in text
    return True


@soak(sample=2, whole=100)
def test_each_change_of_the_line_brings_spot_vms_in(how_many: int) -> None:
    lines = [judge(seed) for seed in range(2, 2 + how_many)]
    assert sum(lines) >= how_many / 3


def test_a_later_deadline_leaves_time_for_releases_and_moves_no_deadline_of_a_task() -> None:
    """It was looked for as if tasks began at once, and as if their own deadlines moved with that of the bag."""
    offers = {market: {"price_usd_per_hour": usd, "limit": 2} for market, usd in (("spot", 0.6), ("on-demand", 3.6))}

    def deadlines(expected: int, **dates: int) -> list[int]:
        bag = Instance(
            name="dated",
            deadline_s=250,
            objective={"goal": "cheapest"},
            vm_types=[{"name": "a", "vcpus": 2, "memory_mb": 1024, "offers": offers}],
            tasks=[{"id": "t", "memory_mb": 1, "runtime_s": {"a": 130}, **dates}],
        )
        assert RescuableInstance.of(with_d_spot(bag), "market").least_deadline_s.tolist() == [expected]
        survival = solve(bag, seed=1, survive="one-type").survival
        assert survival is not None
        return [way.deadline_s for way in survival.spot_with or () if way.deadline_s is not None]

    cases: list[tuple[dict[str, int], int]] = [({}, 259), ({"ready_s": 100}, 359), ({"deadline_s": 200}, NEVER)]
    for dates, expected in cases:
        assert deadlines(expected, **dates) == [expected] * (expected < NEVER), dates
