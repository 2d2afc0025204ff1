"""The plan and nothing else: hibernated VMs are waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Policy

if TYPE_CHECKING:
    from ..engine import Replay
    from ..vm import Vm


class Static(Policy):
    """Follow the plan; wait until hibernated VMs resume; end a VM with its last task.

    Without events, the replay is the plan: same cost, same makespan.
    """

    name = "static"
    summary = "follows the plan and waits for hibernated VMs to resume"

    def idle(self, replay: Replay, vm: Vm) -> None:
        """Terminate a VM with its last task."""
        replay.terminate(vm)
