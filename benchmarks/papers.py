"""Papers of an experiment: for ``spotbag bench``, which is one of a single paper, and for ``spotbag experiment``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spotbag.cli.console import counting
from spotbag.core.errors import InputError, Issue

if TYPE_CHECKING:
    from spotbag.core.workers import Workers
    from spotbag.experiments.bags.specification import PaperName, Specification

    from .paper import Paper, PaperOptions
    from .paper_tables import PublishedComparisonResult

PLACES: Mapping[PaperName, str] = {
    "hads": "bags.hads",
    "burst-hads": "bags.burst_hads",
    "thai": "streams.thai",
    "a2ha": "streams.a2ha",
    "caron": "platforms.caron",
    "uniform-progress": "bags.uniform_progress",
}
"""Package of each paper, below this one."""


def paper_named(name: PaperName) -> Paper[Any, Any]:
    """Return a paper."""
    paper: Paper[Any, Any] = import_module(f".{PLACES[name]}.paper", __package__).PAPER
    return paper


def paper_of(asked: Specification, name: PaperName, workers: Workers) -> tuple[Paper[Any, Any], PaperOptions]:
    """Return a paper of an experiment, and what is replayed of it.

    Raises
    ------
    InputError
        If the paper has no such option.
    """
    paper = paper_named(name)
    settings = asked.paper_options.get(name)
    chosen: dict[str, Any] = {} if settings is None else settings.model_dump(exclude_none=True)
    known = {entry.name for entry in fields(paper.options)}
    unknown = [Issue(f"paper_options {name}", "is no option of this paper", value=key) for key in chosen.keys() - known]
    if unknown:
        raise InputError("experiment", unknown)
    if "numbers" in chosen:
        # Pictures join the numbers by lines, and one that is named twice would be replayed twice.
        chosen["numbers"] = tuple(sorted(set(chosen["numbers"])))
    return paper, paper.options(**{"runs": asked.paper_runs, "workers": workers} | chosen)


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
