"""Plug-ins: additions of others, by entry points of installed distributions or as ``module:attribute``.

Nothing of this is looked at for names that are built in: these cannot be replaced, and cost nothing.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import Issue, SpotbagError, text_of
from .limits import LimitReached
from .wording import close_names, printable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

TAKEN = "has the name of one that is built in, which cannot be replaced"
"""Rule that a plug-in breaks."""

_OWN = __name__.partition(".")[0]


class PluginError(SpotbagError):
    """A method or a policy that is not built in failed, or answered what breaks a rule.

    Where it failed with an exception of its own, that is the ``__cause__``.
    """


class PluginWarning(UserWarning):
    """A plug-in of an installed distribution is left out; the message names the distribution, and says why."""


class Unusable(Exception):  # noqa: N818 (a reason, which whoever has asked says in their words)
    """Says why something cannot be used as what it was given for; an issue whose place is not known yet.

    Parameters
    ----------
    rule : str
        What is wrong, and the way out.
    value : object
        What was given, if it is to be shown.
    """

    def __init__(self, rule: str, value: Any = Issue.NOTHING) -> None:
        super().__init__(rule)
        self.rule = rule
        self.value = value


@dataclass(frozen=True, slots=True)
class Plugin:
    """Object of a plug-in; other processes load the same by its name.

    Attributes
    ----------
    registry : Registry
        Which kind it is of.
    name : str
        By which it is asked for: that of its entry point, or ``module:attribute``.
    what : object
        What is found there.
    called : str
        What messages call it; names the distribution, if it is of one.
    distribution : str
        Name and version of the distribution; empty for ``module:attribute``.
    """

    registry: Registry
    name: str
    what: Any
    called: str
    distribution: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Have copies look it up."""
        return self.registry.find, (self.name,)


@dataclass(frozen=True, slots=True)
class Registry:
    """Plug-ins of one kind, such as methods or policies.

    Attributes
    ----------
    word : str
        What one of them is: ``method``, ``policy``.
    group : str
        Of the entry points.
    """

    word: str
    group: str

    def find(self, name: str) -> Plugin | None:
        """Load the plug-in of a name; None if there is none.

        Parameters
        ----------
        name : str
            Of an entry point, or ``module:attribute``. Modules of the current folder are found as well.

        Raises
        ------
        Unusable
            If it cannot be loaded.

        Warns
        -----
        PluginWarning
            If other distributions have one of this name as well: the first by name is taken.
        """
        if ":" in name:
            return Plugin(self, name, _load_attribute(name), f"the {self.word} {name}")
        found = self._entries(name)
        for other in found[1:]:
            _warn(f"{self._called(other)} is left out: {_distribution(found[0])} has one of this name, too")
        return self._load(found[0]) if found else None

    def names(self) -> list[str]:
        """Names of all that is installed; nothing is loaded."""
        return list(dict.fromkeys(entry.name for entry in self._entries()))

    def installed(self, accept: Callable[[Plugin], T]) -> list[T]:
        """Load all installed plug-ins of the kind.

        Parameters
        ----------
        accept : callable
            What becomes of each; raises `Unusable` if it is none of this kind.

        Warns
        -----
        PluginWarning
            For each that is left out.
        """
        accepted: dict[str, T] = {}
        holders: dict[str, str] = {}
        for entry in self._entries():
            if entry.name in holders:
                _warn(f"{self._called(entry)} is left out: {holders[entry.name]} has one of this name, too")
            else:
                # Also if it cannot be loaded: which distribution has a name must not depend on what is broken today.
                holders[entry.name] = _distribution(entry)
                try:
                    plugin = self._load(entry)
                    with blaming(plugin.called):
                        accepted[entry.name] = accept(plugin)
                except Unusable as reason:
                    _warn(f"{self._called(entry)} is left out: it {reason.rule}")
                except SpotbagError as error:
                    _warn(f"{self._called(entry)} is left out: {error}")
        return list(accepted.values())

    def _entries(self, name: str | None = None) -> list[EntryPoint]:
        """Entry points, of a name or all, in the order of their names and distributions."""
        from importlib.metadata import entry_points

        found = entry_points(group=self.group) if name is None else entry_points(group=self.group, name=name)
        return sorted(found, key=lambda entry: (entry.name, _distribution(entry)))

    def _called(self, entry: EntryPoint) -> str:
        return f"the {self.word} {entry.name!r} of the distribution {_distribution(entry)}"

    def _load(self, entry: EntryPoint) -> Plugin:
        rule = f"cannot be loaded from {_distribution(entry)}"
        with code_of_others(lambda error: Unusable(f"{rule}: {describe(error)}")):
            what = entry.load()
        return Plugin(self, entry.name, what, self._called(entry), _distribution(entry))


