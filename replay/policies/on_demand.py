"""The papers' baseline: the same plan on on-demand VMs, which never hibernate."""

from __future__ import annotations

from .static import Static


class OnDemand(Static):
    """Follow the plan on on-demand VMs of the same types (HADS, section 5.3.1).

    The plan is changed by `on_demand_schedule` before the replay, and the day is quiet.
    """

    name = "on-demand"
    summary = "the same plan on on-demand VMs: no hibernation, no checkpoints; the papers' baseline"
    source = "HADS, section 5.3.1; Burst-HADS, section IV"
