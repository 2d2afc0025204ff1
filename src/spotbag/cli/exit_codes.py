"""Exit codes of all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

BAD_INPUT = 2
INTERRUPTED = 130


NO_FEASIBLE_PLAN = 1
