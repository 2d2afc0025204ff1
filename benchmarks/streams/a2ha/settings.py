"""Settings of the replays of the A2HA paper: its jobs and ratios, and assumptions where it is silent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from spotbag.core.quantities import FloatArray
from spotbag.instances.streams.run_times import SequenceRunTimes
from spotbag.instances.streams.stream import Stream
from spotbag.instances.streams.stream_files import library_stream
from spotbag.replay.streams.policies.a2ha import A2haSettings, LongTasks, Rounding

from ...paper import PaperOptions

SHORT_JOBS = ("image", "synthetic", "test-suite")
LONG_JOB = "long"
RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""creationRatio and increaseRatio in the sweeps; the paper does not say which it took."""

Ratios: TypeAlias = tuple[float, float]
Style: TypeAlias = Literal["conservative", "aggressive"]
CONSERVATIVE: Ratios = (0.5, 0.5)
AGGRESSIVE: Ratios = (0.75, 0.75)
STYLES: dict[Style, Ratios] = {"conservative": CONSERVATIVE, "aggressive": AGGRESSIVE}
"""creationRatio and increaseRatio of section 4.2."""

READINGS: tuple[LongTasks, ...] = ("new", "total")
"""Rules for long tasks that Table 2 is also replayed with, in the conservative style."""

TWICE = 2.0
"""The budget factor of the user of section 3.1."""

_LIBRARY_MEAN_S = 60
"""Mean run time of a task of the test suite."""


@dataclass(frozen=True, slots=True)
class A2haOptions(PaperOptions):
    """Options of the replays.

    Attributes
    ----------
    optimum_s : float
        Seconds for the least wall time of one ordering, at most; the search ends when it is proved.
    optimum_runs : int
        Orderings, the first ones, for which that is sought.
    boot_s : int
        Time until a host is ready (section 4).
    style : {"conservative", "aggressive"}
        Ratios with which statements are judged where the paper does not say which it took: Tables 1 and 2.
    long_tasks, host_processing_time_s, rounding
        See `A2haSettings`.
    image_shape : {"beta", "gamma"}
        Distribution of the run times of the image job, whose mean and standard deviation are printed.
    suite_mean_s : float
        Mean run time of the test suite, printed as a minute.
    """

    optimum_s: float = 60.0
    optimum_runs: int = 10
    boot_s: int = 300
    style: Style = "conservative"
    long_tasks: LongTasks = "untaken"
    host_processing_time_s: int | None = None
    rounding: Rounding = "up"
    image_shape: Literal["beta", "gamma"] = "beta"
    suite_mean_s: float = _LIBRARY_MEAN_S

    @property
    def seeds(self) -> range:
        """Seeds of the orderings."""
        return range(self.seed, self.seed + self.runs)

    @property
    def optimum_seeds(self) -> range:
        """Seeds of the orderings whose least wall time is sought."""
        return self.seeds[: self.optimum_runs]

    def heuristic(self, ratios: Ratios, **more: Any) -> A2haSettings:
        """Return settings of the heuristic."""
        fixed = {
            "long_tasks": self.long_tasks,
            "host_processing_time_s": self.host_processing_time_s,
            "rounding": self.rounding,
        }
        return A2haSettings(*ratios, **(fixed | more))

    def stream(self, job: str) -> Stream:
        """Return a job of the paper."""
        stream = library_stream(f"a2ha/{job}")
        seconds: FloatArray | None = None
        if job == "image" and self.image_shape == "gamma":
            seconds = _gamma_s(_sequence_s(stream), 220, 125)
        elif job == "test-suite" and self.suite_mean_s != _LIBRARY_MEAN_S:
            seconds = _sequence_s(stream) * self.suite_mean_s / _LIBRARY_MEAN_S
        changes: dict[str, Any] = {"creation_overhead_s": self.boot_s}
        if seconds is not None:
            [application] = stream.applications
            run_times = SequenceRunTimes(sequence_s=tuple(np.maximum(np.round(seconds), 1).astype(int).tolist()))
            changes["applications"] = (application.model_copy(update={"runtime_s": {"host": run_times}}),)
        return stream.model_copy(update=changes)


def _sequence_s(stream: Stream) -> FloatArray:
    run_times = stream.applications[0].runtime_s["host"]
    assert isinstance(run_times, SequenceRunTimes)
    return np.array(run_times.sequence_s, dtype=float)


def _gamma_s(seconds: FloatArray, mean_s: float, sd_s: float) -> FloatArray:
    """Quantiles of a gamma distribution in the order of other run times."""
    from scipy.special import gammaincinv

    levels = (np.argsort(np.argsort(seconds)) + 0.5) / len(seconds)
    found: FloatArray = gammaincinv((mean_s / sd_s) ** 2, levels) * sd_s**2 / mean_s
    return found


def sweep_ratios() -> Iterator[Ratios]:
    """Both ratios of the sweeps, creationRatio first; at a creationRatio of 1 there is nothing to increase."""
    for creation in RATIOS:
        for increase in RATIOS if creation < 1 else RATIOS[-1:]:
            yield creation, increase
