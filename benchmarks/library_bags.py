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
from spotbag.instances.bags.generator import CATALOGUES, generate_instance
from spotbag.instances.entries import Provenance
from spotbag.instances.instance import Instance
from spotbag.instances.library import STREAMS
from spotbag.instances.streams.entries import Application, Job, StreamVmType
from spotbag.instances.streams.run_times import SequenceRunTimes
from spotbag.instances.streams.stream import Stream

from .data_files import drawn_bags

GENERATOR = "python -m spotbag_papers.library_bags"


def instances() -> Iterator[Instance]:
    """Instances of the library that are generated, by ``library.toml``; others are written by hand."""
    for name, given in drawn_bags(str(__package__), "library.toml").items():
        seed, words, types = given["seed"], {"source": "spotbag", "notes": ""}, given.pop("types", None)
        for key in ("source", "notes", "what", "kinds"):
            words[key] = given.pop(key, words.get(key, ""))
        provenance = Provenance(
            source=words["source"], notes=words["notes"].format_map(given | words), generator=GENERATOR, seed=seed
        )
        if types is not None:
            given["catalogue"] = CATALOGUES[given["catalogue"]](given["limit"])[:types]
        yield generate_instance(**{"max_on_demand": None, **given}, goal="balanced", name=name, provenance=provenance)


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
    # The shortest and the longest task are printed: the ends of the list are those of the distribution.
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


def main(folder: str) -> None:
    """Write the instances and streams of the library that are generated below a folder."""
    made = {instance.name: instance.to_text() for instance in instances()}
    made |= {f"{STREAMS}/{stream.name}": stream.to_text() for stream in library_streams()}
    for name, text in made.items():
        path = Path(folder) / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)


if __name__ == "__main__":
    main(sys.argv[1])
