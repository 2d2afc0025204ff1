"""JSON documents: parsed with errors for people, written one record to a line."""

from __future__ import annotations

import json
import math

import pytest

from spotbag.core.errors import InputError
from spotbag.core.json_documents import check_format, format_json, parse_json


def said(text: str) -> str:
    """Why a text is refused."""
    with pytest.raises(InputError) as caught:
        parse_json(text, "a.json")
    return str(caught.value)


def test_an_object_is_parsed() -> None:
    assert parse_json('\n {"a": [1, {"b": null}]}', "a.json") == {"a": [1, {"b": None}]}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[]", "a.json: is not a JSON object (it must start with '{')"),
        ('{"a": 1,\n  b}', "is not JSON: Expecting property name enclosed in double quotes in line 2, column 3"),
        ('{"a":' * 100_000, "is nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "holds a number with too many digits"),
        ('{"record": "header"}\n{"record": "end"}\n', "this is a trace: use 'spotbag audit'"),
        ('{"record": "other"}\n{"record": "end"}\n', "is not JSON: Extra data in line 2, column 1"),
    ],
)
def test_what_is_no_object_is_refused(text: str, rule: str) -> None:
    assert rule in said(text)


def test_keys_that_are_given_twice_are_named_with_their_places() -> None:
    found = said('{"a": {"x": 1, "x": 2}, "b": [{}, {"y": 1, "y": 1}], "c": 1, "c": 1}')
    for place in ("a: gives the key 'x'", "b[1]: gives the key 'y'", "gives the key 'c'"):
        assert f"{place} more than once" in found


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ({}, '"format" is missing; it must say "spotbag.instance/1"'),
        ({"format": "spotbag.instance/2"}, "is of a version that cannot be read here; known: 'spotbag.instance/1'"),
        ({"format": "spotbag.schedule/1"}, "is not 'spotbag.instance/1'; this is a plan: use 'spotbag check'"),
        ({"format": "other/1"}, "format 'other/1' is not 'spotbag.instance/1'"),
        ({"format": 3}, "format 3 is not 'spotbag.instance/1'"),
    ],
)
def test_another_format_is_refused(document: dict[str, object], rule: str) -> None:
    with pytest.raises(InputError) as caught:
        check_format(document, "spotbag.instance/1", "a.json")
    assert rule in str(caught.value)


def test_the_format_that_is_expected_passes() -> None:
    check_format({"format": "spotbag.instance/1"}, "spotbag.instance/1", "a.json")


def test_records_are_written_one_to_a_line_and_whole_floats_as_integers() -> None:
    document = {"n": 2.0, "name": "ö", "none": [], "rows": [{"x": 1.5}, {"x": 3.0, "y": [1.0]}], "big": 2.0**53}
    text = format_json(document)
    assert text == (
        '{\n  "n": 2,\n  "name": "ö",\n  "none": [],\n  "rows": [\n    {"x": 1.5},\n    {"x": 3, "y": [1]}\n  ],\n'
        '  "big": 9007199254740992.0\n}\n'
    )
    assert json.loads(text) == document


def test_what_json_has_no_number_for_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        format_json({"a": math.inf})
