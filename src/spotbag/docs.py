"""The sections of the docs on the papers: ``python -m spotbag.docs docs [PAGE ...]``, those of all pages or of some."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from .benchmarks.bags.burst_hads.facts import burst_hads_facts
from .benchmarks.bags.burst_hads.paper import BURST_HADS
from .benchmarks.bags.burst_hads.runs import BurstHadsOptions
from .benchmarks.bags.hads.facts import hads_facts
from .benchmarks.bags.hads.paper import HADS
from .benchmarks.bags.paper_days import DayOptions
from .benchmarks.paper import PaperOptions
from .benchmarks.platforms.caron.facts import caron_facts
from .benchmarks.platforms.caron.paper import CARON
from .benchmarks.platforms.caron.settings import CaronOptions
from .benchmarks.section import Section, write_section
from .benchmarks.streams.a2ha.facts import a2ha_facts
from .benchmarks.streams.a2ha.paper import A2HA
from .benchmarks.streams.a2ha.runs import A2haOptions
from .benchmarks.streams.thai.paper import THAI
from .core.errors import SpotbagError

_WORKERS = 2

_DAYS: dict[str, dict[str, Any]] = {
    "as printed": {},
    "--rate-scale 0.5": {"rate_scale": 0.5},
    "--d-spot estimated": {"d_spot": "estimated"},
}

SECTIONS = {
    section.name: section
    for section in (
        Section(
            "replay.md",
            "bags.hads",
            HADS,
            {name: DayOptions(workers=_WORKERS, **changes) for name, changes in _DAYS.items()},
            hads_facts,
        ),
        Section(
            "replay.md",
            "bags.burst_hads",
            BURST_HADS,
            {
                name: BurstHadsOptions(workers=_WORKERS, **changes)
                for name, changes in {**_DAYS, "--scales instance": {"scales": "instance"}}.items()
            },
            burst_hads_facts,
        ),
        Section("streams.md", "streams.thai", THAI, {"": PaperOptions(workers=_WORKERS)}),
        Section("a2ha.md", "streams.a2ha", A2HA, {"": A2haOptions(workers=_WORKERS)}, a2ha_facts),
        Section("caron.md", "platforms.caron", CARON, {"": CaronOptions(workers=_WORKERS)}, caron_facts),
    )
}
"""By name."""

PAGES = tuple(dict.fromkeys(section.page for section in SECTIONS.values()))


def write_sections(folder: Path, pages: Collection[str] = PAGES) -> None:
    """Replay the papers of some pages, and write their sections."""
    for section in SECTIONS.values():
        if section.page in pages:
            write_section(section, folder)


def main(arguments: Sequence[str]) -> int:
    """Write the sections of the pages that are named, or of all; return the exit code."""
    if not arguments or not set(arguments[1:]) <= set(PAGES):
        print(f"usage: python -m spotbag.docs FOLDER [PAGE ...]; pages: {', '.join(PAGES)}", file=sys.stderr)
        return 2
    try:
        write_sections(Path(arguments[0]), arguments[1:] or PAGES)
    except SpotbagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
