"""What time and the cloud do to a replay: tasks start and end, VMs get ready, are interrupted and come back."""

from __future__ import annotations

from ...instances.durations import FULL_SPEED
from ...instances.entries import RentalOffer
from ..vms import HIBERNATED, LAUNCHING, RUNNING, STOPPED, TERMINATED
from .state import FINISH, INTERRUPT, PREEMPTED, READY, RECALL, ReplayState
from .vm import Vm, move_up

_STATE_AFTER = {"hibernate": HIBERNATED, "stop": STOPPED, "terminate": TERMINATED}
_RECORD_OF = {"hibernate": "hibernate", "stop": "stop", "terminate": "reclaim"}
_COUNT_OF = {"hibernate": "hibernations", "stop": "stops", "terminate": "reclaims"}


class LiveState(ReplayState):
    """The state of a replay as the engine moves it on; policies use what `ReplayState` has."""

    _over = False

    # -------------------------------------------------------------------- tasks

    def planned_start(self, vm: Vm, core: int, time_s: int) -> bool:
        """Start what was to start at a moment; False if it has moved since."""
        queue = vm.waiting[core]
        if (
            vm.state != RUNNING
            or vm.drains_until_s is not None
            or vm.running[core] is not None
            or not queue
            or vm.zero_s + queue[0].start_s != time_s
        ):
            return False
        self._start(vm, core)
        return True

    def finish(self, vm: Vm, core: int) -> int:
        """End the task of a core, and start the next; return which task it was."""
        run = vm.running[core]
        assert run is not None
        vm.running[core] = None
        vm.written.pop(core, None)
        vm.n_left -= 1
        vm.task_finished()
        self.unfinished -= 1
        self.last_finish_s = self.now_s
        self.counts["events"] += 1
        if vm.spot:
            saved = self.saved.get(run.task, 0.0) if self.saved else 0.0
            self.counts["checkpoints"] += self.work.checkpoints(run.task, vm.offer_index, saved)
        if vm.burstable is not None:
            self._check_credits(vm)
            burst = run.mode == FULL_SPEED
            vm.count_running(self.now_s, -int(burst), -int(not burst))
        if self.saved:
            self.saved.pop(run.task, None)
        if self.now_s > self.instance.deadline_s:
            self.counts["late_tasks"] += 1
        if self.records is not None:
            self._note("finish", vm=vm.name, core=core, task=self.instance.task_ids[run.task])
        if vm.waiting[core]:
            self._start_or_await(vm, core)
        return run.task

    def end_preemption(self, vm: Vm, core: int) -> int:
        """Let a preempted task wait whose checkpoint is written; return which task it is."""
        run = vm.running[core]
        assert run is not None
        self._put_behind(vm, core)
        return run.task

    def move_up(self, vm: Vm) -> None:
        """Start or await what waits; list scheduling anew, in the same order, if tasks have been taken away."""
        if vm.disordered:
            move_up(vm, self.now_s, self.work, self.saved)
        for core in range(vm.offer.vcpus):
            self._start_or_await(vm, core)

    # ---------------------------------------------------------------------- VMs

    def get_ready(self, vm: Vm) -> bool:
        """Let a VM run that was launching; False if its type has no room for it, so that it is interrupted now."""
        vm.state = RUNNING
        vm.session_s = self.now_s
        if self.records is not None:
            self._note("ready", vm=vm.name)
        if vm.spot and self.fleet.capacity and not self.fleet.has_room_for(vm):
            vm.interruption = self.fleet.struck_by[vm.offer.vm_type.name]
            vm.notice_s = 0
            vm.drains_until_s = self.now_s  # so that nothing else of this second gives it notice
            return False
        self.move_up(vm)
        return True

    def give_notice(self, vm: Vm, kind: str, notice_s: int, of_type: bool) -> bool:
        """Let a VM drain; False if it drains already and is not interrupted earlier than it knows."""
        until_s = self.now_s + notice_s
        if vm.drains_until_s is not None and vm.drains_until_s <= until_s:
            return False
        vm.interruption, vm.notice_s = kind, notice_s
        vm.drains_of_type = of_type
        vm.idle_epoch += 1
        vm.drains_until_s = until_s
        if notice_s:
            vm.disordered = True  # what is to start meanwhile does not
            self._push(until_s, INTERRUPT, vm.index)
            if self.records is not None:
                self._note("notice", vm=vm.name, until_s=until_s)
        return True

    def interrupt(self, vm: Vm) -> None:
        """Take a VM away that runs."""
        kind, of_type = vm.interruption, vm.drains_of_type
        assert kind is not None
        vm.halted_at_s = self.now_s
        self._end_session(vm, interrupted=True)
        vm.state = _STATE_AFTER[kind]
        vm.epoch += 1
        vm.idle_epoch += 1
        vm.migration_kinds.clear()
        self.counts[_COUNT_OF[kind]] += 1
        self.counts["events"] += 1
        if vm.n_left:
            self.counts["busy_hibernations"] += 1
        if self.records is not None:
            self._note(_RECORD_OF[kind], vm=vm.name)
        if vm.state == TERMINATED:
            vm.reclaimed = True
            vm.terminated_s = self.now_s
            self.fleet.give_back(vm)
        elif of_type and self.fleet.room(vm.offer.vm_type.name) > 0:
            self._push(self.now_s, RECALL, vm.index, 0, vm.epoch)

    def come_back(self, vm: Vm) -> None:
        """Let a VM resume, or boot again after it was stopped."""
        if vm.notice_s:
            vm.written = {
                core: self._last_checkpoint(vm, run.task)[1:] for core, run in enumerate(vm.running) if run is not None
            }
        pause_s = self._end_halt(vm)
        stopped = vm.state == STOPPED
        vm.stranded = False
        self.counts["restarts" if stopped else "resumes"] += 1
        self.counts["events"] += 1
        if vm.trigger_s is not None:
            self.counts["resumes_in_time"] += 1
            vm.trigger_s = None
            vm.trigger_epoch += 1
        if self.records is not None:
            self._note("restart" if stopped else "resume", vm=vm.name)
        if stopped:
            self._restart(vm, pause_s)
            return
        vm.zero_s += pause_s
        vm.state = RUNNING
        vm.session_s = self.now_s
        for core, run in enumerate(vm.running):
            if run is not None:
                kind = PREEMPTED if core in vm.dumps else FINISH
                self._push(vm.zero_s + run.end_s, kind, vm.index, core, vm.epoch)
        self.move_up(vm)

    def _restart(self, vm: Vm, pause_s: int) -> None:
        """Boot a VM that was stopped: what ran there waits again, before all else, with what is saved."""
        uptime_s = vm.uptime_s(self.now_s)
        for core, run in enumerate(vm.running):
            if run is not None:
                self._stop_run(vm, run.task)
                self._take(vm, run.task)
                vm.n_left += 1
                duration_s = self.work.duration_s(run.task, vm.offer_index, run.mode, self.saved.get(run.task, 0.0))
                # On a burstable VM it is late: the credits for what is done once more are spent.
                start_s = uptime_s if vm.burstable is None else run.start_s
                vm.waiting[core].appendleft(run._replace(start_s=start_s, end_s=start_s + duration_s))
                vm.disordered = True
        vm.state = LAUNCHING
        vm.ready_s = self.now_s + self.instance.boot_overhead_s
        # Its uptime stands still until then.
        vm.zero_s += pause_s + self.instance.boot_overhead_s
        vm.first_start_s = max(vm.first_start_s, uptime_s)
        vm.timetable_changed()
        if vm.disordered:
            move_up(vm, self.now_s, self.work, self.saved)
        self._push(vm.ready_s, READY, vm.index)

    # -------------------------------------------------------------- the market

    def set_price(self, offer: RentalOffer, usd_per_hour: float) -> None:
        """Change the price of an offer from now on."""
        self.fleet.prices.setdefault(offer.index, []).append((self.now_s, usd_per_hour))
        if self.records is not None:
            fields = {"type": offer.vm_type.name, "market": offer.market, "usd_per_hour": usd_per_hour}
            self._note("price", **fields)

    def note_capacity(self, vm_type: str, vms: int) -> None:
        """Record how many spot VMs of a type there can be."""
        if self.records is not None:
            self._note("capacity", type=vm_type, vms=vms)

    # ---------------------------------------------------------------------- end

    def end(self) -> None:
        """End all VMs with the bag (both papers), or when nothing can happen any more."""
        if self._over:
            return
        self._over = True
        for vm in self.vms:
            if vm.n_left:
                for run in vm.running:
                    if run is not None:  # on a VM that never comes back: what it has written is written
                        self.counts["checkpoints"] += self._last_checkpoint(vm, run.task)[2]
            if vm.state != TERMINATED:
                self._terminate(vm)
