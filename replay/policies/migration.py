"""What HADS and Burst-HADS share: where a task may go, and where it goes if nowhere is right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...instances.durations import NEVER
from ...instances.problem import RentalOffer

if TYPE_CHECKING:
    from ..engine import Replay
    from ..vm import Vm


def by_market(vms: Iterable[Vm], spot_first: bool) -> list[Vm]:
    """VMs with one market first, then by price (sort_by_market of both papers; ties as they were requested)."""
    return sorted(vms, key=lambda vm: (vm.spot != spot_first, vm.offer.price_usd_per_hour, vm.index))


def on_demand_offers(replay: Replay) -> list[RentalOffer]:
    """Offers of regular on-demand VMs, cheapest first (sort_by_price of M^o)."""
    offers = [offer for offer in replay.instance.offers if offer.market == "on-demand" and not offer.burstable]
    return sorted(offers, key=lambda offer: (offer.price_usd_per_hour, offer.index))


def check_migration(replay: Replay, vm: Vm, task: int, saved: float, mode: int | None = None) -> bool:
    """Whether a task may go to a VM that is there (HADS Algorithm 7).

    On a spot VM, enough time must be left after its last task to do its longest one again elsewhere: ``D - eft > e_m +
    alpha`` (line 3), with e_m the whole run time, as after a hibernation just before the first checkpoint. On an
    on-demand VM, which cannot hibernate, ``eft <= D`` is enough; the paper prints one test for both.
    """
    end_s = replay.end_if_placed_s(vm, task, mode, saved)
    if end_s is None:
        return False
    finish_s = max(end_s, replay.end_of_vm_s(vm))  # eft of line 2: of the VM, not of the task
    deadline_s = replay.instance.deadline_s
    if not vm.spot:
        return finish_s <= deadline_s
    longest_s = max(vm.longest_s(replay.work), replay.work.runtime_s(task, vm.offer_index))
    return deadline_s - finish_s > longest_s + replay.start_overhead_s


def to_running_vm(replay: Replay, source: Vm, task: int, saved: float, to_burstable: bool) -> bool:
    """Migrate a task to an idle VM, else to a busy one; spot before on-demand.

    Attempts 1 and 2 of HADS (Algorithm 6, lines 2-23), 2 and 3 of Burst-HADS (Algorithm 4, lines 16-37). Burstable VMs
    take tasks only while they are idle, and only if the policy wants it.
    """
    idle = (vm for vm in replay.vms if vm.idle and (to_burstable or vm.burstable is None))
    busy = (vm for vm in replay.vms if vm.busy and vm.burstable is None)
    for vm in [*by_market(idle, spot_first=True), *by_market(busy, spot_first=True)]:
        if check_migration(replay, vm, task, saved):
            replay.migrate(task, source, vm, "busy" if vm.busy else "idle")
            return True
    return False


def to_new_vm(replay: Replay, source: Vm, task: int, saved: float) -> bool:
    """Migrate a task to a new on-demand VM, the cheapest that ends it in time.

    Attempt 3 of HADS (Algorithm 6, lines 24-36), 4 of Burst-HADS (Algorithm 4, lines 38-50). Both print ``start + e +
    alpha < D``. Here a task may end at the deadline, as in `check_migration`: eq. 4 of HADS sets the trigger so that
    the two sides are equal, and the printed test would turn down what the trigger was computed for.
    """
    for offer in on_demand_offers(replay):
        duration_s = replay.duration_s(task, offer, None, saved)
        in_time = replay.now_s + duration_s + replay.start_overhead_s <= replay.instance.deadline_s
        if in_time and replay.can_start(offer):
            replay.migrate(task, source, replay.start_vm(offer), "new")
            return True
    return False


def migrate_anyway(replay: Replay, source: Vm, tasks: Iterable[int]) -> None:
    """Migrate tasks for which no attempt has found a place to where they end first.

    The papers do not say what happens then. Here a deadline that cannot be kept is missed by as little as can be had,
    and an on-demand VM is preferred where it makes no difference. What can go nowhere at all stays on its VM, and
    `retry_stranded` tries again.
    """
    left = 0
    for task in tasks:
        saved = replay.saved_if_moved(source, task)
        best = min(_places(replay, task, saved), key=lambda place: place[:3], default=None)
        if best is None:
            left += 1
            continue
        end_s, _, _, place = best
        late = end_s > replay.instance.deadline_s
        if isinstance(place, RentalOffer):
            replay.migrate(task, source, replay.start_vm(place), "new", late=late)
        else:
            replay.migrate(task, source, place, "busy" if place.busy else "idle", late=late)
    if left:
        source.stranded = True
        replay.report_stranded(source, left)


def retry_stranded(replay: Replay) -> None:
    """Try again to place the tasks that have stayed on hibernated VMs because nothing could take them."""
    for vm in replay.vms:
        if vm.stranded and vm.hibernated:
            vm.stranded = False
            migrate_anyway(replay, vm, vm.tasks())


def _places(replay: Replay, task: int, saved: float) -> Iterator[tuple[int, bool, int, Vm | RentalOffer]]:
    """Where a task could go: when it would end there, whether that is a spot VM, an order for ties, the place."""
    for vm in replay.vms:
        if vm.alive and (vm.burstable is None or vm.idle):
            end_s = replay.end_if_placed_s(vm, task, None, saved)
            if end_s is not None:
                yield end_s, vm.spot, vm.index, vm
    for offer in on_demand_offers(replay):
        duration_s = replay.duration_s(task, offer, None, saved)
        if replay.can_start(offer) and duration_s < NEVER:
            yield replay.now_s + replay.start_overhead_s + duration_s, False, len(replay.vms) + offer.index, offer
