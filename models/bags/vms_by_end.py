"""VMs by their ends in an integer programme: the makespan as steps, and cores that sit on VMs which end no earlier.

For the distinct ends L_1 < L_2 < ... of the cores of an offer with VMs of c cores: c_s cores that end at L_s or later,
and n_s VMs that do. Cores of at least an end sit on VMs of at least that end, hence ``c_s <= c n_s`` for every s:
Hall's condition for nested sets. It also suffices: sort the cores by their ends and give the k-th to VM ceil(k / c) in
order of the ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from ...core.quantities import IntArray
from ..integer_program import IntegerProgram


def add_makespan(program: IntegerProgram, time_weight: float, first_s: int, ends_s: IntArray) -> dict[int, int]:
    """Add steps of the makespan beyond its first moment: by moment, the column that says whether it is reached."""
    moments = np.unique(ends_s[ends_s > first_s]).tolist()
    steps = {
        moment: program.add_column(time_weight * (moment - previous))
        for moment, previous in zip(moments, [first_s, *moments], strict=False)
    }
    for earlier, later in pairwise(steps.values()):
        program.add_row([earlier, later], [1, -1], lower=0)
    return steps


class VmsByEnd:
    """VMs of an offer by the ends of their cores.

    Parameters
    ----------
    program : IntegerProgram
        Receives the columns c and n.
    ends_s : array of int
        Distinct ends, ascending.
    most, vcpus : int
        Most VMs, and cores of one.
    cost : callable
        Cost of a VM that ends at a moment, above that of one that ends at another.

    Attributes
    ----------
    cores, vms : list of int
        Columns of the cores and of the VMs that end at each end or later.
    """

    def __init__(
        self, program: IntegerProgram, ends_s: IntArray, most: int, vcpus: int, cost: Callable[[int, int], float]
    ) -> None:
        self._program, self._ends_s, self._most, self._vcpus = program, ends_s, most, vcpus
        self.cores: list[int] = []
        self.vms: list[int] = []
        for end_s, previous_s in zip(ends_s.tolist(), [0, *ends_s.tolist()], strict=False):
            self.cores.append(program.add_column(upper=most * vcpus))
            self.vms.append(program.add_column(cost(end_s, previous_s), upper=most))

    def add_rows(self, picked: IntArray, ends_s: IntArray, steps: Mapping[int, int]) -> None:
        """Add the rows by which cores are counted and sit on VMs, and no VM ends after the makespan.

        Parameters
        ----------
        picked, ends_s : array of int
            Columns that say how many cores run something, and when it ends.
        steps : mapping of int to int
            See `add_makespan`.
        """
        program = self._program
        for number, end_s in enumerate(self._ends_s.tolist()):
            mine = picked[ends_s == end_s].tolist()
            members = [*self.cores[number : number + 2], *mine]
            # More cores than there are would cost nothing, and help nobody.
            program.add_row(members, [1] + [-1] * (len(members) - 1), lower=0)
        for cores, vms in zip(self.cores, self.vms, strict=True):
            program.add_row([cores, vms], [1, -self._vcpus], upper=0)
        for earlier, later in pairwise(self.vms):
            program.add_row([earlier, later], [1, -1], lower=0)
        for end_s, vms in zip(self._ends_s.tolist(), self.vms, strict=True):
            if end_s in steps:
                program.add_row([vms, steps[end_s]], [1, -self._most], upper=0)
