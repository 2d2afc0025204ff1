"""JSON-RPC 2.0, one message a line: requests are read one by one, worked on side by side, answered in whole lines."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import IO, Any, Literal, TypeAlias, TypeVar

from pydantic import Field

from ..core.errors import InputError, Issue, SpotbagError, input_error, show_value, text_of
from ..core.json_documents import parse_value
from ..core.processes import leave_behind
from ..core.records import Record, validate_record
from ..core.wording import near_names
from .answers import ABSENT, Error

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, BAD_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
"""Codes of the standard."""
REFUSED = -32000
"""Code of what is right in itself, and cannot be done."""

_OWN = ("cancel", "shutdown")


class Message(Record):
    """A request; a notification, which has no answer, if it has no ``id``."""

    jsonrpc: Literal["2.0"]
    method: str
    params: Any = Field(default_factory=dict)
    id: Any = None


class _Cancel(Record):
    id: Any


Params = TypeVar("Params", bound=Record)


def params_as(kind: type[Params], given: Mapping[str, Any]) -> Params:
    """Validate the parameters of a method.

    Raises
    ------
    InputError
        With everything that is wrong in them.
    """
    return validate_record(kind, given, "params")


class _Refusal(SpotbagError):  # noqa: N818 (by what it says)
    """A request that is not begun, and the code of its answer."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(eq=False, slots=True)
class Call:
    """A request under way.

    Attributes
    ----------
    number : int
        How many messages came before it.
    notify : callable
        Sends a notification about it: takes its method, and its parameters beside the ``id`` of the request.
    stop : threading.Event
        Set when the request is cancelled, or the server ends.
    """

    number: int
    notify: Callable[[str, Mapping[str, Any]], None]
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None


Work: TypeAlias = Callable[[], str]
"""Work on a request, in a thread of its own; returns the result as a JSON text without line breaks."""
Method: TypeAlias = Callable[[dict[str, Any], Call], str | Work]
"""A method: takes its parameters in the order of the messages, and returns its result or the work that is left."""


@dataclass(eq=False, slots=True)
class _Batch:
    """Answers of the messages of one line, which are sent together when all are there; of one message, as it is."""

    waiting: int
    send: Callable[[str], None]
    single: bool
    answers: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, answer: str | None) -> None:
        """Add an answer; None of a notification."""
        with self.lock:
            # A notification is counted as the others are: the batch is complete when all are done.
            self.answers += [] if answer is None else [answer]
            self.waiting -= 1
            if not self.waiting and self.answers:
                self.send(self.answers[0] if self.single else f"[{', '.join(self.answers)}]")


