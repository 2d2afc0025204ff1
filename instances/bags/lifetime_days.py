"""Days on which each spot VM has a lifetime of a bathtub's shape: many go early, few in the middle, all by an end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...core.quantities import SECONDS_PER_HOUR, Name
from ...core.records import Record
from ..entries import CloudName
from .day_draws import horizon_s, refuse_endless_day, spot_types, uniform_numbers
from .shock_days import SCENARIO_FORMAT, VMS_A_PLACE
from .timeline import Timeline, TimelineEvent, unchecked_timeline

if TYPE_CHECKING:
    from ...core.quantities import FloatArray
    from ..instance import Instance

Scale = Annotated[float, Field(gt=0, le=1e9)]
_HALVINGS = 64
"""Halvings of the range of lifetimes until no number lies between its ends."""


class BathtubScenario(Record):
    """Lifetimes of single VMs of a bathtub's shape, as of VMs that a provider takes away within a day at the latest.

    A VM that is ready for the first time lives for so long that ``F(t) = A (1 - exp(-t / tau1) + exp((t - b) / tau2))``
    is the probability that it is gone by the age *t*, up to where *F* is 1 (Kadupitiya, Jadhao and Sharma, Modeling the
    Temporally Constrained Preemptions of Transient Cloud VMs, HPDC 2020). It does not come back.

    Attributes
    ----------
    name : str
        What it is called.
    cloud : str, optional
        Whose rules hold; see `spotbag.instances.clouds`.
    amplitude : float
        *A*: about the share that goes early.
    early_scale_s, late_scale_s : float
        *tau1* and *tau2*: how fast losses fade after the start, and how fast they come on before the end.
    end_age_s : float
        *b*: the age at which all VMs are about to be gone.

    Notes
    -----
    A day depends on the seed, its number, the numbers here, the deadline, and for each VM type on its position in the
    catalogue and its spot limit; not on what policies do. A lifetime is of the VM of a type that is requested as the
    first, second, ..., whenever that is: the first three for each place within the spot limit; those after them stay.
    """

    format: Literal["spotbag.scenario/1"] = SCENARIO_FORMAT
    kind: Literal["bathtub"] = "bathtub"
    name: Name = "bathtub"
    cloud: CloudName | None = None
    amplitude: Annotated[float, Field(gt=0, le=1)] = 0.45
    early_scale_s: Scale = 3600.0
    late_scale_s: Scale = 2880.0
    end_age_s: Annotated[float, Field(ge=0, le=1e9)] = 86_400.0

    fixed: ClassVar[bool] = False
    """False: no two days are the same."""

    @property
    def law(self) -> Mapping[str, float | None]:
        """Rates for policies that ask for them: one loss in a mean lifetime, of the VM alone, for good."""
        return {
            "vm_interruptions_per_hour": SECONDS_PER_HOUR / self.mean_s,
            "type_interruptions_per_hour": 0.0,
            "mean_outage_s": None,
        }

    def gone_by(self, age_s: FloatArray) -> FloatArray:
        """Probability of the end of a VM by an age: *F*, at most 1."""
        early = -np.expm1(-age_s / self.early_scale_s)
        # Far above the end the exponential is cut off: the probability is 1 long before.
        late = np.exp(np.minimum((age_s - self.end_age_s) / self.late_scale_s, 700.0))
        return np.minimum(self.amplitude * (early + late), 1.0)

    def ages_s(self, probabilities: FloatArray) -> FloatArray:
        """Ages at which a VM is gone with given probabilities: the inverse of `gone_by`, 0 below its first value."""
        low = np.zeros_like(probabilities)
        # By this age the second exponential alone is 1.
        high = np.full_like(probabilities, max(self.end_age_s - self.late_scale_s * np.log(self.amplitude), 0.0))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            gone = self.gone_by(middle) >= probabilities
            low, high = np.where(gone, low, middle), np.where(gone, middle, high)
        return np.where(self.gone_by(np.zeros_like(high)) >= probabilities, 0.0, high)

    @property
    def mean_s(self) -> float:
        """Mean lifetime: the integral of ``1 - F`` up to the last age."""
        last = self.ages_s(np.ones(1))
        early = last + self.early_scale_s * np.expm1(-last / self.early_scale_s)
        late = self.late_scale_s * (
            np.exp((last - self.end_age_s) / self.late_scale_s) - np.exp(-self.end_age_s / self.late_scale_s)
        )
        return max(float((last - self.amplitude * (early + late))[0]), 1.0)

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Draw a day; see `Scenario.day`."""
        until_s, types = horizon_s(instance), spot_types(instance)
        numbers = [VMS_A_PLACE * instance.vm_types[index].offers["spot"].limit for index, _ in types]
        refuse_endless_day(self.name, sum(numbers))
        events = []
        for (index, name), n in zip(types, numbers, strict=True):
            ages_s = np.ceil(self.ages_s(uniform_numbers(seed, day, [index], n)[0])).astype(np.int64)
            events += [
                TimelineEvent(0, name, "interrupt", vm=vm, age_s=age_s)
                for vm, age_s in enumerate(ages_s.tolist(), start=1)
                if age_s <= until_s
            ]
        return unchecked_timeline(f"{self.name}, seed {seed}, day {day}", events)
