"""The commands and their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..core.wording import printable
from .options import spread

_MODULES = {
    "solve": "bags.solve",
    "replan": "bags.replan",
    "check": "bags.check",
    "audit": "audit",
    "bound": "bags.bound",
    "compare": "bags.compare",
    "best-known": "bags.best_known",
    "pareto": "bags.pareto",
    "replay": "bags.replay",
    "size": "streams.size",
    "stream": "streams.stream",
    "platform": "platforms.platform",
    "export": "bags.export",
    "import-log": "bags.import_log",
    "show": "bags.show",
    "methods": "bags.methods",
    "policies": "policies",
    "schema": "schema",
    "warm-up": "bags.warm_up",
    "serve": "bags.serve",
    "experiment": "experiment",
    "suite": "suite",
    "report": "report",
    "bench": "bench",
    "instance": "instance",
}
"""Module of each command, in the order of the help; it has ``EXAMPLE`` and ``<name>_command``, or an ``app``."""


_HELP = ("-h", "--help")

_FORMER_NAMES = {"methods": "method", "convergence": "plot"}
"""Options by the names that they were published under, which are still understood."""


class _Commands(TyperGroup):
    """The commands; what is wrong with the words that a user, or a wild card of the shell, gave them can be printed."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Read the options before the command."""
        with _printable_complaints():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Read the rest, and run the command."""
        with _printable_complaints():
            return super().invoke(ctx)


@contextmanager
def _printable_complaints() -> Iterator[None]:
    """Make the messages of the parser of arguments, which it prints itself, safe to print."""
    try:
        yield
    except Exception as error:
        if isinstance(getattr(error, "message", None), str):
            error.message = printable(error.message)  # type: ignore[attr-defined]
        raise


def make_app(asked: str | None = None, completes: bool = False) -> typer.Typer:
    """Return the command line for a first word: with the command that it names, or with all.

    ``completes`` says whether it is to complete words of a shell. What is not asked for costs no time: neither the
    modules of other commands, nor, where the help lists all commands, their options.
    """
    app = typer.Typer(
        cls=_Commands,
        no_args_is_help=True,
        add_completion=asked not in _MODULES or completes,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={
            "help_option_names": [*_HELP],
            "token_normalize_func": lambda name: _FORMER_NAMES.get(name, name),
        },
        help="Plan bags of independent tasks with a deadline on spot, on-demand and burstable VMs.",
        epilog="Start with:  spotbag solve burst-hads/J60 --gantt plan.html",
    )
    app.callback()(_options)
    for name in [asked] if asked in _MODULES else _MODULES:
        module = import_module(f".{_MODULES[name]}", __package__)
        # The list shows one line of a group: to take in its commands would cost as much as all others together.
        if hasattr(module, "app") and asked in _HELP:
            app.command(name, help=module.app.info.help)(_listed(module))
            continue
        if hasattr(module, "load_commands") and (
            asked == name or module.is_installed()
        ):  # another distribution has them
            # Of a distribution that is not installed, whoever asks for the command by its name is told so.
            module.load_commands()
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
            continue
        command = getattr(module, f"{name.replace('-', '_')}_command")
        app.command(name, epilog=module.EXAMPLE)(_listed(command) if asked in _HELP else spread(command))
    return app


def _listed(command: object) -> Callable[[], None]:
    """Return a command, or a group of them, of which the help of all shows the first line, not the options."""

    def listed() -> None: ...

    listed.__doc__ = command.__doc__
    return listed


def _version(wanted: bool) -> None:
    if wanted:
        print(f"spotbag {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None: ...
