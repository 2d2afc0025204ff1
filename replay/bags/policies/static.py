"""The plan and nothing else: hibernated VMs are waited for."""

from __future__ import annotations

from ..policy import Policy
from ..state import ReplayState
from ..vm import Vm


class Static(Policy):
    """Follow the plan; wait until hibernated VMs resume; end a VM with its last task.

    Without events, the replay is the plan: same cost, same makespan.
    """

    name = "static"
    summary = "follows the plan and waits for hibernated VMs to resume"

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Terminate a VM with its last task."""
        replay.terminate(vm)


class OnDemand(Static):
    """Follow the plan on on-demand VMs of the same types (HADS, section 5.3.1).

    The plan is changed by `on_demand_schedule` before the replay, and the day is quiet.
    """

    name = "on-demand"
    summary = "the same plan on on-demand VMs: no hibernation, no checkpoints; the papers' baseline"
    source = "HADS, section 5.3.1; Burst-HADS, section IV"
