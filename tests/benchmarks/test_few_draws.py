"""What the replays of each paper come to is what it was: `make papers` compares all draws, this few of each setting."""

from __future__ import annotations

import pytest

from spotbag_papers.page import PAGES
from tests.helpers.few_draws import FOLDER, OPTIONS, page_of_few_draws


def test_every_paper_has_its_few_draws() -> None:
    assert OPTIONS.keys() == PAGES.keys() == {path.stem for path in FOLDER.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_numbers_of_a_page_are_what_they_were(name: str) -> None:
    assert page_of_few_draws(name).splitlines() == (FOLDER / f"{name}.md").read_text(encoding="utf-8").splitlines()
