"""Options for what the cloud does to VMs, and how it bills: a preset, and each thing singly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import seconds_option
from .completion import names_of

if TYPE_CHECKING:
    from ..instances.clouds import Cloud

_PANEL = "Options for what the cloud does"


class InterruptionKind(StrEnum):
    """Fates of a spot VM that is taken away."""

    HIBERNATE = "hibernate"
    STOP = "stop"
    TERMINATE = "terminate"


def _in_panel(option: Any) -> Any:
    option.rich_help_panel = _PANEL
    return option


def _rate(name: str, about: str) -> Any:
    return typer.Option(name, metavar="USD", min=0, help=about, rich_help_panel=_PANEL)


@dataclass(frozen=True, kw_only=True)
class CloudOptions:
    """Options of the cloud's rules; a command has them by a parameter of this type (see `arguments.spread`)."""

    cloud: Annotated[
        str | None,
        typer.Option(
            "--cloud",
            metavar="NAME",
            autocompletion=names_of("instances.clouds", "CLOUDS"),
            help="Whose rules hold: see 'instance clouds'. The scenario's or the instance's if absent, else papers.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    interruption: Annotated[
        InterruptionKind | None,
        typer.Option("--interruption", help="What happens to a spot VM taken away.", rich_help_panel=_PANEL),
    ] = None
    notice: Annotated[
        int | None, _in_panel(seconds_option("--notice", "How long a VM drains before it is taken away: 2m."))
    ] = None
    minimum_billed: Annotated[
        int | None, _in_panel(seconds_option("--minimum-billed", "What each session of a VM is billed at least: 60s."))
    ] = None
    billing_block: Annotated[
        int | None,
        _in_panel(seconds_option("--billing-block", "VMs are billed in blocks of this: 1s, 1h.", least=1)),
    ] = None
    first_hour_free: Annotated[
        bool | None,
        typer.Option(
            "--first-hour-free/--first-hour-paid",
            help="Whether a spot VM that is taken away in its first hour costs nothing.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    hibernated_rate: Annotated[
        float | None, _rate("--hibernated-rate", "Price of a GB-hour of memory of a hibernated VM.")
    ] = None
    stopped_rate: Annotated[float | None, _rate("--stopped-rate", "The same of a stopped VM.")] = None

    def find(self, *named: str | None) -> Cloud:
        """Return the cloud: that of ``--cloud``, else the first of those named, else the papers'; changed as asked.

        Raises
        ------
        InputError
            If there is none of the name.
        """
        from ..instances.clouds import find_cloud

        name = next((name for name in (self.cloud, *named) if name is not None), "papers")
        return find_cloud(name).replace(
            interruption=None if self.interruption is None else self.interruption.value,
            notice_s=self.notice,
            minimum_s=self.minimum_billed,
            block_s=self.billing_block,
            first_hour_free=self.first_hour_free,
            hibernated_usd_per_gb_hour=self.hibernated_rate,
            stopped_usd_per_gb_hour=self.stopped_rate,
        )
