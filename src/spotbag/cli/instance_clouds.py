"""``spotbag instance clouds``: how clouds take spot VMs away, and how they bill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.text_tables import number, table_of, words
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

    def print_text(self) -> None:
        """Print a row for each cloud, what it does in words, and where that is from."""
        verbs = {"hibernate": "hibernates", "stop": "is stopped", "terminate": "is terminated"}

        def billed(cloud: Cloud) -> str:
            billing = cloud.billing
            by = "by the second" if billing.block_s == 1 else f"by {billing.block_s:,} s"
            return by + (f", at least {billing.minimum_s} s" if billing.minimum_s else "")

        table = table_of(
            self.clouds,
            words("cloud", "name"),
            words("a spot VM taken away", lambda cloud: verbs[cloud.interruption]),
            number("notice\n(s)", "notice_s"),
            words("billed", billed),
            words("first hour", lambda cloud: "free if interrupted" if cloud.billing.first_hour_free else "paid"),
            words("as of", "date"),
        )
        print_table(table)
        by_source: dict[str, list[str]] = {}
        for cloud in self.clouds:
            print(f"{cloud.name}: {cloud.summary}")
            by_source.setdefault(cloud.source, []).append(cloud.name)
        print(f"\n{_HOW_TO_USE}\n")
        for source, names in by_source.items():
            print(f"source of {', '.join(names)}: {source}")


def clouds_command(*, as_json: bool = json_option()) -> None:
    """List the clouds whose rules replays can follow, with their sources."""
    from ..instances.clouds import CLOUDS

    Clouds(clouds=tuple(CLOUDS.values())).show(as_json)
