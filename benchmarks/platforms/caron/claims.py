"""Claims of Caron & de Assuncao about their results, judged by replays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from spotbag.instances.platforms.job_draws import JobSetKind

from ...claims import Case, Claim, Verdict, all_hold, exactly, is_below, tally, verdict_in_words
from ...data_files import Statements, read_toml
from ...statistics import mean_of
from .runs import CaronRuns, Cell, Cells
from .settings import BY_DEADLINE, FASTEST, METRICS, MONEY, PATIENT, ROUND_ROBIN, SETS, THEIRS, TIME, UNDISPLACED
from .trees import TreeRuns

_WORDS: Mapping[str, str] = read_toml(__package__, "tables.toml")["words"]
"""Metrics in words, as in the tables."""

MUCH = 0.5
"""Largest part of another number that counts as much lower: the paper does not say how much is much."""

SHOWN_SETS: tuple[JobSetKind, ...] = ("mixed", "small")
"""Those of the figures; big jobs are not shown in them."""

SAID = Statements.read(__package__)

Comparison: TypeAlias = Verdict | Literal["alike"]
"""Comparison of two numbers, lower or not by the interval of their difference; alike if equal in each draw."""

VERDICTS: tuple[Verdict, ...] = ("holds", "does not hold", "not decided")


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
    # A difference of 0 in each draw has no interval that could decide it.
    if mine == other:
        return "alike"
    return is_below(mean_of([a - lower.part * b for a, b in zip(mine, other, strict=True)]).estimate)


def counted(cells: Cells, lowers: Sequence[Lower]) -> Counter[Comparison]:
    """Count the settings of the sets by the results of the comparisons."""
    return Counter(
        compared(found, lower) for lower in lowers for setting, found in cells.items() if setting.kind == lower.kind
    )


def in_general(counts: Mapping[Comparison, int]) -> Verdict:
    """Verdict by the majority of the comparisons, without those that are equal in each draw.

    It is decided only if it is the same whatever those are that their intervals leave open.
    """
    lower, higher, either = (counts.get(verdict, 0) for verdict in VERDICTS)
    if lower > higher + either:
        return "holds"
    return "does not hold" if lower + either <= higher else "not decided"


def median_percent(cells: Cells, lower: Lower) -> float | None:
    """Median over the settings of the difference of two policies, in percent of the other; None if that is 0."""
    differences = []
    for setting, found in cells.items():
        if setting.kind == lower.kind:
            mine, other = (sum(found[policy].values(itemgetter(lower.metric))) for policy in (lower.mine, lower.other))
            # More than nothing is infinitely more: a median can bear some of these.
            differences.append(100 * (mine - other) / other if other else float("inf") if mine else 0.0)
    middle = median(differences)
    return None if middle == float("inf") else middle


def against_round_robin(kind: JobSetKind, metric: str, part: float = 1.0) -> list[Lower]:
    """Claims of the paper on both policies."""
    return [Lower(kind, metric, policy, ROUND_ROBIN, part) for policy in THEIRS]


AGAINST_ONE_ANOTHER = tuple(
    lower for kind in SETS for lower in (Lower(kind, "cost", MONEY, TIME), Lower(kind, "delay_h", TIME, MONEY))
)
"""Comparisons of policies A and B: by their nature, A is the cheaper one and B has less delay.

