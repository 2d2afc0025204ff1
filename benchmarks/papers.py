"""Papers of an experiment: for ``spotbag bench``, which is one of a single paper, and for ``spotbag experiment``."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spotbag.cli.progress import counting
from spotbag.core.errors import InputError, Issue

if TYPE_CHECKING:
    from spotbag.core.workers import Workers
    from spotbag.experiments.bags.specification import PaperName, Specification

    from .paper import Paper, PaperOptions
    from .paper_result import PublishedComparisonResult

_PAPERS = {
    "hads": ("bags.hads.paper", "HADS", "bags.hads.runs", "HadsOptions"),
    "burst-hads": ("bags.burst_hads.paper", "BURST_HADS", "bags.burst_hads.runs", "BurstHadsOptions"),
    "thai": ("streams.thai.paper", "THAI", "streams.thai.settings", "ThaiOptions"),
    "a2ha": ("streams.a2ha.paper", "A2HA", "streams.a2ha.settings", "A2haOptions"),
    "uniform-progress": (
        "bags.uniform_progress.paper",
        "UNIFORM_PROGRESS",
        "bags.uniform_progress.runs",
        "UniformProgressOptions",
    ),
    "caron": ("platforms.caron.paper", "CARON", "platforms.caron.settings", "CaronOptions"),
}
"""Where each paper is, and what is replayed of it."""


def paper_of(asked: Specification, name: PaperName, workers: Workers) -> tuple[Paper[Any, Any], PaperOptions]:
    """Return a paper of an experiment, and what is replayed of it.

    Raises
    ------
    InputError
        If the paper has no such option.
    """
    place, paper, place_of_options, kind = _PAPERS[name]
    made: type[PaperOptions] = getattr(import_module(f".{place_of_options}", __package__), kind)
    settings = asked.paper_options.get(name)
    chosen: dict[str, Any] = {} if settings is None else settings.model_dump(exclude_none=True)
    known = {entry.name for entry in fields(made)}
    unknown = [Issue(f"paper_options {name}", "is no option of this paper", value=key) for key in chosen.keys() - known]
    if unknown:
        raise InputError("experiment", unknown)
    if "numbers" in chosen:
        chosen["numbers"] = tuple(sorted(set(chosen["numbers"])))
    options = made(**{"runs": asked.paper_runs, "workers": workers} | chosen)
    return getattr(import_module(f".{place}", __package__), paper), options


def replayed_paper(
    paper: Paper[Any, Any], options: PaperOptions, message: str, *, left: bool = False
) -> PublishedComparisonResult:
    """Replay a paper and set our numbers beside the printed ones, with a bar.

    Raises
    ------
    LimitReached
        If it is asked to stop.
    """
    from .paper import compare

    with counting(message, paper.n_runs(options), left=left) as count:
        return compare(paper, options, lambda done, label: count(label, done))
