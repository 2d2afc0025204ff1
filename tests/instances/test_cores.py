"""Tasks of several cores: where they can run, in which slots, and what of them is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spotbag.core.capacities import lower_of, upper_of
from spotbag.core.errors import InputError
from spotbag.instances.entries import NEVER, Slots
from spotbag.instances.instance import Instance
from spotbag.schedules.state import State
from spotbag.solvers.bags.replan import replan


def bag(needs: list[int], vcpus: tuple[int, ...] = (5,), memory_mb: float = 100, **fields: Any) -> Instance:
    """Tasks of some cores, on types of some cores with 1 GB for each."""
    vm_types = [
        {
            "name": f"c{cores}",
            "vcpus": cores,
            "memory_mb": 1024 * cores,
            "offers": {"on-demand": {"price_usd_per_hour": 0.36 * cores, "limit": 9}},
        }
        for cores in vcpus
    ]
    tasks = [
        {"id": f"t{k}", "memory_mb": memory_mb, "base_runtime_s": 100, "cores": need} for k, need in enumerate(needs)
    ]
    document = {"format": "spotbag.instance/1", "name": "by hand", "deadline_s": 1000}
    return Instance.from_document(document | {"vm_types": vm_types, "tasks": tasks} | fields, "by hand")


def test_tasks_of_the_same_number_of_cores_run_in_slots_of_so_many() -> None:
    instance = bag([2, 2, 2], memory_mb=3000)
    assert instance.slots == Slots(2, shared=False)
    assert [(offer.vcpus, offer.memory_kb) for offer in instance.offers] == [(2, 5 * 1024**2)]  # of five cores
    assert instance.memory_kb.tolist() == [3000 * 1024] * 3
    assert instance.memory_never_binds.tolist() == [False]  # two need 6,000 MB of 5,120


def test_slots_of_tasks_that_need_different_numbers_are_shared_as_memory_is() -> None:
    instance = bag([2, 4, 2], (4, 9))
    assert instance.slots == Slots(2, shared=True)
    assert instance.memory_kb.tolist() == [1, 2, 1]
    assert [(offer.vcpus, offer.memory_kb) for offer in instance.offers] == [(2, 2), (4, 4)]
    assert instance.memory_never_binds.tolist() == [False, True]  # all four slots are enough for all tasks at once
    assert bag([1, 1]).slots == Slots(1, shared=False)


def test_a_task_runs_on_no_type_with_fewer_cores() -> None:
    instance = bag([1, 4], (2, 4))
    assert (instance.runtime_s == np.array([[100, 100], [NEVER, 100]])).all()
    with pytest.raises(InputError, match=r"tasks\[1\] 't1': cores 8 are more than any .* has \(most 4\)"):
        bag([1, 8], (2, 4))


def test_the_scale_of_the_cost_counts_cores() -> None:
    instance = bag([1, 4], objective={"goal": "balanced"})
    assert instance.cost_scale_usd == pytest.approx((1 + 4) * 100 * 0.36 / 3600)


def test_credits_of_several_cores_are_not_known() -> None:
    offers = {"on-demand": {"price_usd_per_hour": 0.1, "limit": 1}}
    burstable = {"baseline_fraction": 0.2, "credits_per_hour": 12}
    types = [
        {"name": "b", "vcpus": 4, "memory_mb": 4096, "offers": offers, "burstable": burstable},
        {"name": "c", "vcpus": 4, "memory_mb": 4096, "offers": offers},
    ]
    with pytest.raises(InputError, match=r"'b': is burstable, and credits of tasks of several cores .* leave the type"):
        bag([1, 2], vm_types=types)
    assert bag([1, 1], vm_types=types).slots == Slots()


def test_where_cores_and_memory_may_both_bind_a_number_has_both() -> None:
    # A core has 1,024 MB: five of the first and no more fit.
    assert bag([1, 2], memory_mb=1024).slots == Slots(1, shared=True)
    both = bag([1, 1, 2], (2,), memory_mb=1025)
    assert both.slots == Slots(1, shared=True, beside_memory=True)
    assert upper_of(both.memory_kb).tolist() == [1, 1, 2]
    assert lower_of(both.memory_kb).tolist() == [1025 * 1024] * 3
    size = both.offers[0].memory_kb
    assert (upper_of(size), lower_of(size)) == (2, 2048 * 1024)
    assert not both.memory_never_binds.any()
    assert not bag([1, 2], (3,), memory_mb=1500).slots.beside_memory  # both at once need 3,000 of 3,072 MB
    assert bag([2, 2], (2,), memory_mb=1025).memory_never_binds.all()  # of the same number, memory is as it always is


def test_what_runs_on_a_machine_has_cores_there() -> None:
    machine = {"id": "m", "type": "c5", "market": "on-demand", "running": [{"task": "t0", "core": 3, "start_s": -10}]}
    instance = bag([2, 2], machines=[machine])
    assert instance.slots == Slots(1, shared=True)  # a first core in the middle of a slot: all are told apart
    assert instance.running.core.tolist() == [3]
    machine["running"].append({"task": "t1", "core": 0, "start_s": 0})  # type: ignore[attr-defined]
    assert bag([2, 2], machines=[machine]).running.core.tolist() == [3, 0]
    with pytest.raises(InputError, match=r"machines\[0\] 'm': running run on 6 cores, c5 has 5"):
        bag([3, 3], machines=[machine])
    machine["running"] = [{"task": f"t{number}", "core": 0, "start_s": 0} for number in range(3)]
    with pytest.raises(InputError, match=r"running\.core 0 3 tasks run on it") as caught:
        bag([2, 2, 2], machines=[machine])
    assert len(caught.value.issues) == 1


def test_a_task_on_a_core_beyond_all_whole_slots_makes_a_slot_of_each_core() -> None:
    offers = {"on-demand": {"price_usd_per_hour": 1, "limit": 2}}
    bag = Instance(
        name="bag", deadline_s=100,
        vm_types=[{"name": "a", "vcpus": 3, "memory_mb": 1000, "offers": offers}],
        tasks=[{"id": "t", "memory_mb": 1, "base_runtime_s": 10, "cores": 2, "count": 2}],
    )  # fmt: skip
    assert bag.slots.cores == 2
    running = {"id": "v", "type": "a", "market": "on-demand", "running": [{"task": "t#1", "core": 2, "start_s": 0}]}
    state = State(instance="bag", time_s=2, vms=[running])
    left = state.remaining(bag)
    assert (left.slots.cores, left.slots.shared) == (1, True)
    result = replan(bag, state, survive="none", iterations=1000)
    assert result.schedule is not None
    assert result.schedule.task_slots[left.task_index["t#1"]][0] == 2
