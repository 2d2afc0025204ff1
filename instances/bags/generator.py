"""Random instances: bags of classes of identical tasks or of tasks each on its own, on VM types of `vm_types.toml`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from ...core.errors import SpotbagError
from ...core.quantities import MAX_SECONDS, MB_PER_GB, FloatArray, IntArray, number_of
from ...core.text_files import packaged_toml
from ..entries import MARKETS, MAX_TASKS, Checkpoints, Goal, Limits, Market, Objective, Provenance, Task, VmType
from ..instance import Instance
from .vm_catalogue import VmChoice, choose_vm_types

_LIMIT_PER_TYPE_AND_MARKET = 5
"""Most VMs of one type in one market at once, by default, at Amazon (HADS, section 3)."""


def _vm_type(limit: int, *, memory_gb: float, on_demand: float, spot: float | None = None, **said: Any) -> VmType:
    prices = {"spot": spot, "on-demand": on_demand}
    offers = {market: {"price_usd_per_hour": usd, "limit": limit} for market, usd in prices.items() if usd is not None}
    return VmType.model_validate({**said, "memory_mb": memory_gb * MB_PER_GB, "offers": offers})


def _types_of(said: Mapping[str, Any], limit: int = _LIMIT_PER_TYPE_AND_MARKET) -> tuple[VmType, ...]:
    if "shipped" in said:
        rows = choose_vm_types(VmChoice(types=said["shipped"], limit=limit))
        return tuple(VmType.model_validate(row) for row in rows)
    return tuple(_vm_type(limit, **row) for row in said["types"])


CATALOGUES: Mapping[str, Callable[..., tuple[VmType, ...]]] = {
    name: partial(_types_of, said) for name, said in packaged_toml(__package__, "vm_types.toml").items()
}
"""VM types of the papers, with the prices and limits that they print, and of generated bags: functions of the limit per
type and market, by name."""


# ----------------------------------------------------------------------------------------------------------------- bags

RUNTIME_FACTORS = {"c3.large": 1.0, "c3.xlarge": 0.99, "c4.large": 0.95, "c4.xlarge": 0.96, "t3.large": 0.92}
"""Run time on a type relative to the drawn one. Our assumption: the papers print no run times by type."""

RUNTIME_NOISE = 0.02
"""Standard deviation of the factor of one task on one type."""

PAPER_CHECKPOINTS = Checkpoints(overhead_fraction=0.1, dump_base_s=12.99, dump_s_per_mb=0.022)
"""Checkpoints of HADS (sections 5.2.2 and 5.3.5)."""

_MOST_CORES = 4096

_SHAPES = {
    "constant": "VALUE",
    "uniform": "LOW:HIGH",
    "normal": "MEAN:SD",
    "lognormal": "MEDIAN:SIGMA",
    "beta": "MIN:MEAN:MAX",
}


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution of positive numbers.

    Attributes
    ----------
    shape : {"constant", "uniform", "normal", "lognormal", "beta"}
        ``beta`` matches its minimum, mean and maximum exactly; ``normal`` is cut off below a tenth of its mean.
    parameters : tuple of float
        See `Distribution.parse`.
    """

    shape: str
    parameters: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> Distribution:
        """Read ``uniform:60:300``, ``normal:200:50``, ``lognormal:100:0.8``, ``beta:102:198:323`` or ``constant:120``.

        Raises
        ------
        SpotbagError
            If it is none of these.
        """
        shape, *rest = text.split(":")
        known = ", ".join(f"{name}:{parameters}" for name, parameters in _SHAPES.items())
        if shape not in _SHAPES or len(rest) != len(_SHAPES[shape].split(":")):
            raise SpotbagError(f"distribution {text!r} is not one of {known}")
        parameters = tuple(value for part in rest if (value := number_of(part)) is not None)
        if len(parameters) < len(rest):
            raise SpotbagError(f"distribution {text!r}: the parameters must be numbers ({_SHAPES[shape]})")
        if not all(value >= 0 for value in parameters) or parameters[0] <= 0:
            raise SpotbagError(f"distribution {text!r}: the parameters must be finite and positive")
        if shape in ("uniform", "beta") and sorted(parameters) != list(parameters):
            raise SpotbagError(f"distribution {text!r}: the parameters must rise ({_SHAPES[shape]})")
        if shape == "beta" and not parameters[0] < parameters[1] < parameters[2]:
            raise SpotbagError(f"distribution {text!r}: the mean must lie between minimum and maximum")
        return cls(shape, parameters)

    def sample(self, counts: IntArray, rng: np.random.Generator) -> FloatArray:
        """Draw a value for each class; ``counts`` says how many tasks it stands for. Sorted for ``beta``."""
        return _SAMPLERS[self.shape](rng, counts, *self.parameters)