class Server:
    """Answers the messages of one client until there are no more, or it says ``shutdown``.

    Parameters
    ----------
    methods : mapping
        Methods by name, beside ``cancel`` and ``shutdown``.
    source, sink : binary streams
        Where messages come from, and answers go to; the sink is not buffered.
    most_requests : int
        Most requests that are worked on at a time; others are refused.
    patience_s : float
        Seconds that requests which were asked to stop, and a client that does not read, have until they are left alone.
    """

    def __init__(
        self,
        methods: Mapping[str, Method],
        source: IO[bytes],
        sink: IO[bytes],
        most_requests: int = 64,
        patience_s: float = 5.0,
    ) -> None:
        # Behind the others: a method cannot take the place of those that end requests.
        self._methods = {**methods, "cancel": self._cancel, "shutdown": self._shutdown}
        self._source, self._sink = source, sink
        self._most, self._patience_s = most_requests, patience_s
        self._calls: dict[Any, Call] = {}
        self._lock = threading.Lock()
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._number = 0
        self._over = False

    def serve(self) -> None:
        """Answer messages; at the end, all requests under way are asked to stop, and waited for."""
        # In a thread of its own, which no signal reaches: none cuts a line into halves.
        writer = threading.Thread(target=self._write, name="answers", daemon=True)
        writer.start()
        try:
            for line in self._source:
                try:
                    self._take(line)
                except Exception as error:  # a fault of ours is no end of what else is under way
                    self._lines.put(_failure(None, INTERNAL, _fault(error)))
                if self._over:
                    break
        finally:
            self._end()
            self._lines.put(None)
            writer.join(self._patience_s)

    def _write(self) -> None:
        """Write lines until there are no more; nothing once nobody reads them."""
        there = True
        for line in iter(self._lines.get, None):
            left = memoryview(f"{line}\n".encode())
            try:
                while there and left:
                    left = left[self._sink.write(left) :]
            except OSError:
                there = False
                self._stop_all()

    def _stop_all(self) -> list[Call]:
        with self._lock:
            calls = list(self._calls.values())
        for call in calls:
            call.stop.set()
        return calls

    def _end(self) -> None:
        """End the requests under way."""
        until = time.monotonic() + self._patience_s
        for call in self._stop_all():
            if call.thread is not None:
                call.thread.join(max(until - time.monotonic(), 0.0))
                # A solver may not look at the request to stop for a while, and Python would wait for
                # its thread.
                leave_behind(call.thread, call.stop.set)

    def _take(self, line: bytes) -> None:
        """Begin the requests of a line."""
        code = PARSE_ERROR
        try:
            given = parse_value(line.decode().strip(), "message")
            single, code = not isinstance(given, list), INVALID_REQUEST
            if given == []:
                raise input_error("message", "is a batch of no messages")
        except (InputError, UnicodeDecodeError) as error:
            wrong = error if isinstance(error, InputError) else input_error("message", "is not UTF-8")
            self._lines.put(_failure(None, code, wrong))
            return
        messages = [given] if single else given
        batch = _Batch(len(messages), self._lines.put, single)
        for message in messages:
            self._begin(message, batch)

    def _begin(self, given: Any, batch: _Batch) -> None:
        """Begin a request: its method takes its parameters here, and works on in a thread if it has to."""
        identifier = _identifier(given)
        try:
            message = _valid(given)
        except InputError as error:
            batch.add(_failure(identifier, INVALID_REQUEST, error))
            return
        call = Call(self._number, self._notifier(identifier))
        self._number += 1
        key = object() if identifier in (None, ABSENT) else identifier

        def answer(work: Work) -> str | None:
            answered = _answer(identifier, work)
            return None if identifier is ABSENT else answered

        def finish(work: Work) -> None:
            answered = answer(work)
            with self._lock:  # whoever finds it under way no more finds its answer among the lines
                del self._calls[key]
                batch.add(answered)

        def begin() -> str:
            found = self._method(message)(message.params, call)
            if isinstance(found, str):
                return found
            thread = threading.Thread(target=finish, args=(found,), name=f"request {call.number}", daemon=True)
            with self._lock:  # which the thread needs to finish
                thread.start()
                self._calls[key], call.thread = call, thread
            return ""

        answered = answer(begin)
        if call.thread is None:
            batch.add(answered)

    def _method(self, message: Message) -> Method:
        """Return the method of a message that may be begun."""
        method = self._methods.get(message.method)
        if method is None:
            near = near_names(message.method, self._methods)
            raise _Refusal(UNKNOWN_METHOD, f"method {show_value(message.method)} is unknown ({near})")
        if not isinstance(message.params, dict):
            raise input_error("params", "must be an object: parameters are given by name")
        with self._lock:
            n_calls, taken = len(self._calls), message.id in self._calls
        if taken:
            raise _Refusal(INVALID_REQUEST, f"id {show_value(message.id)} is that of a request which is under way")
        # Requests to stop must get through when nothing else does.
        if message.method not in _OWN and (n_calls >= self._most or self._over):
            why = "the server has been shut down" if self._over else f"{n_calls} requests are under way: await some"
            raise _Refusal(REFUSED, why)
        return method

    def _notifier(self, identifier: Any) -> Callable[[str, Mapping[str, Any]], None]:
        def notify(method: str, params: Mapping[str, Any]) -> None:
            if identifier is not ABSENT:
                message = {"jsonrpc": "2.0", "method": method, "params": {"id": identifier, **params}}
                self._lines.put(json.dumps(message, allow_nan=False))

        return notify

    def _cancel(self, given: dict[str, Any], call: Call) -> str:
        """Ask a request to stop; says whether it is under way."""
        identifier = params_as(_Cancel, given).id
        _refuse_id(given, "params")
        with self._lock:
            found = self._calls.get(identifier)
        if found is not None:
            found.stop.set()
        return json.dumps(found is not None)

    def _shutdown(self, given: dict[str, Any], call: Call) -> str:
        """End the requests under way, and the server."""
        params_as(Record, given)
        self._over = True
        self._end()
        return "null"


def _identifier(given: Any) -> Any:
    """Return the id of a message that may be none; None if it has none that is valid."""
    # Without an id it is a notification, which has no answer; an id of null has one.
    found = given.get("id", ABSENT) if isinstance(given, dict) else None
    if isinstance(found, bool) or (isinstance(found, float) and not math.isfinite(found)):
        return None
    return found if isinstance(found, str | int | float) or found is ABSENT else None


def _valid(given: Any) -> Message:
    """Return a message.

    Raises
    ------
    InputError
        If it is none.
    """
    message = validate_record(Message, given, "message")
    if not isinstance(message.params, dict | list):
        raise InputError("message", [Issue("", "must be an object", "params", message.params)])
    _refuse_id(given, "message")
    return message


def _refuse_id(given: dict[str, Any], source: str) -> None:
    if given.get("id") is not None and _identifier(given) is None:
        raise InputError(source, [Issue("", "must be a text or a number", "id", given["id"])])


def _answer(identifier: Any, work: Work) -> str:
    """Do some work, and return the answer with its result, or with the error that it has ended by, whatever that is."""
    try:
        return f'{{"jsonrpc": "2.0", "id": {_id_text(identifier)}, "result": {work()}}}'
    except SpotbagError as error:
        code = BAD_PARAMS if isinstance(error, InputError) else getattr(error, "code", REFUSED)
        return _failure(identifier, code, error)
    except Exception as error:
        return _failure(identifier, INTERNAL, _fault(error))


def _fault(error: Exception) -> SpotbagError:
    return SpotbagError(f"internal error, please report this: {type(error).__name__}: {text_of(error)}")


def _failure(identifier: Any, code: int, error: SpotbagError) -> str:
    message = {"code": code, "message": str(error), "data": Error.of_error(error).to_dict()}
    return f'{{"jsonrpc": "2.0", "id": {_id_text(identifier)}, "error": {json.dumps(message)}}}'


def _id_text(identifier: Any) -> str:
    return json.dumps(None if identifier is ABSENT else identifier)
