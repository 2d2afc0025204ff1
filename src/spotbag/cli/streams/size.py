"""``spotbag size``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

import typer

from ...core.processes import interruptible
from ...core.text_tables import number, words
from ...core.wording import counted
from ..answers import Answer, Part
from ..arguments import load_stream
from ..console import NO_FEASIBLE_PLAN, print_rows, seconds, warn
from ..options import STREAMS, argument, json_option, option, seconds_option

if TYPE_CHECKING:
    from ...instances.streams.entries import Job
    from ...instances.streams.stream import Stream
    from ...models.streams.sizing import SizingProblem, TypeChoice
    from ...solvers.streams.sizing import Sizing, SizingMethod, VmUse

EXAMPLE = "Example:  spotbag size thai/table2 --job j4 --deadline 900"


class SizedUse(Part):
    """VMs of a type that have the same number of tasks."""

    vm_type: str
    vms: int
    tasks_each: int
    runs_s: float
    started_blocks: int
    full_blocks: int
    last_block_use: float
    idle_blocks: int


class CheaperEnd(Part):
    """An earlier end that costs less."""

    available_s: int
    cost_usd: float


class SizedJob(Part):
    """The VMs that a job needs."""

    id: str
    application: str
    n_tasks: int
    available_s: int
    status: str
    reasons: tuple[str, ...]
    missing_s: float | None
    fastest: str | None
    counts: dict[str, int]
    tasks_per_vm: dict[str, int]
    runtime_s: dict[str, float | None]
    paid_blocks_per_vm: int
    cost_usd: float | None
    started_cost_usd: float | None
    cheaper_end: CheaperEnd | None
    uses: tuple[SizedUse, ...]
    solving_s: float


class Size(Answer, kind="size"):
    """``spotbag size``."""

    stream: str
    method: str
    block_s: int
    creation_overhead_s: int
    jobs: tuple[SizedJob, ...]
    vms: int
    cost_usd: float
    started_cost_usd: float
    infeasible: tuple[str, ...]
    interrupted: bool


def size_command(
    *,
    stream: str = argument(
        "STREAM",
        "A stream of jobs: a JSON file, - for standard input, or the name of a stream of the library.",
        completes=STREAMS,
    ),
    job: list[str] | None = option("ID", "Job to size; may be given several times."),
    tasks: int | None = option("N", "Number of tasks, instead of the job's.", min=0, max=10000000),
    deadline: int | None = seconds_option("Time from submission to deadline, instead of the job's."),
    method: str = option("NAME", "milp or dynamic-programme; both give the same counts.", "milp", short="-m"),
    as_json: bool = json_option(),
) -> None:
    """Find how many VMs of each type finish a job by its deadline at least cost.

    Each job on its own, with its average run times, as if nothing were rented yet (Model 6 of Thai et al.): every
    VM is paid until the deadline; the output says where an earlier end costs less. That is a cost to plan with; a
    bill counts the blocks that were started.

    Exit code 0: every job can be done; 1: some job cannot, with the reason; 2: bad input; 130: interrupted.
    """
    from ...core.limits import stopped
    from ...models.streams.sizing import problem_of_job
    from ...solvers.streams.sizing import size_job

    loaded = load_stream(stream)
    # A job that is named twice is one, and counts once in the sums.
    chosen = [loaded.job(job_id) for job_id in dict.fromkeys(job)] if job else list(loaded.jobs_by_submission)
    problems = [problem_of_job(loaded, one, tasks, deadline) for one in chosen]
    sizings: list[Sizing] = []
    with interruptible():
        # One by one: after an interrupt, those that are sized are the answer.
        for problem in problems:
            sizings.append(size_job(problem, cast("SizingMethod", method)))
            if stopped():
                break
        # After an interrupt there are fewer sizings than jobs.
        rows = list(zip(chosen, problems, sizings, strict=False))
        interrupted = len(rows) < len(chosen)
        if interrupted:
            warn([f"interrupted: {len(rows)} of {len(chosen)} jobs are here"])
        if as_json:
            Size.of(
                loaded,
                stream=loaded.name,
                method=method,
                jobs=tuple(_sized(*row) for row in rows),
                vms=sum(sizing.n_vms for sizing in sizings),
                cost_usd=sum(sizing.cost_usd for sizing in sizings),
                started_cost_usd=sum(sizing.started_cost_usd for sizing in sizings),
                infeasible=tuple(one.id for one, _, sizing in rows if sizing.status == "infeasible"),
                interrupted=interrupted,
            ).print_json()
        else:
            _print_jobs(loaded, rows)
    if any(sizing.status == "infeasible" for sizing in sizings):
        raise typer.Exit(NO_FEASIBLE_PLAN)


def _print_jobs(stream: Stream, rows: Sequence[tuple[Job, SizingProblem, Sizing]]) -> None:
    """Print the VMs that each job needs, and of several jobs the sums."""
    launch = f"{seconds(stream.creation_overhead_s)} s to launch a VM"
    print(f"{stream.name}: blocks of {seconds(stream.block_s)} s, {launch}")
    print("each job on its own, all its VMs paid until its deadline (Thai et al., eq. 5)")
    for job, problem, sizing in rows:
        _print_job(job, problem, sizing)
    if len(rows) > 1:
        _print_totals(rows)
    print("tasks fit: what one VM finishes by the deadline; end: when its tasks are done")
    print("use of each: full blocks, part of the last one begun, blocks that stay idle")
    if len(rows) > 1:
        print("started only: the cost without the blocks that stay idle")


def _print_job(job: Job, problem: SizingProblem, sizing: Sizing) -> None:
    """Print the VMs that a job needs: a headline, a table, and remarks on types and earlier ends."""
    from ...core.quantities import plain
    from ...solvers.streams.sizing import earlier_and_cheaper

    print(
        f"\n{job.id}: {counted(problem.n_tasks, 'task')} of {job.application} in {plain(problem.available_s):,} s: "
        + ("infeasible" if sizing.status == "infeasible" else f"{sizing.status}, $ {sizing.cost_usd:.4f}")
    )
    if sizing.status != "infeasible":
        print_rows(
            _rows(problem, sizing),
            words("type", lambda row: row[0].name),
            number("task (s)", lambda row: row[0].runtime_s and float(row[0].runtime_s), ",.2f"),
            number("tasks fit", lambda row: sizing.tasks_per_vm[row[0].name], ","),
            number("VMs", lambda row: row[1].vms if row[1] else 0, ","),
            number("tasks each", lambda row: row[1] and row[1].tasks_each, ","),
            number("end (s)", lambda row: row[1] and row[1].runs_s, ",.1f"),
            number("paid blocks", lambda row: row[1] and row[1].vms * sizing.paid_blocks, ","),
            number("use of each", lambda row: row[1] and _used(row[1])),
            number(
                "cost ($)",
                lambda row: row[1] and row[1].vms * sizing.paid_blocks * row[0].price_usd_per_block,
                ".4f",
            ),
            tight=True,
        )
    for reason in sizing.reasons:
        print(reason)
    cheaper = earlier_and_cheaper(problem, sizing)
    if cheaper is not None:
        earlier_s, found = cheaper
        print(f"to end by {seconds(earlier_s)} s costs less, $ {found.cost_usd:.4f}: see --deadline {earlier_s}")


def _rows(problem: SizingProblem, sizing: Sizing) -> Iterator[tuple[TypeChoice, VmUse | None]]:
    """Yield each type of the catalogue, in as many rows as its VMs have different numbers of tasks."""
    for choice in problem.types:
        uses = [use for use in sizing.uses if use.vm_type == choice.name]
        yield from ((choice, use) for use in uses or (None,))


def _used(use: VmUse) -> str:
    """Use of the blocks of one VM in words: full ones, the last one, those that are idle."""
    parts = [f"{use.full_blocks:,} full"] if use.full_blocks else []
    parts += [f"{100 * use.last_block_use:.0f} %"] if use.last_block_use else []
    parts += [f"{use.idle_blocks:,} idle"] if use.idle_blocks else []
    return ", ".join(parts)


def _print_totals(rows: Sequence[tuple[Job, SizingProblem, Sizing]]) -> None:
    """Print all jobs together."""
    able = [sizing for _, _, sizing in rows if sizing.status != "infeasible"]
    jobs = [(job.id, [] if sizing.status == "infeasible" else [sizing]) for job, _, sizing in rows]

    def total(of: Callable[[Sizing], float]) -> Callable[[Any], float | None]:
        return lambda row: sum(map(of, row[1])) if row[1] or row is whole else None

    whole = ("all" if len(able) == len(rows) else "all that can", able)
    print()
    print_rows(
        [*jobs, None, whole],
        words("job", lambda row: row[0]),
        number(
            "VMs", lambda row: "infeasible" if not row[1] and row is not whole else f"{sum(s.n_vms for s in row[1]):,}"
        ),
        number("paid blocks", total(lambda sizing: sizing.n_vms * sizing.paid_blocks), ","),
        number("cost ($)", total(attrgetter("cost_usd")), ".4f"),
        number("started only ($)", total(attrgetter("started_cost_usd")), ".4f"),
    )


def _sized(job: Job, problem: SizingProblem, sizing: Sizing) -> SizedJob:
    """Return the VMs that a job needs as they are printed."""
    from ...solvers.streams.sizing import earlier_and_cheaper

    cheaper = earlier_and_cheaper(problem, sizing)
    # No VMs cost nothing, which would read as the best there is.
    costs = {} if sizing.status != "infeasible" else {"cost_usd": None, "started_cost_usd": None}
    return SizedJob.of(
        sizing,
        problem,
        job,
        runtime_s={
            choice.name: None if choice.runtime_s is None else float(choice.runtime_s) for choice in problem.types
        },
        paid_blocks_per_vm=sizing.paid_blocks,
        cheaper_end=None if cheaper is None else CheaperEnd.of(cheaper[1], available_s=cheaper[0]),
        uses=tuple(SizedUse.of(use) for use in sizing.uses),
        solving_s=sizing.runtime_s,
        **costs,
    )