def match_summary(values: FloatArray, counts: IntArray, low: float, mean: float, high: float) -> FloatArray:
    """Stretch sorted values so that minimum, mean (weighted by counts) and maximum come out as given.

    The first becomes the minimum and the last the maximum; those between are drawn towards one of them. With fewer
    than three values, or too many tasks at the ends, the mean is only approached.
    """
    if len(values) == 1:
        return np.array([mean])
    spread = max(values[-1] - values[0], 1e-12)
    stretched: FloatArray = low + (values - values[0]) * ((high - low) / spread)
    stretched[0], stretched[-1] = low, high
    inner = slice(1, -1)
    weights = counts[inner].astype(float)
    missing = mean * counts.sum() - float((stretched * counts).sum())
    end = high if missing > 0 else low
    room = float((weights * (end - stretched[inner])).sum())
    if room:
        stretched[inner] += min(missing / room, 1.0) * (end - stretched[inner])
    return stretched


def _beta(rng: np.random.Generator, counts: IntArray, low: float, mean: float, high: float) -> FloatArray:
    share = (mean - low) / (high - low)
    return match_summary(np.sort(rng.beta(2 * share, 2 * (1 - share), len(counts))), counts, low, mean, high)


_SAMPLERS: Mapping[str, Callable[..., FloatArray]] = {
    "constant": lambda rng, counts, value: np.full(len(counts), value),
    "uniform": lambda rng, counts, low, high: rng.uniform(low, high, len(counts)),
    "normal": lambda rng, counts, mean, deviation: np.maximum(rng.normal(mean, deviation, len(counts)), mean / 10),
    "lognormal": lambda rng, counts, median, sigma: rng.lognormal(math.log(median), sigma, len(counts)),
    "beta": _beta,
}


