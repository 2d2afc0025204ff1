"""Claims of the HADS paper about ED200 (sections 5.3.3 to 5.3.5: Figs 11 to 13, Table 11), judged by replays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from spotbag.core.statistics import Estimate, Statistic, estimate, quotient, ratio_of

from ...claims import ABOUT, Claim, about, above, below, estimate_of, exactly, numbers, span, tally
from ...statements import Statements
from ..paper_days import cost_usd
from ..printed import hads_figures
from .runs import (
    BIG_JOB,
    SCENARIOS,
    SWEEP_K_H,
    SWEEP_K_R,
    HadsDays,
    hibernated_vms_percent,
    mean_over_k_h,
    migrations,
    planned_tasks,
    steal_success_percent,
)

_AT_ONCE_S = 60.0
"""What 'the first few seconds' means at most."""

_K_H = {"sc1": 1.0, "sc2": 5.0, "sc3": 1.0, "sc4": 5.0, "sc5": 3.0, "sc6": 2.0, "sc7": 2.0}
"""Rates of hibernation of Table 8."""

_SAID = Statements.read(__package__)


def ed200_claims(days: HadsDays) -> Iterator[Claim]:
    """Judge the statements of sections 5.3.3 to 5.3.5, in their order."""
    yield from _rates(days)
    yield from _stealing(days)
    yield from _checkpoints(days)


def less(one: Statistic | None, other: Statistic | None) -> Statistic | None:
    """Return the mean of one less that of the other; of none if one is missing."""
    return None if one is None or other is None else one - other


def percent_more(one: Statistic, other: Statistic) -> Estimate:
    """Percentage by which a mean is above another."""
    ratio = quotient(one, other, 100.0)
    return estimate_of(ratio and Statistic(ratio.value - 100, ratio.influence))


def _usd(costs: Sequence[Statistic]) -> str:
    return f"$ {', '.join(f'{cost.value:.3f}' for cost in costs)}"


def _rates(days: HadsDays) -> Iterator[Claim]:
    """Section 5.3.3, Fig. 11."""
    costs = {key: cell.statistic(cost_usd) for key, cell in days.sweep.items()}
    price = days.on_demand_usd(BIG_JOB)
    # "Nears" asks for two things: a cost that grows, and a distance from the price on demand that shrinks.
    nearer = _distance(costs[1, 0], price) - _distance(costs[6, 0], price)
    yield _SAID.judge(
        "nears-on-demand",
        [above("cost", costs[6, 0] - costs[1, 0], 3, "$"), above("nearer by", nearer, 3, "$")],
        f"$ {costs[1, 0].value:.3f} to {costs[6, 0].value:.3f}",
        price=price,
        dearer_from=next((k_h for k_h in SWEEP_K_H if costs[k_h, 0].value > price), "-"),
    )
    means = {k_r: mean_over_k_h(days, k_r, cost_usd) for k_r in SWEEP_K_R}
    falls = [below(f"k_r = {more} - {few}", means[more] - means[few], 3, "$") for few, more in pairwise(SWEEP_K_R)]
    yield _SAID.judge("falls-with-k-r", falls, _usd(list(means.values())))
    at_six = [costs[6, k_r] for k_r in SWEEP_K_R]
    alike = [
        about(f"k_r = {k_r} against 0", percent_more(costs[6, k_r], at_six[0]), 1, "%", value=0.0, points=ABOUT.percent)
        for k_r in SWEEP_K_R[1:]
    ]
    yield _SAID.judge("same-at-six", alike, _usd(at_six), percent=ABOUT.percent)
    limit = 100 - ABOUT.points
    shares = {k_r: hibernated_vms_percent(days.sweep[6, k_r]) for k_r in SWEEP_K_R}
    all_of = [above(f"k_r = {k_r}", share, 1, "%", limit=limit) for k_r, share in shares.items()]
    yield _SAID.judge("all-hibernate-at-six", all_of, numbers, limit=limit)
    first = below("", estimate(days.first_hibernation_s), 0, "s", limit=_AT_ONCE_S)
    yield _SAID.judge("at-once-at-seven", first, numbers, limit=_AT_ONCE_S)
    cheaper = [below(f"k_r = {k_r}", costs[7, k_r] - costs[6, k_r], 4, "$") for k_r in SWEEP_K_R[1:]]
    yield _SAID.judge("cheaper-at-seven", cheaper, f"$ {', '.join(f'{case.mean:+.3f}' for case in cheaper)}")
    dearer = days.sweep[7, 0].mean(lambda day: 100 * (day.cost_usd / price - 1))
    yield _SAID.judge("dearer-at-seven", above("", dearer, 1, "%"), f"{dearer.mean or 0:+.1f} %")


def _distance(cost: Statistic, price: float) -> Statistic:
    """Distance of a cost from a price."""
    sign = 1 if cost.value > price else -1
    return Statistic(sign * (cost.value - price), tuple(sign * day for day in cost.influence))


def _stealing(days: HadsDays) -> Iterator[Claim]:
    """Section 5.3.4, Fig. 12."""
    rates = {scenario: steal_success_percent(days.cells[BIG_JOB, scenario]) for scenario in SCENARIOS}
    means = {scenario: estimate_of(rate).mean or 0.0 for scenario, rate in rates.items()}
    stated, named = hads_figures().steal_success_percent, ("sc2", "sc5", "sc1")
    near = [about(name, rates[name], 1, "%", value=stated[name], points=ABOUT.points) for name in named]
    others = [name for name in SCENARIOS if name not in named[:2]]
    pairs = dict.fromkeys([*pairwise(named), *((name, other) for name in named[:2] for other in others)])
    orders = [above(f"{more} - {few}", less(rates[more], rates[few]), 1, "points") for more, few in pairs]
    ours = ", ".join(f"{means[name]:.1f}" for name in named)
    yield _SAID.judge(
        "steal-order",
        [*near, *orders],
        f"{ours}; others to {max(means[name] for name in others):.1f} %",
        stated=", ".join(f"{stated[name]:g}" for name in named),
        points=ABOUT.points,
        printed=", ".join(f"{stated[name]:g}" for name in named) + " %",
    )
    cells = {name: days.cells[BIG_JOB, name] for name in SCENARIOS}
    rising = [(name, other) for name in SCENARIOS for other in SCENARIOS if _K_H[name] > _K_H[other]]
    more = [above(f"{name} - {other}", cells[name].less(cells[other], migrations)) for name, other in rising]
    yield _SAID.judge("more-migrations", more, tally("pairs"))
    yield _fig_13(days)


def _fig_13(days: HadsDays) -> Claim:
    """Two VMs of a run of sc2; the text and the captions name them differently."""
    stated = {steal.type: steal.planned for steal in hads_figures().steals}
    planned = {vm_type: planned_tasks(days, vm_type) for vm_type in stated}
    cycles = days.first_cycles
    once, vms = [day.once_at_first for day in cycles], [day.vms.total() for day in cycles]
    done = [day.done for day in cycles]
    tasks = [
        exactly(of, stated[of] in planned[of], f"{', '.join(map(str, sorted(planned[of])))} tasks") for of in stated
    ]
    steal = [
        above("steal once at first", ratio_of(once, vms, 100.0), 1, "%", limit=50.0),
        above("done, and steal", ratio_of([day.done_thieves for day in cycles], done, 100.0), 1, "%", limit=50.0),
    ]
    return _SAID.judge(
        "planned-tasks",
        [*tasks, *steal],
        f"{'; '.join(span(planned[of]) for of in stated)} tasks; {sum(once):,} of {sum(vms):,} VMs",
        printed="; ".join(map(str, stated.values())),
        days=len(cycles),
        done=f"{sum(done):,}",
        thieves=sum(day.thieves for day in cycles),
        vms=sum(vms),
    )


def _checkpoints(days: HadsDays) -> Iterator[Claim]:
    """Section 5.3.5, Table 11."""
    cells = {name: days.cells[BIG_JOB, name] for name in SCENARIOS}
    rows = {row.scenario: row for row in hads_figures().checkpoints}
    counts = {name: cell.statistic(lambda day: day.checkpoints) for name, cell in cells.items()}
    few, many = (choose(counts, key=lambda name: counts[name].value) for choose in (min, max))
    # The paper's own extremes say how far apart "about as many" may be.
    low, high = (choose(row.checkpoints for row in rows.values()) for choose in (min, max))
    wide = 100 * (high / low - 1)
    case = below(f"{many} above {few}", percent_more(counts[many], counts[few]), 1, "%", limit=wide)
    ours = f"{counts[few].value:.0f} to {counts[many].value:.0f}"
    yield _SAID.judge("as-many-checkpoints", case, ours, wide=wide, low=low, high=high)
    moved = {name: cells[name].statistic(migrations) for name in ("sc1", "sc2")}
    times = about("", quotient(moved["sc2"], moved["sc1"]), 2, value=9.0, percent=ABOUT.percent)
    yield _SAID.judge(
        "nine-times",
        times,
        f"{times.mean or 0:.1f} times",
        percent=ABOUT.percent,
        printed=rows["sc2"].migrations / rows["sc1"].migrations,
        hibernated=estimate_of(hibernated_vms_percent(cells["sc1"])).mean or 0.0,
    )
    saved = {name: cell.statistic(lambda day: day.cpu_time_saved_s) for name, cell in cells.items()}
    enough = above("", saved["sc2"], 0, "s", limit=720.0)
    yield _SAID.judge("twelve-minutes", enough, f"{saved['sc2'].value:,.0f} s", printed=rows["sc2"].cpu_time_saved_s)
    stated = rows["sc1"].cpu_time_saved_s
    drops = [
        above("sc2 - sc1", saved["sc2"] - saved["sc1"], 0, "s"),
        about("sc1", saved["sc1"], 0, "s", value=stated, percent=ABOUT.percent),
    ]
    texts = {"stated": stated, "percent": ABOUT.percent, "moved": moved["sc1"].value / rows["sc1"].migrations}
    yield _SAID.judge("drops", drops, f"{saved['sc1'].value:,.0f} s", **texts)
    everywhere = [above(name, value, 0, "s") for name, value in saved.items()]
    low, high = (choose(row.cpu_time_saved_s for row in rows.values()) for choose in (min, max))
    ours = span([value.value for value in saved.values()], 0, "s")
    yield _SAID.judge("save-everywhere", everywhere, ours, low=low, high=high)
