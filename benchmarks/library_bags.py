"""Writes the generated files of the library: ``python -m spotbag_papers.library_bags FOLDER``.

The jobs of the papers are generated: the papers print only their number of tasks and the minimum, mean and maximum
of run time and memory. Files whose provenance names no generator are written by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from spotbag.core.quantities import SECONDS_PER_HOUR, FloatArray
from spotbag.core.text_files import write_text
from spotbag.instances.bags.catalogue import CATALOGUES
from spotbag.instances.bags.generator import Distribution, generate_instance
from spotbag.instances.entries import Provenance
from spotbag.instances.instance import Instance
from spotbag.instances.library import STREAMS
from spotbag.instances.streams.entries import Application, Job, StreamVmType
from spotbag.instances.streams.run_times import SequenceRunTimes
from spotbag.instances.streams.stream import Stream

GENERATOR = "python -m spotbag_papers.library_bags"

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


_A2HA = (
    "Silva, Veiga, Ferreira 2011, A2HA - automatic and adaptive host allocation in utility computing for bag-of-tasks"
)
_MONTH_S = 30 * 24 * SECONDS_PER_HOUR


def library_streams() -> Iterator[Stream]:
    """Streams of A2HA, section 4, that stand for real jobs: lists of run times that have what is printed about them."""
    yield _a2ha_job(
        "image",
        "256 tasks as of an image that is rendered: 220 s on average, up to 9 minutes apart.",
        _image_s(),
        "Printed: 256 tasks, 220 s on average, standard deviation 125 s, the longest about 9 minutes above the "
        "shortest, some tasks of about 25 s. Ours: the run times themselves, which are in Fig. 8a only: quantiles of a "
        "beta distribution from 25 to 565 s.",
    )
    yield _a2ha_job(
        "test-suite",
        "1480 tasks as of a test suite: most are short, few take more than a quarter of an hour.",
        _test_suite_s(),
        "Printed: 1480 tasks, a minute on average, half of them shorter than 30 s, few longer than 15 minutes. Ours: "
        "the run times themselves, which are in Fig. 8c only: quantiles of a lognormal distribution.",
    )


def _a2ha_job(name: str, description: str, seconds: FloatArray, notes: str) -> Stream:
    """Stream of one job, whose tasks have some run times in random order."""
    n_tasks = seed = len(seconds)
    shuffled = np.random.default_rng(seed).permutation(np.maximum(np.round(seconds), 1).astype(int))
    run_times = SequenceRunTimes(sequence_s=tuple(shuffled.tolist()))
    return Stream(
        name=f"a2ha/{name}",
        description=description,
        provenance=Provenance(
            source=f"{_A2HA}: section 4",
            notes=f"{notes} Billed by the hour, 5 minutes to boot, as printed; a price of 1 makes costs the hours that "
            "are paid. The paper has no deadlines: 30 days are none.",
            generator=GENERATOR,
            seed=seed,
        ),
        block_s=SECONDS_PER_HOUR,
        creation_overhead_s=300,
        vm_types=(StreamVmType(name="host", price_usd_per_block=1),),
        applications=(Application(name=name, runtime_s={"host": run_times}),),
        jobs=(Job(id=name, application=name, submitted_s=0, deadline_s=_MONTH_S, n_tasks=n_tasks),),
    )


def _levels(count: int) -> FloatArray:
    return (np.arange(count) + 0.5) / count


def _image_s() -> FloatArray:
    """Mean 220 s, standard deviation 125 s, from 25 to 565 s."""
    from scipy.special import betaincinv

    low_s, high_s, mean_s, sd_s = 25, 565, 220, 125
    mean, sd = (mean_s - low_s) / (high_s - low_s), sd_s / (high_s - low_s)
    concentration = mean * (1 - mean) / sd**2 - 1
    quantiles = betaincinv(mean * concentration, (1 - mean) * concentration, _levels(256))
    quantiles[[0, -1]] = 0, 1
    seconds: FloatArray = low_s + (high_s - low_s) * quantiles
    return seconds


def _test_suite_s() -> FloatArray:
    """Mean 60 s; a median of 25 s leaves few beyond 900 s."""
    from scipy.special import ndtri

    mean_s, median_s = 60, 25
    deviation = (2 * np.log(mean_s / median_s)) ** 0.5
    seconds: FloatArray = median_s * np.exp(deviation * ndtri(_levels(1480)))
    return seconds


def library() -> Iterator[Instance]:
    """Instances of the library that are generated; those without a generator in their provenance are written by hand."""
    yield from paper_instances()
    yield from memory_instances()
    yield from distinct_instances()
    yield from everyday_instances()


def main(folder: str) -> None:
    """Write the instances and streams of the library that are generated below a folder."""
    made = {instance.name: instance.to_text() for instance in library()}
    made |= {f"{STREAMS}/{stream.name}": stream.to_text() for stream in library_streams()}
    for name, text in made.items():
        path = Path(folder) / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)


if __name__ == "__main__":
    main(sys.argv[1])
