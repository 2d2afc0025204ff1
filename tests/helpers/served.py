"""Clients of ``spotbag serve``: of a process of its own, or of a server in a thread of this one."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from spotbag.cli.bags.served_bags import ServedBags
from spotbag.cli.json_rpc import Method, Server

_PATIENCE_S = 60.0
"""Until a test fails that waits for a line."""


class ServedError(Exception):
    """An answer that is an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"])
        self.code, self.data = error["code"], error["data"]


class Client:
    """Sends lines, and receives them."""

    def __init__(self, source: IO[bytes], sink: IO[bytes]) -> None:
        self.sink = sink
        self.notifications: list[dict[str, Any]] = []
        self._last = 0
        self._answers: dict[Any, dict[str, Any]] = {}
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(source,), name="client", daemon=True)
        self._reader.start()

    def _read(self, source: IO[bytes]) -> None:
        with source:
            for line in source:
                self._lines.put(line)
        self._lines.put(b"")

    def line(self) -> bytes:
        """Return the next line; an empty one at the end."""
        return self._lines.get(timeout=_PATIENCE_S)

    def message(self) -> Any:
        """Return what is in the next line, which is whole."""
        line = self.line()
        assert line.endswith(b"\n"), line
        return json.loads(line)

    def write(self, text: str | bytes) -> None:
        """Send a line."""
        self.sink.write((text.encode() if isinstance(text, str) else text) + b"\n")
        self.sink.flush()

    def send(self, method: str, /, **params: Any) -> int:
        """Send a request; return its id."""
        self._last += 1
        self.write(json.dumps({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}))
        return self._last

    def result(self, identifier: Any) -> Any:
        """Return the result of a request, or raise its error; other answers are kept until they are asked for."""
        while identifier not in self._answers:
            message = self.message()
            assert message["jsonrpc"] == "2.0"
            if "method" in message:
                self.notifications.append(message)
            else:
                self._answers[message["id"]] = message
        answer = self._answers.pop(identifier)
        if "error" in answer:
            raise ServedError(answer["error"])
        return answer["result"]

    def ask(self, method: str, /, **params: Any) -> Any:
        """Send a request, and return its result."""
        return self.result(self.send(method, **params))


@contextmanager
def served(methods: Mapping[str, Method] | None = None, **options: Any) -> Iterator[Client]:
    """Serve in a thread of this process; afterwards, no thread is left."""
    before = {*threading.enumerate()}
    (there, into), (back, out) = os.pipe(), os.pipe()
    source, sink = open(there, "rb"), open(out, "wb", buffering=0)  # noqa: SIM115 (closed below)
    server = Server(ServedBags().methods if methods is None else methods, source, sink, **options)

    def serve() -> None:
        with source, sink:
            server.serve()

    thread = threading.Thread(target=serve)
    thread.start()
    with open(into, "wb") as given:
        client = Client(open(back, "rb"), given)  # noqa: SIM115 (closed by its reader)
        yield client
    thread.join(_PATIENCE_S)
    client._reader.join(_PATIENCE_S)
    for left in {*threading.enumerate()} - before:  # such as one that has just said that it is done
        left.join(_PATIENCE_S)
        assert not left.is_alive(), left


@contextmanager
def serving_process(*words: str) -> Iterator[tuple[Client, subprocess.Popen[bytes]]]:
    """Serve in a process of its own, which must have ended when the caller is done with it."""
    command = [sys.executable, "-m", "spotbag", "serve", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Client(process.stdout, process.stdin), process
            process.wait(_PATIENCE_S)
        finally:
            process.kill()
