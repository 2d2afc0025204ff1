"""The duration of a task on an offer: run time, checkpoints on spot, baseline."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from spotbag.instances.entries import BASELINE, FULL_SPEED, NEVER
from spotbag.instances.instance import Instance
from tests.helpers.random_instances import random_instances
from tests.helpers.second_by_second import duration_s
from tests.helpers.soaks import soak_of


def one_type(runtime_s: float, memory_mb: float = 100, **fields: object) -> Instance:
    """One task of a run time on a burstable type of both markets."""
    offer = {"price_usd_per_hour": 1, "limit": 1}
    vm_type = {
        "name": "a",
        "vcpus": 1,
        "memory_mb": 1024,
        "offers": {"spot": offer, "on-demand": offer},
        "burstable": {"baseline_fraction": 0.3, "credits_per_hour": 36},
    }
    task = {"id": "t", "memory_mb": memory_mb, "runtime_s": {"a": runtime_s}}
    return Instance(name="one", deadline_s=10**6, vm_types=[vm_type], tasks=[task], **fields)


def test_a_checkpoint_follows_every_interval_of_work_and_none_the_end() -> None:
    # dump 10 s, overhead 10 %: an interval of 100 s.
    rules = {"overhead_fraction": 0.1, "dump_base_s": 10}
    for runtime, count in [(99, 0), (100, 0), (101, 1), (200, 1), (201, 2), (250, 2)]:
        instance = one_type(runtime, checkpoint=rules)
        assert instance.checkpoint_interval_s[0] == pytest.approx(100)
        assert instance.checkpoint_count[0, 0] == count
        spot, on_demand = instance.duration_s[0, :, FULL_SPEED]
        assert spot == runtime + 10 * count
        assert on_demand == runtime


def test_what_checkpoints_add_is_at_most_the_overhead_of_the_paper() -> None:
    rules = {"overhead_fraction": 0.1, "dump_base_s": 12.99, "dump_s_per_mb": 0.022}
    for runtime in range(1, 2000, 7):
        instance = one_type(runtime, memory_mb=168.68, checkpoint=rules)
        assert instance.duration_s[0, 0, FULL_SPEED] <= runtime * 1.1 + 1


def test_the_interval_of_hads_does_not_depend_on_the_run_time() -> None:
    # HADS eq. 1-2 with its dump time of 12.99 + 0.022 MB: 167 s for the tasks of ED200.
    rules = {"overhead_fraction": 0.1, "dump_base_s": 12.99, "dump_s_per_mb": 0.022}
    assert one_type(211, memory_mb=168.68, checkpoint=rules).checkpoint_interval_s[0] == pytest.approx(167.01, abs=0.01)


def test_checkpoints_that_take_no_time_save_every_second_at_no_cost() -> None:
    instance = one_type(172_800, checkpoint={"overhead_fraction": 0.1, "dump_base_s": 0})
    assert instance.checkpoint_interval_s[0] == 1
    assert instance.duration_s[0, :, FULL_SPEED].tolist() == [172_800, 172_800]


def test_baseline_mode_divides_by_the_baseline_and_rounds_up_once() -> None:
    rules = {"overhead_fraction": 0.1, "dump_base_s": 10}
    instance = one_type(101, checkpoint=rules)
    spot, on_demand = instance.duration_s[0, :, BASELINE]
    assert on_demand == 337  # 101 / 0.3 = 336.67
    assert spot == 370  # (101 + 10) / 0.3
    assert Instance(**_regular()).duration_s[0, 0, BASELINE] == NEVER


def _regular() -> dict[str, object]:
    offer = {"price_usd_per_hour": 1, "limit": 1}
    return {
        "name": "regular",
        "deadline_s": 100,
        "vm_types": [{"name": "a", "vcpus": 1, "memory_mb": 1024, "offers": {"spot": offer}}],
        "tasks": [{"id": "t", "memory_mb": 1, "runtime_s": {"a": 5}}],
    }


def test_rounding_noise_adds_no_second() -> None:
    fields = _regular()
    for base, speed, seconds in ((2.1, 0.7, 3), (0.7, 0.1, 7)):
        assert base / speed != seconds  # the float quotients are a little more and a little less
        fields["vm_types"][0]["speed"] = speed  # type: ignore[index]
        fields["tasks"][0] = {"id": "t", "memory_mb": 1, "base_runtime_s": base}  # type: ignore[index]
        assert Instance(**fields).duration_s[0, 0, FULL_SPEED] == seconds


@given(random_instances())
@settings(max_examples=12, deadline=None)
def test_durations_are_those_counted_checkpoint_by_checkpoint(instance: Instance) -> None:
    _count_checkpoints(instance)


@soak_of(random_instances(), sample=200, whole=2000)
def test_durations_are_those_counted_checkpoint_by_checkpoint_in_thousands(instance: Instance) -> None:
    _count_checkpoints(instance)


def _count_checkpoints(instance: Instance) -> None:
    for group, task in enumerate(instance.tasks):
        for offer in instance.offers:
            for mode in (FULL_SPEED, BASELINE) if offer.burstable else (FULL_SPEED,):
                expected = duration_s(instance, task, offer.vm_type, offer.market, mode == BASELINE)
                found = int(instance.duration_s[group, offer.index, mode])
                assert found == (NEVER if expected is None else expected)
