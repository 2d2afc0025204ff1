"""The least mean cost of one task for those who do not know the day: a dynamic programme over steps of time.

Spot types go down and come back by chance, each at the ends of steps, with the same chance at each; all their VMs do so
together, and hibernate. The task needs as many steps on every type. On a spot VM it writes a checkpoint, which takes a
step, after every ``interval`` steps of work, but none at its end. It may leave a VM at the end of any step, and goes on
from its last checkpoint; or spend a step on one more beforehand. On demand there are only those. A VM that is requested
takes ``boot`` steps in which it is not paid for; the task begins there after ``overhead`` steps, ``boot`` included. It
must end by the deadline, whatever happens.

There are at most two VMs at a time: the one that the task is on, and one more, which starts, waits for the task, or is
hibernated after the task has left it. A state is the steps of work that are left, what is up, the *seat* of the task
(its VM, and how far it has come there), and the other VM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spotbag.core.quantities import BoolArray, FloatArray, IntArray

NOWHERE, THERE, LEFT = -1, -2, -3
"""Codes in place of an offer: no VM, the other existing VM, and the one that the task leaves."""

_Choices = npt.NDArray[np.int8]


class Seat(NamedTuple):
    """Place of the task.

    Attributes
    ----------
    offer : int
        Of its VM: a spot type by its number, or the number of spot types for on demand.
    starts : int
        Steps until it can run there.
    unsaved : int
        Steps of work since its last checkpoint; on demand, 1 if there are any.
    """

    offer: int
    starts: int
    unsaved: int


class Decision(NamedTuple):
    """A decision before a step.

    Attributes
    ----------
    move : int
        Where the task moves: to a new VM of an offer, to the other VM (`THERE`), or `NOWHERE`.
    other : int
        The other VM after that: a new one of an offer, the one before (`THERE`), the one that the task has left
        (`LEFT`), or none (`NOWHERE`).
    saves : bool
        Whether the step goes into a checkpoint.
    """

    move: int
    other: int
    saves: bool


@dataclass(frozen=True)
class OnlineProblem:
    """A task, and the law of its days.

    Attributes
    ----------
    steps : int
        Steps from the readiness of the first VMs to the deadline.
    work : int
        Steps that the task runs.
    interval : int
        Steps of work between two checkpoints.
    boot, overhead : int
        Steps until a new VM is paid for, and until the task runs there.
    spot_usd : sequence of float
        What a step costs on each spot type.
    on_demand_usd : float
        And on demand.
    goes_down, comes_back : float
        Chance, at the end of each step, that a type that is up goes down, and that one that is down comes back.
    """

    steps: int
    work: int
    interval: int
    boot: int
    overhead: int
    spot_usd: Sequence[float]
    on_demand_usd: float
    goes_down: float
    comes_back: float
    seats: tuple[Seat, ...] = field(init=False)
    others: tuple[tuple[int, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        """List the seats of the task and the states of the other VM."""
        n, starting = len(self.spot_usd), range(1, self.overhead + 1)
        seats = [Seat(offer, starts, 0) for offer in range(n + 1) for starts in starting]
        seats += [Seat(offer, 0, unsaved) for offer in range(n) for unsaved in range(self.interval + 1)]
        seats += [Seat(n, 0, 0), Seat(n, 0, 1)]
        others = [(NOWHERE, 0)] + [(offer, starts) for offer in range(n + 1) for starts in (0, *starting)]
        object.__setattr__(self, "seats", tuple(seats))
        object.__setattr__(self, "others", tuple(others))

    def up(self, offer: int, mask: int) -> bool:
        """True if VMs of an offer run; the bits of a mask are the available spot types."""
        return offer == len(self.spot_usd) or bool(mask >> offer & 1)

    def started(self, offer: int, starts: int, mask: int) -> tuple[int, float]:
        """Steps until a task can run on a VM, after a step, and what the VM costs in it."""
        if offer == NOWHERE:
            return 0, 0.0
        boots = starts > self.overhead - self.boot
        up = self.up(offer, mask)
        usd = (*self.spot_usd, self.on_demand_usd)[offer] if up and not boots else 0.0
        return starts - (starts > 0 and (boots or up)), usd


class OnlinePolicy:
    """The best policy for a problem.

    Attributes
    ----------
    problem : OnlineProblem
        The problem.
    usd : float
        Its mean cost, from the best VM for a start; all types are up then.
    first : int
        Offer of that VM.
    """

    def __init__(self, problem: OnlineProblem) -> None:
        self.problem = problem
        self._seat = {seat: index for index, seat in enumerate(problem.seats)}
        self._other = {other: index for index, other in enumerate(problem.others)}
        step = _Step(problem, self._seat, self._other)
        shape = len(problem.seats), len(problem.others), step.masks, problem.work + 1
        usd = np.full(shape, np.inf)
        usd[..., 0] = 0.0
        self._choices: list[_Choices] = []
        for _ in range(problem.steps):
            usd, choices = step.before(usd)
            self._choices.append(choices)
        self._choices.reverse()
        alone, everything = self._other[NOWHERE, 0], step.masks - 1
        starts = [self._seat[Seat(offer, 0, 0)] for offer in range(len(problem.spot_usd) + 1)]
        values = usd[starts, alone, everything, -1]
        self.first, self.usd = int(np.argmin(values)), float(values.min())

    def decide(self, step: int, seat: Seat, other: tuple[int, int], mask: int, left: int) -> Decision:
        """Return the decision before a step, for the steps of work left."""
        choice = int(self._choices[step][self._seat[seat], self._other[other], mask, left])
        n = len(self.problem.spot_usd)
        move, rest = divmod(choice, _codes(n))
        kept, saves = divmod(rest, 2)
        others = (LEFT if move else THERE, NOWHERE, *range(n + 1), THERE)
        return Decision((NOWHERE, THERE, *range(n + 1))[move], others[kept], bool(saves))


def _codes(n: int) -> int:
    """Return the number of codes for the other VM and for a checkpoint in the step.

    Of the other VM: 0 for the one that there is (after a move, the one that the task has left); 1 for none; 2 and more
    for new ones; at last, after a move to a new one, for the one that there was before.
    """
    return 2 * (n + 4)


class _Step:
    """A step back in time, for all states at once.

    Arrays have the axes seat, other VM, mask of what is up, and steps of work left.
    """

    def __init__(self, problem: OnlineProblem, seat_of: dict[Seat, int], other_of: dict[tuple[int, int], int]) -> None:
        self._problem = problem
        n = len(problem.spot_usd)
        self.masks = 1 << n
        seats, others = problem.seats, problem.others
        self._alone = other_of[NOWHERE, 0]
        self._all_others = np.arange(len(others))
        # Of each seat: its VM as the other one, work that is lost by leaving, and whether it can be left.
        self._vm = np.array([other_of[seat.offer, seat.starts] for seat in seats])
        self._lost = np.array([seat.unsaved if seat.offer < n else 0 for seat in seats])
        self._leaves = np.array([seat.offer < n or seat.unsaved == 0 for seat in seats])
        self._new_seat = [seat_of[Seat(offer, problem.overhead, 0)] for offer in range(n + 1)]
        self._new_other = [other_of[offer, problem.overhead] for offer in range(n + 1)]
        self._seat_at = np.array(
            [0 if offer == NOWHERE else seat_of[Seat(offer, starts, 0)] for offer, starts in others]
        )
        self._next: list[tuple[IntArray, IntArray, IntArray, FloatArray, BoolArray, IntArray]] = []
        self._takes: list[BoolArray] = []
        for mask in range(self.masks):
            rows = [self._of_seat(seat, mask) for seat in seats]
            after = np.array([seat_of[seat] for seat, _, _ in rows])
            done = np.array([work for _, work, _ in rows])
            started = [problem.started(*other, mask) for other in others]
            of_other = np.array([other_of[offer, left] for (offer, _), (left, _) in zip(others, started, strict=True)])
            usd = np.array([usd for _, _, usd in rows])[:, None] + np.array([usd for _, usd in started])
            saves = np.array([seat.starts == 0 and seat.unsaved > 0 and problem.up(seat.offer, mask) for seat in seats])
            saved = np.array([seat_of[Seat(seat.offer, seat.starts, 0)] for seat in seats])
            self._next.append((after, of_other, done, usd, saves, saved))
            boots = problem.overhead - problem.boot
            self._takes.append(
                np.array([offer != NOWHERE and (starts > boots or problem.up(offer, mask)) for offer, starts in others])
            )

    def _of_seat(self, seat: Seat, mask: int) -> tuple[Seat, int, float]:
        """Place of the task after a step, work done, and cost of its VM."""
        problem = self._problem
        n = len(problem.spot_usd)
        starts, usd = problem.started(seat.offer, seat.starts, mask)
        if seat.starts or not problem.up(seat.offer, mask):
            return Seat(seat.offer, starts, seat.unsaved), 0, usd
        if seat.offer == n:
            return Seat(n, 0, 1), 1, usd
        if seat.unsaved == problem.interval:
            return Seat(seat.offer, 0, 0), 0, usd
        return Seat(seat.offer, 0, seat.unsaved + 1), 1, usd

    def before(self, usd: FloatArray) -> tuple[FloatArray, _Choices]:
        """Return the least mean costs before a step, and the choices that lead to them, from the costs after it."""
        n = len(self._problem.spot_usd)
        expected = self._expected(usd)
        best, choices = np.empty_like(usd), np.empty(usd.shape, dtype=np.int8)
        for mask in range(self.masks):
            stays, saved = self._after_step(expected[:, :, mask], mask)
            kept = np.zeros(stays.shape, dtype=np.int8)
            new = [offer for offer in range(n + 1) if self._problem.up(offer, mask)]
            for option, column in [(1, self._alone), *((offer + 2, self._new_other[offer]) for offer in new)]:
                _improve(stays, kept, stays[:, column, None].copy(), 2 * option + saved[:, column, None])
            kept = np.where(kept == 0, saved, kept)
            total, chosen = stays.copy(), kept.copy()
            codes = _codes(n)
            places = np.flatnonzero(self._takes[mask])
            part, part_chosen = total[:, places], chosen[:, places]
            left = self._vm[:, None]
            value, code = self._moved(stays, kept, self._seat_at[places], left)
            _improve(part, part_chosen, value, codes + code)
            total[:, places], chosen[:, places] = part, part_chosen
            for offer in new:
                to = np.array([self._new_seat[offer]])
                value, code = self._moved(stays, kept, to, left)
                _improve(total, chosen, value, codes * (offer + 2) + code)
                value, code = self._moved(stays, np.where(kept < 2, codes - 2 + kept, kept), to, self._all_others)
                _improve(total, chosen, value, codes * (offer + 2) + code)
            best[:, :, mask], choices[:, :, mask] = total, chosen
        return best, choices

    def _expected(self, usd: FloatArray) -> FloatArray:
        """Mean over what is up next."""
        n = len(self._problem.spot_usd)
        down, back = self._problem.goes_down, self._problem.comes_back
        shape = usd.shape
        expected = usd
        for offer in range(n):
            parts = expected.reshape(*shape[:2], 1 << (n - 1 - offer), 2, 1 << offer, shape[3])
            is_down, is_up = parts[:, :, :, 0], parts[:, :, :, 1]
            after = np.empty_like(parts)
            after[:, :, :, 0] = _mean(back, is_up, is_down)
            after[:, :, :, 1] = _mean(down, is_down, is_up)
            expected = after.reshape(shape)
        return expected

    def _after_step(self, expected: FloatArray, mask: int) -> tuple[FloatArray, _Choices]:
        """Mean cost of a step and what follows, and whether it goes into a checkpoint."""
        after, of_other, done, usd, saves, saved = self._next[mask]
        value = expected[after[:, None], of_other]
        works = np.flatnonzero(done)
        value[works, :, 1:] = value[works, :, :-1]
        value += usd[:, :, None]
        value[..., 0] = 0.0
        chosen = np.zeros(value.shape, dtype=np.int8)
        rows = np.flatnonzero(saves)
        other = expected[saved[rows][:, None], of_other] + usd[rows, :, None]
        other[..., 0] = 0.0
        part, part_chosen = value[rows], chosen[rows]
        _improve(part, part_chosen, other, np.int8(1))
        value[rows], chosen[rows] = part, part_chosen
        return value, chosen

    def _moved(self, stays: FloatArray, kept: _Choices, to: IntArray, others: IntArray) -> tuple[FloatArray, _Choices]:
        """Mean cost after moves from all seats to some, with some VMs as the other one then."""
        to, others = np.broadcast_arrays(to, others + np.zeros((len(self._vm), 1), dtype=np.int64))
        value = np.full((*to.shape, stays.shape[2]), np.inf)
        chosen = np.zeros(value.shape, dtype=np.int8)
        for lost in np.unique(self._lost[self._leaves]):
            rows = np.flatnonzero(self._leaves & (self._lost == lost))
            end = max(stays.shape[2] - lost, 0)
            value[rows, :, :end] = stays[to[rows], others[rows]][..., lost:]
            chosen[rows, :, :end] = kept[to[rows], others[rows]][..., lost:]
        value[..., 0] = np.inf
        return value, chosen


def _mean(chance: float, other: FloatArray, same: FloatArray) -> FloatArray:
    """Mean of two values, of which the first has a chance; what cannot happen may be infinite."""
    if chance == 0:
        return same
    return chance * other + (1 - chance) * same if chance < 1 else other


def _improve(best: FloatArray, chosen: _Choices, value: FloatArray, code: _Choices | np.int8) -> None:
    """Keep the lesser of two values, with its code."""
    less = value < best
    np.copyto(best, value, where=less)
    np.copyto(chosen, code, where=less)
