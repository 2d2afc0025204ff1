"""Drawing of charts: names where there is room, lines and signs, the data of pages."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from spotbag.charts.chart import (
    Bar,
    Chart,
    Lane,
    Limit,
    Link,
    Look,
    Mark,
    Panel,
    last_shown_s,
    row_height_in,
    stretch,
)
from spotbag.charts.matplotlib_renderer import MAX_LINES, MAX_NAMED_BARS, draw, fitting_name
from spotbag.charts.plotly_renderer import page

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


def traces_of(shown: Chart) -> dict[str, dict[str, Any]]:
    """Data of a page, by name in the legend."""
    text = page(shown).decode("utf-8")
    found = re.search(r'Plotly\.newPlot\(\s*"gantt",\s*', text)
    assert found is not None
    data, _ = json.JSONDecoder().raw_decode(text, found.end())
    return {trace["name"]: trace for trace in data}


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
    assert last_shown_s(100, [400, 401]) == 400
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


def test_limits_are_named_where_there_is_room_and_all_shown_if_they_are_few() -> None:
    close = [Limit(50 + number / 10, DUE, f"due-{number}", 0) for number in range(3)]
    text = svg(chart(limits=close))
    assert re.findall(r">(due-\d)<", text) == ["due-0"]
    assert text.count("stroke: #c8372d") == 3 + 1  # and one in the legend
    many = [Limit(50 + number / 100, DUE, f"due-{number}", 0) for number in range(MAX_LINES + 1)]
    assert svg(chart(limits=many)).count("stroke: #c8372d") == 1 + 1
    beyond = [Limit(101, DUE)]
    assert svg(chart(limits=beyond)).count("stroke: #c8372d") == 1


def test_a_page_has_all_there_is() -> None:
    bars = [
        Bar(0, 0, stretch(10, 50), WORK, "t<1>", hover=("a <1>, core 0", "10 to 50 s")),
        Bar(1, None, stretch(0, 20), LOST, "t2"),
    ]
    marks = [Mark(0, 30, 0.5, 0.5, STEAL, ("stolen & gone",)), Mark(2, 60, 0, 1, END)]
    links = [Link(30, (0, 1), (1, 1), ARROW, 2)]
    traces = traces_of(chart(bars=bars, marks=marks, links=links, limits=[Limit(90, DUE)]))
    assert list(traces) == ["work", "lost work", "from, to", "steal", "end", "due"]
    work, lost = traces["work"], traces["lost work"]
    assert (work["base"], work["x"], work["text"]) == ([10], [40], ["t&lt;1&gt;"])
    assert work["y"] == pytest.approx([0.12])
    assert work["hovertext"] == ["<b>t&lt;1&gt;</b><br>a &lt;1&gt;, core 0<br>10 to 50 s"]
    assert lost["y"] == pytest.approx([0.72])
    assert "text" not in lost
    assert lost["marker"]["pattern"]["shape"] == "/"
    steal, end, arrow, due = (traces[name] for name in ("steal", "end", "from, to", "due"))
    assert (steal["x"], steal["y"], steal["hovertext"]) == ([30], [0.12], ["stolen &amp; gone"])
    assert end["x"] == [60, 60, None]
    assert end["y"] == pytest.approx([0.96, 1.46, None])
    assert arrow["y"][0] == pytest.approx(0.24)
    assert arrow["y"][12] == pytest.approx(0.72)
    assert max(x for x in arrow["x"] if x is not None) == pytest.approx(32)
    assert due["x"] == [90, 90]
