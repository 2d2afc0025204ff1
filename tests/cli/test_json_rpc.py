"""The protocol of ``spotbag serve``: JSON-RPC 2.0, one message a line."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

import pytest

from spotbag.cli.answers import Error
from spotbag.cli.json_rpc import Call, Method, Server, Work, _Batch, params_as
from spotbag.core.errors import ModelRefusal
from spotbag.core.records import Record
from tests.helpers.served import ServedError, served


class _Named(Record):
    name: str


def methods() -> dict[str, Method]:
    """Methods that answer at once, wait until they are stopped, and fail in all ways."""

    def echo(given: dict[str, Any], call: Call) -> str:
        return json.dumps(given)

    def wait(given: dict[str, Any], call: Call) -> Work:
        def work() -> str:
            call.notify("progress", {"said": given.get("say")})
            call.stop.wait()
            return '"stopped"'

        return work

    def greet(given: dict[str, Any], call: Call) -> Work:
        asked = params_as(_Named, given)
        return lambda: json.dumps(f"hello {asked.name}")

    def refuse(given: dict[str, Any], call: Call) -> str:
        raise ModelRefusal("too large")

    def fail(given: dict[str, Any], call: Call) -> Work:
        return lambda: str(1 // 0)

    return {"echo": echo, "wait": wait, "greet": greet, "refuse": refuse, "fail": fail}


def asked(**message: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", **message})


@pytest.mark.parametrize(
    ("line", "identifier", "code", "said"),
    [
        ("", None, -32700, "message: is not JSON: Expecting value in line 1, column 1"),
        ('{"jsonrpc": "2.0", "method": "echo', None, -32700, "Unterminated string"),
        ('[{"jsonrpc": "2.0", "id": 1', None, -32700, "is not JSON"),
        (b'{"\xff": 1}', None, -32700, "is not UTF-8"),
        ("[" * 100_000, None, -32700, "nested too deeply"),
        ('{"id": 1, "id": 2}', None, -32700, "gives the key 'id' more than once"),
        ('{"id": ' + "9" * 5000 + "}", None, -32700, "too many digits"),
        ("[]", None, -32600, "is a batch of no messages"),
        ("1", None, -32600, "1 must be an object"),
        ("null", None, -32600, "must be an object"),
        ('{"jsonrpc": "2.0", "id": 3}', 3, -32600, "method is missing"),
        ('{"jsonrpc": "1.0", "method": "echo", "id": 3}', 3, -32600, "jsonrpc '1.0' must be '2.0'"),
        ('{"method": "echo", "id": "x"}', "x", -32600, "jsonrpc is missing"),
        (asked(method=1, id=3), 3, -32600, "method 1 must be a text"),
        (asked(method="echo", id=3, params="x"), 3, -32600, "params 'x' must be an object"),
        (asked(method="echo", id=3, parms={}), 3, -32600, "parms is an unknown key (did you mean 'params'?)"),
        (asked(method="echo", id=True), None, -32600, "id true must be a text or a number"),
        (asked(method="echo", id=[1]), None, -32600, "id (an array) must be a text or a number"),
        ('{"jsonrpc": "2.0", "method": "echo", "id": 1e999}', None, -32600, "must be a text or a number"),
        (asked(method="ecko", id=3), 3, -32601, "method 'ecko' is unknown (did you mean echo?)"),
        (asked(method="echo", id=3, params=[1]), 3, -32602, "parameters are given by name"),
        (asked(method="greet", id=3), 3, -32602, "params: name is missing"),
        (asked(method="greet", id=3, params={"name": 1}), 3, -32602, "name 1 must be a text"),
        (asked(method="greet", id=3, params={"nam": "x"}), 3, -32602, "nam is an unknown key"),
        (asked(method="cancel", id=3, params={"id": {}}), 3, -32602, "id (an object) must be a text or a number"),
        (asked(method="cancel", id=3), 3, -32602, "id is missing"),
        (asked(method="shutdown", id=3, params={"now": True}), 3, -32602, "now is an unknown key"),
        (asked(method="refuse", id=3), 3, -32000, "too large"),
        (asked(method="fail", id=3), 3, -32603, "internal error, please report this: ZeroDivisionError: "),
    ],
    ids=lambda value: "long" if isinstance(value, str) and len(value) > 99 else None,
)
def test_what_is_wrong_is_an_error_with_its_code_and_place(
    line: str | bytes, identifier: Any, code: int, said: str
) -> None:
    with served(methods()) as client:
        client.write(line)
        answer = client.message()
        assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", identifier, code)
        assert said in answer["error"]["message"]
        assert "Traceback" not in answer["error"]["message"]
        assert answer["error"]["data"]["format"] == Error.FORMAT
        assert answer["error"]["data"]["message"] == answer["error"]["message"]
        assert client.ask("echo", here=True) == {"here": True}  # the next one is answered as ever


@pytest.mark.parametrize("identifier", [7, -1, 1.5, "seven", "", "\ud800", "日本", 10**30, 10**400, None])
def test_an_answer_has_the_id_of_its_request(identifier: Any) -> None:
    with served(methods()) as client:
        client.write(asked(method="echo", id=identifier, params={"a": 1}))
        assert client.message() == {"jsonrpc": "2.0", "id": identifier, "result": {"a": 1}}


def test_a_notification_has_no_answer_whatever_comes_of_it() -> None:
    with served(methods()) as client:
        for method in ("echo", "greet", "refuse", "fail", "unknown"):
            client.write(asked(method=method))
        client.write(asked(method="echo", params=[1]))
        client.write(json.dumps([{"jsonrpc": "2.0", "method": "echo"}] * 2))
        assert client.ask("echo") == {}
        assert client.ask("shutdown") is None
        assert client.line() == b""


def test_the_batch_of_the_standard_is_answered_as_an_array() -> None:
    batch = [
        {"jsonrpc": "2.0", "method": "echo", "params": {"n": 1}, "id": "1"},
        {"jsonrpc": "2.0", "method": "echo", "params": {"n": 7}},
        {"jsonrpc": "2.0", "method": "greet", "params": {"name": "you"}, "id": "2"},
        {"foo": "boo"},
        1,
        {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
        {"jsonrpc": "2.0", "method": "fail", "id": "9"},
    ]
    with served(methods()) as client:
        client.write(json.dumps(batch))
        answers = client.message()
    found = sorted(((answer["id"], answer.get("error", answer)) for answer in answers), key=str)
    codes = {name: error.get("code", error.get("result")) for name, error in found if name is not None}
    assert codes == {"1": {"n": 1}, "2": "hello you", "5": -32601, "9": -32603}
    assert [error["code"] for name, error in found if name is None] == [-32600, -32600]


def test_requests_are_worked_on_side_by_side_and_cancelled_by_their_ids() -> None:
    with served(methods()) as client:
        waiting = [client.send("wait", say=number) for number in range(5)]
        assert client.ask("echo") == {}
        assert client.ask("cancel", id=waiting[3]) is True
        assert client.result(waiting[3]) == "stopped"
        assert client.ask("cancel", id=waiting[3]) is False
        client.write(asked(method="cancel", params={"id": waiting[0]}))
        assert client.result(waiting[0]) == "stopped"
        assert client.ask("shutdown") is None
        assert [client.result(number) for number in (waiting[1], waiting[2], waiting[4])] == ["stopped"] * 3
        assert {one["params"]["id"]: one["params"]["said"] for one in client.notifications} == {
            identifier: number for number, identifier in enumerate(waiting)
        }
        assert client.line() == b""


def test_nothing_is_told_of_what_nobody_can_name() -> None:
    with served(methods()) as client:
        client.write(asked(method="wait"))
        client.write(asked(method="wait", id=None))
        assert client.message()["params"]["id"] is None
        assert client.ask("shutdown") is None


def test_an_id_that_is_under_way_and_more_requests_than_may_be_are_refused() -> None:
    with served(methods(), most_requests=2) as client:
        first = client.send("wait")
        client.write(asked(method="echo", id=first))
        while "error" not in (answer := client.message()):
            assert answer["method"] == "progress"
        assert (answer["id"], answer["error"]["code"]) == (first, -32600)
        assert "is that of a request which is under way" in answer["error"]["message"]
        second = client.send("wait")
        with pytest.raises(ServedError, match="2 requests are under way: await some") as refused:
            client.ask("greet", name="x")
        assert refused.value.code == -32000
        assert client.ask("cancel", id=second) is True
        assert client.result(second) == "stopped"
        assert client.ask("greet", name="x") == "hello x"


def test_what_comes_after_the_shutdown_in_its_batch_is_refused() -> None:
    batch = [{"jsonrpc": "2.0", "method": method, "id": method} for method in ("wait", "shutdown", "echo")]
    with served(methods()) as client:
        client.write(json.dumps(batch))
        while isinstance(answers := client.message(), dict):
            assert answers["method"] == "progress"
        found = {answer["id"]: answer.get("result", answer.get("error")) for answer in answers}
        assert (found["wait"], found["shutdown"]) == ("stopped", None)
        assert found["echo"]["message"] == "the server has been shut down"
        assert client.line() == b""


def test_what_is_not_under_way_any_more_has_its_answer_among_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    add = _Batch.add

    def add_late(batch: _Batch, answer: str | None) -> None:
        if threading.current_thread().name.startswith("request"):
            time.sleep(0.2)
        add(batch, answer)

    monkeypatch.setattr(_Batch, "add", add_late)
    with served(methods()) as client:
        greeted = client.send("greet", name="x")
        while client.ask("cancel", id=greeted):
            pass
        client.sink.close()
        assert client.result(greeted) == "hello x"


def test_the_end_of_the_input_ends_all_that_is_under_way() -> None:
    with served(methods()) as client:
        identifiers = {client.send("wait") for _ in range(3)}
        client.write('{"jsonrpc": "2.0", "id": 4, "method": "ec')
        client.sink.close()
        lines = [json.loads(line) for line in iter(client.line, b"")]
    assert {line["id"] for line in lines if line.get("result") == "stopped"} == identifiers
    assert [line["error"]["code"] for line in lines if "error" in line] == [-32700]


def test_faults_of_ours_are_errors_and_the_server_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> None:
        raise RuntimeError("can't start new thread")

    with served(methods()) as client:
        with monkeypatch.context() as broken:
            broken.setattr("spotbag.cli.json_rpc.threading.Thread.start", fail)
            with pytest.raises(ServedError, match="RuntimeError: can't start new thread") as found:
                client.ask("greet", name="x")
            assert found.value.code == -32603
        with monkeypatch.context() as broken:
            broken.setattr("spotbag.cli.json_rpc._valid", fail)
            client.write(asked(method="echo", id=1))
            answer = client.message()
            assert (answer["id"], answer["error"]["code"]) == (None, -32603)
        assert client.ask("greet", name="x") == "hello x"


class _Closed:
    """A pipe whose other end is closed."""

    def write(self, line: memoryview) -> int:
        """Fail."""
        raise BrokenPipeError


def test_a_client_that_no_longer_reads_ends_all_that_is_under_way() -> None:
    stopped = threading.Event()

    def wait(given: dict[str, Any], call: Call) -> Work:
        def work() -> str:
            if call.stop.wait(30):
                stopped.set()
            return "null"

        return work

    there, into = os.pipe()
    with open(there, "rb") as source, open(into, "wb", buffering=0) as given:
        server = threading.Thread(target=Server({**methods(), "wait": wait}, source, _Closed()).serve)  # type: ignore[arg-type]
        server.start()
        given.write(f"{asked(method='wait', id=1)}\n{asked(method='echo', id=2)}\n".encode())
        assert stopped.wait(30)
        given.close()
        server.join(30)
        assert not server.is_alive()


def test_what_does_not_stop_is_left_to_itself_when_the_patience_is_over() -> None:
    begun, free = threading.Event(), threading.Event()

    def wait_for_us() -> str:
        begun.set()
        free.wait()
        return '"late"'

    with served({"deaf": lambda given, call: wait_for_us}, patience_s=0.05) as client:
        client.send("deaf")
        begun.wait()
        client.sink.close()
        try:
            assert client.line() == b""  # the server has ended
        finally:
            free.set()
