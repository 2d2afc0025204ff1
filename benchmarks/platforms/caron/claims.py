"""Claims of Caron & de Assuncao about their results, judged by replays.

Sizes of clusters, numbers of jobs and budgets are not printed. So a comparison of two policies is made in every setting
that the paper might have had, by the interval of the difference, draw by draw; it holds *in general* if it holds in
more than half of the settings in which the two are not alike. It does not if it would not even with those in which the
interval leaves it open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from ....core.statistics import mean_of
from ....instances.platforms.job_draws import JobSetKind
from ...claims import Claim, Verdict, all_hold, is_below, judged, verdict_in_words
from .assumptions import ROUND_ROBIN
from .runs import CaronRuns, Cell, Cells
from .settings import METRICS, MONEY, SETS, THEIRS, TIME
from .trees import TreeRuns

FIGURES: Mapping[tuple[JobSetKind, str], str] = {
    ("mixed", "cost"): "Fig. 2",
    ("mixed", "execution_time_h"): "Fig. 3",
    ("mixed", "delay_h"): "Fig. 4",
    ("small", "execution_time_h"): "Fig. 5",
    ("small", "cost"): "Fig. 6",
    ("small", "delay_h"): "Fig. 7",
}
"""Figures of the paper; those of big jobs are not shown in it."""

WORDS = {"cost": "cost", "execution_time_h": "execution time", "delay_h": "delay"}

MUCH = 0.5
"""What is much lower is at most this part of the other: the paper does not say how much is much."""

Comparison: TypeAlias = Verdict | Literal["alike"]
"""Whether a number is lower than another one, by the interval of their difference; alike if equal in each draw."""

COMPARISONS: tuple[Comparison, ...] = ("holds", "does not hold", "not decided", "alike")


class Lower(NamedTuple):
    """Claim of the paper on a set: a number of one policy is lower than that of another.

    Attributes
    ----------
    kind : {"mixed", "small", "big"}
        The set.
    metric : str
        The number.
    mine, other : str
        The policies.
    part : float
        Of the other's number, than which it is lower.
    """

    kind: JobSetKind
    metric: str
    mine: str
    other: str
    part: float = 1.0


def compared(cells: Mapping[str, Cell], lower: Lower) -> Comparison:
    """Compare two policies in a setting, draw by draw."""
    mine, other = (cells[policy].values(itemgetter(lower.metric)) for policy in (lower.mine, lower.other))
    if mine == other:
        return "alike"
    return is_below(mean_of([a - lower.part * b for a, b in zip(mine, other, strict=True)]).estimate)


def counted(cells: Cells, lowers: Sequence[Lower]) -> Counter[Comparison]:
    """Count the settings of the sets by what the comparisons come to."""
    return Counter(
        compared(found, lower) for lower in lowers for setting, found in cells.items() if setting.kind == lower.kind
    )


def in_general(counts: Mapping[Comparison, int]) -> Verdict:
    """Verdict by the majority of the comparisons, without those that are equal in each draw."""
    lower, higher, either = (counts.get(verdict, 0) for verdict in COMPARISONS[:3])
    if lower > higher + either:
        return "holds"
    return "does not hold" if lower + either <= higher else "not decided"


def median_percent(cells: Cells, lower: Lower) -> float | None:
    """Median over the settings of the difference of two policies, in percent of the other; None if that is 0."""
    differences = []
    for setting, found in cells.items():
        if setting.kind == lower.kind:
            mine, other = (sum(found[policy].values(itemgetter(lower.metric))) for policy in (lower.mine, lower.other))
            differences.append(100 * (mine - other) / other if other else float("inf") if mine else 0.0)
    middle = median(differences)
    return None if middle == float("inf") else middle


def against_round_robin(kind: JobSetKind, metric: str, part: float = 1.0) -> list[Lower]:
    """Claims of the paper on both policies."""
    return [Lower(kind, metric, policy, ROUND_ROBIN, part) for policy in THEIRS]


AGAINST_ONE_ANOTHER = tuple(
    lower for kind in SETS for lower in (Lower(kind, "cost", MONEY, TIME), Lower(kind, "delay_h", TIME, MONEY))
)
"""By their nature, A is the cheaper one and B has less delay; the figures show it of mixed and small jobs."""

SHOWN_SETS = tuple(dict.fromkeys(kind for kind, _ in FIGURES))


def caron_claims(runs: CaronRuns) -> Iterator[Claim]:
    """Judge the statements of sections V and VI, in their order."""
    yield _bottleneck(runs.trees)
    yield _one_root(runs.trees)
    yield _complexity(runs.trees)
    for metric in METRICS:
        yield _below_round_robin(runs, "mixed", metric)
    yield _exception(runs)
    yield _much_cheaper(runs)
    yield _below_round_robin(runs, "small", "delay_h")
    yield _all_metrics(runs)
    yield _policies(runs, "cost", "policy A (money saving) spends less than policy B (time saving)")
    yield _policies(runs, "delay_h", "policy B has less delay than policy A")


# ---------------------------------------------------------------------------------------------- against round robin

_CAUSES = {
    "cost": "not so where more work arrives than the clusters do: round robin then lets a third of the jobs wait for "
    "each of them, and pays with delay instead of money (note 2)",
    "execution_time_h": "not so where jobs wait for the free cluster as long as their deadlines allow (note 3)",
    "delay_h": "open where the clusters keep up: hardly any job is late there, whatever the policy",
}


def _below_round_robin(runs: CaronRuns, kind: Literal["mixed", "small"], metric: str) -> Claim:
    lowers = against_round_robin(kind, metric)
    verdict = in_general(counted(runs.grid, lowers))
    how = {"mixed": "in general", "small": "significantly"}[kind]
    return Claim(
        f"{kind} jobs: the {WORDS[metric]} of the policies is {how} below that of round robin",
        verdict,
        _share(runs.grid, lowers),
        f"{_details(runs.grid, lowers)}; {_CAUSES[metric]}",
        _source(kind, metric),
    )


_OPPOSITE: Mapping[Verdict, Verdict] = {
    "holds": "does not hold",
    "does not hold": "holds",
    "not decided": "not decided",
}


def _exception(runs: CaronRuns) -> Claim:
    """Claim on small jobs as the exception to the general result."""
    metric = "execution_time_h"
    lowers = against_round_robin("small", metric)
    return Claim(
        "small jobs are the exception: their execution time is in general not below that of round robin",
        _OPPOSITE[in_general(counted(runs.grid, lowers))],
        _share(runs.grid, lowers),
        f"{_details(runs.grid, lowers)}; on large clusters a job takes a minute or two, and round robin sends every "
        "third one to the cloud, on no more machines than the deadline asks for (note 3)",
        _source("small", metric),
    )


def _much_cheaper(runs: CaronRuns) -> Claim:
    lowers = against_round_robin("small", "cost", MUCH)
    plainly = against_round_robin("small", "cost")
    return Claim(
        "small jobs: the policies cost much less than round robin: half, or less",
        in_general(counted(runs.grid, lowers)),
        _share(runs.grid, lowers, "at most half"),
        f"{_details(runs.grid, lowers)}; it is {_share(runs.grid, plainly)}; {_CAUSES['cost']}",
        _source("small", "cost"),
    )


def _all_metrics(runs: CaronRuns) -> Claim:
    """Claim on big jobs, with all three metrics below round robin in the same setting; equal is not below."""
    counts: Counter[Comparison] = Counter()
    for setting, cells in runs.grid.items():
        if setting.kind == "big":
            for policy in THEIRS:
                found = [compared(cells, Lower("big", metric, policy, ROUND_ROBIN)) for metric in METRICS]
                counts[all_hold("does not hold" if verdict == "alike" else verdict for verdict in found)] += 1
    one_by_one = ", ".join(
        f"{WORDS[metric]} {_share(runs.grid, against_round_robin('big', metric))}" for metric in METRICS
    )
    singly = all_hold(in_general(counted(runs.grid, against_round_robin("big", metric))) for metric in METRICS)
    return Claim(
        "big jobs: the policies are better in all three metrics",
        in_general(counts),
        f"all three in {counts['holds']} of {counts.total()}",
        f"not so in {counts['does not hold']}, left open by the interval in {counts['not decided']}: cost is lower "
        "while the clusters keep up, execution time and delay once they do not (notes 2 and 3); metrics taken "
        f"one by one, it {verdict_in_words(singly)}: {one_by_one}",
        "section VI",
    )


def _policies(runs: CaronRuns, metric: str, statement: str) -> Claim:
    lowers = [lower for lower in AGAINST_ONE_ANOTHER if lower.metric == metric and lower.kind in SHOWN_SETS]
    figures = " and ".join(FIGURES[kind, metric].split()[1] for kind in SHOWN_SETS)
    causes = {
        "cost": "policy A lets jobs be late, and by the printed rule late jobs block the queues, so that others go to "
        "the cloud (note 4)",
        "delay_h": _CAUSES[metric],
    }
    return Claim(
        statement,
        in_general(counted(runs.grid, lowers)),
        _share(runs.grid, lowers),
        f"{_details(runs.grid, lowers)}; {causes[metric]}",
        f"section VI, Figs {figures}",
    )


def _source(kind: JobSetKind, metric: str) -> str:
    figure = FIGURES.get((kind, metric))
    return f"section VI, {figure}" if figure else "section VI"


def _share(cells: Cells, lowers: Sequence[Lower], word: str = "lower") -> str:
    counts = counted(cells, lowers)
    return f"{word} in {counts['holds']} of {counts.total() - counts['alike']}"


def _details(cells: Cells, lowers: Sequence[Lower]) -> str:
    """Phrase on the settings where a claim fails or is open, and on its share by the size of the clusters."""
    counts = counted(cells, lowers)
    by_size = {
        processors: counted({setting: cells[setting] for setting in cells if setting.processors == processors}, lowers)
        for processors in sorted({setting.processors for setting in cells})
    }
    shares = ", ".join(
        f"{found['holds']} of {found.total() - found['alike']} with {size}" for size, found in by_size.items()
    )
    return (
        f"not so in {counts['does not hold']}, left open by the interval in {counts['not decided']}; so in {shares} "
        "processors in each cluster"
    )


# ---------------------------------------------------------------------------------------------------------- the tree


def growth(trees: Sequence[TreeRuns], alone: bool) -> tuple[float, float]:
    """Growth factors of the resources, and of the messages of the busiest agent, from the fewest resources to the most.

    Of the root alone; else of the tree with the fewest children.
    """
    shapes = sorted((tree.shape for tree in trees), key=lambda shape: shape.resources)
    ends = (
        sorted((shape for shape in shapes if shape.resources == end.resources), key=lambda shape: shape.agents)
        for end in (shapes[0], shapes[-1])
    )
    small, large = (found[0] if alone else found[-1] for found in ends)
    return large.resources / small.resources, large.busiest / small.busiest


def _bottleneck(trees: Sequence[TreeRuns]) -> Claim:
    resources, alone = growth(trees, alone=True)
    _, in_tree = growth(trees, alone=False)
    return Claim(
        "a single scheduler becomes the bottleneck as the number of resources grows",
        "holds" if alone > in_tree else "does not hold",
        f"messages × {alone:.1f}, in a tree × {in_tree:.1f}",
        f"what the busiest agent sends and gets for a placement, where resources are {resources:.0f} times as many; it "
        "follows from the counting (note 6), and no time is measured",
        "section V",
    )


def _one_root(trees: Sequence[TreeRuns]) -> Claim:
    alone = [tree for tree in trees if tree.shape.agents == 1]
    found = [alike for tree in alone for alike in tree.as_basic]
    return judged(
        "a scheduler that asks all resources itself is the tree of one root",
        [(f"{tree.shape.resources} resources", "holds" if all(tree.as_basic) else "does not hold") for tree in alone],
        f"{sum(found)} of {len(found)} replays alike",
        source="section V",
    )


def _complexity(trees: Sequence[TreeRuns]) -> Claim:
    found: list[tuple[str, Verdict]] = [
        (
            f"{tree.shape.path} of {tree.shape.resources} resources",
            "holds" if tree.shape.path <= tree.shape.depth * tree.shape.children else "does not hold",
        )
        for tree in trees
    ]
    holding = sum(verdict == "holds" for _, verdict in found)
    claim = judged(
        "a placement takes O(mn), for m levels of agents with n children at most: answers handled one after another",
        found,
        f"at most mn in {holding} of {len(found)} trees",
        source="section V",
    )
    return replace(
        claim, reason=claim.reason or "it follows from the counting; in all messages, it does not hold (below)"
    )
