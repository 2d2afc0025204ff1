"""Plans carried out on a Dask cluster."""

from __future__ import annotations

import math
import queue
import time
import uuid
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from ..core.bill import Bill, elapsed_usd
from ..core.cluster import ClusterGoneError, check_versions, cluster_is_there, dumps
from ..core.errors import InputError, Issue, show_value
from ..core.limits import LimitReached, Stop, stop_point
from ..core.processes import POLL_S, interruptible
from ..core.quantities import SECONDS_PER_HOUR
from ..core.wording import listed
from ..instances.entries import Limits
from ..instances.instance import Instance
from ..schedules.schedule import Schedule, with_new_names
from ..schedules.state import State
from ..schedules.timing import require_no_setups
from ..schedules.vm_state import TaskOnVm, VmState, billing_of, several
from ..solvers.bags.replan import replan as plan_again
from ..solvers.bags.warm_up import warm_up_replan
from ..traces.bags.execution import Execution, PlannedTask, TaskRun, VmRun, grouped
from .dask_worker import Job, end, hold, perform
from .local_vms import LocalVms, Vm, vms_of
from .orders import TaskOrder, planned_tasks, vm_orders

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["LocalVms", "Replan", "Vm", "run", "vms_of"]

Replan: TypeAlias = "Callable[[Instance, State, Schedule], Schedule | None]"
"""Function from the bag, its state and the last plan to a plan of the rest; None if there is none."""

_REFRESH_S = 2.0
_REPORTED_WITHIN_S = 2.0
_PLANNED_WITHIN_S = 0.15
"""A plan is made for the moment at which it is there."""
_ANSWERED_WITHIN_S = 5.0
_ASKED_AT_ONCE = 32
_HELD = object()
"""Mark in place of a task that is handed over later: it, or one that it comes after, is not released."""
_MOST_LOOKS = 5


@dataclass(slots=True)
class _Rented:
    """A VM that was requested, and what became of it."""

    vm: Vm
    requested_s: float
    ready_s: float
    address: str = ""
    status: Literal["launching", "running", "draining", "ended", "lost"] = "launching"
    end_s: float | None = None

    @property
    def there(self) -> bool:
        return self.status in ("running", "draining")

    @property
    def alive(self) -> bool:
        return self.status not in ("ended", "lost")


