"""Why our figures of Caron & de Assuncao are as they are, with the numbers that say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from ....core.statistics import estimate
from ....instances.platforms.job_draws import JobSetKind
from .bounds import BOUNDED, CaronBounds, gap_percent
from .claims import Comparison, Lower, compared
from .runs import CaronRuns, Cell, cloud_use_percent
from .settings import (
    BUDGETS,
    BY_DEADLINE,
    EXACT,
    FASTEST,
    METRICS,
    MONEY,
    PATIENT,
    PROCESSORS,
    ROUND_ROBIN,
    THEIRS,
    TIME,
    Setting,
)
from .trees import TreeRuns

MEAN_SIZE: Mapping[JobSetKind, float] = {"small": 90.0, "big": 1500.0, "mixed": 795.0}
"""Processor-minutes of a job on average, and of those that arrive in a minute."""

_CLUSTERS = 2


def load_percent(setting: Setting) -> float:
    """Work that arrives, of what both clusters can do."""
    return 100 * MEAN_SIZE[setting.kind] / (_CLUSTERS * setting.processors)


def caron_notes(runs: CaronRuns) -> Iterator[str]:
    """Reasons, each with numbers."""
    yield _not_printed(runs)
    yield _overload(runs)
    yield _waiting(runs)
    yield _blocked(runs)
    yield _small_jobs(runs)
    yield _messages(runs.trees)
    yield _estimates(runs)
    yield _order(runs)
    yield _gaps(runs.bounds)
    yield _alike(runs)
    yield _slips()


def _most(runs: CaronRuns, kind: JobSetKind) -> tuple[Setting, dict[str, Cell]]:
    """The largest set of a kind."""
    setting = max((setting for setting in runs.figures if setting.kind == kind), key=lambda setting: setting.number)
    return setting, runs.figures[setting]


def _value(cell: Cell, quantity: str) -> float:
    return cell.statistic(itemgetter(quantity)).value


def _not_printed(runs: CaronRuns) -> str:
    loads = ", ".join(f"{kind} {load_percent(Setting(kind, 1)):.0f} %" for kind in ("small", "mixed", "big"))
    sizes = sorted({setting.processors for setting in runs.grid})
    budgets = sorted({setting.budgets for setting in runs.grid})
    return (
        "All figures are lost, and no table repeats them: only which curve is lower can be judged. Not printed are "
        f"the sizes of the clusters, the numbers of jobs, and the budgets. Ours: {PROCESSORS} processors in either "
        f"cluster, and from {BUDGETS[0]:g} to {BUDGETS[1]:g} units for a processor-minute, where the allocated "
        "cluster costs 1 and the cloud 2. The work that arrives is then, of what both clusters do: "
        f"{loads}. The grid varies it: {', '.join(map(str, sizes))} processors, budgets of "
        f"{', '.join(f'{low:g} to {high:g}' for low, high in budgets)}."
    )


def _overload(runs: CaronRuns) -> str:
    found: dict[bool, Counter[Comparison]] = {False: Counter(), True: Counter()}
    for setting, cells in runs.grid.items():
        for policy in THEIRS:
            more = _value(cells[policy], "cloud_percent") > _value(cells[ROUND_ROBIN], "cloud_percent")
            found[more][compared(cells, Lower((setting.kind,), "cost", policy, ROUND_ROBIN))] += 1
    setting, cells = _most(runs, "big")
    money, other = cells[MONEY], cells[ROUND_ROBIN]
    return (
        "Round robin never looks at a deadline: each resource gets a third of the work, also a cluster that is behind "
        "by hours. Where more work arrives than the clusters do, the policies send what would be late to the cloud, "
        f"and round robin is late instead. {setting.number} big jobs: the cloud gets "
        f"{_value(money, 'cloud_percent'):.0f} % of the work in policy A and {_value(other, 'cloud_percent'):.0f} % "
        f"in round robin, whose delay is {_value(other, 'delay_h'):,.0f} h against {_value(money, 'delay_h'):,.0f} h. "
        f"In the grid, the lower cost holds in {_of(found[False])} comparisons where the policy sends less of the "
        f"work to the cloud than round robin does, and in {_of(found[True])} where it sends more. With few jobs the "
        "clusters end what is left when no more arrive, so the cost turns with the number of jobs."
    )


def _of(counts: Mapping[Comparison, int]) -> str:
    return f"{counts.get('holds', 0)} of {sum(counts.values()) - counts.get('alike', 0)}"


def _waiting(runs: CaronRuns) -> str:
    setting, cells = _most(runs, "small")
    money, other = cells[MONEY], cells[ROUND_ROBIN]
    return (
        "A candidate is good if the job ends by its deadline, and the cheapest good one is taken: the free cluster, as "
        "long as its queue does not reach beyond the deadline, while the others stand idle. Round robin uses all "
        f"three. {setting.number} small jobs: {_value(money, 'dedicated_percent'):.0f} % of the work is done by the "
        f"dedicated cluster in policy A, {_value(other, 'dedicated_percent'):.0f} % in round robin; a job takes "
        f"{60 * _value(money, 'execution_time_h') / setting.number:.1f} and "
        f"{60 * _value(other, 'execution_time_h') / setting.number:.1f} minutes from its arrival to its end. Time that "
        "no deadline asks for is given away for money. That is as true of big jobs while the clusters keep up; when "
        "they do not, the queues of round robin are longer than any deadline."
    )


def _blocked(runs: CaronRuns) -> str:
    setting, cells = _most(runs, "big")
    money, time = cells[MONEY], cells[TIME]
    patient, patient_time = cells[MONEY + PATIENT], cells[TIME + PATIENT]
    return (
        "Without a good candidate, policy A takes the free cluster, and the job waits there, late. Lines 14 to 21 of "
        "Algorithm 1 (26 to 32 of Algorithm 2) ask of every job behind a new one whether it would end in time, not "
        "whether it would have without it: a late job is displaced by any newcomer of higher priority, and if it has "
        "as much work, the cluster offers nothing to the newcomer. So late jobs keep others out, or are sent to the "
        "cloud at last, when many machines are needed for a short time, each paid for an hour. "
        f"{setting.number} big jobs: {_value(money, 'displaced'):.0f} jobs are displaced in policy A, the dedicated "
        f"cluster does {_value(money, 'dedicated_percent'):.1f} % of the work ({_value(time, 'dedicated_percent'):.1f} "
        f"in policy B), and policy A costs {_value(money, 'cost'):,.0f} against {_value(time, 'cost'):,.0f}. Were late "
        f"jobs not displaced (+patient), it would be {_value(patient, 'cost'):,.0f} against "
        f"{_value(patient_time, 'cost'):,.0f}, with a delay of {_value(patient, 'delay_h'):,.0f} h instead of "
        f"{_value(money, 'delay_h'):,.0f} h: what the paper says of the two policies is true of this rule rather than "
        "of the printed one. Policy B has no delay, as a cloud without limits can always do a job in time."
    )


def _small_jobs(runs: CaronRuns) -> str:
    setting, cells = _most(runs, "small")
    use = {policy: cloud_use_percent(cells[policy]) for policy in (*THEIRS, ROUND_ROBIN)}
    listed = ", ".join(f"{name} {share.value:.0f} %" for name, share in use.items() if share is not None)
    return (
        "An hour of a cloud machine is 480 processor-minutes, a small job has 60 to 120: in the cloud it costs 960 "
        "units or more unless a machine is idle, and a budget is 480 at most. The policies avoid that, round robin "
        "sends every third job there: this is Fig. 6. Of the processor-hours that are paid in the cloud, so much is "
        f"used ({setting.number} small jobs): {listed or 'none is paid'}."
    )


def _messages(trees: Sequence[TreeRuns]) -> str:
    deep = max(trees, key=lambda tree: (tree.shape.resources, tree.shape.depth)).shape
    flat = max(trees, key=lambda tree: (tree.shape.resources, -tree.shape.depth)).shape
    return (
        "Each agent hands up the first of a fixed order (with good candidates one, without the first of two orders), "
        "and the first of all is among the first of the parts: every tree above the same resources places every job "
        "as its root would alone. A question and an answer go over each edge of the tree, so a placement takes 2 "
        "(nodes - 1) messages, and agents in between only add to that: "
        f"{flat.resources} resources below one agent take {flat.messages}, in {deep.depth} levels {deep.messages}. "
        f"What gets less is the work of one agent, {flat.busiest} messages against {deep.busiest}, and of answers that "
        f"are handled one after another, {flat.path} against {deep.path}: that is the O(mn) of section V, for m levels "
        "and n children of an agent. mn is least for n = 3, and hardly more for 2 or 4: with n children m = log R / "
        "log n for R resources."
    )


def _estimates(runs: CaronRuns) -> str:
    parts = []
    for kind in ("mixed", "big"):
        setting, cells = _most(runs, kind)
        for policy in THEIRS:
            printed, exact = cells[policy], cells[policy + EXACT]
            cost, time_h = (_change(printed, exact, quantity) for quantity in ("cost", "execution_time_h"))
            parts.append(f"{setting.number} {kind} jobs, {policy}: cost {cost}, execution time {time_h}")
    return (
        "By Algorithm 3 a cloud says that a job will end at its deadline and cost the hours until then, or that it "
        "will spend its budget; it ends earlier, and may pay less. Clouds that say what will be (+exact) change where "
        f"jobs go: {'; '.join(parts)}."
    )


def _order(runs: CaronRuns) -> str:
    parts = []
    for kind in ("mixed", "big"):
        setting, cells = _most(runs, kind)
        for policy in THEIRS:
            before, after = cells[policy], cells[policy + BY_DEADLINE]
            cost, time_h = (_change(before, after, quantity) for quantity in ("cost", "execution_time_h"))
            delay_h = f"delay {_value(after, 'delay_h'):,.1f} instead of {_value(before, 'delay_h'):,.1f} h"
            parts.append(f"{setting.number} {kind} jobs, {policy}: cost {cost}, {delay_h}, execution time {time_h}")
    return (
        "What costs most is the order of the queues. Priorities are drawn whatever the deadline is: an urgent job of "
        "low priority cannot pass one that has time, and goes to the cloud. With queues by deadline (+deadline), "
        f"more of them end in time on the clusters, none earlier than need be: {'; '.join(parts)}."
    )


def _change(before: Cell, after: Cell, quantity: str) -> str:
    old, new = (_value(cell, quantity) for cell in (before, after))
    return f"{100 * (new / old - 1):+.0f} %" if old else f"{new:,.0f} instead of 0"


def _gaps(bounds: CaronBounds) -> str:
    most = max(setting.number for setting in bounds.gaps)
    parts = []
    for setting, found in bounds.gaps.items():
        if setting.number == most:
            gaps = (estimate(gap_percent(found[policy])).mean or 0.0 for policy in BOUNDED)
            listed = ", ".join(f"{policy} {gap:.0f} %" for policy, gap in zip(BOUNDED, gaps, strict=True))
            parts.append(f"{setting.kind}: {listed}")
    return (
        "No schedule of the same jobs that has no more delay can cost less than the bound, by which work flows: a gap "
        "is what could be saved at most. It counts for what the bound leaves out, too (whole machines and hours, one "
        f"resource for a job). {most} jobs: {'; '.join(parts)}."
    )


def _alike(runs: CaronRuns) -> str:
    alike = sum(
        all(cells[TIME].values(metric) == cells[FASTEST].values(metric) for metric in map(itemgetter, METRICS))
        for cells in runs.figures.values()
    )
    return (
        "time-saving chooses between the two candidates that a tree returns, fastest-of-all among all; they come to "
        f"the same in every draw of {alike} of {len(runs.figures)} settings. A cluster is bad here only if it is late, "
        "as no budget is below its price, so the cloud's first candidate, which ends at the deadline, is the faster."
    )


def _slips() -> str:
    return (
        "Slips of the paper: strategies 1 and 2 of step 4 are not policies A and B of section VI (here, least-delay "
        "and least-overspend are the strategies), and strategy 2 has cost and budget swapped; line 4 of Algorithm 3 "
        "subtracts time from money; the deadline is a time of the clock in IsGood and a duration in Algorithm 3; "
        "IsGood allows displaced jobs as much work as the new one, Algorithms 1 and 2 less; round robin is a random "
        "draw."
    )