def generate_instance(
    n_tasks: int,
    *,
    classes: int | None = None,
    distinct: bool = False,
    runtime_s: Distribution | str = "beta:102:198:323",
    memory_mb: Distribution | str = "beta:2.85:4.69:12.2",
    cores: str = "1",
    catalogue: str | Sequence[VmType] = "burst-hads",
    limit: int | None = 5,
    max_on_demand: int | None = 20,
    markets: Market | None = None,
    tightness: float = 0.5,
    deadline_s: int | None = None,
    d_spot_fraction: float | None = None,
    d_spot_rule: Literal["paper"] | None = None,
    goal: Goal | None = None,
    seed: int = 0,
    name: str | None = None,
    provenance: Provenance | None = None,
) -> Instance:
    """Generate a random instance.

    Parameters
    ----------
    n_tasks : int
        Number of tasks.
    classes : int, optional
        Number of classes of identical tasks; if absent, each task is drawn on its own.
    distinct : bool
        Make the run times on the first VM type pairwise distinct, by lengthening tasks by a second or more.
    runtime_s, memory_mb : Distribution or str
        Of the run time on the first VM type (scaled to the others by `RUNTIME_FACTORS` with some noise), and of the
        memory need for each core; a string as `Distribution.parse` reads it. ``beta`` gives longer tasks more memory.
    cores : str
        Numbers of cores by commas, of which each class needs one: ``1,2,4,8``.
    catalogue : str or sequence of VmType
        ``hads``, ``burst-hads``, ``memory``, ``burstable``, ``ten-types`` (`CATALOGUES`), or VM types.
    limit : int, optional
        VMs of each type and market, for a named catalogue. None for as few as ``tightness`` and ``deadline_s`` say.
    max_on_demand : int, optional
        On-demand VMs over all types.
    markets : {"spot", "on-demand"}, optional
        The only market that may be used; both if absent.
    tightness : float
        In (0, 1]: the least time in which the work could be done on all cores, divided by the deadline.
    deadline_s : int, optional
        Instead of ``tightness``, unless that is to say the limit.
    d_spot_fraction : float, optional
        D_spot as a fraction of the deadline. None leaves it to what a plan must survive, or to ``d_spot_rule``.
    d_spot_rule : {"paper"}, optional
        Of the instance; see `Instance`.
    goal : {"cheapest", "fastest", "balanced"}, optional
        Of the instance; see `Objective`.
    seed : int
        Same arguments and seed, same instance.
    name : str, optional
        Of the instance.
    provenance : Provenance, optional
        If absent, one that says how it was generated.

    Raises
    ------
    SpotbagError
        If an argument is out of its range.
    """
    _check_range("the number of tasks", n_tasks, 1, MAX_TASKS)
    _check_range("the number of classes", classes, 1, n_tasks)
    _check_range("the seed", seed, 0, 2**63)
    _check_range("the limit of on-demand VMs", max_on_demand, 0, 10**9)
    if not 0 < tightness <= 1:
        raise SpotbagError(f"the tightness must be in (0, 1], not {tightness}")
    if d_spot_fraction is not None and not 0 <= d_spot_fraction <= 1:
        raise SpotbagError(f"the fraction of D_spot must be in [0, 1], not {d_spot_fraction}")
    vm_types = _vm_types(catalogue, 1 if limit is None else limit)
    runtimes = Distribution.parse(runtime_s) if isinstance(runtime_s, str) else runtime_s
    memories = Distribution.parse(memory_mb) if isinstance(memory_mb, str) else memory_mb
    rng = np.random.default_rng(seed)

    counts = _class_counts(n_tasks, classes, rng)
    sampled = runtimes.sample(counts, rng)
    memory = np.maximum(memories.sample(counts, rng).round(2), 0.01)
    # Distinct run times are made of the drawn ones, so that the draws, and all after them, stay those of the seed.
    if distinct:
        sampled = _distinct(sampled)
    choice = [int(part) if part.isascii() and part.isdigit() else 0 for part in cores.split(",")]
    if not all(1 <= number <= _MOST_CORES for number in choice):
        raise SpotbagError(f"cores {cores!r} must be whole numbers by commas, from 1 to {_MOST_CORES}")
    if sampled.max() > MAX_SECONDS / 2:
        raise SpotbagError(f"the distribution {_show(runtimes)} gives run times beyond {MAX_SECONDS // 2} s")
    table = _runtime_table(sampled, vm_types, rng)
    # Tasks on their own are shuffled: some distributions draw sorted values.
    order = rng.permutation(len(counts)).tolist() if classes is None else range(len(counts))
    # Last of all that is drawn: bags of one core are what they were.
    needs = rng.choice(np.array(choice, dtype=np.int64), len(counts))
    tasks = _tasks(order, table, memory * needs, counts, needs, vm_types)
    work = counts * needs
    used = MARKETS if markets is None else (markets,)
    # The deadline follows from the cores; the limit, if it is free, from the work to be done by the deadline.
    if deadline_s is None:
        deadline_s = _deadline_s(table, work, core_count(vm_types, max_on_demand, used), tightness)
    if limit is None:
        least = _least_work_s(table, work) / (tightness * deadline_s * core_count(vm_types, None, used))
        vm_types = _vm_types(catalogue, math.ceil(least))
    asked: dict[str, Any] = {} if markets is None else {"markets": used}
    asked |= {} if d_spot_fraction is None else {"d_spot_s": math.floor(deadline_s * d_spot_fraction)}
    if d_spot_rule is not None:
        asked["d_spot_rule"] = d_spot_rule
    if goal is not None:
        asked["objective"] = Objective(goal=goal)
    kind = "each on its own" if classes is None else f"{classes} classes"
    return Instance(
        name=name or f"generated-{n_tasks}-{seed}",
        provenance=provenance
        or Provenance(
            source="generated",
            generator="spotbag.generate_instance",
            seed=seed,
            notes=f"{n_tasks} tasks, {kind}; run times {_show(runtimes)}, memory {_show(memories)}",
        ),
        deadline_s=deadline_s,
        **asked,
        migration_overhead_s=min(180, deadline_s),
        checkpoint=PAPER_CHECKPOINTS,
        limits=Limits(max_on_demand=max_on_demand) if max_on_demand is not None else Limits(),
        vm_types=vm_types,
        tasks=tasks,
    )