def _distribution(entry: EntryPoint) -> str:
    return "(unknown)" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _warn(text: str) -> None:
    warnings.warn(printable(text), PluginWarning, stacklevel=4)


def _load_attribute(reference: str) -> Any:
    """Load ``module:attribute``, as servers do: modules of the current folder are found."""
    module_name, _, attributes = reference.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), *attributes.split("."))):
        raise Unusable("must be module:attribute, such as my_module:MyMethod")
    folder = os.getcwd()
    if folder not in sys.path and "" not in sys.path:
        sys.path.append(folder)  # at the end: what is installed is not hidden by files that happen to lie there
    # A module may have been written since Python looked into the folder.
    importlib.invalidate_caches()

    def failure(error: BaseException) -> Unusable:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module_name}.".startswith(f"{missing}."):
            way_out = "leave out .py" if module_name.endswith(".py") else "it is looked for in the current folder, too"
            return Unusable(f"cannot be found: there is no module {missing} ({way_out})")
        return Unusable(f"cannot be loaded: {describe(error)}")

    with code_of_others(failure):
        found: Any = importlib.import_module(module_name)
        for attribute in attributes.split("."):
            try:
                found = getattr(found, attribute)
            except AttributeError as error:
                close = close_names(attribute, [name for name in dir(found) if not name.startswith("_")])
                hint = f" ({close})" if close else ""
                raise Unusable(f"cannot be found: {module_name} has no {attribute}{hint}") from error
    return found


def describe(error: BaseException) -> str:
    """Return the kind of an exception, what it says, and the line of the plug-in at which it came up."""
    text = text_of(error)
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__", "").partition(".")[0] not in (_OWN, "importlib")
        and not frame.f_code.co_filename.startswith("<frozen")
    ]
    # The last line in the first file of theirs: where it fell into a library says less to its author.
    lines = [(file, line) for file, line in frames if file == frames[0][0]]
    return f"{said} ({os.path.basename(lines[-1][0])}, line {lines[-1][1]})" if lines else said


_aside = False


@contextmanager
def printing_aside() -> Iterator[None]:
    """Send the output of plug-ins to standard error: standard output is for the answer of a command."""
    global _aside
    before, _aside = _aside, True
    try:
        yield
    finally:
        _aside = before


@contextmanager
def code_of_others(failure: Callable[[BaseException], BaseException]) -> Iterator[None]:
    """Run code of others inside: the one place that all of it passes, whatever it raises or prints.

    Parameters
    ----------
    failure : callable
        What is raised in place of an exception that it has raised, exits included; the same one to let it pass.
        Interrupts, limits that are over, and `Unusable` pass.
    """
    try:
        with redirect_stdout(sys.stderr) if _aside else nullcontext():
            yield
    except (KeyboardInterrupt, GeneratorExit, LimitReached, Unusable):
        raise
    except BaseException as error:
        raised = failure(error)
        if raised is error:
            raise
        raise raised from error


@contextmanager
def blaming(called: str) -> Iterator[None]:
    """Have exceptions of a plug-in inside say that they are its own; empty for what is built in, whose are ours.

    Raises
    ------
    PluginError
        In place of any exception but those of this package.
    """
    if not called:
        yield
        return

    def failure(error: BaseException) -> BaseException:
        return error if isinstance(error, SpotbagError) else PluginError(f"{called} failed: {describe(error)}")

    with code_of_others(failure):
        yield
