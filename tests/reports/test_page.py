"""Pages of reports: they stand alone, are not too large, and names stay text; a browser sorts, filters and draws."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from spotbag.charts.chart import Bar, Chart, Curve, Lane, Look, Panel, Plot, look_of, stretch
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


def plot(name: str) -> Plot:
    curve = Curve(look_of(0, name, lines=True), ((0, 2), (1, 3)), name=name, hover=((name,), (name,)), spans=(0.1, 0.2))
    return Plot("", "", [curve], name, name, (-0.5, 1.5), (0, 4), powers="y", x_names=(name, "b"))


def table(*rows: tuple[str, str]) -> Table:
    return Table([Column("what"), Column("how much", True)], rows)


def report(name: str) -> Report:
    rows = [(f"row {at}", number) for at, number in enumerate(["3", "-", "1,200", "20", "0.5", "7", "8", "9", "10"])]
    graphs = [Graph(name, name, {"": plot(name)}), Graph("chosen", name, {name: plot(name), "other": plot("other")})]
    blocks = [Heading(name), Facts([(name, name)]), Lines([name]), Paragraph(name, True), Listing(name, table(*rows))]
    return Report(name, name, [Section(name, [*blocks, gantt(name)]), Section("graphs", graphs), Section("none", [])])


@pytest.fixture(scope="module")
def hostile() -> bytes:
    return report_page(report(HOSTILE))


def test_a_report_stands_alone_and_names_of_the_data_stay_text(hostile: bytes) -> None:
    assert len(hostile) < 100_000  # at most 5,000,000 are asked for
    text = hostile.decode("utf-8")
    read = Reader(text)
    kinds = [attributes.get("type") for tag, attributes in read.elements if tag == "script"]
    assert kinds == [*["application/json"] * 4, None]
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


def test_plots_have_names_and_intervals_as_they_are(hostile: bytes) -> None:
    shown = json.loads(Reader(hostile.decode("utf-8")).texts["script"][1])
    assert shown["looks"][0]["label"] == shown["curves"][0]["name"] == shown["names"]["x"][0] == printable(HOSTILE)
    assert shown["curves"][0]["hover"] == [[printable(HOSTILE)]] * 2
    assert (shown["powers"], shown["curves"][0]["spans"], shown["curves"][0]["across"]) == ("y", [0.1, 0.2], False)


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


@pytest.mark.slow
@pytest.mark.parametrize("width", [500, 1400])
def test_a_browser_draws_sorts_and_filters_a_report(hostile: bytes, width: int, tmp_path: Path) -> None:
    answer = in_a_browser(
        hostile,
        tmp_path,
        width,
        """
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
        const [{ panels: [panel] }, { curves: one }, { curves: first }, { curves: other }] = drawn;
        answer.names = [...document.querySelectorAll(".graph .legend li")].map((item) => item.textContent);
        answer.places = one.marks("x").length;
        answer.powers = one.marks("y").map((mark) => mark.text);
        answer.widths = [first.wide > 0, other.wide > 0];
        const choice = document.querySelector(".choice");
        choice.selectedIndex = 1;
        choice.dispatchEvent(new Event("change"));
        answer.widths.push(first.wide > 0, other.wide > 0);
        answer.images = document.querySelectorAll("img, b").length;
        const place = [panel.x(1), panel.ground(panel.order[0])[0] - 3].map((at) => at * panel.scale);
        answer.gantt = [...panel.context.getImageData(...place, 1, 1).data];
        const ground = () => getComputedStyle(document.body).backgroundColor;
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
    assert answer["images"] == 0
    assert answer["names"] == [printable(HOSTILE), printable(HOSTILE), "other"]
    assert answer["places"] == 2
    assert answer["powers"] == ["1", "10", "100", "1,000", "10,000"]
    assert answer["widths"] == [True, False, False, True]
    assert answer["gantt"] == [0x4C, 0x8E, 0xDA, 255]
    assert len(set(answer["grounds"])) == 2
