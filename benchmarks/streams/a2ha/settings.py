"""Settings of the replays of the A2HA paper: its printed numbers, jobs, ratios; assumptions where it is silent."""

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

from ...data_files import Figures, read_figures
from ...paper import PaperOptions
from ..unit_bounds import hosts_by_formula

USABLE_S = 3300
"""Usable seconds of a paid hour, as the paper's formula has it."""


class A2haFigures(Figures):
    """Printed figures of the A2HA paper, which shows means of so many ``orderings``.

    ``jobs`` are those of short tasks (section 4, Table 1). ``long`` are the rows of Table 2, means and standard
    deviations; those of the heuristic have the number of hosts at first (``initial_hosts``).
    """

    @property
    def prediction(self) -> Figures:
        """Figs 4 and 6, as far as the text says: of one ordering of the image job.

        Average and prediction are near their final values after ``tasks``; ``first_hosts`` are predicted at first and
        ``final_hosts`` in the end. With the ``creation_ratio`` of Fig. 6b, ``created_hosts`` are created at first; it
        is 1 after ``full_ratio_tasks``, and the number of hosts near the final one.
        """
        found: Figures = self.predictions[0]
        return found

    def job(self, name: str) -> Figures:
        """Return a job of short tasks."""
        return self.row("jobs", job=name)

    def case(self, name: str) -> Figures:
        """Return a row of Table 2."""
        return self.row("long", case=name)

    def formula_hosts(self, job: str) -> int:
        """Optimal number of hosts by the paper's formula from its own numbers."""
        printed = self.job(job)
        return hosts_by_formula(printed.n_tasks, printed.mean_s)

    def means_of_optimal_s(self, job: str) -> tuple[float, float]:
        """Mean run times of which the formula makes the printed number: more than the one, up to the other."""
        printed = self.job(job)
        low, high = (hosts * USABLE_S / printed.n_tasks for hosts in (printed.optimal_hosts - 1, printed.optimal_hosts))
        return low, high

    @property
    def heuristic_cases(self) -> tuple[Figures, ...]:
        """Rows of Table 2 that the heuristic makes."""
        return tuple(case for case in self.long if case.initial_hosts is not None)

    @property
    def long_cases(self) -> dict[int, int]:
        """Hosts in all by the number of initial hosts (Table 2)."""
        return {case.initial_hosts: round(case.hosts) for case in self.heuristic_cases}


def a2ha_figures() -> A2haFigures:
    """Read the printed figures of the A2HA paper."""
    return read_figures(A2haFigures, __package__, "a2ha.json")


# ---------------------------------------------------------------------------- settings


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

# Names of tables, and of what they say of the time to boot.
AT_ONCE, BOOTING = "no boot", "5 min boot"
OPTIMAL_HOSTS, SWEEP, NOT_KNOWING = "optimal hosts", "Figs 9-11", "not knowing"
REFERENCES, BUDGET = "reference lines", "budget factor"
SPEEDUPS, BY_HOSTS = "Fig. 12", "Fig. 12, by hosts"

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
            # Run times are whole seconds, and there is no task of none.
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

    # The longest task stays the longest: only the distribution differs.
    levels = (np.argsort(np.argsort(seconds)) + 0.5) / len(seconds)
    found: FloatArray = gammaincinv((mean_s / sd_s) ** 2, levels) * sd_s**2 / mean_s
    return found


def sweep_ratios() -> Iterator[Ratios]:
    """Both ratios of the sweeps, creationRatio first; at a creationRatio of 1 there is nothing to increase."""
    for creation in RATIOS:
        for increase in RATIOS if creation < 1 else RATIOS[-1:]:
            yield creation, increase


def sweep_name(ratios: Ratios) -> str:
    """Name of a setting of the sweeps."""
    return f"{ratios[0]:g} / {ratios[1]:g}"
