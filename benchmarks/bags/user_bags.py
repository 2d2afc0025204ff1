"""Bags as users have them: distinct tasks on catalogue types, planned by the default goal, and what binds in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Arguments by which a bag is drawn, of `generate_instance`; ``others`` are further fields of the instance."""

    n_tasks: int
    runtime_s: str = "lognormal:400:0.6"
    memory_mb: str = "uniform:100:1500"
    catalogue: str = "hads"
    limit: int = 20
    tightness: float = 0.35
    seed: int
    others: dict[str, Any] | None = None

    def instance(self, name: str) -> Instance:
        """Draw the bag."""
        drawn = generate_instance(
            self.n_tasks,
            distinct=True,
            runtime_s=self.runtime_s,
            memory_mb=self.memory_mb,
            catalogue=self.catalogue,
            limit=self.limit,
            max_on_demand=None,
            tightness=self.tightness,
            goal="cheapest",
            seed=self.seed,
            name=name,
        )
        return Instance.from_document(drawn.to_document() | self.others, name) if self.others else drawn


_SAVED = {"boot_overhead_s": 60, "checkpoint": {"overhead_fraction": 0.1, "dump_base_s": 5}}
USER_BAGS = {
    "user/300-distinct": Drawn(n_tasks=300, seed=11),
    "user/memory-binds": Drawn(n_tasks=200, memory_mb="uniform:500:7000", catalogue="memory", tightness=0.25, seed=12),
    "user/burstable": Drawn(n_tasks=200, runtime_s="lognormal:300:0.5", catalogue="burst-hads", seed=13),
    "user/boots-60s": Drawn(n_tasks=200, seed=14, others=_SAVED),
    "user/1000-distinct": Drawn(n_tasks=1000, limit=60, seed=15),
}
"""Bags by name: tasks, their run times and memory, VM types, how tight the deadline is."""


@cache
def named_bag(name: str) -> Instance:
    """Return a bag of the library, or one of those here."""
    return USER_BAGS[name].instance(name) if name in USER_BAGS else library_instance(name)
