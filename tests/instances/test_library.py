"""The library: provenance, printed figures, derived optima, and that the generator makes exactly what is shipped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import spotbag.instances.data
from spotbag.core.errors import InputError
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance, library_names, load, platform_names, stream_names
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.streams.stream import Stream
from spotbag_papers import library_bags
from tests.helpers.second_by_second import brute_force_objective

# HADS Table 5 and Burst-HADS Table III, run times of HADS in seconds.
PRINTED = {
    "J60": (60, (102, 198, 323), (2.85, 4.69, 12.2)),
    "J80": (80, (103, 199, 322), (2.91, 4.71, 13.19)),
    "J100": (100, (107, 190, 330), (2.81, 4.49, 10.86)),
    "ED200": (200, (161, 211, 354), (153.74, 168.68, 177.77)),
}
DATA = Path(spotbag.instances.data.__file__).parent
ENTRIES: dict[Path, Instance | Stream | Platform] = {
    Path(folder, f"{name}.json"): load(kind, name)
    for folder, kind, names in (
        ("", Instance, library_names()),
        ("streams", Stream, stream_names()),
        ("platforms", Platform, platform_names()),
    )
    for name in names
}
TINY = [name for name in library_names() if name.startswith("tiny/")]


@pytest.mark.parametrize("family", ["hads", "burst-hads"])
@pytest.mark.parametrize("job", PRINTED)
def test_jobs_have_the_printed_figures(family: str, job: str) -> None:
    instance = library_instance(f"{family}/{job}")
    n_tasks, *printed = PRINTED[job]
    assert instance.n_tasks == n_tasks
    memory = np.array([task.memory_mb for task in instance.tasks])[instance.task_group]
    for values, (low, mean, high) in zip(
        (instance.given_runtime_s[instance.task_group, 0], memory), printed, strict=True
    ):
        assert (values.min(), values.max()) == (low, high)
        assert values.mean() == pytest.approx(mean, rel=0.01)
    assert instance.deadline_s == {"hads": 2100, "burst-hads": 2700}[family]


def test_only_burst_hads_jobs_have_a_burstable_type() -> None:
    types = {vm_type.name for vm_type in library_instance("burst-hads/J60").vm_types if vm_type.burstable}
    assert types == {"t3.large"}
    assert not any(vm_type.burstable for vm_type in library_instance("hads/J60").vm_types)


@pytest.mark.parametrize("path", ENTRIES)
def test_every_entry_says_where_it_comes_from_and_has_its_own_name(path: Path) -> None:
    entry = ENTRIES[path]
    assert path.with_suffix("").as_posix().endswith(entry.name)
    assert entry.provenance is not None
    assert entry.provenance.source


def test_the_generator_makes_the_shipped_files_that_name_it(tmp_path: Path) -> None:
    library_bags.main(str(tmp_path))
    made = {path.relative_to(tmp_path) for path in tmp_path.rglob("*.json")}
    for path in made:
        assert (tmp_path / path).read_text(encoding="utf-8") == (DATA / path).read_text(encoding="utf-8")
    assert made == {path for path, entry in ENTRIES.items() if entry.provenance and entry.provenance.generator}


@pytest.mark.parametrize("path", ENTRIES)
def test_every_file_has_the_form_in_which_its_entry_is_written(path: Path) -> None:
    assert ENTRIES[path].to_text() == (DATA / path).read_text(encoding="utf-8")


def test_streams_and_platforms_are_no_instances() -> None:
    assert not any(name.startswith(("streams", "platforms")) for name in library_names())


@pytest.mark.parametrize("name", TINY)
def test_derived_optima_are_those_of_brute_force(name: str) -> None:
    instance = library_instance(name)
    assert instance.provenance is not None
    optimum = instance.provenance.optimum
    assert optimum is not None
    assert brute_force_objective(instance) == pytest.approx(optimum.objective, rel=1e-9)
    weight = instance.cost_weight
    value = weight * optimum.cost_usd / instance.cost_scale_usd
    value += (1 - weight) * optimum.makespan_s / instance.makespan_scale_s
    assert value == pytest.approx(optimum.objective, rel=1e-9)


def test_there_are_at_least_six_tiny_instances() -> None:
    assert len(TINY) >= 6


def test_memory_binds_in_the_memory_family_and_never_two_lets_no_two_tasks_run_together() -> None:
    names = [name for name in library_names() if name.startswith("memory/")]
    assert len(names) >= 4
    assert all(not library_instance(name).memory_never_binds.all() for name in names)
    instance = library_instance("memory/never-two")
    smallest, second = sorted(instance.memory_kb.tolist())[:2]
    assert smallest + second > max(offer.memory_kb for offer in instance.offers)


@pytest.mark.parametrize("n_tasks", [200, 1000])
def test_distinct_run_times_are_distinct(n_tasks: int) -> None:
    instance = library_instance(f"distinct/{n_tasks}")
    assert len(set(instance.given_runtime_s[:, 0])) == n_tasks


def test_an_unknown_name_is_refused_with_close_ones() -> None:
    with pytest.raises(InputError, match="did you mean hads/J60"):
        library_instance("hads/J61")
    with pytest.raises(InputError, match="instance list"):
        library_instance("zzz")


def test_default_scales_read_as_ideal_on_demand_and_whole_deadline() -> None:
    instance = library_instance("hads/J60")
    cheapest = 0.0
    for task in instance.tasks:
        assert task.runtime_s is not None
        prices = {"c3.large": 0.105 / 2, "c3.xlarge": 0.21 / 4, "c4.large": 0.1 / 2, "c4.xlarge": 0.199 / 4}
        cheapest += task.count * min(prices[name] * seconds / 3600 for name, seconds in task.runtime_s.items())
    assert instance.cost_scale_usd == pytest.approx(cheapest, rel=1e-12)
    assert instance.makespan_scale_s == 2100


def test_tasks_without_an_on_demand_offer_are_scaled_by_any_market() -> None:
    instance = Instance(
        name="mixed",
        deadline_s=100,
        objective={"goal": "balanced"},
        vm_types=[
            {"name": "a", "vcpus": 2, "memory_mb": 10, "offers": {"spot": {"price_usd_per_hour": 3.6, "limit": 1}}},
            {"name": "b", "vcpus": 1, "memory_mb": 10, "offers": {"on-demand": {"price_usd_per_hour": 36, "limit": 1}}},
        ],
        tasks=[
            {"id": "x", "memory_mb": 1, "runtime_s": {"a": 10}},
            {"id": "y", "memory_mb": 1, "runtime_s": {"a": 10, "b": 20}, "count": 2},
        ],
    )
    assert instance.cost_scale_usd == pytest.approx(10 * 0.001 / 2 + 2 * 20 * 0.01)
