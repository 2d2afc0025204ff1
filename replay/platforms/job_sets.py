"""Sets of jobs that are drawn anew for each seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...instances.platforms import MalleableJob, Platform

if TYPE_CHECKING:
    from ...instances.malleable_jobs import JobSetKind


@dataclass(frozen=True, slots=True)
class JobSet:
    """Jobs of section VI of Caron & de Assuncao: small, big, or as many of both.

    Attributes
    ----------
    kind : {"small", "big", "mixed"}
        Which.
    number : int
        How many.
    """

    kind: JobSetKind
    number: int

    def draw(self, platform: Platform, seed: int) -> tuple[MalleableJob, ...]:
        """Draw the jobs for a platform, of which only the size of its largest cluster matters."""
        from ...instances.malleable_jobs import draw_malleable_jobs, largest_cluster

        return draw_malleable_jobs(self.number, self.kind, seed, max_processors=largest_cluster(platform))
