"""``spotbag serve``."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

from ..options import option

EXAMPLE = """Example:  echo '{"jsonrpc": "2.0", "id": 1, "method": "initialize"}' | spotbag serve"""


def serve_command(
    *, most_requests: int = option("N", "Most requests under way; others are refused.", 64, min=1)
) -> None:
    """Plan for programs in any language: JSON-RPC 2.0, one message a line, on standard input and output.

    Methods: initialize, solve, replan, advance, check, forget, cancel, shutdown. Bags are kept with their states and
    plans, by their names. It ends with its input, or by shutdown; what is under way ends then, with the best so far.
    Exit code 0: ended by its client; 130: interrupted.
    """
    from ..json_rpc import Server
    from .served_bags import ServedBags

    methods = ServedBags().methods
    # No buffers, which a thread that still writes would hold at the end of the process; nothing else is to be printed.
    with (
        redirect_stdout(sys.stderr),
        open(0, "rb", closefd=False) as source,
        open(1, "wb", buffering=0, closefd=False) as sink,
    ):
        Server(methods, source, sink, most_requests).serve()
