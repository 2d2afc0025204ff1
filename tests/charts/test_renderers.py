"""Drawing of charts: names where there is room, lines and signs, what pages are given."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from matplotlib.figure import Figure

from spotbag.charts.chart import (
    Bar,
    Chart,
    Curve,
    Lane,
    Limit,
    Link,
    Look,
    Mark,
    Panel,
    Plot,
    last_shown_s,
    look_of,
    range_around,
    row_height_in,
    stretch,
)
from spotbag.charts.matplotlib_renderer import MAX_LINES, MAX_NAMED_BARS, draw, draw_plot, fitting_name
from spotbag.charts.page import chart_data

WORK = Look("work", "#4C8EDA", "white", text="white")
LOST = Look("lost work", "#BCD5F3", "#4C8EDA", hatch="/////")
STEAL = Look("steal", "#6D28D9", "white", sign="s", layer=5)
END = Look("end", "#222222", line="-", layer=2)
ARROW = Look("from, to", "#333333", line="--", width=0.9, layer=3)
DUE = Look("due", "#C8372D", line="--", layer=2)


def chart(**parts: list[Any]) -> Chart:
    """Two lanes of two rows and one of one, 100 s long."""
    lanes = [Lane("a <1>", 2, 0.24, shaded=True), Lane("b", 2, 0.24), Lane("c", 1, 0.5)]
    panel = Panel("one plan", lanes, **{"bars": [], **parts})
    return Chart("a $title$", [panel], [WORK, LOST, STEAL, END, ARROW, DUE], 0, 100, "time (s)", "VM")


def svg(shown: Chart) -> str:
    """The chart as SVG."""
    return draw(shown, "svg").decode("utf-8")


def test_what_lies_where_in_a_panel() -> None:
    [panel] = chart().panels
    tops = panel.tops_in()
    assert tops == pytest.approx([0, 0.48, 0.96, 1.46])
    inset = 0.08 * 0.24
    assert panel.ground_and_height_in(Bar(1, 1, stretch(0, 1), WORK), tops) == pytest.approx(
        (0.96 - inset, 0.24 - 2 * inset)
    )
    assert panel.ground_and_height_in(Bar(1, None, stretch(0, 1), WORK), tops) == pytest.approx(
        (0.96 - inset, 0.48 - 2 * inset)
    )
    assert panel.height_at_in((2, 0.5), tops) == pytest.approx(1.21)
    apart = Panel("", panel.lanes, [], gap_in=0.2).tops_in()
    assert apart == pytest.approx([0.1, 0.78, 1.46, 2.06])


def test_rows_become_narrower_where_there_are_many() -> None:
    assert row_height_in(0) == row_height_in(10) == 0.24
    assert row_height_in(180) == pytest.approx(0.1)
    assert row_height_in(100_000) == 0.02


def test_limits_are_shown_unless_they_lie_far_behind_the_end() -> None:
    assert last_shown_s(100, [50]) == 100
    assert last_shown_s(100, [180, 181]) == 180
    assert last_shown_s(0, [0]) == 1  # an axis has a length


def test_as_much_of_a_name_as_there_is_room_for() -> None:
    name = "farm-001-frame"
    assert [fitting_name(name, "…001…", room) for room in (14, 13, 5, 4)] == [name, "…001…", "…001…", ""]
    assert fitting_name("a" * 9 + "z", "a" * 9 + "z", 7) == "aaa…aaz"
    assert fitting_name(name, "", 13) == ""


def test_names_are_written_into_bars_with_room_for_them() -> None:
    bars = [
        Bar(0, 0, stretch(0, 50), WORK, "wide-enough"),
        Bar(0, 1, stretch(0, 1), WORK, "too-narrow"),
        Bar(1, 0, stretch(0, 50), LOST, "without-names"),
        Bar(2, 0, stretch(0, 3), WORK, "across"),
        Bar(2, 0, ((10, 1), (40, 0.1), (60, 0)), WORK, "too-flat"),
    ]
    text = svg(chart(bars=bars))
    assert ">wide-enough<" in text
    for absent in ("too-narrow", "without-names", "too-flat"):
        assert absent not in text
    assert "rotate(-90" in next(line for line in text.splitlines() if ">across<" in line)
    many = [Bar(0, 0, stretch(0, 50), WORK, "wide-enough")] * (MAX_NAMED_BARS + 1)
    assert "wide-enough" not in svg(chart(bars=many))


@pytest.mark.slow
def test_limits_are_named_where_there_is_room_and_all_shown_if_they_are_few() -> None:
    close = [Limit(50 + number / 10, DUE, f"due-{number}", 0) for number in range(3)]
    text = svg(chart(limits=close))
    assert re.findall(r">(due-\d)<", text) == ["due-0"]
    assert text.count("stroke: #c8372d") == 3 + 1  # and one in the legend
    many = [Limit(50 + number / 100, DUE, f"due-{number}", 0) for number in range(MAX_LINES + 1)]
    assert svg(chart(limits=many)).count("stroke: #c8372d") == 1 + 1
    beyond = [Limit(101, DUE)]
    assert svg(chart(limits=beyond)).count("stroke: #c8372d") == 1


def test_long_titles_are_broken_into_lines() -> None:
    [panel] = chart().panels
    words = " ".join(f"word{number}" for number in range(60))
    text = svg(replace(chart(), title=words, panels=[replace(panel, title=words)]))
    lines = re.findall(r">(word[^<]*)<", text)
    assert " ".join(lines) == f"{words} {words}"
    assert max(map(len, lines)) <= 130


def test_limits_out_of_sight_are_named_at_the_edge() -> None:
    text = svg(chart(limits=[Limit(500, replace(DUE, label="due (500 s)")), Limit(600, DUE, "in a tier", 0)]))
    assert re.findall(r">(\(500 s\) →|in a tier →)<", text) == ["(500 s) →"]


def test_a_page_is_given_all_there_is() -> None:
    bars = [
        Bar(0, 0, stretch(10, 50), WORK, "t<1>", hover=("from a checkpoint",)),
        Bar(1, None, stretch(0, 20.125), LOST),
        Bar(2, 0, ((10, 1), (40, 0.5), (60, 0)), WORK, "steps"),
    ]
    marks = [Mark(0, 30, 0.5, 0.5, STEAL, ("stolen \u202e gone",)), Mark(2, 60, 0, 1, END)]
    links = [Link(30, (0, 1), (1, 1), ARROW, 2)]
    limits = [Limit(90, DUE), Limit(20, DUE, "in", 1)]
    data = chart_data(chart(bars=bars, marks=marks, links=links, limits=limits))
    work, lost, steal, end, arrow, due = data["legend"]
    [panel] = data["panels"]
    assert panel["lanes"][0] == ["a <1>", 2, 0.24, True]
    assert panel["bars"] == [
        [0, 0, 10, 50, work, "t<1>", "", ["from a checkpoint"]],
        [1, None, 0, 20.12, lost],
        [2, 0, 10, 60, work, "steps", "", [], ((10, 1), (40, 0.5), (60, 0))],
    ]
    assert panel["marks"] == [[0, 30, 0.5, 0.5, steal, ["stolen \\u202e gone"]], [2, 60, 0, 1, end, []]]
    assert panel["links"] == [[30, (0, 1), (1, 1), arrow, 2]]
    assert panel["limits"] == [[20, due, "in", 1], [90, due, "", None]]
    assert [look["label"] for look in data["looks"]] == ["work", "lost work", "steal", "end", "from, to", "due"]


def test_a_plot_of_powers_names_and_intervals() -> None:
    """Axes of names have these, those of powers of ten their values, and intervals have ends."""
    curve = Curve(look_of(0, "cost"), ((-1.0, 0.0), (2.0, 1.0)), spans=(0.5, 0.0), across=True)
    plot = Plot("", "", [curve], "cost ($)", "", (-2, 3), (-0.5, 1.5), powers="x", y_names=("hads", "other"))
    axes = draw_plot(plot, Figure())
    assert [label.get_text() for label in axes.get_yticklabels()] == ["hads", "other"]
    assert axes.xaxis.get_major_formatter()(2.0, 0) == "100"
    [intervals] = axes.collections
    assert [segment.tolist() for segment in intervals.get_segments()] == [[[-1.5, 0], [-0.5, 0]], [[2, 1], [2, 1]]]


@pytest.mark.parametrize(
    ("values", "how", "shown"),
    [
        ([1.0, 2.0], {}, (0.96, 2.04)),
        ([1.0, 2.0], {"zero": True}, (0.0, 2.08)),
        ([], {}, (-1.0, 1.0)),
        ([5.0], {}, (4.5, 5.5)),
        ([0.0, 0.1], {"powers": True}, (-0.5, 0.6)),
    ],
)
def test_ranges_have_room(values: list[float], how: dict[str, bool], shown: tuple[float, float]) -> None:
    assert range_around(values, **how) == pytest.approx(shown)
