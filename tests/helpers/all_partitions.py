"""All plans of a tiny bag on identical hosts: which tasks share one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def partitions(n_tasks: int) -> Iterator[list[list[int]]]:
    """All ways to share hosts, once each."""
    if n_tasks == 0:
        yield []
        return
    last = n_tasks - 1
    for fewer in partitions(last):
        yield [*fewer, [last]]
        for index in range(len(fewer)):
            yield [[*host, last] if position == index else host for position, host in enumerate(fewer)]


def wall_and_units(
    hosts: Sequence[Sequence[int]], run_times_s: Sequence[int], unit_s: int, boot_s: int
) -> tuple[int, int]:
    """End of the last task and started units of a plan, told second by second where a host stops."""
    wall_s = units = 0
    for host in hosts:
        end_s = boot_s
        for task in host:
            end_s += run_times_s[task]
        paid_until_s = 0
        while paid_until_s < end_s:
            paid_until_s += unit_s
            units += 1
        wall_s = max(wall_s, end_s)
    return wall_s, units


def least_wall(run_times_s: Sequence[int], unit_s: int, boot_s: int, budget_units: int) -> int | None:
    """Least wall time within a budget, by trying all plans; None if no plan pays so little."""
    ends = [wall_and_units(hosts, run_times_s, unit_s, boot_s) for hosts in partitions(len(run_times_s))]
    return min((wall_s for wall_s, units in ends if units <= budget_units), default=None)
