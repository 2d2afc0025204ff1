"""The line on a plan that survives and has no spot VMs: each change that it names brings some in."""

from __future__ import annotations

import random
from typing import Any

from spotbag.audits.bags.plan import check
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.schedules.plan_text import survival_lines
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


@soak(sample=6, whole=100)
def test_each_change_of_the_line_brings_spot_vms_in(how_many: int) -> None:
    lines = [judge(seed) for seed in range(how_many)]
    assert sum(lines) >= how_many / 3
