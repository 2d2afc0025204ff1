"""Findings of the replays of Caron & de Assuncao beyond the sentences of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...claims import Claim, exactly
from .claims import AGAINST_ONE_ANOTHER, MUCH, SAID, Lower, against_round_robin, counted, in_general, share
from .runs import CaronRuns, Cells
from .settings import BY_DEADLINE, FASTEST, METRICS, MONEY, PATIENT, SETS, THEIRS, TIME, UNDISPLACED
from .trees import TreeRuns

_EXCEPTION = ("small", "execution_time_h")


def caron_findings(runs: CaronRuns) -> Iterator[Claim]:
    """Judge questions beyond the paper; rules and bounds only if they were replayed.

    Of rescheduling under policy B, which does as one that takes the fastest of all (note 10).
    """
    yield _all_at_once(runs.grid)
    alike = [same for tree in runs.trees for same in tree.same]
    yield SAID.judge("every-tree", exactly("", all(alike), f"{sum(alike)} of {len(alike)} replays"))
    yield _messages(runs.trees)
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


def _messages(trees: Sequence[TreeRuns]) -> Claim:
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
