"""The weighted round robin reproduces the VM mixes of HADS Table 9."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from spotbag.heuristics.bags.greedy import interleaved_round_robin, offer_ranks, offer_weights
from spotbag.instances.bags.generator import CATALOGUES
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance

NAMES = [vm_type.name for vm_type in CATALOGUES["hads"]()]
# HADS Table 9.
TABLE_9 = {
    "J60": {"c3.large": 2, "c4.large": 2, "c4.xlarge": 2},
    "J80": {"c3.large": 2, "c3.xlarge": 1, "c4.large": 3, "c4.xlarge": 2},
    "J100": {"c3.large": 2, "c3.xlarge": 1, "c4.large": 4, "c4.xlarge": 3},
    "ED200": {"c3.large": 5, "c3.xlarge": 2, "c4.large": 5, "c4.xlarge": 4},
}


def mix(weights: Sequence[int], vms: int, limit: int) -> dict[str, int]:
    """VMs of each type after drawing, types at their limit passed over."""
    counts: Counter[str] = Counter()
    for position in interleaved_round_robin(weights):
        if sum(counts.values()) == vms:
            break
        if counts[NAMES[position]] < limit:
            counts[NAMES[position]] += 1
    return dict(counts)


def test_weights_of_table_6() -> None:
    instance = library_instance("hads/J60")
    spot = [offer for offer in instance.offers if offer.market == "spot"]
    assert offer_weights(offer_ranks(instance, spot)) == [2, 1, 3, 3]


@pytest.mark.parametrize("job", ["J60", "J80", "J100"])
def test_vm_mixes_of_table_9(job: str) -> None:
    assert mix([2, 1, 3, 3], sum(TABLE_9[job].values()), 5) == TABLE_9[job]


def test_vm_mix_of_ed200_needs_weight_2_for_c4_xlarge() -> None:
    assert mix([2, 1, 3, 3], 16, 5) != TABLE_9["ED200"]
    assert mix([2, 1, 3, 2], 16, 5) == TABLE_9["ED200"]


def test_each_position_is_drawn_as_often_as_its_weight() -> None:
    draws = interleaved_round_robin([4, 3, 2])
    # The classic example of the Linux Virtual Server: A A B A B C A B C.
    assert "".join("ABC"[next(draws)] for _ in range(18)) == "AABABCABC" * 2


def test_equal_ranks_weigh_the_same() -> None:
    assert offer_weights([5.0, 5.0]) == [1, 1]
    assert offer_weights([7.0]) == [1]


@pytest.mark.parametrize("weights", [[], [0, 1], [-1]])
def test_weights_must_be_positive(weights: list[int]) -> None:
    with pytest.raises(ValueError, match="positive"):
        next(interleaved_round_robin(weights))


def test_without_gflops_the_speed_of_the_tasks_ranks() -> None:
    def offer(price: float) -> dict[str, object]:
        return {"spot": {"price_usd_per_hour": price, "limit": 1}}

    instance = Instance(
        name="no-gflops",
        deadline_s=100,
        vm_types=[
            {"name": "a", "vcpus": 2, "memory_mb": 10, "offers": offer(0.1), "gflops": 99},
            {"name": "b", "vcpus": 4, "memory_mb": 10, "offers": offer(0.1)},
        ],
        tasks=[{"id": "t", "memory_mb": 1, "runtime_s": {"a": 10, "b": 40}}],
    )
    first, second = offer_ranks(instance, instance.offers)
    assert first == pytest.approx(2 * second)  # two cores at full speed against four at a quarter
