"""Generated instances of an experiment: every combination of some values, or cells that are drawn from a seed."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field

from ...core.errors import InputError, Issue
from ...core.records import Record, validate_record
from ...instances.entries import Market, SurvivalOption
from .cells import Source, generator_of

T = TypeVar("T")
Factor = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Counted(Generic[T]):
    """Sequence whose members are made anew by each iteration, and counted without being made."""

    count: int
    made: Callable[[], Iterable[T]]

    def __len__(self) -> int:
        """Number of the things."""
        return self.count

    def __iter__(self) -> Iterator[T]:
        return iter(self.made())


class Family(Record):
    """Generated instances: every combination of the values of all parameters, each of which may be a list.

    Attributes
    ----------
    name : str
        What they are called; the parameters that have a list are added.
    tasks_per_vm : number, optional
        In place of ``limit``: of each type and market there is a VM for so many tasks.
    cost_weight : number, optional
        Weight of cost in the objective.
    budget_factor : number, optional
        Budget of the goal ``fastest``, as a multiple of the divisible bound of the cost.
    survive : str, optional
        What a plan must survive; see `Instance`.

    The others are those of `spotbag.generate_instance`.
    """

    name: str = Field(min_length=1, max_length=100)
    n_tasks: int | list[int]
    seed: int | list[int] = 0
    classes: int | list[int] | None = None
    distinct: bool | list[bool] | None = None
    runtime_s: str | list[str] | None = None
    memory_mb: str | list[str] | None = None
    cores: str | list[str] | None = None
    catalogue: str | list[str] | None = None
    limit: int | list[int] | None = None
    tasks_per_vm: float | list[float] | None = None
    max_on_demand: int | list[int] | None = None
    markets: Market | list[Market] | None = None
    tightness: float | list[float] | None = None
    deadline_s: int | list[int] | None = None
    d_spot_fraction: float | list[float] | None = None
    goal: str | list[str] | None = None
    cost_weight: float | list[float] | None = None
    budget_factor: Factor | list[Factor] | None = None
    survive: SurvivalOption | list[SurvivalOption] | None = None

    def sources(self) -> Counted[Source]:
        """Return the sources of the family's instances, which are not made yet."""
        given = {key: value for key, value in self.model_dump(exclude={"name"}).items() if value is not None}
        lists = {
            # 1 and 1.0 are equal to Python, but make two labels.
            key: list({str(value): value for value in values}.values())
            for key, values in given.items()
            if isinstance(values, list)
        }
        fixed = {key: value for key, value in given.items() if key not in lists}

        def made() -> Iterator[Source]:
            for values in product(*lists.values()):
                chosen = dict(zip(lists, values, strict=True))
                label = ",".join([self.name, *(f"{key}={value}" for key, value in chosen.items())])
                yield Source(label, parameters=fixed | chosen)

        return Counted(math.prod(map(len, lists.values())), made)


