"""Pictures of replays of all kinds: what is drawn together, what is refused, and onto which axes."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from spotbag.charts.replay import plot_replay, write_replay
from spotbag.core.errors import SpotbagError
from spotbag.traces.trace import Trace
from tests.helpers.bad_day import bad_day, quiet_day
from tests.helpers.hand_made_stream_traces import given_up, sampled
from tests.helpers.tiny_hybrid_traces import tiny


@pytest.mark.parametrize(
    ("traces", "name", "says"),
    [
        ([], "r.png", "at least one replay"),
        ([bad_day(), quiet_day()], "r.png", "2 replays of plans: a picture shows one of them"),
        ([bad_day(), sampled()], "r.png", "'tests/bad-day' is one of a plan, that of .* one of a stream"),
        (
            [tiny(), bad_day()],
            "r.png",
            "'tiny/hybrid' is one of a hybrid platform, that of 'tests/bad-day' one of a plan",
        ),
        ([sampled(), given_up()], "r.png", "different streams"),
        (
            [tiny(), dataclasses.replace(tiny(), instance=tiny().instance | {"name": "another"})],
            "r.png",
            "of different platforms or jobs",
        ),
        ([quiet_day()], "r.gif", r"must end in \.png, \.svg, \.pdf, \.html"),
        ([quiet_day()], "none/r.html", "the folder does not exist"),
    ],
)
def test_what_is_no_picture_is_refused(traces: Sequence[Trace], name: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(SpotbagError, match=says):
        write_replay(traces, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_plotting_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SpotbagError, match=r"pip install 'spotbag\[plot\]'"):
        write_replay(sampled(), tmp_path / "s.png")
    assert list(tmp_path.iterdir()) == []
    write_replay(sampled(), tmp_path / "s.html")  # needs none


@pytest.mark.parametrize("traces", [[sampled(), sampled()], [tiny(), tiny("time-saving")]])
def test_pages_have_a_panel_for_each_replay(traces: Sequence[Trace], tmp_path: Path) -> None:
    write_replay(traces, tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8").count("<canvas ") == 2


@pytest.mark.parametrize("trace", [quiet_day(), sampled(), tiny()])
def test_replays_of_all_kinds_are_drawn_onto_axes(trace: Trace) -> None:
    axes = Figure(figsize=(5, 3)).add_subplot()
    assert plot_replay(trace, axes) is axes
    assert axes.get_title("left")
    assert axes.get_xlabel().startswith("time")