The figures show it of mixed and small jobs.
"""


def share(counts: Mapping[Comparison, int], word: str = "lower") -> str:
    """Number of comparisons that bear a statement out, of those in which the two are not alike."""
    return f"{word} in {counts.get('holds', 0)} of {sum(counts.values()) - counts.get('alike', 0)}"


def caron_claims(runs: CaronRuns) -> Iterator[Claim]:
    """Judge the statements of sections V and VI, in their order."""
    yield from _trees(runs.trees)
    for metric in METRICS:
        yield _in_general(runs.grid, f"mixed-{metric}", against_round_robin("mixed", metric))
    yield _in_general(runs.grid, "exception", against_round_robin("small", "execution_time_h"), opposite=True)
    plainly = share(counted(runs.grid, against_round_robin("small", "cost")))
    halved = against_round_robin("small", "cost", MUCH)
    yield _in_general(runs.grid, "much-cheaper", halved, "at most half", plainly=plainly)
    yield _in_general(runs.grid, "small-delay_h", against_round_robin("small", "delay_h"))
    yield _all_metrics(runs.grid)
    for name, metric in (("money-saving", "cost"), ("time-saving", "delay_h")):
        lowers = [lower for lower in AGAINST_ONE_ANOTHER if lower.metric == metric and lower.kind in SHOWN_SETS]
        yield _in_general(runs.grid, name, lowers)


# ---------------------------------------------------------------------------------------------- against round robin

_OPPOSITE: Mapping[Verdict, Verdict] = {
    "holds": "does not hold",
    "does not hold": "holds",
    "not decided": "not decided",
}


def _in_general(
    cells: Cells, name: str, lowers: Sequence[Lower], word: str = "lower", *, opposite: bool = False, **texts: str
) -> Claim:
    """Claim on most settings, or against them."""
    counts = counted(cells, lowers)
    judge = (lambda counts: _OPPOSITE[in_general(counts)]) if opposite else in_general
    by_size = {size: judge(counted(found, lowers)) for size, found in of_sizes(cells).items()}
    details = f"{by_platform(by_size)}; {_details(cells, lowers)}"
    return SAID.decided(name, together(by_size, judge(counts)), share(counts, word), details=details, **texts)


def of_sizes(cells: Cells) -> dict[int, Cells]:
    """Settings by the processors of each cluster, which are not printed."""
    sizes = sorted({setting.processors for setting in cells})
    return {size: {setting: cells[setting] for setting in cells if setting.processors == size} for size in sizes}


def together(by_size: Mapping[int, Verdict], over_all: Verdict) -> Verdict:
    """Verdict over all sizes of clusters: none where two of them contradict each other, as none is printed."""
    return "not decided" if {"holds", "does not hold"} <= set(by_size.values()) else over_all


def by_platform(by_size: Mapping[int, Verdict]) -> str:
    """Verdicts by the size of the clusters, in words."""
    found = {verdict: [str(size) for size, one in by_size.items() if one == verdict] for verdict in VERDICTS}
    words = {verdict: f"is {verdict}" if verdict == "not decided" else verdict for verdict in VERDICTS}
    listed = "; ".join(f"{words[verdict]} with {', '.join(sizes)}" for verdict, sizes in found.items() if sizes)
    return f"by processors in each cluster, it {listed}"


def _all_metrics(grid: Cells) -> Claim:
    """Claim on big jobs, with all three metrics below round robin in the same setting; equal is not below."""
    counts: Counter[Comparison] = Counter()
    for setting, cells in grid.items():
        if setting.kind == "big":
            for policy in THEIRS:
                found = [compared(cells, Lower("big", metric, policy, ROUND_ROBIN)) for metric in METRICS]
                counts[all_hold(Case("", "", "does not hold" if one == "alike" else one) for one in found)] += 1
    singly = {metric: counted(grid, against_round_robin("big", metric)) for metric in METRICS}
    return SAID.decided(
        "all-metrics",
        in_general(counts),
        f"all three in {counts['holds']} of {counts.total()}",
        against=counts["does not hold"],
        open=counts["not decided"],
        singly=verdict_in_words(all_hold(Case("", "", in_general(of)) for of in singly.values())),
        one_by_one=", ".join(f"{_WORDS[metric]} {share(of)}" for metric, of in singly.items()),
    )


def _details(cells: Cells, lowers: Sequence[Lower]) -> str:
    """Phrase on the settings where a claim fails or is open, and on its share by the size of the clusters."""
    counts = counted(cells, lowers)
    shares = ", ".join(
        f"{share(counted(found, lowers), '')[4:]} with {size}" for size, found in of_sizes(cells).items()
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


def _trees(trees: Sequence[TreeRuns]) -> Iterator[Claim]:
    resources, alone = growth(trees, alone=True)
    _, in_tree = growth(trees, alone=False)
    grows = exactly("", alone > in_tree, f"messages × {alone:.1f}, in a tree × {in_tree:.1f}")
    yield SAID.judge("bottleneck", grows, resources=resources)
    roots = [tree for tree in trees if tree.shape.agents == 1]
    alike = [same for tree in roots for same in tree.as_basic]
    yield SAID.judge(
        "one-root",
        [exactly(f"{tree.shape.resources} resources", all(tree.as_basic)) for tree in roots],
        f"{sum(alike)} of {len(alike)} replays alike",
    )
    within = [
        exactly(f"{shape.path} of {shape.resources} resources", shape.path <= shape.depth * shape.children)
        for shape in (tree.shape for tree in trees)
    ]
    yield SAID.judge("complexity", within, f"at most mn in {tally('trees')(within)}")


_EXCEPTION = ("small", "execution_time_h")
"""Set and metric of which the paper says the opposite."""


def caron_findings(runs: CaronRuns) -> Iterator[Claim]:
    """Judge questions beyond the paper; most of them need the replays of its figures, which may have been left out.

    Whether displacing jobs pays is asked of ``FASTEST``, the policy that takes the fastest of all candidates, as it has
    a variant that displaces none. Policy B of the paper had the same results (note 10 of the appendix).
    """
    yield _all_at_once(runs.grid)
    alike = [same for tree in runs.trees for same in tree.same]
    yield SAID.judge("every-tree", exactly("", all(alike), f"{sum(alike)} of {len(alike)} replays"))
    yield _growth_of_messages(runs.trees)
    if not runs.figures:
        return
    for name, lowers in {
        "big-jobs": [Lower("big", "cost", MONEY, TIME)],
        "patient": [
            lower._replace(mine=lower.mine + PATIENT, other=lower.other + PATIENT)
            for lower in AGAINST_ONE_ANOTHER
            if lower.metric == "cost"
        ],
        "by-deadline": [Lower(kind, "cost", policy + BY_DEADLINE, policy) for kind in SETS for policy in THEIRS],
        "moving-cost": [Lower(kind, "cost", FASTEST, UNDISPLACED) for kind in SETS],
        "moving-delay_h": [Lower(kind, "delay_h", FASTEST, UNDISPLACED) for kind in SETS],
    }.items():
        counts = counted(runs.figures, lowers)
        yield SAID.decided(name, in_general(counts), share(counts))


def _all_at_once(grid: Cells) -> Claim:
    """Finding on a single platform for which all claims about round robin hold, over the numbers of jobs."""
    said = [
        (against_round_robin(kind, metric, MUCH if (kind, metric) == ("small", "cost") else 1.0), (kind, metric))
        for kind in SETS
        for metric in METRICS
    ]
    hold = []
    for platform in dict.fromkeys((setting.processors, setting.budgets) for setting in grid):
        cells = {setting: grid[setting] for setting in grid if (setting.processors, setting.budgets) == platform}
        hold.append(
            sum(
                in_general(counted(cells, lowers)) == ("does not hold" if of == _EXCEPTION else "holds")
                for lowers, of in said
            )
        )
    complete = sum(number == len(said) for number in hold)
    ours = f"{complete} of {len(hold)} platforms; at most {max(hold)} of {len(said)}"
    return SAID.judge("all-at-once", exactly("", complete > 0, ours), n=len(said))


def _growth_of_messages(trees: Sequence[TreeRuns]) -> Claim:
    """Growth of messages and of ``mn`` between platforms whose agents have as many children."""
    first: dict[int, TreeRuns] = {}
    factors = []
    for tree in trees:
        shape, least = tree.shape, first.setdefault(tree.shape.children, tree).shape
        if shape is not least:
            product = shape.depth * shape.children / (least.depth * least.children)
            factors.append((shape.messages / least.messages, product))
    within = all(messages <= product for messages, product in factors)
    most_messages, most_product = (max(column) for column in zip(*factors, strict=True))
    return SAID.judge("messages", exactly("", within, f"× {most_messages:.1f}, mn × {most_product:.1f} at most"))
