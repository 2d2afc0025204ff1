"""The pages of the docs on the papers, which ``python -m spotbag.generated --papers`` writes."""

from __future__ import annotations

from .benchmarks.bags.burst_hads.facts import burst_hads_facts
from .benchmarks.bags.burst_hads.paper import BURST_HADS
from .benchmarks.bags.burst_hads.runs import BurstHadsOptions
from .benchmarks.bags.hads.facts import hads_facts
from .benchmarks.bags.hads.paper import HADS
from .benchmarks.bags.hads.runs import HadsOptions
from .benchmarks.page import Page
from .benchmarks.platforms.caron.facts import caron_facts
from .benchmarks.platforms.caron.paper import CARON
from .benchmarks.platforms.caron.settings import CaronOptions
from .benchmarks.streams.a2ha.facts import a2ha_facts
from .benchmarks.streams.a2ha.paper import A2HA
from .benchmarks.streams.a2ha.settings import A2haOptions
from .benchmarks.streams.thai.facts import thai_facts
from .benchmarks.streams.thai.paper import THAI
from .benchmarks.streams.thai.settings import ThaiOptions

_WORKERS = 2

PAGES = {
    page.name: page
    for page in (
        Page("hads", "bags.hads", HADS, HadsOptions(workers=_WORKERS), hads_facts),
        Page("burst-hads", "bags.burst_hads", BURST_HADS, BurstHadsOptions(workers=_WORKERS), burst_hads_facts),
        Page("thai", "streams.thai", THAI, ThaiOptions(workers=_WORKERS), thai_facts),
        Page("a2ha", "streams.a2ha", A2HA, A2haOptions(workers=_WORKERS), a2ha_facts),
        Page("caron", "platforms.caron", CARON, CaronOptions(workers=_WORKERS), caron_facts),
    )
}
"""By name."""
