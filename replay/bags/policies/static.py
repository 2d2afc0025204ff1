"""The plan and nothing else: hibernated VMs are waited for, or there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...policies import Rule, Rules
from ..rows import Rows, VmRow
from ..rules import let_go
from ..state import IDLE_60, RulePolicy


class Static(RulePolicy):
    """Follow the plan; wait until hibernated VMs resume; end a VM with its last task.

    Without events, the replay is the plan: same cost, same makespan.
    """

    name = "static"
    summary = "follows the plan and waits for hibernated VMs to resume"


def on_hibernation(r: Rows, vm: VmRow) -> None:
    """Terminate a VM whose last task has ended in this second, or while it drained."""
    if not vm.n_left:
        let_go(r, vm)


Static.answers = {"idle": let_go, "hibernated": on_hibernation}


@dataclass(kw_only=True, eq=False)
class OnDemand(RulePolicy):
    """Follow the plan on on-demand VMs of the same types: what schedulers that use spot VMs are compared with.

    The plan is changed by `on_demand_schedule` before the replay, and the day is quiet. An idle VM is paid for as the
    schedulers pay for it, to the end of its allocation cycle: the baselines that both papers print cost more than
    their VMs until the last task of each.

    Parameters
    ----------
    idle_limit_s : int, optional
        Seconds for which an idle VM is kept; to the end of its allocation cycle if absent. With 0, a VM ends with its
        last task, which is the cheapest for one who wants on-demand VMs in any case.
    """

    name = "on-demand"
    summary = "the same plan on on-demand VMs: no hibernation, no checkpoints; the papers' baseline"
    source = "HADS, section 5.3.1; Burst-HADS, section IV"
    rules: ClassVar[Rules] = {
        "last-task": Rule({"idle_limit_s": 0}, "a VM ends with its last task"),
        "idle-60": IDLE_60,
    }

    idle_limit_s: int | None = None


OnDemand.answers = {"cycle_ended": let_go}