def run(
    plan: Schedule,
    cluster: Client | LocalVms | None = None,
    *,
    workers: Mapping[str, str] | None = None,
    call: Callable[[str], object] | None = None,
    retries: int = 0,
    start_vm: Callable[[Vm], object] | None = None,
    stop_vm: Callable[[str], object] | None = None,
    leaving: Callable[[], Collection[str]] = tuple,
    changes: Callable[[], Instance | None] = lambda: None,
    patience_s: float = 600.0,
    replan: Replan | None = None,
    on_run: Callable[[TaskRun], None] | None = None,
    stop: Stop | None = None,
) -> Execution:
    """Carry out a plan on a Dask cluster, with a worker for each VM.

    Each task runs on the worker of its VM, and the tasks of a core one after the other in the order of the plan, none
    before it is released; where memory may bind, tasks also wait for those that end before them in the plan. When a VM
    is lost, is about to leave, or does not come, or the bag changes, what is left is planned anew from the present
    state, and goes on.

    Parameters
    ----------
    plan : Schedule
        The plan.
    cluster : distributed.Client or LocalVms, optional
        The cluster. VMs of `LocalVms` are processes of this machine, started when they are needed; so are they if
        there is none.
    workers : mapping of str to str, optional
        Name or address of the worker of a VM, by the id of the VM; a worker has the name of its VM if absent. A worker
        has at least as many threads as its VM has cores in use, and spotbag installed.
    call : callable, optional
        Is called on the worker with the id of a task, instead of its command. A task has failed if it raises.
    retries : int
        How often a task that failed is tried once more, at once.
    start_vm : callable, optional
        Is called with each VM when it is to be requested, also with those of later plans; its worker comes by itself.
        If absent, workers are there or on their way, and what is left is planned for those that have come.
    stop_vm : callable, optional
        Is called with the id of a VM that has nothing left to do or is lost.
    leaving : callable, optional
        Is asked now and then for VMs that are about to be taken away: they get no more tasks.
    changes : callable, optional
        Is asked now and then, until all tasks are done, for the bag as it is from now on: with more tasks or fewer,
        other prices, quotas, or another deadline (`Instance.replace`). None, or an equal bag, if nothing
        has changed. Tasks that run must be in it; VMs keep the prices at which they were requested. Where tasks that
        ran are in it no more, or fewer VMs can be rented, no bag has all that was run: the record has no ``instance``.
    patience_s : float
        After how many seconds a VM whose worker has not come counts as lost.
    replan : callable, optional
        Plans what is left; `spotbag.replan` within 0.05 s if absent. Where it has no plan, or the deadline has passed,
        `spotbag.replan` plans with as few late tasks as can be, unless there is a budget. In its state, tasks that
        failed in all attempts are done: nothing of them is left to plan.
    on_run : callable, optional
        Is called with each attempt that has ended, also with those that failed. An exception in it ends the run, and
        is raised here.
    stop : Stop, optional
        Any object with ``is_set()``, such as `threading.Event`: once it says True, commands are ended, and what has
        happened so far is returned. Ctrl-C and SIGTERM do the same; see `spotbag.solve`.

    Returns
    -------
    Execution
        What happened. Its ``failures`` are the attempts that failed, ``unfinished`` the tasks that are not done: those
        that failed in all attempts, and all others only if it was stopped, no VM is left, or the cluster is gone. The
        last is warned of (RuntimeWarning), with the tasks of which nothing more is known; those that ran then, on VMs
        that nobody ends, are taken to run still.

    Raises
    ------
    InputError
        If a task has no command and there is nothing to call, a worker has too few threads, or a task that runs is
        in a bag that has changed no more.
    SpotbagError
        If Dask is not installed, or the cluster is gone before anything has begun.
    """
    if replan is None:
        warm_up_replan()  # before anything waits for it
    with ExitStack() as stack:
        if cluster is None:
            cluster = stack.enter_context(LocalVms())
        # Only local VMs can be started from here without functions of the caller.
        if isinstance(cluster, LocalVms):
            start_vm, stop_vm, client = start_vm or cluster.start, stop_vm or cluster.stop, cluster.client
        else:
            client = cluster
        made, cloud = replan or _replan, _Cloud(start_vm, stop_vm)
        supervisor = _Supervisor(plan, client, workers or {}, call, retries, cloud, made, on_run)
        with interruptible(stop), suppress(LimitReached):
            try:
                # Whatever happens, VMs are given back below; an interrupt still leaves a record of what was done.
                with cluster_is_there(client):
                    supervisor.begin()
                with supervisor.known_to_the_end():
                    supervisor.carry_out(leaving, changes, patience_s)
            finally:
                supervisor.leave()
        return supervisor.execution()


class _Cloud(NamedTuple):
    """Requests of VMs, and their return, as functions; None where somebody else does it."""

    start_vm: Callable[[Vm], object] | None
    stop_vm: Callable[[str], object] | None


