"""Running an experiment: cells in this process, in others, or on a cluster; a row for each that is finished."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ...core.errors import SpotbagError
from ...core.limits import LimitReached, Stop, stop_point
from ...core.processes import interruptible
from ...core.workers import Workers, by_workers, in_this_process
from ...solvers.bags.warm_up import warm_up
from .cells import Finished, PlanCell, Source
from .families import Counted
from .rows import CLAIRVOYANT, VERSION, Folder, Memory
from .specification import Specification

if TYPE_CHECKING:
    from .days import DaysBlock, DaysCell

BATCH_S = 0.25
"""Seconds of work for which cells are handed to other processes at once, as far as their time is known."""
_MOST_OF_BATCH = 256
_COMPILES_FROM = 20_000
"""Replays from which on their loops are compiled first: that takes half a minute, once on a machine."""

_Work: TypeAlias = "PlanCell | DaysBlock"
"""Cells that are run together."""

_Job: TypeAlias = "tuple[_Work, str | None]"
"""Cells, and the plan that they are about."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an experiment.

    Attributes
    ----------
    cells : int
        All of them.
    before : int
        Those that had a row before.
    done : int
        Those that have been run now.
    other_versions : tuple of str
        Versions of spotbag that made rows that were there before, if other than this one.
    interrupted : bool
        Whether it was ended early: the same call goes on.
    """

    cells: int
    before: int
    done: int
    other_versions: tuple[str, ...] = ()
    interrupted: bool = False


def run_experiment(
    asked: Specification,
    folder: str | os.PathLike[str] | None,
    *,
    files_from: Path | None = None,
    given: Mapping[str, Source] | None = None,
    workers: Workers = 1,
    on_start: Callable[[int, int], None] | None = None,
    on_cell: Callable[[Finished], None] | None = None,
    stop: Stop | None = None,
) -> Progress:
    """Run all cells of an experiment that have no row yet.

    Parameters
    ----------
    asked : Specification
        What is run; papers are not: see ``spotbag experiment run``.
    folder : path or None
        Where its rows are; made if it does not exist. None if they are only told to `on_row`.
    files_from : path, optional
        Folder from which instances are named; the working folder if absent.
    given : mapping of str to Source, optional
        Instances that are there already, by their names in the specification.
    workers : int or distributed.Client
        Processes, or a Dask cluster, whose workers have spotbag installed. The rows are the same, apart from times and
        from what depends on them.
    on_start : callable, optional
        Called with how many cells there are, and how many have a row.
    on_cell : callable, optional
        Called with each cell that has been run; also with a run that was cut short (``interrupted`` in its row), which
        is not kept: the last.
    stop : Stop, optional
        Ends it early; so do Ctrl-C and SIGTERM.

    Raises
    ------
    SpotbagError
        If the folder holds another experiment, or cannot be written.
    """
    plans, days = asked.cells(files_from or Path(), given)
    cells, done = len(plans) + len(days), 0
    with nullcontext(Memory()) if folder is None else closing(Folder(folder)) as place:
        finished = place.finished()
        known = _ask(asked, place, cells, finished, (cell.key for group in (plans, days) for cell in group))
        if on_start is not None:
            on_start(cells, len(known))
        with interruptible(stop) as limit, suppress(LimitReached):
            if isinstance(workers, int) and workers > 1:
                warm_up(asked.methods)  # before other processes do so all at once, and no part of the time of a run
            for finished_cell in _run_left(plans, days, finished, place, _Runner(workers)):
                if on_cell is not None:
                    on_cell(finished_cell)
                done += _kept(finished_cell, place)
    others = tuple(sorted({*known.values()} - {"", VERSION}))
    return Progress(cells, len(known), done, others, limit.stopped() or len(known) + done < cells)


def _ask(
    asked: Specification, place: Folder | Memory, cells: int, finished: Mapping[str, str], keys: Iterable[str]
) -> dict[str, str]:
    """Write down what is asked for; return the cells of it that have a row, and the versions that made these.

    Rows are found by their keys: an experiment that asks for more goes on where another stopped.
    """
    known = {key: finished[key] for key in keys if key in finished} if finished else {}
    spec = asked.model_dump(exclude_none=True)
    if place.asked() != spec:
        # Rows that are not asked for any more would be lost to whoever reads the folder by its specification.
        if len(known) < len(finished):
            raise SpotbagError(
                f"{place.path}: holds rows of another experiment; give another folder, or ask for what is there and "
                "more"
            )
        place.ask(spec, cells)
    return known


def _kept(cell: Finished, place: Folder | Memory) -> bool:
    """Keep a row, and its plan before it; end with a run that was cut short, which had less time than asked for."""
    if cell.row.get("interrupted"):
        raise LimitReached
    if cell.plan is not None:
        place.keep_plan(cell.key, cell.plan)
    place.add(cell.row)
    return True


def _run_left(
    plans: Iterable[PlanCell],
    days: Counted[DaysCell],
    finished: Mapping[str, str],
    place: Folder | Memory,
    runner: _Runner,
) -> Iterator[Finished]:
    """Run the cells that have no row: methods first, then replays, in blocks of the same days, of the plans kept."""
    yield from runner.run((cell for cell in plans if cell.key not in finished), place)
    if days:
        from .days import blocks_of  # here, since runs of methods need no replays

        _compile((cell for cell in days if cell.key not in finished), place)
        yield from runner.run(blocks_of(cell for cell in days if cell.key not in finished), place)


def _compile(cells: Iterable[DaysCell], place: Folder | Memory) -> None:
    """Compile the loops of replays before there are many of them: each cell alone would do without."""
    by_policy: dict[str, DaysCell] = {}
    n_days = 0
    for cell in cells:
        if n_days >= _COMPILES_FROM and cell.policy in by_policy:  # which has come round: so have the others
            break
        if cell.policy != CLAIRVOYANT:
            n_days += cell.n_days
            by_policy[cell.policy] = cell
    if n_days < _COMPILES_FROM:
        return
    for cell in by_policy.values():
        plan = place.plan(cell.plan.key)
        if plan is not None:
            with suppress(SpotbagError):  # what is wrong with it is a row
                cell.compile(plan)


class _Runner:
    """Runs cells, by whatever workers."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._seconds: dict[str, float] = {}

    def run(self, works: Iterable[_Work], place: Folder | Memory) -> Iterator[Finished]:
        """Run cells; yield their results, in no particular order."""
        jobs = _with_plans(works, place)
        if in_this_process(self._workers):
            batches: Iterable[list[_Done]] = map(_run, ([job] for job in jobs))
        else:
            batches = by_workers(_run, self._batches(jobs), self._workers, in_order=False)
        stop_point()
        for batch in batches:
            for kind, seconds, rows in batch:
                # The longest of late, fading: a batch that is too long keeps others waiting, one too short costs a
                # message.
                self._seconds[kind] = max(seconds, self._seconds.get(kind, 0.0) / 2)
                yield from rows
            stop_point()

    def _batches(self, jobs: Iterable[_Job]) -> Iterator[list[_Job]]:
        """Put together cells that take little time; what is not known to does not wait for others."""
        waiting: deque[_Job] = deque()
        seconds = 0.0
        for job in jobs:
            # The first cells of a kind go alone, and tell how long such cells take.
            takes = self._seconds.get(job[0].kind, math.inf)
            if waiting and (takes + seconds > BATCH_S or len(waiting) == _MOST_OF_BATCH):
                yield list(waiting)
                waiting.clear()
                seconds = 0.0
            waiting.append(job)
            seconds += takes
        if waiting:
            yield list(waiting)


def _with_plans(works: Iterable[_Work], place: Folder | Memory) -> Iterator[_Job]:
    """Pair cells with the plans that they are about; each is read once."""
    key, plan = "", None
    for work in works:
        if work.plan_key != key:
            key = work.plan_key
            plan = place.plan(key)
        yield work, plan


_Done: TypeAlias = "tuple[str, float, list[Finished]]"
"""Kind of cells that were run together, the seconds that they took, and their results."""


def _run(jobs: Sequence[_Job]) -> list[_Done]:
    """Run some cells one after the other; one that is interrupted ends them."""
    done: list[_Done] = []
    for work, plan in jobs:
        rows = work.run(plan)
        done.append((work.kind, sum(finished.row["cell_s"] for finished in rows), rows))
        if len(rows) < len(work.cells) or any(finished.row.get("interrupted") for finished in rows):
            break
    return done
