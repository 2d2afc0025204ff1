"""The pages of the docs on the papers, which ``python -m spotbag_papers.generated --papers`` writes."""

from __future__ import annotations

from .bags.burst_hads.facts import burst_hads_facts
from .bags.burst_hads.paper import BURST_HADS
from .bags.burst_hads.runs import BurstHadsOptions
from .bags.hads.facts import hads_facts
from .bags.hads.paper import HADS
from .bags.hads.runs import HadsOptions
from .bags.uniform_progress.claims import ABOUT_H, LEAST_TIMES
from .bags.uniform_progress.paper import UNIFORM_PROGRESS
from .bags.uniform_progress.runs import UniformProgressOptions
from .claims import ABOUT
from .page import Page
from .platforms.caron.facts import caron_facts
from .platforms.caron.paper import CARON
from .platforms.caron.settings import CaronOptions
from .streams.a2ha.facts import a2ha_facts
from .streams.a2ha.paper import A2HA
from .streams.a2ha.settings import A2haOptions
from .streams.thai.facts import thai_facts
from .streams.thai.paper import THAI
from .streams.thai.settings import ThaiOptions

_WORKERS = 2

PAGES = {
    page.name: page
    for page in (
        Page("hads", "bags.hads", HADS, HadsOptions(workers=_WORKERS), hads_facts),
        Page("burst-hads", "bags.burst_hads", BURST_HADS, BurstHadsOptions(workers=_WORKERS), burst_hads_facts),
        Page("thai", "streams.thai", THAI, ThaiOptions(workers=_WORKERS), thai_facts),
        Page("a2ha", "streams.a2ha", A2HA, A2haOptions(workers=_WORKERS), a2ha_facts),
        Page("caron", "platforms.caron", CARON, CaronOptions(workers=_WORKERS), caron_facts),
        Page(
            "uniform-progress",
            "bags.uniform_progress",
            UNIFORM_PROGRESS,
            UniformProgressOptions(workers=_WORKERS),
            lambda results: {"about_h": ABOUT_H, "about_points": ABOUT.points, "least_times": LEAST_TIMES},
        ),
    )
}
"""By name."""
