"""Tiny instances of which tasks have dates: releases, deadlines and weights, from the beginning or from a state."""

from __future__ import annotations

import random

from spotbag.core.errors import InputError
from spotbag.instances.instance import Instance
from tests.helpers.tiny_instances import FAMILIES, tiny_instance
from tests.helpers.tiny_states import GOALS, tiny_state


def dated_instance(seed: int) -> Instance:
    """Draw a tiny instance with dates: each family in turn, one in four from a state."""
    rng = random.Random(f"dates {seed}")
    family = [*FAMILIES][seed % len(FAMILIES)]
    for attempt in range(10**6):
        draw = tiny_state if seed % 4 == 3 else lambda name, number: tiny_instance(number, **FAMILIES[name])
        document = draw(family, 10**6 * (seed + 1) + attempt).to_document()
        deadline_s, often = document["deadline_s"], rng.choice([0.3, 0.7, 1.0])
        for task in document["tasks"]:
            if rng.random() < often:
                task["ready_s"] = rng.randint(0, 2 * deadline_s // 3)
            if rng.random() < often:
                task["deadline_s"] = rng.randint(task.get("ready_s", 0) + 1, deadline_s + 2)
            if rng.random() < 0.3:
                task["weight"] = rng.choice([0.5, 2.0, 10.0])
        if rng.random() < 0.5:
            document["objective"] = {"goal": rng.choice(GOALS)}
        try:
            instance = Instance.from_document(document, "dated")
        except InputError:  # a task that no VM could end in time: draw again
            continue
        if instance.has_dates:
            return instance
    raise AssertionError("no instance was drawn")
