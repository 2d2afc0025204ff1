"""Options of runs, shared by the commands of replays, with their checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from .arguments import JsonOption, check_output, check_pictures
from .progress import busy

if TYPE_CHECKING:
    from ..core.workers import Workers
    from ..traces.trace import Trace

DEFAULT_RUNS = 20
_MOST_RUNS = 1_000_000

WorkersOption: TypeAlias = Annotated[int, typer.Option("--workers", "-w", metavar="W", min=1, help="Processes.")]
DaskOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--dask", metavar="ADDRESS", help="In place of processes, the Dask cluster of this scheduler: tcp://host:8786."
    ),
]


def workers_of(context: typer.Context, workers: int, dask: str | None) -> Workers:
    """Return who does the work: processes, or a Dask cluster, which is left when the command ends."""
    if dask is None:
        return workers
    import logging

    from ..core.cluster import connect
    from ..core.errors import SpotbagError

    if workers > 1:
        raise SpotbagError("--workers and --dask: use one or the other")
    client = connect(dask)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are told once, by the command
    context.call_on_close(client.close)
    return client


def policies_option(names: str, absent: str, known: Callable[[str], list[str]]) -> Any:
    """Return the option of the policies: where their names are, what is replayed if it is absent, what completes."""
    several = "One of your own is module:attribute. May be given several times, or once with names separated by commas"
    return typer.Option(
        "--policy", "-p", metavar="NAME", autocompletion=known, help=f"{names} {several}; {absent} if absent."
    )


def runs_option(what: str) -> Any:
    """Return the option of how many runs there are, with what they are."""
    return typer.Option("--runs", "-n", metavar="N", min=1, max=_MOST_RUNS, help=what)


@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """Options of who replays, and of the files that are written of one run; each command has its own words for some.

    A command has them by a parameter of a type that inherits these (see `spread`).
    """

    runs: int | None = None
    seed: int = 0
    workers: WorkersOption = 1
    dask: DaskOption = None
    trace: str | None = None
    gantt: str | None = None
    as_json: JsonOption = False

    @property
    def recorded(self) -> bool:
        """True if a record of a run is wanted."""
        return self.trace is not None or self.gantt is not None

    def check_files(self, *sources: str | None) -> None:
        """Refuse, before any work is done, files that cannot be written."""
        check_pictures(self.gantt)
        check_output(self.trace, *sources, self.gantt)
        check_output(self.gantt, *sources)

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

    once: bool = False
    seed: Annotated[
        int, typer.Option("--seed", metavar="SEED", min=0, help="Seed of the first run; the others count on.")
    ] = 0
    story: Annotated[
        bool,
        typer.Option("--tell", help="Instead of tables, describe what happens in one run (--once), policy by policy."),
    ] = False
    trace: Annotated[
        str | None,
        typer.Option("--trace", metavar="FILE", help="Write all events of one run (--once), for 'spotbag audit'."),
    ] = None
    gantt: Annotated[
        str | None, typer.Option("--gantt", metavar="FILE", help="Draw the first run: .png, .svg, .pdf or .html.")
    ] = None

    @property
    def n_runs(self) -> int:
        """Number of runs to replay."""
        return 1 if self.once else self.runs or DEFAULT_RUNS

    def check_number(self) -> None:
        """Refuse a number of runs beside a single one."""
        from ..core.errors import SpotbagError

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
        from ..core.errors import SpotbagError

        for option, wanted in (("--trace", self.trace is not None), ("--tell", self.story)):
            if wanted and self.n_runs != 1:
                raise SpotbagError(f"{option}: is for a single run; add --once (the run of --seed)")
        super().check_files(*sources)
