"""Lists of names, numbers with their nouns, and hints for names that are not known."""

from __future__ import annotations

import io

import pytest

from spotbag.core.errors import Issue
from spotbag.core.wording import (
    PrintableStream,
    close_names,
    counted,
    counted_list,
    cut_in_the_middle,
    listed,
    moments_text,
    near_names,
    percent,
    prefix_and_number,
    shortened,
)


@pytest.mark.parametrize(
    ("fraction", "said"), [(0, "0 %"), (0.124, "12 %"), (0.994, "99 %"), (0.999, "99 %"), (1, "100 %")]
)
def test_only_what_is_finished_is_100_percent(fraction: float, said: str) -> None:
    assert percent(fraction) == said


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([], ""),
        (["b", "a"], "b, a"),
        (["t-1", "t-2"], "t-1, t-2"),
        (["t-1", "t-2", "t-3"], "t-1 to 3"),
        (["t#8", "t#9", "t#10", "t#12", "x"], "t#8 to 10, t#12, x"),
        (["t-01", "t-02", "t-03"], "t-01, t-02, t-03"),
        (list("abcdef"), "a, b, c, d, e, f"),
        (list("abcdefg"), "a, b, c, d, e, f and 1 more task"),
        (list("abcdefghi"), "a, b, c, d, e, f and 3 more tasks"),
    ],
)
def test_names_in_a_list(items: list[str], said: str) -> None:
    assert listed(items, "task") == said


@pytest.mark.parametrize(
    ("item", "parts"),
    [
        ("c4.large-spot-3", ("c4.large-spot-", 3)),
        ("t5#12", ("t5#", 12)),
        ("t5", ("t5", 0)),
        ("t-05", ("t-05", 0)),
    ],
)
def test_a_name_before_its_number(item: str, parts: tuple[str, int]) -> None:
    assert prefix_and_number(item) == parts


def test_one_task_is_named_and_several_are_counted() -> None:
    assert counted_list(["a"]) == "a"
    assert counted_list(["a", "c"]) == "2 tasks (a, c)"


@pytest.mark.parametrize(("number", "said"), [(0, "0 VMs"), (1, "1 VM"), (2, "2 VMs"), (1200, "1,200 VMs")])
def test_a_number_with_its_noun(number: int, said: str) -> None:
    assert counted(number, "VM") == said


def test_moments_are_in_order_and_only_those_that_are_known() -> None:
    assert moments_text([1200, None, 5]) == "5 s, 1,200 s"
    assert moments_text([]) == ""


def test_what_is_too_long_is_cut() -> None:
    assert (shortened("abcde", 5), shortened("abcdef", 5)) == ("abcde", "abcd…")
    assert cut_in_the_middle("abcde", 5) == "abcde"
    assert cut_in_the_middle("abcdefgh", 5) == "ab…gh"
    assert cut_in_the_middle("abcdefgh", 6) == "abc…gh"


def test_hints_for_names_that_are_not_known() -> None:
    known = ["greedy", "search", "auto"]
    assert close_names("gredy", known) == near_names("gredy", known) == "did you mean greedy?"
    assert close_names("zzz", known) == ""
    assert near_names("zzz", known) == "known: greedy, search, auto"
    assert near_names("zzz", "abcdefghi") == "known: a, b, c, d, e, f, g, h ..."


def test_messages_stay_short_whatever_the_names_in_them() -> None:
    issue = Issue("x" * 10**5, f"is not one of {', '.join(map(str, range(10**5)))}", "y" * 10**5, "z" * 10**5, "i" * 90)
    assert len(str(issue)) == 2000
    assert len(str(Issue("tasks[3]", "is an unknown key", "y" * 10**5))) < 300


def test_a_stream_writes_single_texts_and_lists_of_them_as_escapes() -> None:
    written = io.StringIO()
    stream = PrintableStream(written)
    stream.write("a\x1b[2J\n")
    stream.writelines(["b\u009b31m\n", "c\u202e\n"])
    assert written.getvalue() == "a\\u001b[2J\nb\\u009b31m\nc\\u202e\n"
