"""The commands and their places."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import audit, bench, instance
from .bags import best_known, bound, check, compare, methods, pareto, replay, show, solve
from .platforms import platform
from .streams import size, stream

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Plan bags of independent tasks with a deadline on spot, on-demand and burstable VMs.",
    epilog="Start with:  spotbag solve burst-hads/J60 --gantt plan.html",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"spotbag {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None: ...


app.command("solve", epilog=solve.EXAMPLE)(solve.solve_command)
app.command("check", epilog=check.EXAMPLE)(check.check_command)
app.command("audit", epilog=audit.EXAMPLE)(audit.audit_command)
app.command("bound", epilog=bound.EXAMPLE)(bound.bound_command)
app.command("compare", epilog=compare.EXAMPLE)(compare.compare_command)
app.command("best-known", epilog=best_known.EXAMPLE)(best_known.best_known_command)
app.command("pareto", epilog=pareto.EXAMPLE)(pareto.pareto_command)
app.command("replay", epilog=replay.EXAMPLE)(replay.replay_command)
app.command("size", epilog=size.EXAMPLE)(size.size_command)
app.command("stream", epilog=stream.EXAMPLE)(stream.stream_command)
app.command("platform", epilog=platform.EXAMPLE)(platform.platform_command)
app.command("show", epilog=show.EXAMPLE)(show.show_command)
app.command("methods", epilog=methods.EXAMPLE)(methods.methods_command)
app.add_typer(bench.app, name="bench")
app.add_typer(instance.app, name="instance")