class _Supervisor:
    """Sees to it that all tasks of a plan are done."""

    def __init__(
        self,
        plan: Schedule,
        client: Client,
        workers: Mapping[str, str],
        call: Callable[[str], object] | None,
        retries: int,
        cloud: _Cloud,
        replan: Replan,
        on_run: Callable[[TaskRun], None] | None,
    ) -> None:
        if plan.instance.machines:
            raise InputError("plan", [Issue("", "begins from a state; a plan is carried out from its beginning")])
        _refuse_missing_commands(plan.instance, call is not None)
        require_no_setups(plan.instance, "a run on a cluster")
        self.instance, self.tasks = plan.instance, set(plan.instance.task_ids)  # all that are to end
        self.rentable = True  # whether the bag offers as many VMs as any before it
        self.client = client
        self.workers = workers
        self.call = None if call is None else dumps(call)
        self.retries = retries
        self.start_vm, self.stop_vm = map(self._of_caller, cloud)
        self.replan = self._of_caller(replan)
        self.on_run = self._of_caller(on_run)
        self.raised: Exception | None = None  # by a function of the caller
        self.gone = ""  # what has become of the cluster
        self.topic = f"spotbag-{uuid.uuid4().hex}"
        self.generation = 0
        self.rented: dict[str, _Rented] = {}
        self.planned: dict[str, PlannedTask] = {}
        self.modes: dict[str, Literal["burst", "baseline"]] = {}
        self.orders: dict[str, list[TaskOrder]] = {}
        self.ended: dict[str, bool] = {}  # whether done
        self.running: dict[str, TaskRun] = {}
        self.futures: dict[str, Any] = {}
        self.runs: list[TaskRun] = []
        self.events: queue.SimpleQueue[tuple[str, float, Any]] = queue.SimpleQueue()
        self._asking = ThreadPoolExecutor(_ASKED_AT_ONCE)
        self.began_at = self._clock_ahead_s = self.until_s = 0.0
        self._release_s = math.inf  # of the first task that nobody has been handed, as it is not released
        self._refreshed_at = 0.0
        self.plan = plan

    def _of_caller(self, function: Callable[..., Any] | None) -> Any:
        """Return a function of the caller that leaves here what it raises: it is not of the cluster."""
        if function is None:
            return None

        @wraps(function)
        def called(*what: Any) -> Any:
            try:
                return function(*what)
            except Exception as error:
                self.raised = error
                raise

        return called

    # ------------------------------------------------------------------ the beginning and the end

    def begin(self) -> None:
        """Have the VMs of the plan requested; its time begins."""
        asked = time.time()
        self._clock_ahead_s = self.client.run_on_scheduler(time.time) - (asked + time.time()) / 2
        for topic in (self.topic, "all"):
            self.client.subscribe_topic(topic, lambda told, topic=topic: self.events.put((topic, *told)))
        self.began_at = self._clock()
        self._take_over(self.plan, 0.0)
        names = self._names()
        if any(self._address_of(name, names) for name in self.rented):
            # What is there already is ready now, and the plan has it ready after the boot.
            self.began_at -= self.instance.boot_overhead_s
        self._refresh()

    @contextmanager
    def known_to_the_end(self) -> Iterator[None]:
        """Keep the record so far if the cluster goes while the plan is carried out: nothing more will be known."""
        try:
            with cluster_is_there(self.client):
                yield
        except ClusterGoneError as error:
            if self.raised is not None and error.__cause__ is self.raised:
                raise self.raised from None
            self.gone = str(error)

    def leave(self) -> None:
        """Note the last reports, and end running attempts, and VMs that nobody else ends."""
        self.until_s = now = self._now()
        if not self.gone:
            self._end_all_tasks()
        self._asking.shutdown(wait=False)
        self.futures.clear()
        with ExitStack() as all_of_it:  # also if the caller's part of it fails
            if self.stop_vm is not None or not self.gone:
                for rented in self.rented.values():
                    if rented.alive:
                        all_of_it.callback(self._end_vm, rented, now, "ended")
            all_of_it.callback(self._end_runs, now)
            while not self.events.empty():
                topic, at, event = self.events.get_nowait()
                if topic == self.topic:
                    self._note_attempt(at - self.began_at, event)
        missing = self.planned.keys() - self.ended.keys()
        if self.gone and missing:
            known = (
                f"{self.gone}; what is known is returned, but not what has become of {listed(sorted(missing), 'task')}"
            )
            warnings.warn(known, RuntimeWarning, stacklevel=3)

    def _end_all_tasks(self) -> None:
        """Have no task begin, and end those that run, as far as workers answer."""
        there = [rented for rented in self.rented.values() if rented.there]
        with suppress(Exception):  # the cluster may go meanwhile: what happened is known all the same
            self.client.cancel(list(self.futures.values()), force=True)
            wait([self._asking.submit(self._end_tasks, rented) for rented in there], _ANSWERED_WITHIN_S)
            for topic in (self.topic, "all"):
                self.client.unsubscribe_topic(topic)

    def _end_runs(self, now: float) -> None:
        """Note running attempts as cut off, or as running still on a cluster that is gone, whose VMs nobody ends."""
        if self.gone and self.stop_vm is None:
            self.runs += self.running.values()
            return
        with ExitStack() as each:
            for task in list(self.running):
                each.callback(self._cut_off, task, now)

    def _end_tasks(self, rented: _Rented) -> None:
        self.client.run(end, self.topic, rented.vm.id, workers=[rented.address], on_error="ignore")

    def execution(self) -> Execution:
        """Return the record of the execution: planned tasks, runs, VMs."""
        runs_on = grouped("vm", self.runs)
        vms = [_vm_run(rented, runs_on.get(name, [])) for name, rented in self.rented.items() if rented.address]
        known = self.rentable and all(one.task in self.instance.task_index for one in self.runs)
        return Execution(
            planned=tuple(self.planned.values()),
            runs=tuple(sorted(self.runs, key=lambda one: (one.start_s, one.vm, one.core))),
            vms=tuple(sorted(vms, key=lambda one: (one.start_s, one.vm))),
            until_s=self.until_s,
            began_at=self.began_at,
            instance=self.instance if known else None,
        )

    def _clock(self) -> float:
        """Return the time of the scheduler, which all events have."""
        return time.time() + self._clock_ahead_s

    def _now(self) -> float:
        return self._clock() - self.began_at

    # ------------------------------------------------------------------ going on

    def carry_out(
        self, leaving: Callable[[], Collection[str]], changes: Callable[[], Instance | None], patience_s: float
    ) -> None:
        """Wait until all tasks have ended; plan anew where that must be."""
        ask = self._of_caller(changes)
        while (changed := self._change(ask())) or len(self.ended) < len(self.tasks):
            stop_point()
            replan = self._take_events(0.0 if changed else POLL_S) or changed
            if self._release_s <= self._now():
                self._release_s = math.inf
                self._submit(name for name in self.orders if self.rented[name].there)
            if changed or len(self.ended) < len(self.tasks):  # else nothing is asked any more: the cluster may be gone
                replan |= self._look_at_vms(leaving, patience_s)
                if replan and not self._plan_anew():
                    break
            self._end_idle_vms()
        unplanned = self.tasks - self.planned.keys() - self.ended.keys()
        if unplanned:
            known = (
                f"no plan was found with {listed(sorted(unplanned), 'task')}, which came while the plan was carried out"
            )
            warnings.warn(known, RuntimeWarning, stacklevel=3)

    def _change(self, bag: Instance | None) -> bool:
        """Go on with a bag as it is now; return True if it is another one, not the same made anew."""
        if bag is None or bag == self.instance:
            return False
        _refuse_missing_commands(bag, self.call is not None, "changes")
        require_no_setups(bag, "a run on a cluster")
        now = _limits(bag)
        self.rentable &= all(now.get(which, -1) >= most for which, most in _limits(self.instance).items())
        self.rentable &= bag.limits.quotas == self.instance.limits.quotas
        self.instance, self.tasks = bag, {*bag.task_ids, *self.ended}
        return True

    def _withdraw(self) -> None:
        """Leave out the tasks that are in the bag no more, of which none may run."""
        gone = self.planned.keys() - self.instance.task_index.keys() - self.ended.keys()
        for task in sorted(gone & self.running.keys()):
            raise InputError("changes", [Issue("tasks", "must be in the bag: it runs", item=task)])
        for task in gone:
            del self.planned[task]

    def _look_at_vms(self, leaving: Callable[[], Collection[str]], patience_s: float) -> bool:
        """Look which VMs have come, do not come, or are about to leave; return whether a plan has come to nothing."""
        replan = time.monotonic() - self._refreshed_at >= _REFRESH_S and self._refresh()
        for rented in list(self.rented.values()):
            if rented.status == "launching" and self._now() - rented.ready_s > patience_s:
                replan |= self._lose(rented)
        for name in leaving():
            if name in self.rented and self.rented[name].status == "running":
                self.rented[name].status = "draining"
                replan |= bool(self.orders.get(name))
        return replan

    def _take_events(self, wait_s: float) -> bool:
        """Handle the reports of workers, waiting a while for the first; return True if a new plan is needed."""
        replan = False
        try:
            told = self.events.get(timeout=wait_s)
            while True:
                replan |= self._note(*told)
                told = self.events.get_nowait()
        except queue.Empty:
            return replan

    def _note(self, topic: str, at: float, event: Any) -> bool:
        """Note an event: of a task, or that a worker came or went; return whether a plan has come to nothing."""
        if topic == self.topic:
            self._note_attempt(at - self.began_at, event)
            return False
        if not isinstance(event, Mapping):  # whoever reaches the scheduler may tell all whatever it likes
            what = f"an event that somebody has sent on the Dask cluster is passed over: {show_value(event)}"
            warnings.warn(f"{what} must be a mapping", RuntimeWarning, stacklevel=2)
            return False
        match event.get("action"):
            case "add-worker":
                return self._refresh()
            case "remove-worker":
                lost = [one for one in self.rented.values() if one.there and one.address == event.get("worker")]
                return sum(self._lose(one) for one in lost) > 0
        return False

    def _note_attempt(self, at_s: float, event: Mapping[str, Any]) -> None:
        """Note the begin of a task, or the end of an attempt."""
        if not self.rented[event["vm"]].there:
            return
        task = event["task"]
        if event["what"] == "start":
            self.running[task] = TaskRun(task, event["vm"], event["core"], at_s)
            return
        begun = self.running.pop(task)
        ended = replace(begun, end_s=at_s, exit_code=event["exit_code"], message=event["message"])
        if event["last"]:
            self.ended[task] = ended.done
            self.futures.pop(task, None)
        else:  # the next attempt begins at once
            self.running[task] = replace(begun, start_s=at_s)
        self._record(ended)

    def _record(self, ended: TaskRun) -> None:
        self.runs.append(ended)
        on_run, self.on_run = self.on_run, None
        if on_run is not None:
            on_run(ended)
            self.on_run = on_run  # one that has raised is not called again

    def _cut_off(self, task: str, at_s: float) -> None:
        self.futures.pop(task, None)
        begun = self.running.pop(task)
        self._record(replace(begun, end_s=max(at_s, begun.start_s)))

    # ------------------------------------------------------------------ VMs

    def _names(self) -> dict[str, tuple[str, int]]:
        """Address and threads of all workers, by their names and addresses."""
        threads: dict[str, int] = self.client.nthreads()
        found = {address: (address, number) for address, number in threads.items()}
        # The client keeps a cache of what it was told last, and now and then that has no workers.
        for _ in range(_MOST_LOOKS):
            told = self.client.scheduler_info(n_workers=-1)["workers"]
            found |= {str(told[address]["name"]): found[address] for address in threads if address in told}
            if threads.keys() <= told.keys():
                break
        return found

    def _address_of(self, vm: str, names: Mapping[str, tuple[str, int]]) -> tuple[str, int] | None:
        return names.get(str(self.workers.get(vm, vm)))

    def _refresh(self) -> bool:
        """Look which workers are there: those that have come get their tasks; return whether one is lost."""
        self._refreshed_at = time.monotonic()
        names = self._names()
        replan, came = False, dict[str, _Rented]()
        for rented in list(self.rented.values()):
            found = self._address_of(rented.vm.id, names)
            if rented.status == "launching" and found is not None:
                address, threads = found
                self._check_threads(rented.vm.id, address, threads)
                came[address] = rented
            elif rented.there and rented.address not in names:
                replan |= self._lose(rented)
        if came:
            replan |= self._welcome(came)
        return replan

    def _check_threads(self, vm: str, address: str, threads: int) -> None:
        cores = 1 + max((order.planned.core for order in self.orders.get(vm, ())), default=0)
        if threads < cores:
            rule = f"is to run tasks on {cores} cores at a time, and its worker at {address} has {threads} threads"
            raise InputError("cluster", [Issue("", rule, vm)])

    def _welcome(self, came: Mapping[str, _Rented]) -> bool:
        """Hand out the tasks of VMs whose workers have come, by worker address; return True if a VM is lost."""
        answers = self._ask_to_hold({address: rented.vm.id for address, rented in came.items()})
        for address in answers:
            came[address].address, came[address].status, came[address].ready_s = address, "running", self._now()
        self._submit(came[address].vm.id for address in answers)
        return sum(self._lose(rented) for address, rented in came.items() if address not in answers) > 0

    def _lose(self, rented: _Rented) -> bool:
        """Mark a VM as lost; return True if tasks of the VM remain to be run."""
        now = self._now()
        self._end_vm(rented, now, "lost")
        cut_off = [task for task, run in self.running.items() if run.vm == rented.vm.id]
        for task in cut_off:
            self._cut_off(task, now)
        return any(one.vm == rented.vm.id and one.task not in self.ended for one in self.planned.values())

    def _end_vm(self, rented: _Rented, now: float, status: Literal["ended", "lost"]) -> None:
        rented.status, rented.end_s = status, now
        if self.stop_vm is not None:
            self.stop_vm(rented.vm.id)

    def _end_idle_vms(self) -> None:
        """End VMs that have done all that they had to do: they cost no more."""
        if self.stop_vm is None:
            return
        busy = {one.vm for one in self.planned.values() if one.task not in self.ended}
        for rented in list(self.rented.values()):
            if rented.there and rented.vm.id not in busy:
                self._end_vm(rented, self._now(), "ended")

    # ------------------------------------------------------------------ plans

    def _take_over(self, plan: Schedule, begin_s: float) -> None:
        """Go on by a plan whose times count from a moment: its new VMs are requested."""
        burstable = plan.instance.offer_is_burstable
        for number, one in enumerate(planned_tasks(plan)):
            if one.task in self.running or one.task in self.ended:
                continue
            self.planned[one.task] = replace(
                one, start_s=one.start_s + begin_s, end_s=one.end_s + begin_s, plan=self.generation
            )
            self.modes.pop(one.task, None)
            if burstable[plan.vm_offer[plan.task_vm[number]]]:
                self.modes[one.task] = "baseline" if plan.task_baseline[number] else "burst"
        self.orders = {order.vm: order.tasks for order in vm_orders(plan)}
        there = self._names()
        for vm, ready_s in zip(vms_of(plan), plan.vm_ready_s.tolist(), strict=True):
            if vm.id in self.rented or vm.id not in self.orders:
                continue
            self.rented[vm.id] = _Rented(vm, begin_s, begin_s + ready_s)
            if self.start_vm is not None and self._address_of(vm.id, there) is None:
                self.start_vm(vm)
        self._submit(name for name in self.orders if self.rented[name].there)

    def _submit(self, vms: Iterable[str]) -> None:
        """Hand the tasks of VMs over, each behind those that it comes after; later those that are not released."""
        orders = [(name, order) for name in vms for order in self.orders.get(name, ())]
        on_core: dict[tuple[str, int], Any] = {}
        by_number: dict[tuple[str, int], Any] = {}
        now = self._now()
        for name, order in sorted(orders, key=lambda found: (found[1].planned.start_s, found[1].number)):
            task, core = order.planned.task, order.planned.core
            future = self.futures.get(task)
            # The bag may have changed since these orders were made: what it has no more is not handed over.
            if future is None and task not in self.ended and task in self.instance.task_index:
                before = [on_core.get((name, core)), *(by_number.get((name, number)) for number in order.waits_for)]
                ready_s = self.instance.release_s[self.instance.task_group[self.instance.task_index[task]]]
                if ready_s > now:
                    self._release_s = min(self._release_s, ready_s)
                if ready_s > now or _HELD in before:
                    on_core[name, core] = by_number[name, order.number] = _HELD
                    continue
                about = self.topic, self.generation, task, name, core, order.command or "", self.call, self.retries
                job = Job(*about, order.planned.cores)
                future = self.futures[task] = self.client.submit(
                    perform,
                    job,
                    *[one for one in before if one is not None],
                    key=f"{self.topic}-{self.generation}-{name}-{task}",
                    workers=[self.rented[name].address],
                    allow_other_workers=False,
                    pure=False,
                )
            if future is not None:
                on_core[name, core] = by_number[name, order.number] = future

    def _plan_anew(self) -> bool:
        """Replan the open tasks on the existing VMs; return True if there is a plan."""
        self._hold()
        self._withdraw()
        waiting = {name: future for name, future in self.futures.items() if name not in self.running}
        self.client.cancel(list(waiting.values()), force=True)
        for name in waiting:
            del self.futures[name]
        if len(self.ended) + len(self.running) == len(self.tasks):
            self.orders = {}  # nothing waits any more, not for VMs that are still to come either
            return True
        state = self.state(self._now() + _PLANNED_WITHIN_S)
        plan = self._feasible(state)
        if plan is None:
            return False
        self.plan = with_new_names(plan, self.rented)
        self._take_over(self.plan, state.time_s)
        return True

    def _hold(self) -> None:
        """Have no task begin until there is a new plan, and wait until what runs has been reported."""
        self.generation += 1
        there = [one for one in self.rented.values() if one.there]
        answers = self._ask_to_hold({one.address: one.vm.id for one in there})
        for rented in there:
            if rented.address not in answers:
                self._lose(rented)
        runs = {task for running, _ in answers.values() for task in running}
        begun = {task for _, tasks in answers.values() for task in tasks}
        until = time.monotonic() + _REPORTED_WITHIN_S
        while begun - self.running.keys() - self.ended.keys() or self.running.keys() - runs:
            if time.monotonic() > until:
                break
            self._take_events(POLL_S)

    def _ask_to_hold(self, vms: Mapping[str, str]) -> dict[str, tuple[set[str], set[str]]]:
        """Have no task of an older generation begin on workers, by their addresses; return what `hold` does.

        A worker that does not answer within a moment is left out: one that is gone may be tried for long.
        """

        def ask(address: str, vm: str) -> tuple[set[str], set[str]]:
            if not self.rented[vm].there:
                check_versions(self.client, [address])
            found = self.client.run(hold, self.topic, vm, self.generation, workers=[address])
            return found[address]  # type: ignore[no-any-return]

        asked = {address: self._asking.submit(ask, address, vm) for address, vm in vms.items()}
        done, _ = wait(asked.values(), _ANSWERED_WITHIN_S)
        answered = {address: future for address, future in asked.items() if future in done}
        return {
            address: future.result()
            for address, future in answered.items()
            if not isinstance(future.exception(), OSError)
        }

    def state(self, now: float) -> State:
        """Return the state of the bag at a moment."""
        spent = sum(
            elapsed_usd(self._bill(one.vm), max((one.end_s or now) - one.ready_s, 0.0))
            for one in self.rented.values()
            if one.address
        )
        return State(
            instance=self.instance.name,
            time_s=now,
            spent_usd=spent,
            # Those that failed in all attempts are not tried again.
            done=tuple(task for task in self.ended if task in self.instance.task_index),
            vms=tuple(self._vm_state(one, now) for one in self.rented.values() if one.alive),
            gone=tuple(one.vm.id for one in self.rented.values() if not one.alive),
        )

    def _bill(self, vm: Vm) -> Bill:
        """Bill of a VM, at its own price."""
        bills = zip(self.instance.offers, self.instance.bills, strict=True)
        bill = next(
            (bill for offer, bill in bills if (offer.vm_type.name, offer.market) == (vm.type, vm.market)), Bill()
        )
        return bill._replace(usd=vm.price_usd_per_hour / SECONDS_PER_HOUR)

    def _vm_state(self, rented: _Rented, now: float) -> VmState:
        vm = rented.vm
        running = tuple(
            TaskOnVm(
                task=one.task,
                core=one.core,
                start_s=min(one.start_s, now),
                mode=self.modes.get(one.task),
                **several(self.planned[one.task].cores),
            )
            for one in self.running.values()
            if one.vm == vm.id
        )
        late = rented.status == "launching" and rented.ready_s < now
        return VmState(
            id=vm.id,
            type=vm.type,
            market=vm.market,
            status=rented.status,  # type: ignore[arg-type]
            ready_s=now + self.instance.boot_overhead_s if late else rented.ready_s,
            price_usd_per_hour=vm.price_usd_per_hour,
            billing=billing_of(self._bill(vm)),
            running=running,
        )

    def _feasible(self, state: State) -> Schedule | None:
        """Plan the open tasks; where none is found that ends in time, with as few late as can be, as little late."""
        instance = self.instance
        if self.start_vm is None:
            there = [vm.market for vm in state.vms]
            limits = Limits(max_spot=there.count("spot"), max_on_demand=there.count("on-demand"))
            instance = instance.replace(limits=limits)
        plan: Schedule | None = None
        if state.time_s + 1 <= instance.deadline_s:  # it has not passed
            plan = self.replan(instance, state, self.plan)
        if plan is None and instance.objective.budget_usd is None:
            plan = plan_again(instance, state, start=self.plan, survive="none", late="least").schedule
        return plan


