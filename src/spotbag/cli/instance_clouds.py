"""``spotbag instance clouds``: how clouds take spot VMs away, and how they bill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.text_tables import Column, Table
from .answers import Answer
from .options import json_option
from .tables import print_table

if TYPE_CHECKING:
    from ..instances.clouds import Cloud

_HOW_TO_USE = """\
'spotbag replay --cloud NAME' follows the rules of one, and so does an instance or a scenario that names it; other
options of 'replay' change single rules. Disks are not counted: VMs that are stopped or hibernated cost nothing,
unless --stopped-rate or --hibernated-rate gives a price for their memory."""


class Clouds(Answer, kind="clouds"):
    """``spotbag instance clouds``."""

    clouds: tuple[Cloud, ...]


def clouds_command(*, as_json: bool = json_option()) -> None:
    """List the clouds whose rules replays can follow, with their sources."""
    from ..instances.clouds import CLOUDS

    if as_json:
        Clouds(clouds=tuple(CLOUDS.values())).print_json()
        return
    columns = [
        Column("cloud"),
        Column("a spot VM taken away"),
        Column("notice\n(s)", True),
        Column("billed"),
        Column("first hour"),
        Column("as of"),
    ]
    print_table(Table(columns, [_cells(cloud) for cloud in CLOUDS.values()]))
    by_source: dict[str, list[str]] = {}
    for cloud in CLOUDS.values():
        print(f"{cloud.name}: {cloud.summary}")
        by_source.setdefault(cloud.source, []).append(cloud.name)
    print(f"\n{_HOW_TO_USE}\n")
    for source, names in by_source.items():
        print(f"source of {', '.join(names)}: {source}")


def _cells(cloud: Cloud) -> list[str]:
    billing = cloud.billing
    by = "by the second" if billing.block_s == 1 else f"by {billing.block_s:,} s"
    least = f", at least {billing.minimum_s} s" if billing.minimum_s else ""
    free = "free if interrupted" if billing.first_hour_free else "paid"
    verb = {"hibernate": "hibernates", "stop": "is stopped", "terminate": "is terminated"}[cloud.interruption]
    return [cloud.name, verb, f"{cloud.notice_s}", by + least, free, cloud.date]
