"""Options of runs, shared by the commands of replays, with their checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from ..core.errors import SpotbagError
from .arguments import check_outputs, check_pictures
from .options import json_option, option
from .progress import busy

if TYPE_CHECKING:
    from ..core.workers import Workers
    from ..traces.trace import Trace

DEFAULT_RUNS = 20

runs_option = partial(option, "N", short="-n", min=1, max=1_000_000)


def policies_option(absent: str, completes: Callable[[str], list[str]]) -> Any:
    """Return the option of the policies: what is replayed if it is absent, and what completes it."""
    several = "One of your own is module:attribute. May be given several times, or once with names separated by commas"
    return option("NAME", f"See above. {several}; {absent} if absent.", name="policy", short="-p", completes=completes)


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """Options of who does the work: processes, or a Dask cluster."""

    workers: int = option("W", "Processes.", 1, short="-w", min=1)
    dask: str | None = option("ADDRESS", "In place of processes, the Dask cluster of this scheduler: tcp://host:8786.")

    def executor(self, context: typer.Context) -> Workers:
        """Return who does the work; a Dask cluster is left when the command ends."""
        if self.dask is None:
            return self.workers
        import logging

        from ..core.cluster import connect

        if self.workers > 1:
            raise SpotbagError("--workers and --dask: use one or the other")
        client = connect(self.dask)
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are told once, by the command
        context.call_on_close(client.close)
        return client


@dataclass(frozen=True, kw_only=True)
class RecordOptions(WorkerOptions):
    """Options of who replays, and of the files that are written of one run; each command has its own words for some.

    A command has them by a parameter of a type that inherits these (see `spread`).
    """

    runs: int | None = None
    seed: int = 0
    trace: str | None = None
    gantt: str | None = None
    as_json: bool = json_option()

    @property
    def recorded(self) -> bool:
        """True if a record of a run is wanted."""
        return self.trace is not None or self.gantt is not None

    def check_files(self, *sources: str | None) -> None:
        """Refuse, before any work is done, files that cannot be written."""
        check_pictures(self.gantt)
        check_outputs(sources, self.trace, self.gantt)

    def write_trace(self, traces: Sequence[Trace]) -> list[str]:
        """Write the trace of a run under all policies, if that is wanted; return the file."""
        if self.trace is None:
            return []
        from ..traces.files import write_traces

        write_traces(self.trace, traces)
        return [self.trace]

    def write_picture(self, traces: Sequence[Trace]) -> list[str]:
        """Draw a run under all policies, if that is wanted; return the file."""
        if self.gantt is None:
            return []
        from ..charts.replay import write_replay

        with busy(f"drawing {self.gantt}"):
            write_replay(traces, self.gantt)
        return [self.gantt]


@dataclass(frozen=True, kw_only=True)
class RunOptions(RecordOptions):
    """Options of which runs are replayed, and what is told or written of them."""

    policy: list[str] | None = None
    once: bool = False
    seed: int = option("SEED", "Seed of the first run; the others count on.", 0, min=0)
    story: bool = option(
        None, "Instead of tables, describe what happens in one run (--once), policy by policy.", False, name="tell"
    )
    trace: str | None = option("FILE", "Write all events of one run (--once), for 'spotbag audit'.")
    gantt: str | None = option("FILE", "Draw the first run: .png, .svg, .pdf or .html.")
    write: str | None = None
    listed: bool = False

    @property
    def n_runs(self) -> int:
        """Number of runs to replay."""
        return 1 if self.once else self.runs or DEFAULT_RUNS

    def check_number(self) -> None:
        """Refuse a number of runs beside a single one."""
        if self.once and self.runs is not None:
            raise SpotbagError(
                "--once and --runs: use one or the other; a single run is described, several are averaged"
            )

    @property
    def recorded(self) -> bool:
        """True if a record of the first run is wanted."""
        return self.story or super().recorded

    def check_files(self, *sources: str | None) -> None:
        """Refuse, before any work is done, a record of more than one run, and files that cannot be written."""
        for option_name, wanted in (("--trace", self.trace is not None), ("--tell", self.story)):
            if wanted and self.n_runs != 1:
                raise SpotbagError(f"{option_name}: is for a single run; add --once (the run of --seed)")
        super().check_files(*sources)
