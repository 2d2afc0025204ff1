"""Pages: what is in them, and what a browser makes of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from spotbag.charts.bags.plan import plan_chart
from spotbag.charts.chart import Chart, Curve, Look, Plot
from spotbag.charts.page import chart_data, page
from spotbag.core.wording import printable
from spotbag.instances.library import library_instance
from spotbag.solvers.bags.solve import solve
from tests.helpers.browser import Reader, in_a_browser

DOT = Look("dots", "#2F6DB5", "white", sign="o", size=30.0)
LEVEL = Look("level", "#C8442E", line="--")

HOSTILE = "</script><script>document.title = 'owned'</script><b>&amp; \u202e"


@pytest.fixture(scope="module")
def chart() -> Chart:
    """A plan of 60 tasks, with names that try to get out."""
    schedule = solve(library_instance("hads/J60"), "greedy").schedule
    assert schedule is not None
    made = plan_chart(schedule, "greedy")
    [panel] = made.panels
    bars = [*panel.bars[:-1], replace(panel.bars[-1], name=HOSTILE, hover=(HOSTILE,))]
    lanes = [*panel.lanes[:-1], replace(panel.lanes[-1], label=HOSTILE)]
    return replace(
        made, title=HOSTILE, notes=(HOSTILE,), panels=[replace(panel, title=HOSTILE, bars=bars, lanes=lanes)]
    )


def test_a_page_stands_alone_and_names_of_the_data_stay_text(chart: Chart) -> None:
    made = page(chart)
    assert made == page(chart)
    assert len(made) < 60_000  # at most 300,000 are asked for
    read = Reader(made.decode("utf-8"))
    scripts = [attributes.get("type") for tag, attributes in read.elements if tag == "script"]
    assert scripts == ["application/json", None]
    for tag, attributes in read.elements:
        assert tag not in ("b", "img", "link", "iframe", "object")
        assert not {"src", "href", "srcset"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"https?:|@import|url\(|fetch\(|innerHTML", made.decode("utf-8"))
    for tag in ("title", "h1", "h2"):
        assert [text.strip() for text in read.texts[tag]] == [printable(HOSTILE)]
    assert json.loads(read.texts["script"][0]) == json.loads(json.dumps(chart_data(chart)))


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1280])
def test_a_browser_draws_tells_zooms_and_finds(chart: Chart, width: int, tmp_path: Path) -> None:
    answer = in_a_browser(
        page(chart),
        tmp_path,
        width,
        """
        const [{ panels, view, tip }] = drawn;
        const find = document.querySelector(".find"), found = document.querySelector(".found");
        const panel = panels[0], canvas = panel.canvas, box = canvas.getBoundingClientRect();
        answer.title = document.title;
        answer.overflow = document.documentElement.scrollWidth - innerWidth;
        answer.drawn = panel.order.length;
        const bar = panel.order.find((bar) => bar.name === "t6#1"), [ground, high] = panel.ground(bar);
        const middle = (panel.x(bar.start) + panel.x(bar.end)) / 2;
        const place = { clientX: box.left + middle, clientY: box.top + ground - high / 2 };
        const touch = { pointerId: 1, pointerType: "touch", ...place };
        const point = (kind) => canvas.dispatchEvent(new PointerEvent(kind, touch));
        const corner = [panel.scale * (panel.x(bar.start) + 2), panel.scale * (ground - 2)];
        answer.pixel = [...panel.context.getImageData(...corner, 1, 1).data];
        point("pointermove");
        answer.hover = tip.innerText;
        point("pointerdown"), point("pointerup");
        answer.tap = tip.hidden ? "" : tip.innerText;
        canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
        answer.next = tip.innerText.split("\\n")[0];
        const before = view.to - view.from;
        document.querySelector(".closer").click();
        answer.zoomed = (view.to - view.from) / before;
        find.value = "/SCRIPT>";
        find.dispatchEvent(new Event("input"));
        answer.found = found.innerText + ": " + tip.innerText.split("\\n")[0];
        """,
    )
    bars = {bar.name: bar for bar in chart.panels[0].bars if bar.name}
    row = sorted(
        (bar for bar in bars.values() if (bar.lane, bar.row) == (bars["t6#1"].lane, bars["t6#1"].row)),
        key=lambda bar: bar.start_s,
    )
    assert "error" not in answer, answer["error"]
    assert answer["errors"] == []
    assert answer["title"] == printable(HOSTILE)
    assert answer["overflow"] <= 0
    assert answer["drawn"] == len(chart.panels[0].bars)
    assert answer["pixel"] == [0x4C, 0x8E, 0xDA, 255]
    first = bars["t6#1"]
    times = f"{first.start_s:,} s to {first.end_s:,} s ({first.end_s - first.start_s:,} s)"
    lane = chart.panels[0].lanes[first.lane].label
    assert answer["hover"].split("\n") == ["t6#1", f"{lane}, core {first.row}", times, "spot"]
    assert answer["tap"] == answer["hover"]
    assert answer["next"] == row[1].name
    assert answer["zoomed"] == pytest.approx(0.7)
    assert answer["found"] == f"1 of 1: {printable(HOSTILE)}"


@pytest.mark.slow
def test_a_browser_draws_plots_and_goes_from_point_to_point(tmp_path: Path) -> None:
    dots = Curve(DOT, ((1, 0.1), (2, 0.3)), name=HOSTILE, hover=(("first",), (HOSTILE, "second")))
    level = Curve(LEVEL, ((0, 0.2), None, (3, 0.2)), steps=True)
    shown = Plot(HOSTILE, "two dots", [dots, level], "x", "y", (0, 3), (0, 0.4), "beside", (0, 1000))
    answer = in_a_browser(
        page(shown),
        tmp_path,
        400,
        """
        const [{ curves, tip }] = drawn;
        answer.title = document.title;
        answer.overflow = document.documentElement.scrollWidth - innerWidth;
        answer.legend = [...document.querySelectorAll(".legend li")].map((item) => item.innerText);
        const box = curves.canvas.getBoundingClientRect();
        const place = { clientX: box.left + curves.x(1) + 3, clientY: box.top + curves.y(0.1) };
        curves.canvas.dispatchEvent(new PointerEvent("pointermove", { pointerId: 1, ...place }));
        answer.hover = tip.innerText;
        const right = { key: "ArrowRight" };
        for (let n = 0; n < 2; n++) curves.canvas.dispatchEvent(new KeyboardEvent("keydown", right));
        answer.next = tip.innerText;
        const pixel = curves.context.getImageData(curves.scale * curves.x(2), curves.scale * curves.y(0.3), 1, 1).data;
        answer.pixel = [...pixel];
        document.querySelector(".closer").click();
        answer.range = curves.shown;
        """,
    )
    assert "error" not in answer, answer["error"]
    assert answer["errors"] == []
    assert answer["title"] == printable(HOSTILE)
    assert answer["overflow"] <= 0
    assert answer["legend"] == ["dots", "level"]
    assert answer["hover"] == "first"
    assert answer["next"] == f"{printable(HOSTILE)}\nsecond"
    assert answer["pixel"] == [0x2F, 0x6D, 0xB5, 255]
    assert answer["range"]["x"] == pytest.approx([0.45, 2.55])
    assert answer["range"]["beside"] == [0, 1000]
