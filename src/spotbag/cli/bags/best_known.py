"""``spotbag best-known``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ...core.errors import SpotbagError
from ...core.processes import interruptible
from ...core.text_tables import number, words
from ..answers import Answer, Part, column, listing
from ..arguments import MethodOptions
from ..console import NO_FEASIBLE_PLAN, busy, warn
from ..options import Only, argument, check_output, given_options, json_option, option

if TYPE_CHECKING:
    from ...experiments.bags.best_known import Update
    from ...instances.bags.best_known import BestKnown

EXAMPLE = "Example:  spotbag best-known   or   spotbag best-known --update memory/m10 --time-limit 600"

_PLANNING = MethodOptions(time_limit=60.0)


class BestEntry(Part):
    """The best plan known for an instance."""

    instance: str = column(words("instance"))
    value: float = column(number("value", form=".6f"))
    bound: float = column(number("bound", form=".6f"), number("gap (%)", "gap", ".3f", 100))
    status: Literal["optimal", "feasible"] = column(words("status"))
    cost_usd: float = column(number("cost ($)", "cost_usd", ".6f"))
    makespan_s: int = column(number("makespan (s)", "makespan_s", ","))
    method: str = column(words("plan by", "method"))
    bound_method: str = column(words("bound by", "bound_method"))
    version: str
    gap: float


class BestKnownValues(Answer, kind="best-known"):
    """``spotbag best-known``."""

    entries: tuple[BestEntry, ...] = listing(*BestEntry.columns())


class BestKnownChange(Part):
    """The change of an entry."""

    instance: str
    change: str
    message: str
    runtime_s: float
    before: BestEntry | None
    after: BestEntry | None


class BestKnownUpdate(Answer, kind="best-known-update"):
    """``spotbag best-known --update``."""

    interrupted: bool
    updates: tuple[BestKnownChange, ...]


def best_known_command(
    *,
    names: list[str] | None = argument("[NAME]...", "Library instances; all if none is named.", None),
    update: bool = option(None, "Solve again, from the best plans, and keep what is better.", False),
    planning: Annotated[MethodOptions, Only("method", "time_limit", "seed")] = _PLANNING,
    file: str | None = option(
        "FILE", "The entries, instead of those of the package; plans lie beside it, in a folder of its name."
    ),
    as_json: bool = json_option(),
) -> None:
    """Show the best plans and bounds known for the library instances, or look for better ones.

    Options of how it is planned go with --update; a time limit is that of each instance.
    An entry is replaced only by a plan that the checker passed and that is better, or by a larger bound.
    Exit code 0: done; 1: an instance has no plan yet, and none was found; 2: bad input, or a contradiction;
    130: interrupted, with what was better until then.
    """
    chosen = _library_names(names or [])
    if update:
        _update(chosen, planning, file, as_json)
        return
    warn(f"{name} changes nothing without --update" for name in given_options(planning, _PLANNING).values())
    from ...instances.bags.best_known import best_known

    entries = best_known(file)
    shown = [entries[name] for name in chosen if name in entries]
    BestKnownValues(entries=tuple(map(_entry, shown))).show(as_json)
    missing = [name for name in chosen if name not in entries]
    if missing and not as_json:
        print(f"nothing is known of {', '.join(missing)} ('spotbag best-known --update' solves them)")


def _library_names(names: list[str]) -> list[str]:
    """The names, each once and in the library; all of it if there are none."""
    from ...instances.library import library_instance, library_names

    # Refused before any is solved, which takes a minute each.
    for name in names:
        library_instance(name)
    return list(dict.fromkeys(names)) or library_names()


def _update(names: list[str], planning: MethodOptions, file: str | None, as_json: bool) -> None:
    """Solve again, one instance after the other; say of each what changed as soon as it is known."""
    from ... import __version__
    from ...core.limits import refuse_no_time_limit, stopped
    from ...experiments.bags.best_known import update_best_known
    from ...solvers.bags.methods import find_method

    method, time_limit = planning.one_method(), planning.time_limit
    find_method(method)
    planning.warn_of_idle(method)
    assert time_limit is not None, "there is a limit if none is given"
    refuse_no_time_limit(time_limit)
    check_output(file)
    updates: list[Update] = []
    left = iter(
        update_best_known(
            names,
            version=__version__,
            method=method,
            time_limit_s=time_limit,
            seed=planning.seed,
            file=file,
        )
    )
    with interruptible():
        # One by one, as an interrupt must leave what was found before it.
        while not stopped():
            with busy(f"solving {names[len(updates) % len(names)]} by {method}", time_limit):
                found = next(left, None)
            if found is None:
                break
            updates.append(found)
            if not as_json:
                print(_said(found), flush=True)
        interrupted = stopped()
        if interrupted:
            warn([f"interrupted: {len(updates)} of {len(names)} instances are done, and one of them may be cut short"])
        if as_json:
            changes = (
                BestKnownChange.of(entry, before=_entry(entry.before), after=_entry(entry.after)) for entry in updates
            )
            BestKnownUpdate(interrupted=interrupted, updates=tuple(changes)).print_json()
    # Told at the end: one entry that contradicts a bound keeps no other from being better.
    errors = [entry for entry in updates if entry.change == "error"]
    if errors:
        listed = os.linesep.join(f"  {entry.instance}: {entry.message}" for entry in errors)
        raise SpotbagError(f"{len(errors)} of {len(updates)} entries were left alone:{os.linesep}{listed}")
    if any(entry.after is None for entry in updates):
        raise typer.Exit(NO_FEASIBLE_PLAN)


def _said(update: Update) -> str:
    """Return a line about an update."""
    head = (
        f"{update.instance:<26} {update.runtime_s:7.1f} s  {'unchanged' if update.change == 'none' else update.change}"
    )
    if update.change == "error":
        return f"{head}: see below"
    if update.after is None:
        return f"{head}: {update.message}"
    return f"{head}: {_numbers(update.before)}{' -> ' if update.before else ''}{_numbers(update.after)}"


def _numbers(entry: BestKnown | None) -> str:
    if entry is None:
        return ""
    return f"{entry.value:.6f} ({entry.status}, bound {entry.bound:.6f})"


def _entry(entry: BestKnown | None) -> Any:
    """Return an entry as it is printed, if there is one."""
    from ...core.quantities import relative_gap

    return None if entry is None else BestEntry.of(entry, gap=relative_gap(entry.value, entry.bound))
