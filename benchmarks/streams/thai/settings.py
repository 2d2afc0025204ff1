"""Settings of the replays of Thai et al.: their stream, and assumptions where the paper is silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.instances.streams.entries import Application
from spotbag.instances.streams.run_times import ConstantRunTimes, NormalRunTimes, RunTimes, UniformRunTimes
from spotbag.instances.streams.stream import Stream
from spotbag.instances.streams.stream_files import library_stream
from spotbag.replay.policies import Given
from spotbag.replay.streams.policies.fixed_fleet import FixedFleet
from spotbag.replay.streams.state import StreamPolicy, StreamState, StreamVm

from ...paper import PaperOptions
from .printed import thai_figures

STREAM = "thai/table2"
KNOWN, UNKNOWN = "known", "unknown"
SEQUENTIAL = "app2"
"""The application that "does not utilise multiple cores" (section 6.2.1)."""

SEQUENTIAL_ON = "m3.large"
"""The VM type whose run times `SEQUENTIAL` has on all types under `ThaiOptions.sequential_app2`."""

EXAMPLE_FRACTION = 0.1
"""Length of the sampling phase in the example of section 4.1, as a fraction of the time to the deadline."""

SAMPLING_FRACTIONS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Lengths of the sampling phase whose effect the paper wants to investigate "later" (section 4.1)."""

_DIGITS = 6
"""Decimals of changed run times: what is beyond is rounding."""

EndsOfFixedVms: TypeAlias = Literal["together", "each"]


@dataclass(frozen=True, slots=True)
class ThaiOptions(PaperOptions):
    """Options of the replays.

    Attributes
    ----------
    run_time_scale : float
        Factor of all run times of ours.
    run_time_spread : float
        Factor of how far they lie from their means; with 0, every task takes the mean.
    sequential_app2 : bool
        Whether app2 takes as long on every VM type as on m3.large, in place of 2.4 times that on m3.medium.
    creation_overhead_s : int
        From the request of a VM until it is ready (beta).
    block_price : {"hour", "sixth"}
        Price of a block of 600 s: what Table 1 states for an hour, or a sixth of it.
    sampling_fraction : float
        Length of the sampling phase of ``unknown``, as a fraction of the time to the deadline.
    paid_blocks : bool
        Whether existing VMs get tasks of a new job only within blocks that are paid anyhow: section 3.2 to the letter,
        in place of Algorithm 1.
    fixed_vms_end : {"together", "each"}
        When the VMs of the fixed settings end: all with the last task, or each at the end of its block once no task
        waits and no job is to come.
    sampling_fractions : tuple of float
        Lengths of the sampling phase that are compared.
    """

    run_time_scale: float = 1.0
    run_time_spread: float = 1.0
    sequential_app2: bool = False
    creation_overhead_s: int = 15
    block_price: Literal["hour", "sixth"] = "hour"
    sampling_fraction: float = EXAMPLE_FRACTION
    paid_blocks: bool = False
    fixed_vms_end: EndsOfFixedVms = "together"
    sampling_fractions: tuple[float, ...] = SAMPLING_FRACTIONS


def thai_stream(options: ThaiOptions) -> Stream:
    """Return the stream of the paper, changed by the options."""
    stream = library_stream(STREAM)
    changes: dict[str, object] = {"creation_overhead_s": options.creation_overhead_s}
    if options.block_price == "sixth":
        share = stream.block_s / SECONDS_PER_HOUR
        changes["vm_types"] = tuple(
            vm_type.model_copy(update={"price_usd_per_block": vm_type.price_usd_per_block * share})
            for vm_type in stream.vm_types
        )
    if (options.run_time_scale, options.run_time_spread, options.sequential_app2) != (1.0, 1.0, False):
        changes["applications"] = tuple(_changed(application, options) for application in stream.applications)
    return stream.replace(**changes)


def without_type(stream: Stream, vm_type: str) -> Stream:
    """Return a stream in which a VM type cannot be rented."""
    return stream.replace(
        vm_types=tuple(entry for entry in stream.vm_types if entry.name != vm_type),
        applications=tuple(
            Application(
                name=application.name,
                runtime_s={name: times for name, times in application.runtime_s.items() if name != vm_type},
            )
            for application in stream.applications
        ),
    )


def fixed_setting(stream: Stream, policy: str, end: EndsOfFixedVms) -> Given[StreamPolicy]:
    """Return the policy of a fixed setting of the paper."""
    if end == "together":
        return policy
    printed = thai_figures().approach(policy)
    assert printed.vm_type is not None
    assert printed.vms is not None
    return partial(_EachEnds, policy, stream.type_names.index(printed.vm_type), printed.vms)


class _EachEnds(FixedFleet):
    """A fixed fleet whose VMs end each for itself, once no task waits and no job is to come."""

    def block_ended(self, replay: StreamState, vm: StreamVm) -> None:
        """Release the VM if there is nothing left for it."""
        if not self._tasks and all(job.submitted_s <= replay.now_s for job in replay.jobs):
            replay.terminate(vm)


def _changed(application: Application, options: ThaiOptions) -> Application:
    run_times = application.runtime_s
    if options.sequential_app2 and application.name == SEQUENTIAL:
        run_times = dict.fromkeys(run_times, run_times[SEQUENTIAL_ON])
    changed = {
        name: _stretched(times, options.run_time_scale, options.run_time_spread) for name, times in run_times.items()
    }
    return Application(name=application.name, runtime_s=changed)


def _stretched(times: RunTimes, scale: float, spread: float) -> RunTimes:
    """Return run times of another mean, at another distance from it."""
    mean_s = scale * float(times.average_s)
    rounded: Callable[[float], float] = partial(round, ndigits=_DIGITS)
    if spread == 0:
        return ConstantRunTimes(distribution="constant", value_s=rounded(mean_s))
    if isinstance(times, UniformRunTimes):
        half_s = scale * spread * (times.high_s - times.low_s) / 2
        return UniformRunTimes(distribution="uniform", low_s=rounded(mean_s - half_s), high_s=rounded(mean_s + half_s))
    assert isinstance(times, NormalRunTimes), times
    sd_s = rounded(scale * spread * times.sd_s)
    return NormalRunTimes(distribution="normal", mean_s=rounded(mean_s), sd_s=sd_s)
