"""Lines to compare with when a bag runs on identical hosts that are paid by started units.

A bag of n tasks of known run times; a host is paid by started units of U seconds from its request, is ready ``boot``
seconds later and runs one task at a time. As many hosts as wanted can be requested at any time (Silva, Veiga, Ferreira:
"A2HA - automatic and adaptive host allocation in utility computing for bag-of-tasks", 2011).

Requesting all hosts at time 0, running their tasks without a pause and stopping after the last one makes no plan later
or dearer. So a plan is which tasks share a host: the host ends at ``boot + sum of its tasks`` and pays that, divided by
U and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.errors import InputError, Issue

MOST_SECONDS = 10**9
"""Longest run time, unit or boot time that is accepted: sums stay far from what 64 bits hold."""


@dataclass(frozen=True, slots=True)
class HostLine:
    """What a way to run a bag takes.

    Attributes
    ----------
    hosts : int
        Hosts that are requested.
    wall_s : int
        From the requests to the end of the last task; creating hosts counts.
    paid_units : int
        Started units of all hosts.
    serial_s : int
        Run time of all tasks together, what a host that is ready would take.
    """

    hosts: int
    wall_s: int
    paid_units: int
    serial_s: int

    @property
    def speedup(self) -> float:
        """Run time of all tasks together by wall time; 0 for an empty bag."""
        return self.serial_s / self.wall_s if self.wall_s else 0.0


def check_bag(run_times_s: Sequence[int], unit_s: int, boot_s: int) -> None:
    """Refuse a bag that makes no sense.

    Raises
    ------
    InputError
        With all that is wrong.
    """
    values = [(f"run_times_s[{index}]", "", value, 1) for index, value in enumerate(run_times_s)]
    values += [("", "unit_s", unit_s, 1), ("", "boot_s", boot_s, 0)]
    issues = [
        Issue(where, f"must be a whole number of seconds from {least} to {MOST_SECONDS:,}", name, value)
        for where, name, value, least in values
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST_SECONDS
    ]
    if issues:
        raise InputError("bag of tasks", issues)


def units_of(busy_s: int, unit_s: int, boot_s: int) -> int:
    """Units that a host pays which is busy with tasks for so long."""
    return -(-(boot_s + busy_s) // unit_s)


def fewest_paid_units(run_times_s: Sequence[int], unit_s: int = 3600, boot_s: int = 300) -> int:
    """Fewest units that any plan pays: those of one host that runs all tasks.

    Notes
    -----
    Let the hosts of a plan be busy for w_1, ..., w_h seconds, h >= 1. Each pays at least ceil((boot + w_i) / U), and a
    sum of rounded numbers is no less than the rounded sum: together at least ceil((h boot + sum w_i) / U), which is at
    least ceil((boot + sum of all run times) / U). One host that runs everything pays just that.
    """
    check_bag(run_times_s, unit_s, boot_s)
    return units_of(sum(run_times_s), unit_s, boot_s) if run_times_s else 0


def serial_line(run_times_s: Sequence[int], unit_s: int = 3600, boot_s: int = 300) -> HostLine:
    """One host runs all tasks: the fewest units, the longest wall time worth having."""
    check_bag(run_times_s, unit_s, boot_s)
    total_s = sum(run_times_s)
    if not run_times_s:
        return HostLine(0, 0, 0, 0)
    return HostLine(1, boot_s + total_s, units_of(total_s, unit_s, boot_s), total_s)


def one_host_per_task_line(run_times_s: Sequence[int], unit_s: int = 3600, boot_s: int = 300) -> HostLine:
    """Each task has a host of its own: the shortest wall time of any plan."""
    check_bag(run_times_s, unit_s, boot_s)
    if not run_times_s:
        return HostLine(0, 0, 0, 0)
    units = sum(units_of(run_time, unit_s, boot_s) for run_time in run_times_s)
    return HostLine(len(run_times_s), boot_s + max(run_times_s), units, sum(run_times_s))


def hosts_by_formula(n_tasks: int, mean_s: float, usable_s: float = 3300) -> int:
    """Hosts that the paper calls optimal (footnote 6): all run time by the usable part of a unit, rounded up.

    The paper prints 18, 12 and 29 for its three jobs. With the numbers it gives, the third is 27.
    """
    issues = [
        Issue("", rule, name, value)
        for name, value, fine, rule in (
            ("n_tasks", n_tasks, n_tasks >= 0, "must be 0 or more"),
            ("mean_s", mean_s, 0 <= mean_s < math.inf, "must be 0 or more"),
            ("usable_s", usable_s, 0 < usable_s < math.inf, "must be more than 0"),
        )
        if not fine
    ]
    if issues:
        raise InputError("hosts by formula", issues)
    return math.ceil(n_tasks * mean_s / usable_s)
