"""Standard output and standard error, through which all that is printed passes and is made safe."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from ..core.wording import PrintableStream


@contextmanager
def printable_output() -> Iterator[None]:
    """Have all that is printed made safe; what goes to a stream that is closed goes nowhere."""
    with ExitStack() as left:

        def safe(stream: TextIO | None) -> TextIO:
            # Typed as streams may be missing: Python has none where the file descriptor was closed.
            there = left.enter_context(open(os.devnull, "w", encoding="utf-8")) if stream is None else stream
            return cast("TextIO", PrintableStream(there))

        left.enter_context(redirect_stdout(safe(sys.stdout)))
        left.enter_context(redirect_stderr(safe(sys.stderr)))
        yield


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Have warnings of this package printed as those of its commands are: without the line of code they come from."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if category.__module__.partition(".")[0] == __name__.partition(".")[0]:
            print(f"warning: {message}", file=sys.stderr)
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = usual
