"""Policies side by side on the same runs, in one process or in several, and the means over these runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Generic, TypeVar

from ..core.errors import InputError, Issue
from ..core.limits import LimitReached, Stop, stop_point
from ..core.processes import NotImportable, Signalled, interruptible
from ..core.statistics import Estimate, estimate
from ..core.workers import Workers, by_workers, check_workers, in_this_process

Out = TypeVar("Out")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Runs(Generic[Out]):
    """Policies side by side on the same runs.

    Attributes
    ----------
    policies : tuple of str
        The policies.
    outcomes : tuple of tuple
        Of each policy, one outcome a run.
    interrupted : bool
        Whether there are fewer runs than were asked for, or none; also if a signal came when all were done.
    """

    policies: tuple[str, ...]
    outcomes: tuple[tuple[Out, ...], ...]
    interrupted: bool = False

    @property
    def n_runs(self) -> int:
        """Number of runs of each policy."""
        return len(self.outcomes[0])


@dataclass(frozen=True, slots=True)
class Summary:
    """Runs of a policy in sum.

    Attributes
    ----------
    policy : str
        The policy.
    runs : int
        Runs replayed.
    means : dict of str to Estimate
        Of each metric, over all runs.
    """

    policy: str
    runs: int
    means: dict[str, Estimate]


def means_of(outcomes: Sequence[Out], metrics: Mapping[str, Callable[[Out], float]]) -> dict[str, Estimate]:
    """Estimate the mean of each metric over the outcomes of one policy."""
    return {name: estimate([float(metric(outcome)) for outcome in outcomes]) for name, metric in metrics.items()}


def by_name(*names: str) -> dict[str, Callable[[Any], float]]:
    """Return metrics that are fields of an outcome, by their names."""
    return {name: attrgetter(name) for name in names}


def check_runs(runs: int, workers: Workers, seed: int | None = None) -> None:
    """Refuse numbers of runs and of processes, and seeds, that are out of range.

    Parameters
    ----------
    runs : int
        How many.
    workers : int or distributed.Client
        Processes that replay them.
    seed : int, optional
        The first, where each run has a seed of its own and they count on from it.

    Raises
    ------
    InputError
        If one is out of range.
    """
    if runs < 1:
        raise InputError("replay", [Issue("", "must be 1 or more", "runs", runs)])
    check_workers(workers)
    if seed is not None and (seed < 0 or seed + runs > 2**64):
        rule = f"and those of all {runs} runs, which count on from it, must be from 0 to 2**64 - 1"
        raise InputError("replay", [Issue("", rule, "seed", seed)])


def outcomes_by_policy(rows: Sequence[Sequence[Out]], n_policies: int) -> tuple[tuple[Out, ...], ...]:
    """Turn rows of outcomes, one of each policy, into the outcomes of each policy; there may be no rows."""
    return tuple(zip(*rows, strict=True)) if rows else ((),) * n_policies


def replay_batches(
    work: Callable[[range], Iterable[Row]],
    numbers: range,
    *,
    workers: Workers,
    per_batch: int,
    on_run: Callable[[int], None] | None = None,
    stop: Stop | None = None,
) -> tuple[list[Row], bool]:
    """Replay runs, in this process one by one, in others in batches.

    Parameters
    ----------
    work : callable
        From the numbers (seeds, days) of some runs to a row for each, one after the other.
    numbers : range
        Those of all runs, at least one.
    workers : int or distributed.Client
        Processes, or a Dask cluster.
    per_batch : int
        Most runs in a batch.
    on_run : callable, optional
        Called with the number of runs that have just been done. An exception in it ends the work, and is raised here.
    stop : Stop, optional
        Ends it early; so do Ctrl-C and SIGTERM. What `on_run` was called with is among the rows.

    Returns
    -------
    rows : list
        In the order of the numbers.
    interrupted : bool
        Whether it was ended early.

    Raises
    ------
    InputError
        If other processes cannot import what is to be replayed.
    """
    done: list[Row] = []
    signalled = Signalled()
    with interruptible(stop):
        try:
            for rows in _in_batches(work, numbers, workers, per_batch):
                done += rows
                if on_run is not None:
                    on_run(len(rows))
                stop_point()
        except LimitReached:
            pass
        except NotImportable as error:
            rule = "cannot be imported in other processes: have them in a module that can, or replay in this one"
            raise InputError("replay", [Issue("", f"{rule} (workers=1)", "policies")]) from error
    return done, len(done) < len(numbers) or signalled.is_set()


def _in_batches(
    work: Callable[[range], Iterable[Row]], numbers: range, workers: Workers, per_batch: int
) -> Iterator[list[Row]]:
    """Replay runs; yield the rows of those that have just been done."""
    if in_this_process(workers):
        yield from ([row] for row in work(numbers))
    else:
        batches = [numbers[first : first + per_batch] for first in range(0, len(numbers), per_batch)]
        yield from by_workers(partial(_as_list, work), batches, workers)


def _as_list(work: Callable[[range], Iterable[Row]], numbers: range) -> list[Row]:
    return list(work(numbers))
