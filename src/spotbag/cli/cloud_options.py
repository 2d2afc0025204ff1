"""Options for what the cloud does to VMs, and how it bills: a preset, and each thing singly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from .options import names_of, option, seconds_option

if TYPE_CHECKING:
    from ..instances.clouds import Cloud
    from ..instances.instance import Instance

_PANEL = "Options for what the cloud does"
_seconds = partial(seconds_option, panel=_PANEL)
_rate = partial(option, "USD", min=0, panel=_PANEL)


class InterruptionKind(StrEnum):
    """Fates of a spot VM that is taken away."""

    HIBERNATE = "hibernate"
    STOP = "stop"
    TERMINATE = "terminate"


@dataclass(frozen=True, kw_only=True)
class CloudOptions:
    """Options of the cloud's rules; a command has them by a parameter of this type (see `spread`)."""

    cloud: str | None = option(
        "NAME",
        "Whose rules hold: see 'instance clouds'. The scenario's or the instance's if absent, else papers.",
        completes=names_of("instances.clouds", "CLOUDS"),
        panel=_PANEL,
    )
    interruption: InterruptionKind | None = option(None, "What happens to a spot VM taken away.", panel=_PANEL)
    notice: int | None = _seconds("How long a VM drains before it is taken away: 2m.")
    minimum_billed: int | None = _seconds("What each session of a VM is billed at least: 60s.")
    billing_block: int | None = _seconds("VMs are billed in blocks of this: 1s, 1h.", least=1)
    billed_boot: int | None = _seconds("Seconds before each session of a VM that are billed: 90s of its boot.")
    fixed_charge: float | None = _rate("What each session of a VM costs beside its seconds.")
    first_hour_free: bool | None = option(
        None,
        "Whether a spot VM that is taken away in its first hour costs nothing.",
        name="first-hour-free/--first-hour-paid",
        panel=_PANEL,
    )
    hibernated_rate: float | None = _rate("Price of a GB-hour of memory of a hibernated VM.")
    stopped_rate: float | None = _rate("The same of a stopped VM.")

    def find(self, named: str | None, bag: Instance) -> Cloud:
        """Return the cloud: that of ``--cloud``, else the one that is named, else that of a bag; changed as asked.

        Raises
        ------
        InputError
            If there is none of the name.
        """
        from ..instances.clouds import cloud_of, find_cloud

        name = self.cloud or named
        found = cloud_of(bag.cloud, bag.billing) if name is None else find_cloud(name)
        return found.replace(
            interruption=None if self.interruption is None else self.interruption.value,
            notice_s=self.notice,
            minimum_s=self.minimum_billed,
            block_s=self.billing_block,
            boot_s=self.billed_boot,
            fixed_usd=self.fixed_charge,
            first_hour_free=self.first_hour_free,
            hibernated_usd_per_gb_hour=self.hibernated_rate,
            stopped_usd_per_gb_hour=self.stopped_rate,
        )
