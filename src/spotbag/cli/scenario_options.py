"""Options of scenarios and clouds: rates, how recorded traces are read, what clouds do to VMs, and how they bill."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from ..core.errors import SpotbagError
from .arguments import zone_option
from .options import duration_option, given_options, names_of, option, seconds_option

if TYPE_CHECKING:
    from ..instances.bags.scripted_days import Scenario
    from ..instances.clouds import Cloud
    from ..instances.instance import Instance

_of_days = partial(option, panel="Options for the days to come")
_OF_CLOUD = "Options for what the cloud does"
_seconds = partial(seconds_option, panel=_OF_CLOUD)
_rate = partial(option, "USD", min=0, panel=_OF_CLOUD)
SCENARIOS = names_of("instances.bags.scenarios", "SCENARIOS")
BAG_POLICIES = names_of("replay.bags.policies", "KIND.names")
USUAL_DAYS = 200
USUAL_POLICY = "on-time"


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """Options by which a scenario is found; a command has them by a parameter of this type (see `spread`)."""

    k_h: float | None = option("X", "Hibernations of a type expected by the deadline (poisson).")
    k_r: float | None = option("X", "Resumes, likewise (poisson).")
    rate_scale: float = option("R", "Multiplies both rates of a Poisson scenario.", 1.0)
    one_means: str | None = option("STATE", "What 1 means in an availability trace: available or preempted.")
    vms_per_one: str | None = option(
        "N", "VMs that it stands for, or all; if absent, all in a trace of 0 and 1, else 1."
    )
    zone: str | None = zone_option()
    product: str | None = option("NAME", "Product whose prices count; Linux/UNIX if absent.")
    since: str | None = option("TIME", "When days of a price history start: 2026-07-09T12:00Z; drawn if absent.")

    amplitude: float | None = option("A", "Of vms/bathtub: about the share of VMs that go early.")
    early_scale_s: float | None = duration_option("Of vms/bathtub: time scale of the early losses.", name="early_scale")
    late_scale_s: float | None = duration_option("Of vms/bathtub: time scale of the late losses.", name="late_scale")
    end_age_s: float | None = duration_option("Of vms/bathtub: age at which all VMs go.", name="end_age")

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
    """Days for which a plan is chosen; a command has them by a parameter of this type (see `spread`)."""

    scenario: str | None = _of_days(
        "NAME",
        "Choose the plan with the least mean cost on such days; a name or a file, see 'spotbag replay'.",
        short="-s",
        completes=SCENARIOS,
    )
    policy: str | None = _of_days(
        "NAME",
        f"What answers to interruptions then; {USUAL_POLICY} if absent.",
        short="-p",
        completes=BAG_POLICIES,
    )
    days: int | None = _of_days("N", f"Most days of the choice, and days of the report; {USUAL_DAYS} if absent.", min=1)
    late: str | None = option(
        "least|USD",
        "least: if no plan ends in time, as few tasks late as can be, then as little late (exit code 3). With "
        "--scenario, what a day that misses the deadline counts more; ten times the bag on demand if absent.",
        reads="amount_usd",
        word="least",
    )
    workers: int = _of_days("W", "Processes.", 1, short="-w", min=1)

    def demand_scenario(self, scenarios: ScenarioOptions) -> None:
        """Refuse options that say something of days where there is no scenario."""
        # A zone is of the prices of a file of tasks as well, which says itself if it changes nothing.
        about = {name: said for one in (self, scenarios) for name, said in given_options(one).items() if name != "zone"}
        if about and self.scenario is None:
            raise SpotbagError(f"{next(iter(about.values()))} is about the days to come: give --scenario as well")


@dataclass(frozen=True, kw_only=True)
class CloudOptions:
    """Options of the cloud's rules; a command has them by a parameter of this type (see `spread`)."""

    cloud: str | None = option(
        "NAME",
        "Whose rules hold: see 'instance clouds'. The scenario's or the instance's if absent, else papers.",
        completes=names_of("instances.clouds", "CLOUDS"),
        panel=_OF_CLOUD,
    )
    interruption: Literal["hibernate", "stop", "terminate"] | None = option(
        None, "What happens to a spot VM taken away.", panel=_OF_CLOUD
    )
    notice_s: int | None = _seconds("How long a VM drains before it is taken away: 2m.", name="notice")
    minimum_s: int | None = _seconds("What each session of a VM is billed at least: 60s.", name="minimum_billed")
    block_s: int | None = _seconds("VMs are billed in blocks of this: 1s, 1h.", least=1, name="billing_block")
    boot_s: int | None = _seconds(
        "Seconds before each session of a VM that are billed: 90s of its boot.", name="billed_boot"
    )
    fixed_usd: float | None = _rate("What each session of a VM costs beside its seconds.", name="fixed_charge")
    first_hour_free: bool | None = option(
        None,
        "Whether a spot VM that is taken away in its first hour costs nothing.",
        name="first-hour-free/--first-hour-paid",
        panel=_OF_CLOUD,
    )
    hibernated_usd_per_gb_hour: float | None = _rate(
        "Price of a GB-hour of memory of a hibernated VM.", name="hibernated_rate"
    )
    stopped_usd_per_gb_hour: float | None = _rate("The same of a stopped VM.", name="stopped_rate")

    def find(self, named: str | None, bag: Instance) -> Cloud:
        """Return the cloud: that of ``--cloud``, else the one that is named, else that of a bag; changed as asked.

        Raises
        ------
        InputError
            If there is none of the name.
        """
        from ..instances.clouds import cloud_of, find_cloud

        changes = dataclasses.asdict(self)
        name = changes.pop("cloud") or named
        return (cloud_of(bag.cloud, bag.billing) if name is None else find_cloud(name)).replace(**changes)


def notes_of(scenario: Scenario, instance: Instance) -> list[str]:
    """Return warnings about a scenario on an instance, for users who might trust it; those of prices have some."""
    notes = getattr(scenario, "notes", None)
    return [] if notes is None else notes(instance)
