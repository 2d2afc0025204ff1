"""Pages of reports: they stand alone, are not too large, and names stay text; a browser sorts, filters and draws."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from spotbag.charts.chart import Bar, Chart, Lane, Look, Panel, stretch
from spotbag.core.text_tables import Column, Table
from spotbag.core.wording import printable
from spotbag.reports import page as report_pages
from spotbag.reports.page import (
    MAX_ROWS,
    Facts,
    Graph,
    Heading,
    Lines,
    Listing,
    Paragraph,
    Report,
    Section,
    report_page,
)
from tests.helpers.browser import Reader, in_a_browser

HOSTILE = "</script><script>document.title = 'owned'</script><img src=x onerror=alert(1)><b>&amp; \u202e"
BUSY = Look("busy", "#4C8EDA", "white", text="white")


def gantt(name: str) -> Chart:
    bars = [Bar(0, 0, stretch(0, 10), BUSY, name, hover=(name,))]
    return Chart(name, [Panel(name, [Lane(name, 1, 0.24)], bars)], [BUSY], 0, 10, "time (s)", notes=(name,))


def table(*rows: tuple[str, str]) -> Table:
    return Table([Column("what"), Column("how much", True)], rows)


def report(name: str) -> Report:
    rows = [(f"row {at}", number) for at, number in enumerate(["3", "-", "1,200", "20", "0.5", "7", "8", "9", "10"])]
    traces = [{"type": "scatter", "name": name, "x": [1, 2], "y": [2, 3], "text": [name, name], "mode": "lines+text"}]
    bars = [{"type": "bar", "x": [name, "b"], "y": [1, 2], "hovertemplate": "%{x}<br>%{y}<extra></extra>"}]
    graphs = [Graph(name, name, traces, {"xaxis": {"title": {"text": name}}}), Graph("bars", name, bars)]
    blocks = [Heading(name), Facts([(name, name)]), Lines([name]), Paragraph(name, True), Listing(name, table(*rows))]
    return Report(name, name, [Section(name, [*blocks, gantt(name)]), Section("graphs", graphs), Section("none", [])])


@pytest.fixture(scope="module")
def hostile() -> bytes:
    return report_page(report(HOSTILE))


def test_a_report_stands_alone_and_names_of_the_data_stay_text(hostile: bytes) -> None:
    assert len(hostile) < 3_000_000  # at most 5,000,000 are asked for
    text = hostile.decode("utf-8")
    read = Reader(text)
    kinds = [attributes.get("type") for tag, attributes in read.elements if tag == "script"]
    assert kinds == [*["application/json"] * 3, "text/plain", None]
    for tag, attributes in read.elements:
        assert tag not in ("b", "img", "link", "iframe", "object")
        assert not {"src", "srcset"} & attributes.keys()
        assert re.fullmatch(r"#part-\d", attributes.get("href") or "#part-1")
        assert not any(name.startswith("on") for name in attributes)
    assert "default-src 'none'" in text
    assert "document.title = 'owned'</script>" not in text
    assert not re.search(r"@import|url\(|fetch\(|innerHTML", re.sub(r"(?s)<script type.*?</script>", "", text))
    for tag in ("title", "h1", "dt", "dd"):
        assert [shown.strip() for shown in read.texts[tag]] == [printable(HOSTILE)]


def test_plotly_takes_no_name_for_its_markup(hostile: bytes) -> None:
    scripts = Reader(hostile.decode("utf-8")).texts["script"]
    lines, bars = (json.loads(script) for script in scripts[1:3])
    shown = [lines["choices"][0][0]["name"], *lines["choices"][0][0]["text"], lines["layout"]["xaxis"]["title"]["text"]]
    for text in [*shown, bars["choices"][0][0]["x"][0]]:
        assert "<" not in text
        assert "&lt;/script&gt;" in text
    assert bars["choices"][0][0]["hovertemplate"] == "%{x}<br>%{y}<extra></extra>"


def test_what_is_too_large_is_left_out_the_largest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Listing("the long one", table(*[(f"row {at}", "1") for at in range(300)]))
    short = Listing("the short one", table(("row", "1")))
    made = Report("r", "", [Section("tables", [long, short])])
    whole = report_page(made)
    monkeypatch.setattr(report_pages, "MAX_BYTES", len(whole) - 1)
    cut = report_page(made).decode("utf-8")
    assert len(cut) < len(whole)
    assert "The part 'the long one' is left out" in Reader(cut).texts["p"][-1].replace("&#39;", "'")
    assert "row</td>" in cut


def test_long_tables_end_with_how_much_more_there_is() -> None:
    listed = Listing("rows", table(*[(f"row {at}", "1") for at in range(MAX_ROWS + 5)]))
    text = report_page(Report("r", "", [Section("s", [listed])])).decode("utf-8")
    assert f"row {MAX_ROWS - 1}<" in text
    assert f"row {MAX_ROWS}<" not in text
    assert "and 5 more rows" in text


def test_a_report_without_graphs_needs_no_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "plotly.offline", None)
    assert b'id="library"' not in report_page(Report("r", "", [Section("s", [gantt("g")])]))
    with pytest.raises(Exception, match=r"spotbag\[report\]"):
        report_page(report("r"))


@pytest.mark.slow
@pytest.mark.parametrize("width", [500, 1400])
def test_a_browser_draws_sorts_and_filters_a_report(hostile: bytes, width: int, tmp_path: Path) -> None:
    answer = in_a_browser(
        hostile,
        tmp_path,
        width,
        """
        await graphsShown;
        answer.title = document.title;
        answer.overflow = document.documentElement.scrollWidth - innerWidth;
        const listing = document.querySelector(".listing"), rows = () => [...listing.querySelectorAll("tbody tr")];
        const cells = () => rows().filter((row) => !row.hidden).map((row) => row.cells[1].textContent);
        const heading = listing.querySelectorAll("th")[1];
        answer.before = heading.getAttribute("aria-sort");
        heading.querySelector("button").click();
        answer.up = [heading.getAttribute("aria-sort"), ...cells()];
        heading.querySelector("button").click();
        answer.down = [heading.getAttribute("aria-sort"), ...cells()];
        const filter = listing.querySelector(".filter");
        filter.value = "ROW 1,200";
        filter.dispatchEvent(new Event("input"));
        answer.found = [listing.querySelector(".found").textContent, ...cells()];
        answer.lines = document.querySelectorAll(".plot .scatterlayer path.js-line").length;
        answer.bars = document.querySelectorAll(".plot .barlayer .point").length;
        const names = document.querySelectorAll(".plot .textpoint text");
        answer.names = [...names].map((text) => text.textContent);
        answer.images = document.querySelectorAll("img, b").length;
        const [{ panels: [panel] }] = drawn;
        const place = [panel.x(1), panel.ground(panel.order[0])[0] - 3].map((at) => at * panel.scale);
        answer.gantt = [...panel.context.getImageData(...place, 1, 1).data];
        const ground = () => getComputedStyle(document.querySelector(".plot svg")).backgroundColor;
        answer.grounds = [ground()];
        document.getElementById("theme").click();
        answer.grounds.push(ground());
        for (const pressed of document.querySelectorAll("button")) pressed.click();
        await new Promise((done) => setTimeout(done, 1000));
        """,
    )
    assert "error" not in answer, answer["error"]
    assert answer["errors"] == []
    assert answer["title"] == printable(HOSTILE)
    assert answer["overflow"] <= 0
    assert answer["before"] == "none"
    numbers = ["0.5", "3", "7", "8", "9", "10", "20", "1,200"]
    assert answer["up"] == ["ascending", *numbers, "-"]
    assert answer["down"] == ["descending", *reversed(numbers), "-"]
    assert answer["found"] == ["1 of 9", "1,200"]
    assert (answer["lines"], answer["bars"], answer["images"]) == (1, 2, 0)
    assert answer["names"] == [printable(HOSTILE)] * 2
    assert answer["gantt"] == [0x4C, 0x8E, 0xDA, 255]
    assert len(set(answer["grounds"])) == 2
