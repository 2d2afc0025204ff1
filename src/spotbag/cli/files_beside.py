"""Writing of files beside the answer of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .arguments import warn


@contextmanager
def beside_the_answer() -> Iterator[None]:
    """Draw and write what the answer does not need: an interrupt ends that alone, and the answer is still given."""
    from ..core.processes import ended_at_once

    try:
        with ended_at_once():
            yield
    except KeyboardInterrupt:
        warn(["interrupted: not all files are written"])