def _limits(bag: Instance) -> dict[tuple[str, str], float]:
    """Return how many VMs of each type and market may be rented, and of each market."""
    found: dict[tuple[str, str], float] = {(one.vm_type.name, one.market): one.limit for one in bag.offers}
    limits = bag.limits
    for market, most in (("spot", limits.max_spot), ("on-demand", limits.max_on_demand)):
        found["", market] = math.inf if most is None else most
    return found


def _vm_run(one: _Rented, runs: Sequence[TaskRun]) -> VmRun:
    """Return when a VM took tasks; its tasks were there, by the clock of the scheduler, which may differ a little."""
    ready_s = min([one.ready_s, *(run.start_s for run in runs)])
    end_s = None if one.end_s is None else max([one.end_s, *(run.end_s or 0.0 for run in runs)])
    vm, requested_s = one.vm, min(one.requested_s, ready_s)
    return VmRun(vm.id, ready_s, end_s, one.status == "lost", vm.type, vm.market, requested_s, vm.price_usd_per_hour)


def _refuse_missing_commands(bag: Instance, called: bool, source: str = "plan") -> None:
    if called:
        return
    missing = [name for name, command in zip(bag.task_ids, bag.task_commands, strict=True) if not command]
    if missing:
        rule = "is missing: say what the task runs, or give a function to be called"
        raise InputError(source, [Issue("tasks", rule, "command", item=missing[0])])


def _replan(instance: Instance, state: State, plan: Schedule) -> Schedule | None:
    """Replan the open tasks as fast as possible: cores wait for the plan."""
    return plan_again(instance, state, start=plan).schedule
