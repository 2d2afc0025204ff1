"""Options of scenarios: rates, and how recorded traces are read."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .arguments import ZoneOption, quantity_or
from .completion import names_of

if TYPE_CHECKING:
    from ..instances.bags.scripted_days import Scenario
    from ..instances.instance import Instance

_PANEL = "Options for the days to come"
USUAL_DAYS = 200
USUAL_POLICY = "on-time"


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """Options by which a scenario is found; a command has them by a parameter of this type (see `arguments.spread`)."""

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
    zone: ZoneOption = None
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


@dataclass(frozen=True, kw_only=True)
class DaysToComeOptions:
    """For which days a plan is chosen; a command has them by a parameter of this type (see `arguments.spread`)."""

    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario",
            "-s",
            metavar="NAME",
            autocompletion=names_of("instances.bags.scenarios", "SCENARIOS"),
            help="Choose the plan with the least mean cost on such days; a name or a file, see 'spotbag replay'.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            autocompletion=names_of("replay.bags.policies", "KIND.names"),
            help=f"What answers to interruptions then; {USUAL_POLICY} if absent.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    days: Annotated[
        int | None,
        typer.Option(
            "--days",
            metavar="N",
            min=1,
            help=f"Most days of the choice, and days of the report; {USUAL_DAYS} if absent.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    late: Annotated[
        str | None,
        typer.Option(
            "--late",
            metavar="least|USD",
            parser=quantity_or("least", "--late", "amount_usd"),
            help="least: if no plan ends in time, as few tasks late as can be, then as little late (exit code 3). With "
            "--scenario, what a day that misses the deadline counts more; ten times the bag on demand if absent.",
        ),
    ] = None
    workers: Annotated[
        int, typer.Option("--workers", "-w", metavar="W", min=1, help="Processes.", rich_help_panel=_PANEL)
    ] = 1

    def demand_scenario(self, scenarios: ScenarioOptions) -> None:
        """Refuse options that say something of days where there is no scenario."""
        from ..core.errors import SpotbagError

        for options in (self, scenarios):
            for field in dataclasses.fields(options):
                # A zone is of the prices of a file of tasks as well, which says itself if it changes nothing.
                given = getattr(options, field.name) != field.default and field.name != "zone"
                if self.scenario is None and given:
                    name = field.name.replace("_", "-")
                    raise SpotbagError(f"--{name} is about the days to come: give --scenario as well")


def notes_of(scenario: Scenario, instance: Instance) -> list[str]:
    """Return warnings about a scenario on an instance, for users who might trust it; those of prices have some."""
    notes = getattr(scenario, "notes", None)
    return [] if notes is None else notes(instance)
