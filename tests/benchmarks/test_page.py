"""Pages of the docs on papers, by a paper of one line."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from spotbag_papers import generated
from spotbag_papers import page as pages
from spotbag_papers.claims import Claim
from spotbag_papers.page import Page, index_text, is_stale, write_page
from spotbag_papers.paper import OnRuns, Paper, PaperOptions, Setting
from spotbag_papers.paper_tables import PaperTable, PaperTables

BASES = {
    name: Path(pages.__file__).with_name(name).read_text(encoding="utf-8") for name in ("page.md.j2", "appendix.md.j2")
}
BASES["papers.bib"] = "@misc{fake,\n}\n\n@software{spotbag,\n}\n"

TEMPLATE = """\
{% extends base %}
{% block title %}A paper{% endblock %}
{% block summary %}Of nobody.{% endblock %}
{% block says %}Little.{% endblock %}
{% block implemented %}All of it.{% endblock %}
{% block decisions %}None.{% endblock %}
{% block tables %}Seed {{ result.about.seed }}: {{ word }}.{% endblock %}
"""

LEAST = 5
"""Seed from which on the statement of the paper holds."""


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of a checkout's docs; the templates lie beside it."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for package, texts in ((pages.__package__, BASES), (f"{pages.__package__}.systems.fake", {"page.md.j2": TEMPLATE})):
        (tmp_path / str(package)).mkdir()
        for name, text in texts.items():
            (tmp_path / str(package) / name).write_text(text)
    monkeypatch.setattr(pages, "resources", SimpleNamespace(files=lambda package: tmp_path / package))
    return docs


def fake_page(
    seeds: list[int], word: str = "fine", others: Sequence[PaperOptions] = (), environment: bool = False
) -> Page:
    """A page whose paper notes the seeds that it is replayed with."""

    def replay(options: PaperOptions, on_runs: OnRuns) -> int:
        seeds.append(options.seed)
        return options.seed

    paper: Paper[PaperOptions, int] = Paper(
        key="fake",
        name="fake",
        package=f"{pages.__package__}.systems.fake",
        options=PaperOptions,
        runs_are="runs",
        n_runs=lambda options: options.runs,
        replay=replay,
        rows=lambda runs: (),
        claims=lambda runs: [
            Claim(
                "it is so",
                "holds" if runs >= LEAST else "does not hold",
                f"{runs}",
                "against it all; too few",
                "Table 1",
                "7",
                why="too few",
            ),
            Claim("as it was fitted", "holds", "1", fitted=True),
            Claim("as it is defined", "holds", "1", arithmetic=True),
            Claim("it is always so", "holds", "1", printed="1"),
        ],
        findings=lambda runs: [Claim("what nobody says", "holds", "2")],
        notes=lambda runs: ["a note"],
        tables=PaperTables([], PaperTable("T", "A table", [])),
        facts=lambda results: {"word": word},
        columns={"seed": lambda result: str(result.about["seed"])},
        settings=lambda options: [Setting("seed", str(other.seed), other, environment) for other in others],
    )
    return Page(paper, PaperOptions(seed=3))


def test_a_page_has_all_parts_in_their_order(docs: Path) -> None:
    write_page(fake_page([]), docs)
    text = (docs / "papers" / "fake-appendix.md").read_text()
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# A paper: appendix",
        "## What the paper says",
        "## What is implemented, and where",
        "## Decisions",
        "## Tables",
        "## Verdicts",
        "### Reasons",
        "### What else was found",
        "### Why numbers differ",
        "## Sensitivity",
        "## Cite",
    ]
    counts = "Of 2 statements, 1 holds, 1 does not hold; 1 more is fitted; 1 more is arithmetic."
    assert counts in " ".join(text.split())
    assert "| 1 | it is so | does not hold | 7 | 3 | Table 1 |" in text
    assert "| 2 | as it was fitted | fitted: holds | - | 1 |  |" in text
    assert "| 3 | as it is defined | arithmetic: holds | - | 1 |  |" in text
    assert "- **1**: Against it all; too few." in text
    assert "| what nobody says | holds | 2 |" in text
    assert "1. a note" in text


def test_the_page_before_the_appendix_has_the_verdicts_and_what_turns_them(docs: Path) -> None:
    others = [PaperOptions(seed=LEAST), PaperOptions(seed=6), PaperOptions(seed=7), PaperOptions(seed=2)]
    page = fake_page([], others=others)
    write_page(page, docs)
    text = (docs / "papers" / "fake.md").read_text()
    assert [line for line in text.splitlines() if line.startswith("|")] == [
        "| # | the paper says | printed | ours | why | turns with |",
        "|---:|---|---|---|---|---|",
        "| 1 | it is so | 7 | does not hold: 3 | too few | seed: 5; seed: 6; 1 more |",
    ]
    assert "Hold, whatever is assumed: **4** it is always so (1)." in text
    assert "as it was fitted" not in text
    assert "(fake-appendix.md)" in text


def test_an_environment_stands_beside_what_is_printed(docs: Path) -> None:
    page = fake_page([], others=[PaperOptions(seed=LEAST)], environment=True)
    write_page(page, docs)
    lines = (docs / "papers" / "fake.md").read_text().splitlines()
    assert "| # | the paper says | printed | as printed | 5 | why | turns with |" in lines
    assert "| 1 | it is so | 7 | does not hold: 3 | holds: 5 | too few | - |" in lines


def test_a_page_is_stale_until_it_is_written_and_when_it_says_something_else(docs: Path) -> None:
    seeds: list[int] = []
    assert is_stale(fake_page(seeds), docs)
    assert not (docs / "papers").exists()
    write_page(fake_page(seeds), docs)
    assert not is_stale(fake_page(seeds), docs)
    assert is_stale(fake_page(seeds, "better"), docs)
    assert seeds == [3, 3, 3, 3]


def test_other_assumptions_are_compared_with_as_many_runs(docs: Path) -> None:
    seeds: list[int] = []
    others = [PaperOptions(seed=LEAST), PaperOptions(seed=4, runs=50), PaperOptions(seed=6, runs=50)]
    write_page(fake_page(seeds, others=others), docs)
    table = (docs / "papers" / "fake-appendix.md").read_text().partition("## Sensitivity\n\n")[2]
    assert table.partition("\n\n")[0].splitlines()[2:] == [
        "| as on this page | 200 runs | 3 | - |",
        "| as on this page | 50 runs | 3 | - |",
        "| seed | 5 | 5 | holds: 1 |",
        "| seed | 4 | 4 | none |",
        "| seed | 6 | 6 | holds: 1 |",
    ]
    assert seeds == [3, 3, 5, 4, 6]


def test_the_index_counts_the_verdicts_that_stand_in_the_pages(docs: Path) -> None:
    page = fake_page([])
    write_page(page, docs)
    other = dataclasses.replace(page, paper=dataclasses.replace(page.paper, key="other"))
    assert index_text(docs, [page, other]).splitlines()[-4:] == [
        "|---|---:|---:|---:|---:|---:|",
        "| [A paper](fake.md) | 1 | 1 | 0 | 1 | 1 |",
        "| [fake](other.md) | 0 | 0 | 0 | 0 | 0 |",
        "| all | 1 | 1 | 0 | 1 | 1 |",
    ]


def test_papers_are_checked_or_written_where_they_are_asked_for(
    docs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds: list[int] = []
    (docs.parent / "pyproject.toml").touch()
    (docs.parent / "instances").mkdir()
    monkeypatch.chdir(docs.parent)
    monkeypatch.setattr(generated, "generated", lambda root, measured=(): ())
    monkeypatch.setattr("spotbag_papers.page.PAGES", {"fake": fake_page(seeds)})
    assert generated.main(["--check"]) == 0
    assert seeds == []
    assert generated.main(["--check", "--papers"]) == 1
    assert capsys.readouterr().out == "stale: docs/papers/fake.md\n"
    assert not (docs / "papers").exists()
    assert generated.main(["--papers"]) == 0
    assert generated.main(["--check", "--papers"]) == 0
    assert capsys.readouterr().out == ""
    assert len(seeds) == 3
    assert generated.main(["--check", "--papers", "fake"]) == 0
    assert len(seeds) == 4
    assert generated.main(["--check", "--papers", "fakes"]) == 2
    assert "there is no page 'fakes' (there are fake)" in capsys.readouterr().err
    assert len(seeds) == 4
