"""Times and quality of the bounds of hybrid platforms.

Run ``python -m spotbag_papers.platforms.bounds_speed``.

Jobs of section VI of Caron & de Assuncao on ``caron/hybrid``, seed 0, under the paper's policy A; each metric is
bounded for schedules that are no worse than the run in the other two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from spotbag.instances.platforms.job_draws import JobSet
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.models.platforms.dual import METRICS
from spotbag.replay.platforms.engine import PlatformReplay
from spotbag.replay.platforms.policies import platform_policy
from spotbag.replay.platforms.runs import platform_with_jobs
from spotbag.solvers.platforms.bound import platform_bound

from ..measuring import print_table

if TYPE_CHECKING:
    from spotbag.instances.platforms.job_draws import JobSetKind

_POLICY = "money-saving"


def rows(numbers: Sequence[int] = (50, 400, 2_000, 10_000)) -> Iterator[Sequence[object]]:
    """Rows of runs, the bounds for schedules no worse in other metrics, and the times."""
    kinds: tuple[JobSetKind, ...] = ("small", "mixed", "big")
    for number in numbers:
        for kind in kinds:
            platform = platform_with_jobs(library_platform("caron/hybrid"), JobSet(kind, number), 0)
            outcome = PlatformReplay(platform, platform_policy(_POLICY)(0)).run()
            for metric in METRICS:
                caps = {f"{name}_at_most": getattr(outcome, name) for name in METRICS if name != metric}
                bound = platform_bound(platform, metric, **caps)
                yield f"{number:,} {kind}", metric, getattr(outcome, metric), bound.value, bound.how, bound.runtime_s


def main() -> None:
    """Print the table."""
    platform_bound(platform_with_jobs(library_platform("caron/hybrid"), JobSet("small", 5), 0), "cost")  # compiles
    columns = {"jobs": "", "metric": "", "run": ",.0f", "bound": ",.0f", "proved by": "", "time (s)": ".1f"}
    print_table("bounds of hybrid platforms", columns, rows(), words=2)


if __name__ == "__main__":
    main()
