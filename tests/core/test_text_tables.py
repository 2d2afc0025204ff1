"""Tables in texts: quotation marks, ends of lines, rows of another width, and the same as Python's reader says."""

from __future__ import annotations

import csv
import io
import random
import re

import pytest

from spotbag.core.errors import InputError
from spotbag.core.text_tables import TextTable


def test_rows_are_numbered_by_the_lines_in_which_they_begin() -> None:
    table = TextTable('a;"b;c"\n\n"1\n,""2""" ; 3\r\n;\n4\n5;6\r7;8', "t")
    assert (table.delimiter, table.first_line, table.first) == (";", 1, ["a", "b;c"])
    assert list(table) == [(3, ['1\n,"2"', "3"]), (7, ["5", "6"]), (8, ["7", "8"])]
    assert [str(issue) for issue in table.issues] == ["line 6: has 1 cell, the first line 2"]
    assert (table.place("b;c"), table.place("d")) == (1, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('a,b\n"1",2\n"x\ny","2\n3,4\n', "line 4: has a quotation mark that is opened and not closed"),
        ('a,b\n"1"2,3\n', "line 2: has a closing quotation mark with '2' behind it"),
        (",,\n\n", "has no rows"),
        ("a," * 16_384, "has 16,385 columns; a table has at most 16,384"),
    ],
)
def test_tables_that_cannot_be_read(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        list(TextTable(text, "t"))
    assert str(caught.value) == f"t: {said}"


def test_ends_of_lines_within_quotation_marks_stay_as_they_are() -> None:
    assert list(TextTable('a,b\r\n"1\r2","3\r\n4"\r5,6\n', "t")) == [(2, ["1\r2", "3\r\n4"]), (5, ["5", "6"])]


def test_a_heading_that_is_there_twice_is_refused() -> None:
    with pytest.raises(InputError, match="line 1: has 2 columns 'a': which of them counts"):
        TextTable("a,b,a\n", "t").place("a")


@pytest.mark.parametrize("heading", ["\ufeffid", "z\x00one", "\u202eid"])
def test_headings_with_characters_that_cannot_be_seen_are_refused(heading: str) -> None:
    with pytest.raises(InputError, match=r"line 1: has '.*', with characters that cannot be seen"):
        TextTable(f"a,{heading}\n", "t").check_headings()


def test_what_pythons_reader_takes_is_read_alike() -> None:
    rng = random.Random(5)
    for _ in range(2000):
        text = "h,h\n" + "".join(rng.choice('ab,;"" \n\r\t') for _ in range(rng.randint(1, 14)))
        lines = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"), newline="")
        try:
            rows = [
                [cell.strip(" \t") for cell in row] for row in csv.reader(lines, skipinitialspace=True, strict=True)
            ]
        except csv.Error:
            continue  # blanks behind a closing quotation mark are taken here
        table = TextTable(text, "t")
        found = [[re.sub("\r\n?", "\n", cell) for cell in cells] for _, cells in table]
        assert found == [row for row in rows[1:] if any(row) and len(row) == 2], repr(text)
