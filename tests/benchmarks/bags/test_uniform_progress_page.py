"""The paper on Uniform Progress: what its replays come to, and how they are judged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spotbag_papers.bags.uniform_progress.job import Ran
from spotbag_papers.bags.uniform_progress.paper import PAPER as UNIFORM_PROGRESS
from spotbag_papers.bags.uniform_progress.runs import (
    FIGURES,
    GREEDY,
    OMNISCIENT,
    ON_DEMAND,
    SLICED,
    UNIFORM,
    UniformProgressOptions,
    UniformProgressRuns,
    Window,
)
from spotbag_papers.page import PAGES, bibtex
from spotbag_papers.paper_tables import PublishedComparisonResult
from tests.helpers.paper_results import (
    compared,
    demand_judged_claims,
    demand_no_result_if_stopped,
    demand_page,
    replayed,
)

ROOT = Path(__file__).parents[3]
FEW = UniformProgressOptions(runs=2, fractions=(0.7, 0.8), changeovers_h=(0.2, 0.4))

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("uniform-progress")]


@pytest.fixture(scope="module")
def runs() -> UniformProgressRuns:
    return replayed(UNIFORM_PROGRESS, FEW)


@pytest.fixture(scope="module")
def result() -> PublishedComparisonResult:
    return compared(UNIFORM_PROGRESS, FEW)


def test_all_statements_are_judged(result: PublishedComparisonResult) -> None:
    demand_judged_claims(result, 22)
    demand_page("uniform-progress", result)


def test_nobody_beats_the_optimum_and_all_work_is_done(runs: UniformProgressRuns) -> None:
    assert len(runs.windows) == 3 * 8 * 2
    for window in runs.windows:
        least = window.results[OMNISCIENT].cost_usd
        for policy in (GREEDY, UNIFORM, SLICED):
            found = window.results[policy]
            assert found.cost_usd >= least - 1e-9
            assert found.spot_h + found.on_demand_h == pytest.approx(48, abs=1 / 60)
            assert not found.late


def test_means_are_those_of_the_windows(runs: UniformProgressRuns) -> None:
    found = runs.at()
    hours = [window.results[UNIFORM].spot_h for window in found.windows]
    assert found.mean(UNIFORM, "spot_h").value == pytest.approx(sum(hours) / len(hours))
    saved = found.saving_percent(GREEDY)
    assert saved is not None
    assert saved.value == pytest.approx(100 * (1 - found.mean(GREEDY).value / found.mean(ON_DEMAND).value))
    # Two windows of the same number make one observation, whatever their trace.
    assert len(saved.influence) == 2


def test_intervals_of_bad_times_are_by_runs_not_by_windows() -> None:
    """Windows of a run are alike: of two runs, each is all that is drawn in a quarter of the samples."""
    windows = [
        Window(
            f"trace {number}", run, 0.8, 0.2, 0.5, {OMNISCIENT: _ran(1), GREEDY: _ran(3 + 2 * run), UNIFORM: _ran(2)}
        )
        for run in range(2)
        for number in range(8)
    ]
    found = UniformProgressRuns(windows, FEW).bad_times(GREEDY, UNIFORM)
    assert (found.n, found.mean, found.half_width) == (2, 4.0, 1.0)


def _ran(usd: float) -> Ran:
    return Ran(usd, 0.0, 48.0)


def test_the_printed_hours_are_those_of_the_job() -> None:
    for row in FIGURES.policies:
        assert row.on_demand_h + row.spot_h == pytest.approx(48, abs=0.15)


def test_there_is_no_result_if_it_is_stopped() -> None:
    demand_no_result_if_stopped(UNIFORM_PROGRESS, UniformProgressOptions(runs=2))


def test_every_page_says_how_to_cite_it_and_so_does_the_file_for_machines() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8").lower()
    for name in PAGES:
        entry, ours = bibtex(name).split("\n\n")
        assert ours.startswith("@software{spotbag,")
        [title] = re.findall(r"^  title +=\s\{(.*)\},$", entry, re.MULTILINE)
        assert title.replace("{A$^2$HA}", "A2HA").lower() in citation
        assert entry in (ROOT / "docs" / "papers" / f"{name}-appendix.md").read_text(encoding="utf-8")
