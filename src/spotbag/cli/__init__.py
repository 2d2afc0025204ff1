"""The command line."""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from types import FrameType
from typing import Any, TextIO, cast

from .console import BAD_INPUT, INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code: 0 done, 1 no feasible plan, 2 bad input, 3 late, 130 after a signal."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    interruptions: list[int] = []
    if arguments is None:  # what is registered first is called last
        atexit.register(_end_by_code, interruptions)
    try:
        with _interrupts(for_good=arguments is None) as interrupted:
            if arguments is None:
                # What loads stays until the end: searching it for garbage takes a fifth of a short command.
                gc.set_threshold(100_000, 20, 20)
                _prepare_streams()
            from ..core.plugins import printing_aside

            with _printable_output(), _plain_warnings(), printing_aside():
                code = _run(given)
        if interrupted():
            code = INTERRUPTED
    except KeyboardInterrupt:
        if sys.stderr is not None:  # else it was closed, and this would go to standard output
            print("interrupted", file=sys.stderr)
        code = INTERRUPTED
    if arguments is None:
        _end(code)
        interruptions += [INTERRUPTED] * (code == INTERRUPTED)
    return code


def _run(given: list[str]) -> int:
    """Run a command whose output can be printed anywhere."""
    from .app import make_app

    completes = "_SPOTBAG_COMPLETE" in os.environ
    try:
        if completes:
            # The other commands than the one whose words a shell completes need not be loaded.
            words = os.environ.get("_TYPER_COMPLETE_ARGS", os.environ.get("COMP_WORDS", "")).split()
            make_app(words[1] if len(words) > 1 else None, completes=True)(args=given, prog_name="spotbag")
        else:
            make_app(given[0] if given else None)(args=given, prog_name="spotbag")
        sys.stdout.flush()
    except SystemExit as leaving:
        if _comes_of_interrupt(leaving):
            raise KeyboardInterrupt from None
        wrong = getattr(leaving.__context__, "format_message", None)
        if wrong is not None and "--json" in given:  # words that the parser, which has said so, does not understand
            _print_error(Exception(wrong()))
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except OSError as error:  # an output stream that takes no more
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except Exception as error:
        if _comes_of_interrupt(error):  # an import that it has cut short may fail in any way
            raise KeyboardInterrupt from None
        from ..core.errors import SpotbagError  # here, so that --help loads nothing
        from ..core.limits import LimitReached

        if isinstance(error, LimitReached):  # the command has no answer that could be cut short
            raise KeyboardInterrupt from None
        if not isinstance(error, SpotbagError):
            raise
        _report(error, "--json" in given)
        return BAD_INPUT
    return 0


@contextmanager
def _interrupts(for_good: bool) -> Iterator[Callable[[], bool]]:
    """Have Ctrl-C and SIGTERM do the same, as `spotbag.core.processes` has it; gives whether one of them came.

    A long function answers the first by ending early, and its command then says what there is so far. Anywhere else,
    and the second time, it is a KeyboardInterrupt. Where something swallows that (an import, a destructor), long
    functions are asked to stop when they begin. Where the program ends with the command, one that comes after the
    command ends the program at once.
    """
    from ..core.limits import within
    from ..core.processes import Signalled, interrupt, signals_to

    signalled = Signalled()
    usual = (signal.default_int_handler, signal.SIG_DFL)
    leave = _leave if for_good else None
    with signals_to(interrupt, lambda handler: handler in usual, leave), within(stop=signalled):
        yield signalled.is_set


def _leave(number: int, frame: FrameType | None) -> None:
    """Handle a signal that comes when the command has ended."""
    os._exit(INTERRUPTED)


def _end(code: int) -> None:
    """End the program at once if a solver, or what compiles, ends only later: Python would wait for it."""
    from ..core.processes import COMPILING, left_behind

    left = left_behind()
    # Whoever waits for the prompt shall know why the next call takes as long again.
    if COMPILING in left and sys.stderr is not None:
        print("loops were being compiled, which takes a while once on a machine", file=sys.stderr)
    if left:
        _exit(code)


def _end_by_code(interruptions: Sequence[int]) -> None:
    """End an interrupted program with its exit code, when all else has been tidied up.

    Where code in C had part in an import that was interrupted, Python would end by the signal.
    """
    if interruptions:
        _exit(interruptions[0])


def _exit(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # else it was closed
            stream.flush()
    os._exit(code)


def _comes_of_interrupt(error: BaseException | None) -> bool:
    """True if an exit stands for an interrupt that no command has answered."""
    # An import that a signal cuts short may end in another error, which it then is the cause of.
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _prepare_streams() -> None:
    """End quietly when a pipe is closed, and write what the terminal cannot encode as escapes."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file opened would get the number, and whatever is printed
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    # Names in files may have any letters; a terminal may not.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _report(error: Exception, as_json: bool) -> None:
    """Print an error on standard error, and as an object on standard output with ``--json``."""
    print(f"error: {error}", file=sys.stderr)
    if os.environ.get("SPOTBAG_DEBUG") and error.__cause__ is not None:
        import traceback

        traceback.print_exception(error.__cause__)
    if as_json:
        _print_error(error)


def _print_error(error: Exception) -> None:
    """Print an error as a JSON object."""
    from .answers import Error

    Error.of_error(error).print_json()


@contextmanager
def _printable_output() -> Iterator[None]:
    """Make all output safe to print; output to a stream that is closed goes nowhere."""
    from ..core.wording import PrintableStream

    with ExitStack() as left:

        def safe(stream: TextIO | None) -> TextIO:
            # Typed as streams may be missing: Python has none where the file descriptor was closed.
            there = left.enter_context(open(os.devnull, "w", encoding="utf-8")) if stream is None else stream
            return cast("TextIO", PrintableStream(there))

        left.enter_context(redirect_stdout(safe(sys.stdout)))
        left.enter_context(redirect_stderr(safe(sys.stderr)))
        yield


@contextmanager
def _plain_warnings() -> Iterator[None]:
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
