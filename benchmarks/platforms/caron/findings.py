"""Findings of the replays of Caron & de Assuncao beyond the sentences of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...claims import Claim
from .claims import AGAINST_ONE_ANOTHER, MUCH, Comparison, Lower, against_round_robin, counted, in_general
from .runs import CaronRuns, Cells
from .settings import BY_DEADLINE, FASTEST, METRICS, MONEY, PATIENT, SETS, THEIRS, TIME, UNDISPLACED
from .trees import TreeRuns


def caron_findings(runs: CaronRuns) -> Iterator[Claim]:
    """Judge questions beyond the paper; rules and bounds only if they were replayed."""
    yield _all_at_once(runs.grid)
    yield _every_tree(runs.trees)
    yield _messages(runs.trees)
    if runs.figures:
        yield _big_jobs(runs.figures)
        yield _patient(runs.figures)
        yield _by_deadline(runs.figures)
        yield _moving(runs.figures, "cost", "moving jobs that would be late to other resources saves cost")
        yield _moving(runs.figures, "delay_h", "moving them saves delay")


def _all_at_once(grid: Cells) -> Claim:
    """Finding on a single platform for which all claims about round robin hold, over the numbers of jobs."""
    said = [
        (against_round_robin(kind, metric, MUCH if (kind, metric) == ("small", "cost") else 1.0), kind, metric)
        for kind in SETS
        for metric in METRICS
    ]
    platforms = dict.fromkeys((setting.processors, setting.budgets) for setting in grid)
    hold = []
    for platform in platforms:
        cells = {setting: grid[setting] for setting in grid if (setting.processors, setting.budgets) == platform}
        verdicts = [
            in_general(counted(cells, lowers)) == ("does not hold" if (kind, metric) == _EXCEPTION else "holds")
            for lowers, kind, metric in said
        ]
        hold.append(sum(verdicts))
    complete = sum(number == len(said) for number in hold)
    return Claim(
        f"on some platform, all {len(said)} comparisons with round robin are as the paper says",
        "holds" if complete else "does not hold",
        f"{complete} of {len(hold)} platforms; at most {max(hold)} of {len(said)}",
    )


_EXCEPTION = ("small", "execution_time_h")


def _every_tree(trees: Sequence[TreeRuns]) -> Claim:
    alike = [same for tree in trees for same in tree.same]
    return Claim(
        "every tree places jobs as one agent above the same resources does",
        "holds" if all(alike) else "does not hold",
        f"{sum(alike)} of {len(alike)} replays",
    )


def _messages(trees: Sequence[TreeRuns]) -> Claim:
    """Growth of messages and of ``mn`` between platforms whose agents have as many children."""
    by_children: dict[int, list[TreeRuns]] = {}
    for tree in trees:
        by_children.setdefault(tree.shape.children, []).append(tree)
    factors = [
        (
            other.shape.messages / first.shape.messages,
            other.shape.depth * other.shape.children / (first.shape.depth * first.shape.children),
        )
        for first, *others in by_children.values()
        for other in others
    ]
    within = sum(messages <= product for messages, product in factors)
    most_messages, most_product = (max(column) for column in zip(*factors, strict=True))
    return Claim(
        "counted in all messages, too, a placement is O(mn)",
        "holds" if within == len(factors) else "does not hold",
        f"× {most_messages:.1f}, mn × {most_product:.1f} at most",
    )


def _share(counts: Counter[Comparison]) -> str:
    return f"lower in {counts['holds']} of {counts.total() - counts['alike']}"


def _patient(figures: Cells) -> Claim:
    lowers = [
        lower._replace(mine=lower.mine + PATIENT, other=lower.other + PATIENT)
        for lower in AGAINST_ONE_ANOTHER
        if lower.metric == "cost"
    ]
    counts = counted(figures, lowers)
    return Claim(
        "where late jobs let others pass (`+patient`), policy A spends less than policy B",
        in_general(counts),
        _share(counts),
    )


def _by_deadline(figures: Cells) -> Claim:
    counts = counted(figures, [Lower(kind, "cost", policy + BY_DEADLINE, policy) for kind in SETS for policy in THEIRS])
    return Claim("queues by deadline (`+deadline`) cost less than the printed ones", in_general(counts), _share(counts))


def _moving(figures: Cells, metric: str, statement: str) -> Claim:
    """Finding on rescheduling under policy B, which does as one that takes the fastest of all (note 10)."""
    counts = counted(figures, [Lower(kind, metric, FASTEST, UNDISPLACED) for kind in SETS])
    return Claim(statement, in_general(counts), _share(counts))


def _big_jobs(figures: Cells) -> Claim:
    counts = counted(figures, [Lower("big", "cost", MONEY, TIME)])
    return Claim("big jobs: policy A spends less than policy B", in_general(counts), _share(counts))
