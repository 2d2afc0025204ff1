"""The rows of rescues: what is known of a plan, what is lost at a moment, and where it goes.

They are stated once, for plain Python and for compiled loops (`core.rows`). A *rental* is a regular on-demand
offer, of which a rescue may rent VMs. Seconds count from the start of all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SURVEY, LOSS, ROOM, COST = range(4)
"""What is asked: rescues of all moments; what is lost at one; what may be rented then; what a rescue costs more."""
DONE, OVER_BUDGET, FAILED = range(3)
"""How a survey ended: all moments are covered; it is to be gone on with; no rescue was found."""
MOST_TYPES = 6
"""Types of which all sets that may go down are looked at, 63 at most; for more, their bill is bounded."""
QUICK, FILLED, EVENED, N_PACKINGS = range(4)
"""Packings: the first that is found; core after core; and that one's VMs, with all of them busy for about as long."""
NONE = -1


@dataclass(slots=True, eq=False)
class RentalRow:
    """A rental: cores, most VMs, memory (negative if that cannot bind), price of a second."""

    vcpus: int = 0
    limit: int = 0
    size_kb: int = 0
    price: float = 0.0


@dataclass(slots=True, eq=False)
class SpotTaskRow:
    """A task of a spot VM: times; group; type and speed of the VM; run time; checkpoints, their interval and period."""

    start: int = 0
    end: int = 0
    group: int = 0
    type_index: int = 0
    checkpoints: int = 0
    runtime: float = 0.0
    interval: float = 0.0
    period: float = 0.0
    speed: float = 0.0


@dataclass(slots=True, eq=False)
class SpotVmRow:
    """A spot VM: type, planned end, from when on it costs its price, price of a second."""

    type_index: int = 0
    end: int = 0
    paid_until: int = 0
    price: float = 0.0


@dataclass(slots=True, eq=False)
class OwnVmRow:
    """A regular on-demand VM of the plan.

    What it is, its planned end, from when on it costs more than planned, price of a second; and its cores in
    ``core_end``, none if it takes no more tasks.
    """

    rental: int = 0
    end: int = 0
    paid_until: int = 0
    first_core: int = 0
    cores: int = 0
    price: float = 0.0


@dataclass(slots=True, eq=False)
class PlaceRow:
    """Where a lost task goes: VM, core, start, end, and which task was put on the VM before."""

    vm: int = 0
    core: int = 0
    start: int = 0
    end: int = 0
    before: int = 0


@dataclass(slots=True, eq=False)
class PackedVmRow:
    """A VM of a rescue.

    What it is; which of the plan's own VMs, `NONE` for a new one; its first core and their number; its end, 0 without
    tasks; and the task that came last.
    """

    rental: int = 0
    own: int = 0
    first: int = 0
    cores: int = 0
    end: int = 0
    last: int = 0


@dataclass(slots=True, eq=False)
class MomentRow:
    """A second with a rescue: the last that it serves, its slack, and the most by which it adds to the bill."""

    at: int = 0
    last: int = 0
    slack: int = 0
    cost: float = 0.0