def _vm_types(catalogue: str | Sequence[VmType], limit: int) -> tuple[VmType, ...]:
    """VM types of a catalogue by name, with a limit of VMs for each; or those that are given."""
    if not isinstance(catalogue, str):
        if not catalogue:
            raise SpotbagError("the catalogue has no VM types: give one at least")
        return tuple(catalogue)
    if catalogue not in CATALOGUES:
        raise SpotbagError(f"catalogue {catalogue!r} is unknown; known: {', '.join(CATALOGUES)}")
    _check_range("the limit of VMs", limit, 1, 10**6)
    return CATALOGUES[catalogue](limit)


def _runtime_table(sampled: FloatArray, vm_types: Sequence[VmType], rng: np.random.Generator) -> IntArray:
    """Run times in whole seconds, of classes by VM types; the first type has them as sampled."""
    noise = np.clip(rng.normal(1.0, RUNTIME_NOISE, (len(sampled), len(vm_types))), 0.5, 1.5)
    noise[:, 0] = 1.0
    factors = np.array([RUNTIME_FACTORS.get(vm_type.name, 1.0) for vm_type in vm_types])
    table: IntArray = np.clip(np.rint(sampled[:, None] * factors * noise), 1, MAX_SECONDS).astype(int)
    return table


def _tasks(
    order: Iterable[int],
    table: IntArray,
    memory: FloatArray,
    counts: IntArray,
    needs: IntArray,
    vm_types: Sequence[VmType],
) -> tuple[Task, ...]:
    """Task entries in an order of classes, which are numbered as they were sampled."""
    width = len(str(len(counts)))
    names = [vm_type.name for vm_type in vm_types]
    tasks = []
    for row in order:
        count: dict[str, Any] = {"count": int(counts[row])} if counts[row] > 1 else {}
        count |= {"cores": int(needs[row])} if needs[row] > 1 else {}
        runtimes_s = dict(zip(names, table[row].tolist(), strict=True))
        tasks.append(Task(id=f"t{row + 1:0{width}d}", memory_mb=float(memory[row]), runtime_s=runtimes_s, **count))
    return tuple(tasks)


def _deadline_s(table: IntArray, counts: IntArray, cores: int, tightness: float) -> int:
    """Deadline at which the work on all cores takes the share ``tightness`` of the time."""
    busy = _least_work_s(table, counts) / cores
    least = max(busy, float(table.min(axis=1).max())) / tightness  # in floats of Python, which overflow silently
    if least > MAX_SECONDS:
        raise SpotbagError(f"the deadline would be beyond {MAX_SECONDS} s; the tightness {tightness} is too small")
    return math.ceil(least)


def _least_work_s(table: IntArray, counts: IntArray) -> float:
    """Seconds of cores that all tasks take, each on the type that is fastest for it."""
    return float((table.min(axis=1) * counts).sum())


def _class_counts(n_tasks: int, classes: int | None, rng: np.random.Generator) -> IntArray:
    """Tasks of each class, at least one."""
    if classes is None:
        return np.ones(n_tasks, dtype=np.int64)
    shares = rng.dirichlet(np.full(classes, 5.0))
    return 1 + rng.multinomial(n_tasks - classes, shares).astype(np.int64)


def _distinct(values: FloatArray) -> FloatArray:
    """Whole numbers, each at least its value rounded, no two the same."""
    order = np.argsort(values, kind="stable")
    steps = np.arange(len(values))
    result = np.empty(len(values))
    result[order] = np.maximum.accumulate(np.rint(values[order]) - steps) + steps
    return result


def core_count(vm_types: Sequence[VmType], max_on_demand: int | None, markets: Collection[Market] = MARKETS) -> int:
    """Cores of all VMs that can be rented at once in some markets, the largest on-demand VMs first."""
    cores = 0
    left = math.inf if max_on_demand is None else max_on_demand
    for vm_type in sorted(vm_types, key=lambda entry: -entry.vcpus):
        for market, offer in vm_type.offers.items():
            if market not in markets:
                continue
            vms = offer.limit if market == "spot" else min(offer.limit, left)
            left -= vms if market == "on-demand" else 0
            cores += int(vms) * vm_type.vcpus
    return max(cores, 1)


def _check_range(what: str, value: int | None, low: int, high: int) -> None:
    if value is not None and not low <= value <= high:
        raise SpotbagError(f"{what} must be from {low} to {high}, not {value}")


def _show(distribution: Distribution) -> str:
    return ":".join([distribution.shape, *(f"{value:g}" for value in distribution.parameters)])
