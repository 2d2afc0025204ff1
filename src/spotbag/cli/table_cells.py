"""Cells of tables whose words may be broken after a plus, as names of policies with rules added to them are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.containers import Lines
    from rich.measure import Measurement


def unbroken_parts(text: str) -> list[str]:
    """Return the parts of a text that stay whole: words, and those with pluses in pieces that end with one."""
    return re.findall(r"[^\s+]*\++|[^\s+]+", text)


class BreakableText(Text):
    """A text that is broken at spaces, and where a word is too long for the line, after its pluses."""

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Say how wide it must and may be."""
        from rich.cells import cell_len
        from rich.measure import Measurement

        widest = super().__rich_measure__(console, options).maximum
        return Measurement(max(map(cell_len, unbroken_parts(self.plain)), default=0), widest)

    def wrap(self, console: Console, width: int, **how: Any) -> Lines:
        """Break it into lines of a width."""
        broken = re.sub(r"\S+", lambda word: _broken(word[0], width), self.plain)
        return Text(broken, self.style).wrap(console, width, **how)


def _broken(word: str, width: int) -> str:
    """Return a word in lines of no more than a width, if its parts allow that."""
    from rich.cells import cell_len

    lines = [""]
    for part in unbroken_parts(word):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