@dataclass(slots=True, eq=False)
class Rows:
    """A plan, a question about its rescues, and the answer.

    Attributes
    ----------
    rentals : list of RentalRow
        What a rescue may rent, cheapest first.
    orders : list of list of int, shape (2, n_rentals)
        Rentals, cheapest first, and by their cores, most first.
    seconds : list of list of int, shape (n_rentals, n_groups)
        Run time of each group; `NEVER` where it cannot run.
    need_kb : list of int, shape (n_groups,)
        Memory of the tasks.
    tasks, spot_vms : list of SpotTaskRow and of SpotVmRow
        The tasks of spot VMs, and the spot VMs.
    own_vms : list of OwnVmRow
        The regular on-demand VMs.
    core_end : list of int
        Planned end of each of their cores.
    counted_end : list of int
        Ends of all VMs that count against ``max_on_demand``, burstable ones included.
    deadline, boot, overhead, most_on_demand : int
        Deadline; boot; overhead from the request of a VM until it runs a migrated task; most on-demand VMs.
    asked : int
        `SURVEY`, `LOSS`, `ROOM` or `COST`.
    down : list of int, shape (n_types,)
        1 for types that go down.
    since, until : int
        First and last second that matter.
    patience : int
        Seconds by which it should be possible to carry a rescue out later.
    cheap, at_once : int
        1 if its cost matters; 1 if only a rescue for the first second itself is asked for.
    budget : int
        Work to be done at most, in places that are looked at.
    halt : list of int, shape (1,)
        Not 0 once it is to end early.
    lost : list of int
        What is lost, as indices of ``tasks``, longest first.
    left : list of list of int, shape (n_rentals, n_tasks)
        What is left of each task that is lost, in seconds on each rental.
    room : list of int, shape (n_rentals + 1,)
        New VMs that may be rented: of each rental, and of all of them.
    moments : list of MomentRow
        Rescues of a survey.
    status, second, work : int
        `DONE`, `OVER_BUDGET` or `FAILED`; from where to go on, or where there is none; work done.
    packing : int
        Which packing the last rescue of a survey is, or the one that is asked about.
    added : float
        What that adds to the bill.
    places : list of list of PlaceRow, shape (3, n_tasks)
        Where each task that is lost goes, in each packing.
    vms : list of list of PackedVmRow, shape (3, n_own + n_tasks)
        The VMs of each packing.
    n_lost, n_moments, n_cores, n_vms
        Lengths of lists that are filled.
    core_free, core_vm, most_cores : list of int, list of int, int
        Cores of the packing at work: when each is free, and its VM; how many there may be.
    free_vms : list of int
        What is left of ``room``.
    keys, heaps, heap_sizes, trees, leaf_core, leaves, own_leaves
        Room to work in.
    type_number, saved, ends, n_types
        Numbers of the types that go down, what is not paid for their VMs, and when the tasks of each end on each VM.
    """

    rentals: list[RentalRow] = field(default_factory=list)
    orders: list[list[int]] = field(default_factory=list)
    seconds: list[list[int]] = field(default_factory=list)
    need_kb: list[int] = field(default_factory=list)
    tasks: list[SpotTaskRow] = field(default_factory=list)
    spot_vms: list[SpotVmRow] = field(default_factory=list)
    own_vms: list[OwnVmRow] = field(default_factory=list)
    core_end: list[int] = field(default_factory=list)
    counted_end: list[int] = field(default_factory=list)
    deadline: int = 0
    boot: int = 0
    overhead: int = 0
    most_on_demand: int = 0
    asked: int = SURVEY
    down: list[int] = field(default_factory=list)
    since: int = 0
    until: int = 0
    patience: int = 0
    cheap: int = 0
    at_once: int = 0
    budget: int = 0
    halt: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    left: list[list[int]] = field(default_factory=list)
    room: list[int] = field(default_factory=list)
    moments: list[MomentRow] = field(default_factory=list)
    status: int = DONE
    second: int = 0
    work: int = 0
    packing: int = QUICK
    added: float = 0.0
    places: list[list[PlaceRow]] = field(default_factory=list)
    vms: list[list[PackedVmRow]] = field(default_factory=list)
    n_lost: int = 0
    n_moments: int = 0
    n_cores: int = 0
    n_vms: list[int] = field(default_factory=list)
    core_free: list[int] = field(default_factory=list)
    core_vm: list[int] = field(default_factory=list)
    most_cores: int = 0
    free_vms: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    heaps: list[list[int]] = field(default_factory=list)
    heap_sizes: list[int] = field(default_factory=list)
    trees: list[list[int]] = field(default_factory=list)
    leaf_core: list[list[int]] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    own_leaves: list[int] = field(default_factory=list)
    type_number: list[int] = field(default_factory=list)
    saved: list[float] = field(default_factory=list)
    ends: list[list[int]] = field(default_factory=list)
    n_types: int = 0
