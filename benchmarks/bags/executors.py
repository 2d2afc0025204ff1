"""Executions of plans on this machine against their plans: ``python -m spotbag_papers.bags.executors``.

The commands sleep, so that two cores can be many VMs: 0.05 s less than planned, since starting them takes a while. In
the last column, "yes" says that no task ran on a wrong VM, none of a core before one that comes earlier there, that all
ended with exit code 0, and that the median error of the starts is at most 0.2 s + 2 % of the median planned start. That
is not asked where processes are killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from threading import Timer

from spotbag.executors.dask import run, vms_of
from spotbag.executors.local_vms import LocalVms
from spotbag.executors.logs import read_log
from spotbag.executors.shell import export_plan
from spotbag.instances.entries import Market, Offer, Task, VmType
from spotbag.instances.instance import Instance
from spotbag.schedules.schedule import Schedule
from spotbag.traces.bags.execution import Execution

from ..measuring import asked, print_table
from .paper_days import make_plan

NUMBERS_OF_TASKS = (60, 300)
HEADINGS = (
    *("run by", "what happens", "tasks", "VMs", "cores", "planned (s)", "actual (s)", "median start error (s)"),
    *("allowed (s)", "wrong VM", "inversions", "failures", "unfinished", "commands run", "as asked"),
)
_MEMORY_MB = 16_000


def bag_of_sleepers(n_tasks: int) -> Instance:
    """Return a bag whose tasks sleep for 1 to 5 s, on VMs of 8 cores whose memory may bind."""
    runtimes_s = [1 + number * 7 % 5 for number in range(n_tasks)]
    tasks = tuple(
        Task(
            id=f"sleep-{number}",
            memory_mb=500 + number * 37 % 1900,
            runtime_s={"eight": float(seconds)},
            command=f"sleep {seconds - 0.05:g}",
        )
        for number, seconds in enumerate(runtimes_s)
    )
    offers: dict[Market, Offer] = {
        "spot": Offer(price_usd_per_hour=0.1, limit=8),
        "on-demand": Offer(price_usd_per_hour=0.3, limit=8),
    }
    vm_type = VmType(name="eight", vcpus=8, memory_mb=_MEMORY_MB, offers=offers)
    return Instance(
        name=f"sleepers-{n_tasks}",
        deadline_s=40,
        d_spot_s=25,
        boot_overhead_s=0,
        vm_types=(vm_type,),
        tasks=tasks,
    )


def plan_of_sleepers(n_tasks: int) -> Schedule:
    """Return a plan by the greedy for a bag of sleeping commands."""
    return make_plan(bag_of_sleepers(n_tasks), "greedy")


def allowed_error_s(execution: Execution) -> float:
    """Return the largest median error of the starts that is taken for on time."""
    return 0.2 + 0.02 * median(task.start_s for task in execution.planned)


def row_of(by: str, what: str, execution: Execution, *, on_time: bool = True) -> Sequence[str]:
    """Return the row of an execution, and whether it is as asked; with ``on_time``, its starts must be, too."""
    error_s, allowed_s = execution.median_start_error_s, allowed_error_s(execution)
    found = (execution.wrong_vm, execution.inversions, execution.failures, execution.unfinished)
    good = not any(found) and error_s is not None and (error_s <= allowed_s or not on_time)
    makespan_s = execution.makespan_s
    return (
        by,
        what,
        f"{len(execution.planned)}",
        f"{len(execution.vm_deviations)}",
        f"{sum(vm.cores for vm in execution.vm_deviations)}",
        f"{round(execution.planned_makespan_s, 2):g}",
        "-" if makespan_s is None else f"{makespan_s:.2f}",
        "-" if error_s is None else f"{error_s:.3f}",
        f"{allowed_s:.2f}" if on_time else "-",
        *(f"{len(runs)}" for runs in found),
        f"{len(execution.runs)}",
        "yes" if good else "no",
    )


# ------------------------------------------------------------------------------------------------------ the shell


def shell_rows(n_tasks: int) -> Iterator[Sequence[str]]:
    """Run a plan by its scripts: undisturbed, with a driver killed midway, and with all of a VM's scripts killed."""
    schedule = plan_of_sleepers(n_tasks)
    yield row_of("shell", "nothing", run_by_shell(schedule))
    half_s = schedule.makespan_s / 2
    for what, victims in (("a driver is killed", _driver), ("all scripts of a VM are killed", _scripts)):
        yield row_of("shell", what, run_by_shell(schedule, half_s, victims), on_time=False)


def run_by_shell(
    schedule: Schedule, kill_s: float | None = None, victims: Callable[[Path, int], list[int]] | None = None
) -> Execution:
    """Run the scripts of all VMs of a plan at once.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    kill_s : float, optional
        When processes of the first VM are killed; the VM is started again at once.
    victims : callable, optional
        From the folder of the VM and the process of its driver to the processes.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        vms = export_plan(schedule, folder)
        drivers = [_start(vm) for vm in vms]
        if kill_s is not None and victims is not None:
            time.sleep(kill_s)
            for process in victims(vms[0], drivers[0].pid):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            drivers[0].wait()
            drivers[0] = _start(vms[0])
        for driver in drivers:
            driver.wait()
        return read_log(schedule, folder)


def _start(vm: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sh", str(vm / "run.sh")], stderr=subprocess.DEVNULL)


def _driver(vm: Path, driver: int) -> list[int]:
    return [driver]


def _scripts(vm: Path, driver: int) -> list[int]:
    return [driver, *(int(file.read_text()) for file in (vm / "state").glob("core-*.pid"))]


# ------------------------------------------------------------------------------------------------------------ Dask


def dask_rows(n_tasks: int) -> Iterator[Sequence[str]]:
    """Run a plan on a Dask cluster: undisturbed, with a worker killed midway, and with a VM taken away."""
    schedule = plan_of_sleepers(n_tasks)
    yield row_of("Dask", "nothing", run_by_dask(schedule))
    half_s = schedule.makespan_s / 2
    yield row_of("Dask", "a worker is killed", run_by_dask(schedule, half_s, _kill), on_time=False)
    yield row_of("Dask", "a VM is taken away", run_by_dask(schedule, half_s, LocalVms.stop), on_time=False)


def run_by_dask(
    schedule: Schedule, lose_s: float | None = None, lose: Callable[[LocalVms, str], None] = LocalVms.stop
) -> Execution:
    """Run the commands of a plan on workers that are processes of this machine.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    lose_s : float, optional
        When the first VM is lost.
    lose : callable
        How: from the VMs and the id of the one.
    """
    with LocalVms(vms_of(schedule)) as vms:
        timer = Timer(lose_s or 0, lambda: lose(vms, schedule.vm_ids[0]))
        if lose_s is not None:
            timer.start()
        execution = run(schedule, vms)
        timer.cancel()
    return execution


def _kill(vms: LocalVms, vm: str) -> None:
    os.kill(vms.process(vm), signal.SIGKILL)


def main() -> None:
    """Print the table."""
    executors = {"shell": shell_rows, "dask": dask_rows}
    by = asked(__doc__, by=executors).by
    rows = (row for n_tasks in NUMBERS_OF_TASKS for name in by for row in executors[name](n_tasks))
    print_table("plans that are run on one machine", HEADINGS, rows, words=2)


if __name__ == "__main__":
    main()
