"""What Caron & de Assuncao say of their results, and whether it holds in our replays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Literal, NamedTuple, TypeAlias

from ....instances.platforms.job_draws import JobSetKind
from ...claims import Claim, Verdict, is_below, judged, show
from .runs import CaronRuns, Cell, Cells
from .settings import METRICS, MONEY, PATIENT, ROUND_ROBIN, SETS, THEIRS, TIME
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

WORDS = {"cost": "total cost", "execution_time_h": "total execution time (h)", "delay_h": "total delay (h)"}
DIGITS = {"cost": 0, "execution_time_h": 1, "delay_h": 2}

Comparison: TypeAlias = Verdict | Literal["alike"]
"""Whether a number is lower than another one, by the interval of their difference; alike if equal in each draw."""

COMPARISONS: tuple[Comparison, ...] = ("holds", "does not hold", "not decided", "alike")

_Found = tuple[str, Verdict]


class Lower(NamedTuple):
    """That a number of one policy is lower than that of another, which the paper says of some sets.

    Attributes
    ----------
    kinds : tuple of str
        The sets.
    metric : str
        The number.
    mine, other : str
        The policies.
    """

    kinds: tuple[JobSetKind, ...]
    metric: str
    mine: str
    other: str


def compared(cells: Mapping[str, Cell], lower: Lower) -> Comparison:
    """Compare two policies in a setting, draw by draw."""
    mine, other, metric = cells[lower.mine], cells[lower.other], itemgetter(lower.metric)
    return "alike" if mine.values(metric) == other.values(metric) else is_below(mine.less(other, metric))


def counted(cells: Cells, lower: Lower) -> Counter[Comparison]:
    """Count the settings of the sets by what the comparison comes to."""
    return Counter(compared(found, lower) for setting, found in cells.items() if setting.kind in lower.kinds)


def grid_statements() -> Iterator[Lower]:
    """What is judged in every setting that the paper might have had, in the order of its statements."""
    for kind in SETS:
        for metric in METRICS:
            for policy in THEIRS:
                yield Lower((kind,), metric, policy, ROUND_ROBIN)
    for kind in SETS:
        yield Lower((kind,), "cost", MONEY, TIME)
        yield Lower((kind,), "delay_h", TIME, MONEY)


def caron_claims(runs: CaronRuns) -> Iterator[Claim]:
    """Judge the statements of sections V and VI, in the order of the figures."""
    for metric in METRICS:
        yield _below_round_robin(runs, "mixed", metric)
    yield _not_below_round_robin(runs)
    for metric in ("cost", "delay_h"):
        yield _below_round_robin(runs, "small", metric)
    for metric in METRICS:
        yield _below_round_robin(runs, "big", metric)
    yield _against_one_another(runs, Lower(SETS, "cost", MONEY, TIME), "policy A spends less than policy B")
    yield _against_one_another(runs, Lower(SETS, "delay_h", TIME, MONEY), "policy B has less delay than policy A")
    yield _one_agent(runs.trees)
    yield _messages(runs.trees)
    yield _one_after_another(runs.trees)


_WHY_OVERLOADED = (
    "where more work arrives than the clusters do, round robin lets a third of the jobs wait for each of them: it pays "
    "with delay instead of money (note 2)"
)
_WHY_BLOCKED = "in policy A jobs wait that are late already, and the printed rule lets them block the queue (note 4)"
_WHY_WAITING = "jobs wait for the free cluster as long as their deadlines allow (note 3)"
_WHY_HARDLY_LATE = "where the clusters keep up, hardly any job is late, whatever the policy"
_WHY = {"cost": _WHY_OVERLOADED, "execution_time_h": _WHY_WAITING, "delay_h": _WHY_HARDLY_LATE}


def _judged(statement: str, found: Sequence[_Found], ours: str, why_not: str) -> Claim:
    """Judge a comparison of policies, of which there is nothing to say if they are alike in every draw."""
    claim = judged(statement, found, ours, why_not)
    return claim if found else replace(claim, reason=f"equal in every draw; {why_not}")


def _below_round_robin(runs: CaronRuns, kind: JobSetKind, metric: str) -> Claim:
    lowers = [Lower((kind,), metric, policy, ROUND_ROBIN) for policy in THEIRS]
    where = FIGURES.get((kind, metric), "text")
    found = [entry for lower in lowers for entry in _found(runs, lower)]
    return _judged(
        f"{kind} jobs: the {WORDS[metric]} of both policies is below that of round robin ({where})",
        found,
        f"{_numbers(runs, kind, metric)}; {_over_the_grid(runs, lowers)}",
        _WHY[metric],
    )


_OPPOSITE: Mapping[Verdict, Verdict] = {
    "holds": "does not hold",
    "does not hold": "holds",
    "not decided": "not decided",
}


def _not_below_round_robin(runs: CaronRuns) -> Claim:
    """That round robin has the lower execution time somewhere is enough: it need not have so everywhere."""
    metric = "execution_time_h"
    lowers = [Lower(("small",), metric, policy, ROUND_ROBIN) for policy in THEIRS]
    found = [entry for lower in lowers for entry in _found(runs, lower)]
    turned = [(text, _OPPOSITE[verdict]) for text, verdict in found]
    bearing_out = [entry for entry in turned if entry[1] == "holds"]
    return _judged(
        f"small jobs: the {WORDS[metric]} of the policies is not always below that of round robin (Fig. 5)",
        bearing_out or turned,
        f"{_numbers(runs, 'small', metric)}; above in {len(bearing_out)} of {len(turned)}; "
        f"{_over_the_grid(runs, lowers, 'below')}",
        "jobs may wait for the free cluster, and need not have to (note 3)",
    )


def _against_one_another(runs: CaronRuns, lower: Lower, statement: str) -> Claim:
    patient = lower._replace(mine=lower.mine + PATIENT, other=lower.other + PATIENT)
    differences = [text for text, _ in _found(runs, lower, only_largest=True)]
    counts = counted(runs.figures, patient)
    return _judged(
        f"{statement}, in all three sets",
        _found(runs, lower),
        f"{lower.mine} - {lower.other}: {'; '.join(differences)}; {_over_the_grid(runs, [lower])}",
        f"{_WHY_BLOCKED if lower.metric == 'cost' else _WHY_HARDLY_LATE}; "
        f"where late jobs let others pass (+patient), it holds in {_shares(counts)}",
    )


def _found(runs: CaronRuns, lower: Lower, only_largest: bool = False) -> list[_Found]:
    """A comparison for each number of jobs, but where both are alike in every draw."""
    found: list[_Found] = []
    most = max(setting.number for setting in runs.figures)
    for setting, cells in runs.figures.items():
        if setting.kind not in lower.kinds or (only_largest and setting.number != most):
            continue
        verdict = compared(cells, lower)
        if verdict != "alike":
            less = show(cells[lower.mine].less(cells[lower.other], itemgetter(lower.metric)), DIGITS[lower.metric])
            name = "" if only_largest else f"{lower.mine}, "
            found.append((f"{name}{setting.number} {setting.kind} jobs {less}", verdict))
    return found


def _numbers(runs: CaronRuns, kind: JobSetKind, metric: str) -> str:
    """Means of both policies against those of round robin."""
    texts = []
    for setting, cells in runs.figures.items():
        if setting.kind == kind:
            means = (cells[name].statistic(itemgetter(metric)).value for name in _TABLE)
            mine, its, other = (f"{mean:,.{DIGITS[metric]}f}" for mean in means)
            texts.append(f"{setting.number} jobs {mine} and {its} against {other}")
    return "; ".join(texts)


_TABLE = (*THEIRS, ROUND_ROBIN)


def _over_the_grid(runs: CaronRuns, lowers: Sequence[Lower], word: str = "") -> str:
    counts: Counter[Comparison] = Counter()
    for lower in lowers:
        counts += counted(runs.grid, lower)
    return f"{word or 'holds'} over the grid in {_shares(counts)}"


def _shares(counts: Mapping[Comparison, int]) -> str:
    decided = {name: counts.get(name, 0) for name in COMPARISONS}
    total = sum(decided.values()) - decided["alike"]
    parts = [f"{decided['holds']} of {total}"]
    if decided["not decided"]:
        parts.append(f"{decided['not decided']} not decided")
    return ", ".join(parts)


# --------------------------------------------------------------------------------------------------- the tree


def _one_agent(trees: Sequence[TreeRuns]) -> Claim:
    found: list[_Found] = [
        (f"{_tree(tree)}: {sum(tree.same)} of {len(tree.same)} draws", "holds" if all(tree.same) else "does not hold")
        for tree in trees
    ]
    return judged(
        "one agent above all resources is a particular case: a tree places jobs as it does (section V)",
        found,
        f"{len(trees)} trees above {' and '.join(map(str, sorted({tree.shape.resources for tree in trees})))} "
        f"resources: every job where and when one agent has it in {sum(sum(tree.same) for tree in trees)} of "
        f"{sum(len(tree.same) for tree in trees)} replays",
    )


def _tree(tree: TreeRuns) -> str:
    return f"{tree.shape.resources} resources, {tree.shape.depth} levels of up to {tree.shape.children}"


def _messages(trees: Sequence[TreeRuns]) -> Claim:
    """By how much messages and ``mn`` grow between platforms whose agents have as many children."""
    by_children: dict[int, list[TreeRuns]] = {}
    for tree in trees:
        by_children.setdefault(tree.shape.children, []).append(tree)
    found: list[_Found] = []
    for children, (small, *others) in by_children.items():
        for large in others:
            messages = large.shape.messages / small.shape.messages
            product = large.shape.depth * children / (small.shape.depth * children)
            text = f"up to {children} children: messages x {messages:.1f}, mn x {product:.1f}"
            found.append((text, "holds" if messages <= product else "does not hold"))
    sizes = sorted({tree.shape.resources for tree in trees})
    return judged(
        "a placement is O(mn) for depth m and n children of an agent, counted in messages (section V)",
        found,
        f"from {sizes[0]} to {sizes[-1]} resources: " + "; ".join(text for text, _ in found),
        "everybody is asked: two messages for each node below the root, whatever the tree (note 6)",
    )


def _one_after_another(trees: Sequence[TreeRuns]) -> Claim:
    found: list[_Found] = []
    for tree in trees:
        limit = tree.shape.depth * tree.shape.children
        text = f"{_tree(tree)}: {tree.shape.path} answers, mn = {limit}"
        found.append((text, "holds" if tree.shape.path <= limit else "does not hold"))
    return judged(
        "... counted in answers that are handled one after another",
        found,
        "; ".join(text for text, _ in found),
    )
