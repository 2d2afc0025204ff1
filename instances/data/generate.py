"""Writes the library: ``python -m spotbag.instances.data.generate FOLDER``.

The jobs of the papers are generated: the papers print only their number of tasks and the minimum, mean and maximum
of run time and memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..bags.catalogue import CATALOGUES
from ..bags.generator import Distribution, generate_instance
from ..entries import Burstable, Checkpoints, KnownOptimum, Limits, Market, Objective, Offer, Provenance, Task, VmType
from ..instance import Instance, write_instance
from ..library import PLATFORMS, STREAMS
from ..platforms.platform_files import write_platform
from ..streams.stream_files import write_stream
from .generate_platforms import platforms
from .generate_streams import GENERATOR, library_streams

PAPER_JOBS = {
    # job: tasks, classes, seed, run time (min, mean, max) in s, memory (min, mean, max) in MB; HADS, Table 5
    "J60": (60, 6, 60, (102, 198, 323), (2.85, 4.69, 12.20)),
    "J80": (80, 6, 80, (103, 199, 322), (2.91, 4.71, 13.19)),
    "J100": (100, 6, 100, (107, 190, 330), (2.81, 4.49, 10.86)),
    "ED200": (200, 5, 200, (161, 211, 354), (153.74, 168.68, 177.77)),
}
PAPER_DEADLINES_S = {"hads": 2100, "burst-hads": 2700}
PAPER_SOURCES = {
    "hads": "HADS (Teylo et al. 2020), Tables 5-7",
    "burst-hads": "Burst-HADS (Teylo et al. 2020), Tables II-III",
}


def paper_instances() -> Iterator[Instance]:
    """Jobs of HADS and Burst-HADS, the same bags under the catalogue and deadline of each paper."""
    for family, source in PAPER_SOURCES.items():
        for job, (n_tasks, classes, seed, runtime, memory) in PAPER_JOBS.items():
            yield generate_instance(
                n_tasks,
                name=f"{family}/{job}",
                classes=classes,
                runtime_s=Distribution("beta", runtime),
                memory_mb=Distribution("beta", memory),
                catalogue=family,
                deadline_s=PAPER_DEADLINES_S[family],
                d_spot_rule="paper",
                goal="balanced",
                seed=seed,
                provenance=Provenance(
                    source=source,
                    notes=f"Generated: {n_tasks} tasks in {classes} classes whose run time on c3.large and memory have "
                    "the printed minimum, mean and maximum; the run times themselves and their dependence on the VM "
                    "type are not printed and are ours.",
                    generator=GENERATOR,
                    seed=seed,
                ),
            )


def memory_instances() -> Iterator[Instance]:
    """Bags whose memory binds: the tasks on the cores of a VM do not always fit together."""
    catalogue = CATALOGUES["burst-hads"](3)[:3]
    cases = {
        "m10": (10, "uniform:512:3072", 10, "any"),
        "m20": (20, "uniform:512:3072", 20, "any"),
        "m30": (30, "uniform:512:3072", 30, "any"),
        "never-two": (12, "uniform:2048:3072", 12, "no two tasks fit a VM of 3.75 GB together"),
        "two-sizes": (24, "beta:512:1280:3072", 24, "few large tasks, many small ones"),
    }
    for name, (n_tasks, memory, seed, what) in cases.items():
        vm_types = catalogue[:2] if name == "never-two" else catalogue
        yield generate_instance(
            n_tasks,
            name=f"memory/{name}",
            runtime_s="uniform:102:330",
            memory_mb=memory,
            catalogue=vm_types,
            deadline_s=2700,
            d_spot_rule="paper",
            goal="balanced",
            seed=seed,
            provenance=Provenance(
                source="spotbag",
                notes=f"Generated: {n_tasks} distinct tasks of 0.5 to 3 GB ({what}) on VMs of Burst-HADS, Table II, "
                "at most 3 of each type and market.",
                generator=GENERATOR,
                seed=seed,
            ),
        )


def distinct_instances() -> Iterator[Instance]:
    """Bags in which no two tasks are alike."""
    for n_tasks, seed, limit in ((200, 3, 5), (1000, 1, 10)):
        yield generate_instance(
            n_tasks,
            name=f"distinct/{n_tasks}",
            distinct=True,
            runtime_s="lognormal:900:0.6",
            memory_mb="uniform:10:400",
            limit=limit,
            max_on_demand=40,
            tightness=0.4,
            d_spot_fraction=0.8,
            goal="balanced",
            seed=seed,
            provenance=Provenance(
                source="spotbag",
                notes=f"Generated: {n_tasks} tasks with distinct run times on VMs of Burst-HADS, Table II, "
                f"at most {limit} of each type and market.",
                generator=GENERATOR,
                seed=seed,
            ),
        )


def everyday_instances() -> Iterator[Instance]:
    """Bags of 60 to 1,000 tasks of minutes, where memory binds or VMs burst, in both markets."""
    sizes = (60, 200, 1000)
    heavy, light = "uniform:800:3500", "uniform:50:500"
    cases = [
        *((f"memory-bound/{n_tasks}", n_tasks, None, "memory", heavy) for n_tasks in sizes),
        *((f"memory-bound/{n_tasks}-of-8", n_tasks, 8, "memory", heavy) for n_tasks in sizes),
        ("bursting/60", 60, None, "burstable", light),
        ("bursting/200", 200, None, "burstable", light),
        ("bursting/200-heavy", 200, None, "burstable", heavy),
    ]
    for name, n_tasks, classes, catalogue, memory in cases:
        limit = -(-n_tasks // 25)
        kinds = "distinct tasks" if classes is None else f"tasks in {classes} classes"
        yield generate_instance(
            n_tasks,
            name=name,
            classes=classes,
            runtime_s="uniform:60:900",
            memory_mb=memory,
            catalogue=catalogue,
            limit=limit,
            max_on_demand=None,
            tightness=0.35,
            d_spot_fraction=0.9,
            goal="balanced",
            seed=7,
            provenance=Provenance(
                source="spotbag",
                notes=f"Generated: {n_tasks} {kinds} of 60 to 900 s on VMs like m5.large, c5.xlarge and "
                f"{'r5.large' if catalogue == 'memory' else 't2.large'}, at most {limit} of each type and market.",
                generator=GENERATOR,
                seed=7,
            ),
        )


USD_PER_HOUR_OF_A_MILLI_USD_PER_S = 3.6
"""3.6 $/h is 0.001 $/s: prices that can be multiplied by hand."""


def _offers(spot: float | None = None, on_demand: float | None = None, limit: int = 1) -> dict[Market, Offer]:
    """Offers by price in thousandths of a dollar per second."""
    prices: dict[Market, float | None] = {"spot": spot, "on-demand": on_demand}
    return {
        market: Offer(price_usd_per_hour=price * USD_PER_HOUR_OF_A_MILLI_USD_PER_S, limit=limit)
        for market, price in prices.items()
        if price is not None
    }


def _tiny(name: str, optimum: KnownOptimum, **fields: Any) -> Instance:
    return Instance(
        name=f"tiny/{name}",
        provenance=Provenance(source="spotbag", notes="Small enough to be solved by hand.", optimum=optimum),
        objective=Objective(goal="balanced", cost_scale_usd=0.1, makespan_scale_s=100),
        **fields,
    )


_SMALL = Limits(max_on_demand=2)


def _one_task() -> Instance:
    """A spot and an on-demand VM for one task."""
    return _tiny(
        "one-task",
        KnownOptimum(
            objective=0.75,
            cost_usd=0.05,
            makespan_s=100,
            derivation="The spot VM costs 100 s * 0.5 m$ = 0.05, the on-demand VM 0.1, both end at 100 s <= D_spot = 150. "
            "Spot: 0.5 * 0.05 / 0.1 + 0.5 * 100 / 100 = 0.25 + 0.5.",
        ),
        deadline_s=200,
        d_spot_s=150,
        limits=_SMALL,
        vm_types=(VmType(name="a", vcpus=1, memory_mb=1024, gflops=10, offers=_offers(0.5, 1.0)),),
        tasks=(Task(id="t", memory_mb=100, runtime_s={"a": 100}),),
    )


def _two_cores() -> Instance:
    """Instance whose tasks fill two cores evenly."""
    return _tiny(
        "two-cores",
        KnownOptimum(
            objective=0.3,
            cost_usd=0.03,
            makespan_s=30,
            derivation="One VM with two cores. The work is 60 s, so no plan ends before 30 s; 30 on one core and 20 + 10 "
            "on the other ends there. 0.5 * 0.03 / 0.1 + 0.5 * 30 / 100 = 0.15 + 0.15.",
        ),
        deadline_s=100,
        d_spot_s=80,
        limits=_SMALL,
        vm_types=(VmType(name="a", vcpus=2, memory_mb=1024, gflops=10, offers=_offers(1.0)),),
        tasks=(
            Task(id="short", memory_mb=100, runtime_s={"a": 10}),
            Task(id="middle", memory_mb=100, runtime_s={"a": 20}),
            Task(id="long", memory_mb=100, runtime_s={"a": 30}),
        ),
    )


def _too_long_for_spot() -> Instance:
    """A task that ends too late for spot VMs."""
    return _tiny(
        "too-long-for-spot",
        KnownOptimum(
            objective=1.0,
            cost_usd=0.11,
            makespan_s=90,
            derivation="The task of 90 s is over D_spot = 80 and must go on demand: 90 * 1 m$ = 0.09. The task of 40 s "
            "costs 0.02 on the spot VM, or makes the on-demand VM last 130 s > 120 = D. "
            "0.5 * 0.11 / 0.1 + 0.5 * 90 / 100 = 0.55 + 0.45.",
        ),
        deadline_s=120,
        d_spot_s=80,
        limits=_SMALL,
        vm_types=(VmType(name="a", vcpus=1, memory_mb=1024, gflops=10, offers=_offers(0.5, 1.0)),),
        tasks=(
            Task(id="long", memory_mb=100, runtime_s={"a": 90}),
            Task(id="short", memory_mb=100, runtime_s={"a": 40}),
        ),
    )


def _memory_parts_them() -> Instance:
    """Two tasks whose memory does not fit together."""
    return _tiny(
        "memory-parts-them",
        KnownOptimum(
            objective=0.9,
            cost_usd=0.12,
            makespan_s=60,
            derivation="Two tasks of 3000 MB never run together in 4096 MB. One after the other on one VM: 120 s, 0.12 $, "
            "objective 0.6 + 0.6. On two VMs: 60 s each, also 0.12 $: 0.6 + 0.3.",
        ),
        deadline_s=200,
        d_spot_s=150,
        limits=_SMALL,
        vm_types=(VmType(name="a", vcpus=2, memory_mb=4096, gflops=10, offers=_offers(1.0, limit=2)),),
        tasks=(Task(id="t", memory_mb=3000, runtime_s={"a": 60}, count=2),),
    )


def _one_vm_is_enough() -> Instance:
    """Two tasks that a second VM would not end sooner."""
    return _tiny(
        "one-vm-is-enough",
        KnownOptimum(
            objective=0.5,
            cost_usd=0.05,
            makespan_s=50,
            derivation="Two tasks of 50 s fill the two cores of one VM: 0.05 $, 50 s, 0.25 + 0.25. A second VM ends no "
            "sooner and costs another 0.05 $.",
        ),
        deadline_s=100,
        d_spot_s=80,
        limits=_SMALL,
        vm_types=(VmType(name="a", vcpus=2, memory_mb=4096, gflops=10, offers=_offers(1.0, limit=2)),),
        tasks=(Task(id="t", memory_mb=100, runtime_s={"a": 50}, count=2),),
    )


def _fast_or_cheap() -> Instance:
    """Two VM types, the faster of which is dearer."""
    return _tiny(
        "fast-or-cheap",
        KnownOptimum(
            objective=0.7,
            cost_usd=0.08,
            makespan_s=60,
            derivation="Tasks a, b: 40 s on 'fast' (1 m$/s), 60 s on 'cheap' (0.667 m$/s, i.e. 0.04 $ for a task). One on "
            "each: 0.04 + 0.04 $, 60 s: 0.4 + 0.3. Both on fast: 0.08 $, 80 s: 0.4 + 0.4. Both on cheap: 120 s, later "
            "than D_spot = 100.",
        ),
        deadline_s=120,
        d_spot_s=100,
        limits=_SMALL,
        vm_types=(
            VmType(name="fast", vcpus=1, memory_mb=1024, gflops=30, offers=_offers(1.0)),
            VmType(name="cheap", vcpus=1, memory_mb=1024, gflops=20, offers=_offers(2 / 3)),
        ),
        tasks=(Task(id="t", memory_mb=100, runtime_s={"fast": 40, "cheap": 60}, count=2),),
    )


def _checkpoints() -> Instance:
    """Instance with checkpoints, which make a task on a spot VM longer."""
    return _tiny(
        "checkpoints",
        KnownOptimum(
            objective=2.025,
            cost_usd=0.135,
            makespan_s=270,
            derivation="250 s of work; a dump takes 10 s, an interval is 10 / 0.1 = 100 s of work, so 2 checkpoints (after "
            "100 and 200 s) and 270 s on spot: 0.135 $, 0.675 + 1.35. On demand 250 s without checkpoints: 0.25 $, "
            "1.25 + 1.25 = 2.5.",
        ),
        deadline_s=400,
        d_spot_s=300,
        limits=_SMALL,
        checkpoint=Checkpoints(overhead_fraction=0.1, dump_base_s=10),
        vm_types=(VmType(name="a", vcpus=1, memory_mb=1024, gflops=10, offers=_offers(0.5, 1.0)),),
        tasks=(Task(id="t", memory_mb=100, runtime_s={"a": 250}),),
    )


def _credits() -> Instance:
    """A burstable VM with credits for just one task."""
    return _tiny(
        "credits",
        KnownOptimum(
            objective=0.6,
            cost_usd=0.06,
            makespan_s=60,
            derivation="A burstable core at half speed without credits. The task of 60 s at full speed spends 60/60 = 1 "
            "credit and the VM starts with 1: it ends at 60 s, 0.06 $, 0.3 + 0.3. In baseline mode it takes 120 s: 1.2.",
        ),
        deadline_s=200,
        limits=_SMALL,
        vm_types=(
            VmType(
                name="b",
                vcpus=1,
                memory_mb=1024,
                offers=_offers(on_demand=1.0),
                burstable=Burstable(baseline_fraction=0.5, credits_per_hour=30, initial_credits=1),
            ),
        ),
        tasks=(Task(id="t", memory_mb=100, runtime_s={"b": 60}),),
    )


def _boot() -> Instance:
    """Instance whose VMs must boot, and are billed from when they are ready."""
    return _tiny(
        "boot",
        KnownOptimum(
            objective=0.65,
            cost_usd=0.06,
            makespan_s=70,
            derivation="A VM is ready, and billed, 20 s after it was asked for. Tasks of 50 and 10 s. One VM with one core "
            "after the other: 60 s of billing from 20 to 80: 0.06 $, 0.3 + 0.4. Two VMs: 20 + 50 = 70 s, 0.05 + 0.01 $: "
            "0.3 + 0.35.",
        ),
        deadline_s=120,
        d_spot_s=100,
        boot_overhead_s=20,
        limits=_SMALL,
        vm_types=(VmType(name="a", vcpus=1, memory_mb=1024, gflops=10, offers=_offers(1.0, limit=2)),),
        tasks=(
            Task(id="long", memory_mb=100, runtime_s={"a": 50}),
            Task(id="short", memory_mb=100, runtime_s={"a": 10}),
        ),
    )


def tiny_instances() -> Iterator[Instance]:
    """Hand-sized instances. Prices are in m$/s, the objective is ``0.5 cost/0.1 + 0.5 makespan/100``."""
    yield _one_task()
    yield _two_cores()
    yield _too_long_for_spot()
    yield _memory_parts_them()
    yield _one_vm_is_enough()
    yield _fast_or_cheap()
    yield _checkpoints()
    yield _credits()
    yield _boot()


def library() -> Iterator[Instance]:
    """Instances of the library."""
    yield from paper_instances()
    yield from memory_instances()
    yield from distinct_instances()
    yield from everyday_instances()
    yield from tiny_instances()


def main(folder: str) -> None:
    """Write all library instances, streams and hybrid platforms below a folder."""
    for instance in library():
        path = Path(folder) / f"{instance.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_instance(instance, path)
    for stream in library_streams():
        path = Path(folder) / STREAMS / f"{stream.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_stream(stream, path)
    for platform in platforms():
        path = Path(folder) / PLATFORMS / f"{platform.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_platform(platform, path)


if __name__ == "__main__":
    main(sys.argv[1])
