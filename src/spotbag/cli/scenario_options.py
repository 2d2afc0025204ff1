"""Options of scenarios: rates, and how recorded traces are read."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..instances.bags.scripted_days import Scenario
    from ..instances.instance import Instance


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """How a scenario is found; a command has them by a parameter of this type (see `arguments.spread`)."""

    k_h: Annotated[
        float | None,
        typer.Option("--k-h", metavar="X", help="Hibernations of a type expected by the deadline (poisson)."),
    ] = None
    k_r: Annotated[float | None, typer.Option("--k-r", metavar="X", help="Resumes, likewise (poisson).")] = None
    rate_scale: Annotated[
        float, typer.Option("--rate-scale", metavar="R", help="Multiplies both rates of a Poisson scenario.")
    ] = 1.0
    one_means: Annotated[
        str | None,
        typer.Option(
            "--one-means", metavar="STATE", help="What 1 means in an availability trace: available or preempted."
        ),
    ] = None
    vms_per_one: Annotated[
        str | None,
        typer.Option(
            "--vms-per-one",
            metavar="N",
            help="VMs that it stands for, or all; if absent, all in a trace of 0 and 1, else 1.",
        ),
    ] = None
    zone: Annotated[
        str | None, typer.Option("--zone", metavar="ZONE", help="Availability zone whose prices count (price history).")
    ] = None
    product: Annotated[
        str | None,
        typer.Option("--product", metavar="NAME", help="Product whose prices count; Linux/UNIX if absent."),
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="When days of a price history start: 2026-07-09T12:00Z; drawn if absent."
        ),
    ] = None

    def find(self, text: str) -> Scenario:
        """Find a scenario by its name, or read it."""
        from ..core.quantities import number_of
        from ..instances.bags.scenarios import find_scenario

        options = dataclasses.asdict(self)
        if self.vms_per_one is not None:
            number = number_of(self.vms_per_one)
            options["vms_per_one"] = self.vms_per_one if number is None else number
        return find_scenario(text, **options)


def notes_of(scenario: Scenario, instance: Instance) -> list[str]:
    """What users should know of a scenario before they trust it with an instance."""
    from ..instances.bags.price_days import PriceScenario

    return scenario.notes(instance) if isinstance(scenario, PriceScenario) else []
