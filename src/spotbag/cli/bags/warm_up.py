"""``spotbag warm-up``."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...core.errors import InputError, Issue
from ...core.limits import stopped
from ...core.processes import interruptible
from ...core.text_tables import number, words
from ...core.wording import near_names
from ..answers import Answer, Part, column, listing
from ..console import counting
from ..options import argument, json_option, names_of

EXAMPLE = "Example, in the image of a container:  RUN spotbag warm-up solve replan"

PREPARED = ("solve", "replan", "replay")
"""Commands that compile."""


class WarmUpStep(Part):
    """A part of ``spotbag warm-up``, and how long it took."""

    step: str = column(words("step"))
    took_s: float = column(number("took (s)", "took_s", ".2f"))


class WarmUp(Answer, kind="warm-up"):
    """``spotbag warm-up``; ``kept`` says whether other processes find what is compiled."""

    steps: tuple[WarmUpStep, ...] = listing(*WarmUpStep.columns())
    took_s: float
    kept: bool


def warm_up_command(
    *,
    commands: list[str] | None = argument(
        "COMMAND...",
        "What to prepare: solve, replan, replay; all of them if absent.",
        None,
        completes=names_of("cli.bags.warm_up", "PREPARED"),
    ),
    as_json: bool = json_option(),
) -> None:
    """Compile the inner loops of commands, which takes some seconds each at their first use.

    What is compiled is kept beside the modules of spotbag; where these cannot be written to, in the user's cache; or in
    NUMBA_CACHE_DIR. Exit code 0: done; 2: bad input; 130: interrupted.
    """
    from ...core.compiled import keeps_loops

    took_s: dict[str, float] = {}
    with interruptible():
        # All names are read before the first loop is compiled, which takes seconds.
        steps = _steps(commands or [*PREPARED])
        with counting("compiling", len(steps)) as count:
            for name, step in steps.items():
                begin = time.perf_counter()
                step()
                # A step that was interrupted is not listed: its loops may be compiled in part.
                if stopped():
                    break
                took_s[name] = time.perf_counter() - begin
                count(name)
    done = tuple(WarmUpStep(step=name, took_s=seconds) for name, seconds in took_s.items())
    WarmUp(steps=done, took_s=sum(took_s.values()), kept=keeps_loops()).show(as_json)


def _steps(commands: list[str]) -> dict[str, Callable[[], None]]:
    """Return the steps that compile all that some commands may call, by name."""
    from ...replay.bags.runs import steps_of_replays
    from ...solvers.bags.methods import METHODS
    from ...solvers.bags.warm_up import steps_of, warm_up_replan

    of_commands = {
        "solve": lambda: steps_of(METHODS),
        "replan": lambda: steps_of(()) | {"replan": warm_up_replan},
        "replay": lambda: steps_of(()) | steps_of_replays(),
    }
    steps: dict[str, Callable[[], None]] = {}
    for name in commands:
        if name not in of_commands:
            rule = f"is not one to prepare ({near_names(name, PREPARED)})"
            raise InputError("command", [Issue("", rule, value=name)])
        steps |= of_commands[name]()
    return steps
