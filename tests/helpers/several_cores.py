"""Random plans of tasks of several cores."""

from __future__ import annotations

import random

import numpy as np

from spotbag.schedules.schedule import Schedule
from tests.helpers.random_days import random_plan
from tests.helpers.tiny_days import vm_type
from tests.instances.test_cores import bag


def random_cores(seed: int) -> Schedule:
    """Return a plan of tasks of several cores, all of the same number or not, on VMs of four and five cores."""
    rng = random.Random(f"cores {seed}")
    kinds = [vm_type(f"c{vcpus}", spot=2, on_demand=2, vcpus=vcpus) for vcpus in (4, 5)]
    while True:
        needs = rng.choices(rng.choice([(2,), (1, 2), (2, 4), (2, 3)]), k=rng.randint(2, 8))
        instance = bag(needs, memory_mb=1, vm_types=kinds, deadline_s=rng.choice([250, 500]))
        plan = random_plan(instance, np.random.default_rng(rng.randrange(10**9)))
        if plan is not None:
            return plan