class Draw(Record):
    """Generated instances that are drawn: of each, one value of every axis, and a bag of its own.

    An axis with k values has them in a random order in each k cells that follow one another. So all values come up
    equally often, a value with a ``share`` so many times as often, also among the first cells of a draw; and more cells
    of the same seed begin with the same ones.

    Attributes
    ----------
    name : str
        What they are called; number and values are added.
    cells : int, optional
        How many are drawn; every combination, once, if absent.
    seed : int
        Of the draw.
    generator : str, optional
        ``module:function`` that makes an instance of ``seed``, ``name`` and the parameters of a cell. If absent,
        parameters are those of a `Family`.
    same : dict
        Parameters of all of them.
    axes : dict
        Name to values: of the parameter of that name, or names with the parameters that each stands for. Among these
        may be ``share``, and ``time_limit_s`` (a number, or ``none``) in place of that of the experiment.
    """

    name: str = Field(min_length=1, max_length=100)
    cells: int | None = Field(default=None, ge=1, le=1_000_000)
    seed: int = Field(default=0, ge=0, lt=2**53)
    generator: str | None = None
    same: dict[str, Any] = Field(default_factory=dict)
    axes: dict[str, list[int | float | str] | dict[str, dict[str, Any]]] = Field(min_length=1)

    def values(self, axis: str) -> dict[str, dict[str, Any]]:
        """Return the values of an axis by their names: the parameters that each stands for."""
        values = self.axes[axis]
        return values if isinstance(values, dict) else {str(value): {axis: value} for value in values}

    def sources(self) -> Counted[Source]:
        """Return the sources of the drawn instances, which are not made yet."""
        axes = {axis: self.values(axis) for axis in self.axes}
        decks = {
            axis: [name for name, given in values.items() for _ in range(given.get("share", 1))]
            for axis, values in axes.items()
        }
        always = self.same if self.generator is None else {"generator": self.generator, **self.same}

        def chosen() -> Iterator[Sequence[str]]:
            if self.cells is None:
                yield from product(*axes.values())
            else:
                for number in range(self.cells):
                    yield [self._value(axis, deck, number) for axis, deck in decks.items()]

        def made() -> Iterator[Source]:
            for number, names in enumerate(chosen()):
                drawn = dict(zip(axes, names, strict=True))
                # Each cell by its number alone: more cells leave the first ones as they are.
                given = {"seed": random.Random(f"{self.seed} {number}").getrandbits(31), **always}
                for axis, name in drawn.items():
                    given |= axes[axis][name]
                settings = _CellSettings.model_validate({key: given.pop(key) for key in _SETTINGS & given.keys()})
                label = [self.name, f"{self.seed}.{number}", *(f"{axis}={name}" for axis, name in drawn.items())]
                yield Source(",".join(label), parameters=given, drawn=drawn, settings=settings.of_runs())

        return Counted(self.cells or math.prod(map(len, axes.values())), made)

    def _value(self, axis: str, deck: list[str], number: int) -> str:
        """Return the name of the value of an axis for a cell."""
        turn, place = divmod(number, len(deck))
        return random.Random(f"{self.seed} {axis} {turn}").sample(deck, len(deck))[place]

    def check(self, source: str) -> None:
        """Refuse parameters that no generator has.

        Raises
        ------
        InputError
            With the place of what is wrong.
        """
        # Each value is checked by itself; a whole cell, for what is missing, once.
        first = dict(self.same)
        for axis in self.axes:
            values = self.values(axis)
            if not values:
                raise InputError(source, [Issue(f"draws {self.name}", "must have values", f"axes.{axis}")])
            for name, given in values.items():
                place = f"{source}: draws {self.name}, {axis} {name}"
                validate_record(_CellSettings, {key: given[key] for key in _SETTINGS & given.keys()}, place)
                parameters = {key: given[key] for key in given.keys() - _SETTINGS}
                self._check_parameters(self.same | parameters, place)
            first |= {key: value for key, value in next(iter(values.values())).items() if key not in _SETTINGS}
        self._check_parameters(first, f"{source}: draws {self.name}", whole=True)

    def _check_parameters(self, given: dict[str, Any], place: str, whole: bool = False) -> None:
        """Refuse parameters that the generator does not have; of a whole cell, also that one is missing."""
        if self.generator is None:
            given = given if whole else {"n_tasks": 1} | given
            for key, value in validate_record(Family, {"name": self.name} | given, place):
                if isinstance(value, list):
                    raise InputError(place, [Issue("", "must be one value, not a list", key, value)])
            return
        signature = inspect.signature(generator_of(self.generator))
        try:
            (signature.bind if whole else signature.bind_partial)(**{"seed": 0, "name": ""} | given)
        except TypeError as error:
            raise InputError(place, [Issue("", f"does not fit the generator {self.generator}: {error}")]) from None


class _CellSettings(Record):
    """Settings of runs in a value of an axis, beside the parameters of the bag."""

    share: int = Field(default=1, ge=1, le=1000)
    time_limit_s: Factor | Literal["none"] | None = None

    def of_runs(self) -> dict[str, float | None]:
        """Return the settings of runs in place of those of the experiment."""
        limit_s = self.time_limit_s
        return {} if limit_s is None else {"time_limit_s": None if limit_s == "none" else limit_s}


_SETTINGS = frozenset(_CellSettings.model_fields)
