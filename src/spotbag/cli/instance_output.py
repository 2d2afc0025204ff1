"""Delivery of an instance that a command has made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .answers import Written
from .arguments import wrote
from .options import option
from .tables import seconds

if TYPE_CHECKING:
    from ..core.records import WholeDocument
    from ..instances.instance import Instance

out_option = partial(option, "FILE", "Where to write the instance; standard output if absent or -.")


def to_file(out: str | None) -> str | None:
    """Return the file that an output goes to; None for standard output."""
    return None if out == "-" else out


def deliver(made: WholeDocument, out: str | None, as_json: bool, about: str, **said: Any) -> None:
    """Write a document that a command has made to a file, and say so, or print it."""
    path = to_file(out)
    if path is None:
        print(made.to_text(), end="")
        return
    made.write(path)
    if as_json:
        Written(written=(path,), **said).print_json()
    wrote(path, about)


def deliver_instance(instance: Instance, out: str | None, as_json: bool, warnings: Sequence[str] = ()) -> None:
    """Write an instance to a file and say so, or print it."""
    about = f"{instance.name}, {instance.n_tasks:,} tasks, deadline {seconds(instance.deadline_s)} s"
    said = {"tasks": instance.n_tasks, "deadline_s": instance.deadline_s, "d_spot_s": instance.d_spot_s}
    deliver(instance, out, as_json, about, instance=instance.name, **said, warnings=tuple(warnings))
