"""Sections of the docs on papers, by a paper of one line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from spotbag import generated
from spotbag.benchmarks import section as sections
from spotbag.benchmarks.claims import Claim
from spotbag.benchmarks.paper import OnRuns, Paper, PaperOptions
from spotbag.benchmarks.section import Section, is_stale, write_section
from spotbag.core.errors import SpotbagError
from spotbag.docs import main

PAGE = "# A page\n\n<!-- written by spotbag.docs: fake -->\nold\n<!-- end of what it writes: fake -->\n\nThe end.\n"


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of a checkout's docs; the template of the paper lies there too."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "page.md").write_text(PAGE)
    (folder / "section.md.j2").write_text("Seed {{ result.about.seed }}: {{ word }}. {{ verdicts }}.\n")
    monkeypatch.setattr(sections, "resources", SimpleNamespace(files=lambda package: folder))
    return folder


def fake_section(seeds: list[int], word: str = "fine") -> Section:
    """A section whose paper notes the seeds that it is replayed with."""

    def replay(options: PaperOptions, on_runs: OnRuns) -> int:
        seeds.append(options.seed)
        return options.seed

    paper: Paper[PaperOptions, int] = Paper(
        name="fake",
        runs_are="runs",
        n_runs=lambda options: options.runs,
        replay=replay,
        rows=lambda runs: (),
        claims=lambda runs: [Claim("it is so", "holds", "1", "")],
        notes=lambda runs: (),
        tables=(),
    )
    return Section("page.md", "systems.fake", paper, {"": PaperOptions(seed=3)}, lambda results: {"word": word})


def test_a_section_is_stale_until_it_is_written_and_when_it_says_something_else(docs: Path) -> None:
    seeds: list[int] = []
    assert is_stale(fake_section(seeds), docs)
    assert (docs / "page.md").read_text() == PAGE
    write_section(fake_section(seeds), docs)
    assert (docs / "page.md").read_text() == PAGE.replace("old", "\nSeed 3: fine. Of 1 statements, 1 holds.\n")
    assert not is_stale(fake_section(seeds), docs)
    assert is_stale(fake_section(seeds, "better"), docs)
    assert seeds == [3, 3, 3, 3]


def test_papers_are_checked_or_written_where_they_are_asked_for(
    docs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds: list[int] = []
    (docs.parent / "pyproject.toml").touch()
    (docs.parent / "instances").mkdir()
    monkeypatch.chdir(docs.parent)
    monkeypatch.setattr(generated, "generated", lambda root: ())
    monkeypatch.setattr("spotbag.docs.SECTIONS", {"fake": fake_section(seeds)})
    assert generated.main(["--check"]) == 0
    assert seeds == []
    assert generated.main(["--check", "--papers"]) == 1
    assert capsys.readouterr().out == "stale: section fake of docs/page.md\n"
    assert (docs / "page.md").read_text() == PAGE
    assert generated.main(["--papers"]) == 0
    assert generated.main(["--check", "--papers"]) == 0
    assert capsys.readouterr().out == ""
    assert len(seeds) == 3
    assert generated.main(["--check", "--papers", "fake"]) == 0
    assert len(seeds) == 4
    assert generated.main(["--check", "--papers", "fakes"]) == 2
    assert "there is no section 'fakes' (there are fake)" in capsys.readouterr().err
    assert len(seeds) == 4


@pytest.mark.parametrize("use", [is_stale, write_section])
def test_without_its_library_a_section_is_refused_before_any_replay(
    docs: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[Section, Path], object]
) -> None:
    seeds: list[int] = []
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(SpotbagError, match=r"need jinja2: pip install 'spotbag\[dev\]'"):
        use(fake_section(seeds), docs)
    assert seeds == []
    assert (docs / "page.md").read_text() == PAGE


def test_the_command_says_what_is_missing(
    docs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main([str(docs), "a2ha.md"]) == 2
    assert "error: the sections of the docs need jinja2" in capsys.readouterr().err
