"""Delivery of an instance that a command has made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .answers import Written
from .arguments import wrote
from .tables import seconds

if TYPE_CHECKING:
    from ..instances.instance import Instance

OutOption = Annotated[
    str | None,
    typer.Option("--out", metavar="FILE", help="Where to write the instance; standard output if absent or -."),
]


def to_file(out: str | None) -> str | None:
    """Return the file that an output goes to; None for standard output."""
    return None if out == "-" else out


def deliver(instance: Instance, out: str | None, as_json: bool, warnings: list[str]) -> None:
    """Write an instance to a file and say so, or print it."""
    path = to_file(out)
    if path is None:
        print(instance.to_text(), end="")
        return
    instance.write(path)
    if as_json:
        Written(
            instance=instance.name,
            written=(path,),
            tasks=instance.n_tasks,
            deadline_s=instance.deadline_s,
            d_spot_s=instance.d_spot_s,
            warnings=tuple(warnings),
        ).print_json()
    wrote(path, f"{instance.name}, {instance.n_tasks:,} tasks, deadline {seconds(instance.deadline_s)} s")
