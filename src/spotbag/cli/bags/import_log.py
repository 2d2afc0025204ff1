"""``spotbag import-log``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ...core.text_tables import number, words
from ...core.wording import listed
from ..answers import Answer, Part, column, listing
from ..arguments import InstanceOptions, names_in
from ..console import beside_the_answer, drawing, print_facts, print_rows, seconds, wrote
from ..options import argument, instance_argument, json_option, option, state_option

if TYPE_CHECKING:
    from ...traces.bags.execution import Execution, TaskDeviation

EXAMPLE = "Example:  spotbag import-log bag.json plan.json run --gantt run.png --out state.json"


def _error(value_s: float | None, planned_s: float) -> str | None:
    return None if value_s is None else f"{value_s - planned_s:+,.2f}"


class ActualTask(Part):
    """A task as planned and as it was run; of several attempts, the one that counts."""

    task: str = column(words("task"), words("VM", lambda row: row.ran_on()))
    status: Literal["done", "failed", "cut off", "running", "waiting"] = column(words("status"))
    planned_vm: str
    planned_core: int = column(number("core", lambda row: row.planned_core if row.core is None else row.core))
    planned_start_s: int = column(number("planned start (s)", "planned_start_s", ","))
    planned_end_s: int = column(
        number("planned run time (s)", lambda row: row.planned_end_s - row.planned_start_s, ",")
    )
    vm: str | None
    core: int | None
    start_s: float | None = column(number("start (s)", "start_s", ",.1f", measured=True))
    end_s: float | None = column(
        number(
            "run time (s)",
            lambda row: None if row.start_s is None or row.end_s is None else row.end_s - row.start_s,
            ",.1f",
            measured=True,
        )
    )
    start_error_s: float | None = column(
        number("start error (s)", lambda row: _error(row.start_s, row.planned_start_s), measured=True)
    )
    end_error_s: float | None = column(
        number(
            "end error (s)",
            lambda row: _error(row.end_s, row.planned_end_s) if row.status == "done" else None,
            measured=True,
        )
    )
    exit_code: int | None = column(number("exit code", "exit_code"))
    message: str
    attempts: int = column(number("attempts"))

    def ran_on(self) -> str:
        """Return the VM, and the planned one if that is another: that is what one looks for in the table."""
        return self.planned_vm if self.vm in (None, self.planned_vm) else f"{self.vm} (planned: {self.planned_vm})"


class ActualVm(Part):
    """A VM as planned and as it was used: from the start of its first task to the end of its last one."""

    vm: str = column(words("VM", "vm"))
    tasks: int = column(number("tasks"))
    done: int = column(number("done"))
    planned_start_s: int = column(number("planned start (s)", lambda found: seconds(found.planned_start_s)))
    planned_end_s: int = column(number("planned end (s)", lambda found: seconds(found.planned_end_s)))
    start_s: float | None = column(number("start (s)", "start_s", ",.1f", measured=True))
    end_s: float | None = column(
        number("end (s)", "end_s", ",.1f", measured=True),
        number("start error (s)", lambda found: _error(found.start_s, found.planned_start_s), measured=True),
        number("end error (s)", lambda found: _error(found.end_s, found.planned_end_s), measured=True),
    )
    starts: int = column(number("starts"))
    lost: bool = column(words("stopped or lost", lambda found: "yes" if found.lost else ""))


class ImportLog(Answer, kind="import-log"):
    """``spotbag import-log``; times are seconds from the start of the plan, which ``began_at`` has on the clock."""

    instance: str
    tasks: int
    done: int
    failures: int
    unfinished: tuple[str, ...]
    late: tuple[str, ...]
    planned_makespan_s: int
    makespan_s: float | None
    median_start_error_s: float | None
    wrong_vm: tuple[str, ...]
    inversions: tuple[tuple[str, str], ...]
    until_s: float
    began_at: float
    vms: tuple[ActualVm, ...] = listing(*ActualVm.columns())
    rows: tuple[ActualTask, ...]

    def print_text(self) -> None:
        """Print figures of all tasks, and a row for each VM."""
        end_s, error_s, unfinished = self.makespan_s, self.median_start_error_s, self.unfinished
        ended = f"; the last ended at {end_s:,.1f} s, planned {self.planned_makespan_s:,} s" if end_s else ""
        print(f"{self.instance}: {self.done:,} of {self.tasks:,} tasks are done{ended}")
        # A task that failed once and was done later is done.
        failed = [row.task for row in self.rows if row.status == "failed"]
        counts = {
            "start error": "-" if error_s is None else f"{error_s:.2f} s (median)",
            "wrong VM": f"{len(self.wrong_vm)}",
            "inversions": f"{len(self.inversions)} (of neighbours on a core)",
            "failures": f"{self.failures}" + (f" (not done: {listed(failed, 'task')})" if failed else ""),
            "unfinished": f"{len(unfinished)}" + (f" ({listed(unfinished, 'task')})" if unfinished else ""),
        }
        if self.late:
            counts["late"] = f"{len(self.late)} ({listed(self.late, 'task')})"
        print_facts(counts.items(), 12)
        print()
        super().print_text()


def import_log_command(
    *,
    instance: str = instance_argument(),
    plan: str = argument("PLAN", "The plan that was exported (JSON), or - for standard input.", file="read"),
    logs: list[str] = argument("LOG...", "The folder of the export, folders of VMs, or log files.", file="read"),
    changes: InstanceOptions,
    lost: list[str] | None = option("VM", "A VM that is gone: what it ran last was cut off."),
    began_at: float | None = option("CLOCK", "When the plan began, in seconds since 1970 UTC; by the logs if absent."),
    state: str | None = state_option(),
    full: bool = option(None, "A row for each task, too.", False),
    out: str | None = option("FILE", "Write the state that this leads to (JSON).", file="written"),
    gantt: str | None = option("FILE", "Draw planned and actual: .png, .svg, .pdf or .html.", file="drawn"),
    trace: str | None = option("FILE", "Write what happened as a trace, for 'spotbag audit'.", file="written"),
    as_json: bool = json_option(),
) -> None:
    """Read the logs of an exported plan: what was planned, and what really happened.

    Logs may be read while tasks run. The state that --out writes is that of the last event in the logs. Exit code 0:
    done; 2: bad input.
    """
    from ...executors.logs import execution_state, read_log
    from ...schedules.schedule_files import read_schedule_document

    document = read_schedule_document(plan)
    schedule = changes.plan_of(document, instance, plan, state)
    gone = names_in(lost or [])
    execution = read_log(schedule, *logs, lost=gone, began_at=began_at)
    if out is not None:
        from ...schedules.state import State

        # The plan may be one from a state: what was done and paid before it counts as well.
        since = None if state is None else State.read(state)
        execution_state(schedule, execution, gone, since).write(out)
        wrote(out, "the state")
    if trace is not None:
        from ...traces.files import write_traces

        write_traces(trace, [execution.to_trace()])
        wrote(trace, "the trace")
    if gantt is not None:
        from ...charts.bags.plan import write_execution

        with beside_the_answer(), drawing(gantt):
            write_execution(execution, gantt, schedule.instance.name, schedule.instance.deadline_s)
    answer = _answer(schedule.instance.name, execution)
    answer.show(as_json)
    if full and not as_json:
        print()
        print_rows(answer.rows, *ActualTask.columns())


def _answer(name: str, execution: Execution) -> ImportLog:
    return ImportLog.of(
        execution,
        instance=name,
        tasks=len(execution.planned),
        done=len(execution.planned) - len(execution.unfinished),
        failures=len(execution.failures),
        planned_makespan_s=round(execution.planned_makespan_s),
        wrong_vm=tuple(run.task for run in execution.wrong_vm),
        inversions=tuple((early.task, late.task) for early, late in execution.inversions),
        vms=tuple(ActualVm.of(found) for found in execution.vm_deviations),
        rows=tuple(map(_actual, execution.deviations)),
    )


def _actual(found: TaskDeviation) -> ActualTask:
    planned, run = found.planned, found.run
    names = ("vm", "core", "start_s", "end_s", "exit_code")
    return ActualTask.of(
        found,
        task=planned.task,
        planned_vm=planned.vm,
        planned_core=planned.core,
        planned_start_s=planned.start_s,
        planned_end_s=planned.end_s,
        message="" if run is None else run.message,
        **{name: getattr(run, name, None) for name in names},
    )
