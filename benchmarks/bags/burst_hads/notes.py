"""Why our figures of the Burst-HADS paper are not the printed ones: the numbers of `notes.md`."""

from __future__ import annotations

from collections.abc import Iterator

from ...paper import read_notes
from ..paper_days import FROM_ALGORITHM_1
from .runs import BurstHadsDays


def burst_hads_notes(days: BurstHadsDays) -> Iterator[str]:
    """Reasons, each with numbers."""
    plans = [plan for rivals in days.rivals.values() for plan in rivals.plans]
    given = dict.fromkeys((plan.job, plan.d_spot_s) for plan in plans if plan.d_spot_source != FROM_ALGORITHM_1)
    values = {
        "sizes": ", ".join(
            f"{job} {len(rivals.burst_plan.vm_ids)} and {len(rivals.hads_plan.vm_ids)}"
            for job, rivals in days.rivals.items()
        ),
        "printed_d_spot": ", ".join(f"{job} {d_spot_s} s" for job, d_spot_s in given) or None,
    }
    return read_notes(__package__, values)
