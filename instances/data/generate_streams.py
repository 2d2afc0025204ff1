"""The streams of the library; `spotbag.instances.data.generate` writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core.quantities import SECONDS_PER_HOUR, FloatArray
from ..entries import Provenance
from ..streams.entries import Application, Job, StreamVmType
from ..streams.run_times import ConstantRunTimes, NormalRunTimes, RunTimes, SequenceRunTimes, UniformRunTimes
from ..streams.stream import Stream

GENERATOR = "python -m spotbag.instances.data.generate"

_M3 = {"m3.medium": (1, 3840, 0.073), "m3.large": (2, 7680, 0.146), "m3.xlarge": (4, 15360, 0.293)}
"""VM type: vCPUs, memory in MB, price; Thai et al. 2015, Table 1."""


def library_streams() -> Iterator[Stream]:
    """Streams of the library."""
    yield from _a2ha()
    yield _table2()
    yield _two_jobs()


def _table2() -> Stream:
    compression, learning, simulation = (42, 21, 17), (40, 17, 17), (48, 24, 12)
    rows = [("app1", 0, 50), ("app2", 300, 50), ("app3", 600, 50)]
    rows += [("app1", 900, 100), ("app2", 1200, 100), ("app3", 1500, 100)]
    return Stream(
        name="thai/table2",
        description="Six jobs of three applications, 300 s apart, each with 600 s until its deadline.",
        provenance=Provenance(
            source="Thai, Varghese, Barker 2015, Minimising the Execution of Unknown Bag-of-Task Jobs with Deadlines "
            "on the Cloud: Tables 1 and 2, sections 6.2 and 6.2.1",
            notes="Printed: jobs (Table 2), VM types and prices (Table 1), block of 600 s, creation overhead of 15 s "
            "(printed as Theta, which is the block). The price that Table 1 prints per hour is taken per block of 600 "
            "s. Not printed: the run times, which were in Figure 1. Ours: app1 (lbzip2, parallel with communication, "
            "files of 500 MB to 1 GB) uniform from 2/3 to 4/3 of the mean, as 1:2 as the files; app2 (SVMlight, "
            "sequential, the same on m3.large and m3.xlarge, files of 100 to 500 MB) uniform from 1/3 to 5/3 of the "
            "mean, as 1:5 as the files; app3 (molecular dynamics, linear in the cores, negligible variation) normal, "
            "standard deviation 1 % of the mean. The shapes follow section 6.2.1. The scale is chosen so that the "
            "total work is what the blocks behind Table 3 imply, as the fixed settings are busy nearly all the time: "
            "450 tasks in 6 blocks of 2 m3.xlarge are 13 to 16 s each, in 5 blocks of 8 or 4 of 10 m3.medium 43 to 53 "
            "s, in about 4 of 4 m3.large 21 s at most. So the block counts of the fixed settings are no independent "
            "check. Against the text: app2 is 2.4 times as long on m3.medium as on m3.large, where a sequential "
            "program should gain little (3 and 3.25 ECU a core); but if it gained nothing, and no application more "
            "than a factor of two for twice the cores, 43 s on m3.medium would be more than 21 s on m3.large allow. "
            "For the same reason m3.xlarge is 2.4 to 4 times as fast as m3.medium, although section 6.3 sees no "
            "significant speed-up: its 6 blocks for 2 m3.xlarge against 5 for 8 m3.medium say a factor of 3.",
        ),
        block_s=600,
        creation_overhead_s=15,
        vm_types=tuple(
            StreamVmType(name=name, price_usd_per_block=price, vcpus=vcpus, memory_mb=memory_mb)
            for name, (vcpus, memory_mb, price) in _M3.items()
        ),
        applications=(
            _application("app1", "file compression with lbzip2", [_uniform(mean, 2, 4) for mean in compression]),
            _application("app2", "machine learning with SVMlight", [_uniform(mean, 1, 5) for mean in learning]),
            _application("app3", "molecular dynamics of 250 particles", [_normal(mean) for mean in simulation]),
        ),
        jobs=tuple(
            Job(id=f"j{number}", application=name, submitted_s=at_s, deadline_s=at_s + 600, n_tasks=n_tasks)
            for number, (name, at_s, n_tasks) in enumerate(rows, start=1)
        ),
    )


def _application(name: str, description: str, run_times: Sequence[RunTimes]) -> Application:
    return Application(name=name, description=description, runtime_s=dict(zip(_M3, run_times, strict=True)))


def _uniform(mean_s: int, low_thirds: int, high_thirds: int) -> UniformRunTimes:
    """Uniform between thirds of a mean, in milliseconds: one is rounded up, the other down, so that the mean stays."""
    low_s, high_s = round(mean_s * low_thirds / 3, 3), round(mean_s * high_thirds / 3, 3)
    return UniformRunTimes(distribution="uniform", low_s=low_s, high_s=high_s)


def _normal(mean_s: int) -> NormalRunTimes:
    return NormalRunTimes(distribution="normal", mean_s=mean_s, sd_s=round(mean_s / 100, 3))


def _constant(value_s: int) -> ConstantRunTimes:
    return ConstantRunTimes(distribution="constant", value_s=value_s)


_A2HA = (
    "Silva, Veiga, Ferreira 2011, A2HA - automatic and adaptive host allocation in utility computing for bag-of-tasks"
)
_MONTH_S = 30 * 24 * SECONDS_PER_HOUR


def _a2ha() -> Iterator[Stream]:
    """The jobs of section 4; the two real ones are lists of run times that have what is printed about them."""
    yield _a2ha_job(
        "synthetic",
        "256 tasks of 150 s on average.",
        256,
        NormalRunTimes(distribution="normal", mean_s=150, sd_s=30),
        "Printed: 256 tasks, normal, 150 s on average, standard deviation 30 s. Ours: cut off at 15 and 285 s.",
    )
    yield _a2ha_job(
        "long",
        "256 tasks of 1.5 hours on average, longer than what is billed at once.",
        256,
        NormalRunTimes(distribution="normal", mean_s=5400, sd_s=1200),
        "Printed: 256 tasks, normal, 1.5 hours on average, standard deviation 20 minutes. Ours: cut off at 540 and "
        "10260 s. The reference rows of Table 2 (one host per task: 2.43 h, 512 h) are those of hosts that are ready "
        "at once.",
    )
    yield _a2ha_job(
        "image",
        "256 tasks as of an image that is rendered: 220 s on average, up to 9 minutes apart.",
        256,
        _in_random_order(_image_s(), 256),
        "Printed: 256 tasks, 220 s on average, standard deviation 125 s, the longest about 9 minutes above the "
        "shortest, some tasks of about 25 s. Ours: the run times themselves, which are in Fig. 8a only: quantiles of a "
        "beta distribution from 25 to 565 s.",
        seed=256,
    )
    yield _a2ha_job(
        "test-suite",
        "1480 tasks as of a test suite: most are short, few take more than a quarter of an hour.",
        1480,
        _in_random_order(_test_suite_s(), 1480),
        "Printed: 1480 tasks, a minute on average, half of them shorter than 30 s, few longer than 15 minutes. Ours: "
        "the run times themselves, which are in Fig. 8c only: quantiles of a lognormal distribution.",
        seed=1480,
    )


def _a2ha_job(
    name: str, description: str, n_tasks: int, run_times: RunTimes, notes: str, seed: int | None = None
) -> Stream:
    made: dict[str, Any] = {} if seed is None else {"generator": GENERATOR, "seed": seed}
    return Stream(
        name=f"a2ha/{name}",
        description=description,
        provenance=Provenance(
            source=f"{_A2HA}: section 4",
            notes=f"{notes} Billed by the hour, 5 minutes to boot, as printed; a price of 1 makes costs the hours that "
            "are paid. The paper has no deadlines: 30 days are none.",
            **made,
        ),
        block_s=SECONDS_PER_HOUR,
        creation_overhead_s=300,
        vm_types=(StreamVmType(name="host", price_usd_per_block=1),),
        applications=(Application(name=name, runtime_s={"host": run_times}),),
        jobs=(Job(id=name, application=name, submitted_s=0, deadline_s=_MONTH_S, n_tasks=n_tasks),),
    )


def _in_random_order(seconds: FloatArray, seed: int) -> SequenceRunTimes:
    shuffled = np.random.default_rng(seed).permutation(np.maximum(np.round(seconds), 1).astype(int))
    return SequenceRunTimes(sequence_s=tuple(shuffled.tolist()))


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


def _two_jobs() -> Stream:
    return Stream(
        name="tiny/two-jobs",
        provenance=Provenance(source="spotbag", notes="Small enough to be followed by hand."),
        block_s=100,
        creation_overhead_s=10,
        vm_types=(
            StreamVmType(name="small", price_usd_per_block=1),
            StreamVmType(name="big", price_usd_per_block=3, vcpus=2),
        ),
        applications=(
            Application(name="sort", runtime_s={"small": _constant(40), "big": _constant(20)}),
            Application(name="render", runtime_s={"big": _constant(30)}),
        ),
        jobs=(
            Job(id="first", application="sort", submitted_s=0, deadline_s=100, n_tasks=4),
            Job(id="second", application="render", submitted_s=50, deadline_s=150, n_tasks=2),
        ),
    )
