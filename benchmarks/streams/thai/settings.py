"""Settings of the replays of Thai et al.: printed numbers, their stream, assumptions where the paper is silent."""

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
from spotbag.replay.streams.outcome import violation_cost_usd
from spotbag.replay.streams.policies.fixed_fleet import FixedFleet
from spotbag.replay.streams.state import StreamPolicy, StreamState, StreamVm

from ...data_files import Figures, read_figures
from ...paper import PaperOptions

QuantityName: TypeAlias = Literal["cost_usd", "late_tasks", "violation_cost_usd"]
QUANTITIES: tuple[QuantityName, ...] = ("cost_usd", "late_tasks", "violation_cost_usd")
RatioUnit: TypeAlias = Literal["percent_more", "times"]


class ThaiFigures(Figures):
    """Printed figures of Thai et al.

    ``runs`` are those of which Table 3 shows means, ``n_tasks`` those of all jobs of Table 2, and ``block_usd`` prices
    of VM types for a block (Table 1, see `implied_blocks`).

    ``approaches`` are the rows of Table 3, fixed settings with their VMs (section 6.2.2). ``ratios`` are those of two
    approaches that the text states: by how many percent the one is above the other, or how many times the other it is;
    ``relation`` is how the ratio is to the number.
    """

    @property
    def policies(self) -> tuple[str, ...]:
        """Approaches in the order of Table 3."""
        return tuple(approach.policy for approach in self.approaches)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The fixed settings."""
        return tuple(approach.policy for approach in self.approaches if approach.vms is not None)

    def approach(self, policy: str) -> Figures:
        """Return a row of Table 3."""
        return self.row("approaches", policy=policy)

    def stated(self, policy: str, quantity: QuantityName) -> float:
        """Return a ratio of the text."""
        return float(self.row("ratios", policy=policy, quantity=quantity).printed)

    def violation_cost_usd(self, policy: str) -> float:
        """Recompute the violation cost from Table 3 by eq. 7 and 8; Fig. 3 shows it in a picture only."""
        printed = self.approach(policy)
        found = violation_cost_usd(printed.cost_usd, printed.late_tasks, self.n_tasks)
        assert found is not None, "some tasks are in time"
        return found

    def implied_blocks(self, policy: str) -> float | None:
        """Blocks paid by the printed cost of a fixed setting; None for the others.

        The price that Table 1 gives for an hour is charged for a block: medium.10 and large.5 cost 4 blocks of all
        their VMs exactly.
        """
        printed = self.approach(policy)
        return None if printed.vm_type is None else float(printed.cost_usd / self.block_usd[printed.vm_type])

    def ratio(self, policy: str, against: str, quantity: QuantityName, unit: RatioUnit) -> float:
        """Recompute a ratio from Table 3."""
        times = self._number(policy, quantity) / self._number(against, quantity)
        return times if unit == "times" else 100 * (times - 1)

    def _number(self, policy: str, quantity: QuantityName) -> float:
        if quantity == "violation_cost_usd":
            return self.violation_cost_usd(policy)
        return float(getattr(self.approach(policy), quantity))


def thai_figures() -> ThaiFigures:
    """Read the printed figures of Thai et al."""
    return read_figures(ThaiFigures, __package__, "thai.json")


# ---------------------------------------------------------------------------- settings


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
