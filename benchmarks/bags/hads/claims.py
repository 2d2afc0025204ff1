"""Claims of the HADS paper (sections 5.2.2 to 5.3.5), judged by replays, and what was found besides."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from spotbag.core.statistics import CONFIDENCE, estimate
from spotbag.heuristics.bags.d_spot import estimate_d_spot
from spotbag.instances.bags.scenarios import SCENARIOS as KNOWN_SCENARIOS
from spotbag.instances.library import library_instance

from ...claims import (
    ABOUT,
    Case,
    Claim,
    Ours,
    about,
    above,
    below,
    estimate_of,
    exactly,
    numbers,
    span,
    tally,
    together,
)
from ...data_files import Figures, Statements
from ...statistics import Statistic, average, less, percent_more, quotient, ratio_of, sd_of
from ..paper_days import FROM_PRINTED_MAKESPAN, PRINTED_RUNS, Cell, Share, cost_usd, hads_figures, makespan_s, none_late
from .runs import (
    BIG_JOB,
    CHECKPOINTS,
    FAMILY,
    SCENARIOS,
    SWEEP_K_H,
    SWEEP_K_R,
    TABLE_10,
    HadsDays,
    hibernations,
    migrations,
    planned_offers,
    price_difference_percent,
    spot_offers,
)

_SAID = Statements.read(__package__)

_Key = tuple[str, str]


def hads_claims(days: HadsDays) -> Iterator[Claim]:
    """Judge the statements of sections 5.2.2 to 5.3.5, in their order."""
    yield from _durations(days)
    yield from _without_hibernation(days)
    yield from _prices(days)
    yield from _all_scenarios(days)
    yield from _by_scenario(days)
    yield from _rates(days)
    yield from _stealing(days)
    yield _fig_13(days)
    yield from _checkpoints(days)


def _printed() -> dict[_Key, Figures]:
    return {(row.job, row.scenario): row for row in hads_figures().results}


def _durations(days: HadsDays) -> Iterator[Claim]:
    """Section 5.2.2, Fig. 8."""
    ours = {name: days.hibernation_duration_s(name) for name in SCENARIOS}
    for name, ones, others, shown, sign in (
        ("longest-hibernations", SCENARIOS[:2], SCENARIOS[2:], SCENARIOS[:2], 1),
        ("shortest-hibernations", SCENARIOS[2:4], SCENARIOS[:2] + SCENARIOS[4:], SCENARIOS[2:4], -1),
        ("hibernations-of-sc5", SCENARIOS[4:5], SCENARIOS[5:], SCENARIOS[4:], 1),
    ):
        # Shortest is longest the other way round, so that one test serves both.
        pairs = [(one, other)[::sign] for one in ones for other in others]
        found = {f"{one} - {other}": less(ours[one], ours[other]) for one, other in pairs}
        means = ", ".join(f"{estimate_of(ours[scenario]).mean or 0:,.0f}" for scenario in shown)
        yield _SAID.judge(name, found, f"{means} s")


# ---------------------------------------------------------------------------- section 5.3.1


def _without_hibernation(days: HadsDays) -> Iterator[Claim]:
    """Table 9."""
    printed = {row.job: row for row in hads_figures().baselines}
    vms = {job: (sum(found.plan.vms.values()), sum(printed[job].vms.values())) for job, found in days.baselines.items()}
    same = [exactly(job, ours == theirs, f"{ours} against {theirs}") for job, (ours, theirs) in vms.items()]
    yield _SAID.judge("vms", same, ", ".join(str(ours) for ours, _ in vms.values()))
    # As printed: the same statements in all environments.
    late = [job for job in printed if printed[job].makespan_s >= estimate_d_spot(library_instance(f"{FAMILY}/{job}"))]
    for number, jobs in enumerate(([job for job in printed if job not in late], late), start=1):
        ends = {job: makespan_s(days.baselines[job].static) for job in jobs}
        yield _SAID.judge(
            f"end-when-printed-{number}",
            {job: 100 * (end / printed[job].makespan_s - 1) for job, end in ends.items()},
            f"{', '.join(f'{end:,.0f}' for end in ends.values())} s",
            fitted=any(days.baselines[job].plan.d_spot_source == FROM_PRINTED_MAKESPAN for job in jobs),
        )
    in_time = [exactly(job, found.hads.meets_deadline) for job, found in days.baselines.items()]
    yield _SAID.judge("quiet-in-time", in_time, span([makespan_s(of.hads) for of in days.baselines.values()], 0, "s"))
    limits = {job: (printed[job].makespan_s, found.algorithm_1_s) for job, found in days.baselines.items()}
    respected = [exactly(job, end <= limit, f"{end:,} against {limit:,} s") for job, (end, limit) in limits.items()]
    yield _SAID.judge("respect-d-spot", respected, tally("jobs"))


def _prices(days: HadsDays) -> Iterator[Claim]:
    """Table 9: the same plan on spot and on on-demand VMs."""
    off, savings, more = {}, {}, {}
    for printed in hads_figures().baselines:
        found = days.baselines[printed.job]
        instance = found.schedule.instance
        printed_offers = spot_offers(instance, printed.vms)
        off[printed.job] = printed.difference_percent - price_difference_percent(instance, printed_offers)
        price = found.on_demand["same", days.options.baseline].cost_usd
        savings[printed.job] = 100 * (1 - found.hads.cost_usd / price)
        of_prices = price_difference_percent(instance, planned_offers(found.schedule))
        more[printed.job] = savings[printed.job] - of_prices
    yield _SAID.judge("quiet-saving", savings, numbers)
    most = max(map(abs, off.values()))
    close = [about(job, points, 1, "points", value=0.0, points=most) for job, points in more.items()]
    yield _SAID.judge("quiet-saving-is-prices", close, _signed(1, "points"), most=most)


# ---------------------------------------------------------------------------- section 5.3.2, all scenarios


def _all_scenarios(days: HadsDays) -> Iterator[Claim]:
    """Table 10."""
    ends = {" ".join(key): cell.mean(makespan_s) for key, cell in days.cells.items()}
    yield _SAID.judge("mean-in-time", ends, span([end.mean for end in ends.values()], 0, "s"))
    yield from _no_miss(days)
    yield _saves(days, "cheaper", days.cells)
    means = {key: days.saving_percent(*key).value for key in days.cells}
    least, most = (choose(means, key=means.__getitem__) for choose in (min, max))
    percents = [row.saving_percent for row in _printed().values()]
    ends_of_range = {least: min(percents), most: max(percents)}
    cases = {key: _near(days, key, percent) for key, percent in ends_of_range.items()}
    yield _saves(days, "savings-range", cases, list(cases.values()))


def _no_miss(days: HadsDays) -> Iterator[Claim]:
    misses = days.misses
    reasons = []
    if misses.late_s:
        late = {job: sum(len(days.cells[job, scenario].late_days) for scenario in SCENARIOS) for job in days.jobs}
        reasons.append(", ".join(f"{job} {number}" for job, number in late.items()))
        # A later D_spot leaves less time for a rescue: that is ours, not the scheduler's.
        given = [job for job, found in days.baselines.items() if found.plan.d_spot_source == FROM_PRINTED_MAKESPAN]
        if given:
            reasons.append(f"D_spot of {' and '.join(given)} is later than Algorithm 1 allows, see Sensitivity")
    if misses.verdict != "holds":
        reasons.append(misses.why())
    ours = f"{len(misses.late_s):,} of {misses.days:,} days late"
    yield _SAID.decided("no-miss", misses.verdict, ours, why="; ".join(reasons))
    yield _SAID.judge("no-miss-observed", none_late(days.cells.values()))


def _near(days: HadsDays, key: _Key, percent: float) -> Case:
    return about(" ".join(key), days.saving_percent(*key), 1, "%", value=percent, points=ABOUT.points)


def _saves(days: HadsDays, name: str, keys: Iterable[_Key], compared: Sequence[Case] = ()) -> Claim:
    """Judge the savings of some cells, each by its statement."""
    savings = {key: days.saving_percent(*key) for key in keys}
    cases = compared or _SAID.cases(name, {" ".join(key): saving for key, saving in savings.items()})
    failing = [key for key, case in zip(savings, cases, strict=True) if case.verdict != "holds"]
    others = span([days.saving_percent(*key, plan="own").value for key in savings], 1, "%")
    ours = cases[0].ours if len(cases) == 1 else span([case.mean for case in cases], 1, "%")
    return _SAID.judge(name, cases, ours, less_saved=_why_less_saved(days, failing), others=others)


def _why_less_saved(days: HadsDays, cells: Sequence[_Key]) -> str:
    """Ratios of on-demand VMs, HADS, hibernations and new VMs of some cells to the printed ones, in words."""
    if not cells:
        return ""
    printed, on_demand_usd = _printed(), {row.job: row.on_demand_usd for row in hads_figures().baselines}
    on_demand = [100 * days.on_demand_usd(job) / on_demand_usd[job] for job in dict.fromkeys(job for job, _ in cells)]
    hads = [100 * days.cells[key].value(cost_usd) / printed[key].cost_usd for key in cells]
    more = Counter[str]()
    for key in cells:
        often = days.cells[key].value(hibernations)
        started, theirs = days.cells[key].value(lambda day: day.on_demand_started), printed[key]
        more["VMs hibernate more often than printed"] += often > theirs.hibernations
        more["each hibernation starts more on-demand VMs than printed"] += (
            started * theirs.hibernations > theirs.on_demand_started * often
        )
    costs = f"our on-demand VMs cost {span(on_demand)} % of the printed ones (note 1), HADS {span(hads)} %"
    return "; ".join([costs, *(what + _where(number, len(cells)) for what, number in more.items() if number)])


def _where(number: int, of: int) -> str:
    """Phrase for a number of cells out of all."""
    if of == 1:
        return ""
    return " in all of these cells" if number == of else f" in {number} of these {of} cells"


# ---------------------------------------------------------------------------- section 5.3.2, by scenario


def _by_scenario(days: HadsDays) -> Iterator[Claim]:
    jobs, cells = days.jobs, days.cells
    yield _extreme(days, "sc2-dearest", "sc2")
    started = [cells[job, "sc2"].statistic(lambda day: 100.0 * (day.on_demand_started > 0)) for job in jobs]
    needed = average(started)
    yield _SAID.judge("sc2-new-vms", needed, f"{needed.value:.1f} %")
    yield _share(days, "sc2", "new", jobs)
    yield _saves(days, "sc1-over-50", [(job, "sc1") for job in ("J60", "J100", "ED200")])
    j80 = days.saving_percent("J80", "sc1")
    [near] = _SAID.cases("sc1-j80", {"J80 sc1": j80})
    under = below(near.label, j80, 1, "%", limit=50.0)
    yield _saves(days, "sc1-j80", [("J80", "sc1")], [together(near.label, [near, under], near.ours)])
    of_sc1 = {job: cells[job, "sc1"] for job in jobs}
    yield _SAID.judge("sc1-half-hibernate", {job: cell.hibernated_vms_percent for job, cell in of_sc1.items()})
    yield _SAID.judge("sc1-not-new", {job: cell.share_after_percent("new") for job, cell in of_sc1.items()})
    yield _share(days, "sc1", "busy", jobs)
    yield _extreme(days, "sc3-cheapest", "sc3")
    yield _saves(days, "sc3-over-60", [(job, "sc3") for job in jobs])
    yield _occur(days, "sc3-resume", ("sc3",), ("resumed",))
    yield _share(days, "sc3", "resumed", [job for job in jobs if job != BIG_JOB])
    yield _share(days, "sc3", "resumed", [BIG_JOB], f"-{BIG_JOB}")
    yield _sc4_saves_more(days)
    yield _saves(days, "sc4-over-50", [(job, "sc4") for job in jobs])
    # The printed savings of the other jobs are lower: they are to be below it, and that of ED200 near it.
    best = _printed()[BIG_JOB, "sc2"].saving_percent
    savings = {f"{job} sc2": days.saving_percent(job, "sc2") for job in jobs if job != BIG_JOB}
    cases = [below(label, saving, 1, "%", limit=best) for label, saving in savings.items()]
    yield _saves(days, "sc2-best", [(job, "sc2") for job in jobs], [*cases, _near(days, (BIG_JOB, "sc2"), best)])
    yield _share(days, "sc4", "new", jobs)
    yield _occur(days, "all-help", ("sc4", "sc6", "sc7"), ("idle", "busy", "resumed"))
    costs = {job: cells[job, "sc7"].less(cells[job, "sc6"], cost_usd) for job in jobs}
    yield _SAID.judge("sc7-cheaper", costs, _signed(3, "$"))
    yield _saves(days, "sc7-over-50", [(job, "sc7") for job in jobs])
    yield _occur(days, "sc5-new", ("sc5",), ("new",))
    yield _saves(days, "sc5-saves", [(job, "sc5") for job in jobs])


def _sc4_saves_more(days: HadsDays) -> Claim:
    counts = []
    for job in days.jobs:
        often = [days.cells[job, name].value(hibernations) for name in ("sc4", "sc2")]
        counts.append(f"{job} {often[0]:.1f} against {often[1]:.1f}")
    more = {job: days.saving_percent(job, "sc4") - days.saving_percent(job, "sc2") for job in days.jobs}
    return _SAID.judge("sc4-saves-more", more, _signed(1, "points"), counts=", ".join(counts))


def _signed(digits: int, unit: str) -> Ours:
    """Means of comparisons with their signs."""

    def ours(cases: Sequence[Case]) -> str:
        means = ", ".join(f"{case.mean or 0:+.{digits}f}" for case in cases)
        return f"$ {means}" if unit == "$" else f"{means} {unit}".rstrip()

    return ours


def _extreme(days: HadsDays, name: str, scenario: str) -> Claim:
    """Claim on the dearest or cheapest scenario of every job; each other one is compared day by day."""
    cells = days.cells
    found = {
        f"{job} {scenario} - {other}": cells[job, scenario].less(cells[job, other], cost_usd)
        for job in days.jobs
        for other in SCENARIOS
        if other != scenario
    }
    costs = [cells[job, scenario].value(cost_usd) for job in days.jobs]
    return _SAID.judge(name, found, f"$ {', '.join(f'{cost:.3f}' for cost in costs)}")


def _occur(days: HadsDays, name: str, scenarios: Sequence[str], shares: Sequence[Share]) -> Claim:
    """Claims that some outcomes of hibernations occur in some scenarios, for every job."""
    found = {
        f"{job} {scenario} {share}": days.cells[job, scenario].share_after_percent(share)
        for scenario in scenarios
        for job in days.jobs
        for share in shares
    }
    means = [estimate_of(one).mean or 0.0 for one in found.values()]
    return _SAID.judge(name, found, f"{min(means):.1f} to {max(means):.1f} %")


def _share(days: HadsDays, scenario: str, share: Share, jobs: Sequence[str], of: str = "") -> Claim:
    """A share of the hibernations of a scenario that the text states of some jobs (Figs 9 and 10)."""
    found = {job: days.cells[job, scenario].share_after_percent(share) for job in jobs}
    slept_s = estimate_of(days.hibernation_duration_s(scenario)).mean or 0.0
    ours = numbers if len(jobs) > 1 else lambda cases: f"{cases[0].ours.partition(' ')[0]} %"
    return _SAID.judge(f"share-{scenario}-{share}{of}", found, ours, slept_s=slept_s)


# ---------------------------------------------------------------------------- sections 5.3.3 to 5.3.5: ED200


def _usd(costs: Iterable[Statistic]) -> str:
    return f"$ {', '.join(f'{cost.value:.3f}' for cost in costs)}"


def _rates(days: HadsDays) -> Iterator[Claim]:
    """Section 5.3.3, Fig. 11."""
    costs = {key: cell.statistic(cost_usd) for key, cell in days.sweep.items()}
    price = days.on_demand_usd(BIG_JOB)
    # "Nears" asks for two things: a cost that grows, and a distance from the price on demand that shrinks.
    nearer = _distance(costs[1, 0], price) - _distance(costs[6, 0], price)
    yield _SAID.judge(
        "nears-on-demand",
        {"cost": costs[6, 0] - costs[1, 0], "nearer by": nearer},
        f"$ {costs[1, 0].value:.3f} to {costs[6, 0].value:.3f}",
        price=price,
        dearer_from=next((k_h for k_h in SWEEP_K_H if costs[k_h, 0].value > price), "-"),
    )
    means = {k_r: days.mean_over_k_h(k_r, cost_usd) for k_r in SWEEP_K_R}
    falls = {f"k_r = {more} - {few}": means[more] - means[few] for few, more in pairwise(SWEEP_K_R)}
    yield _SAID.judge("falls-with-k-r", falls, _usd(means.values()))
    at_six = {k_r: costs[6, k_r] for k_r in SWEEP_K_R}
    alike = {f"k_r = {k_r} against 0": percent_more(at_six[k_r], at_six[0]) for k_r in SWEEP_K_R[1:]}
    yield _SAID.judge("same-at-six", alike, _usd(at_six.values()))
    shares = {f"k_r = {k_r}": days.sweep[6, k_r].hibernated_vms_percent for k_r in SWEEP_K_R}
    yield _SAID.judge("all-hibernate-at-six", shares)
    yield _SAID.judge("at-once-at-seven", estimate(days.first_hibernation_s))
    cheaper = {f"k_r = {k_r}": costs[7, k_r] - costs[6, k_r] for k_r in SWEEP_K_R[1:]}
    yield _SAID.judge("cheaper-at-seven", cheaper, _signed(3, "$"))
    dearer = days.sweep[7, 0].mean(lambda day: 100 * (day.cost_usd / price - 1))
    yield _SAID.judge("dearer-at-seven", dearer, f"{dearer.mean or 0:+.1f} %")


def _distance(cost: Statistic, price: float) -> Statistic:
    """Distance of a cost from a price."""
    return Statistic(cost.value - price, cost.influence).scaled(1 if cost.value > price else -1)


def _stealing(days: HadsDays) -> Iterator[Claim]:
    """Section 5.3.4, Fig. 12."""
    rates = {scenario: days.cells[BIG_JOB, scenario].steal_success_percent for scenario in SCENARIOS}
    means = {scenario: estimate_of(rate).mean or 0.0 for scenario, rate in rates.items()}
    stated, named = hads_figures().steal_success_percent, ("sc2", "sc5", "sc1")
    near = [about(name, rates[name], 1, "%", value=stated[name], points=ABOUT.points) for name in named]
    others = [name for name in SCENARIOS if name not in named[:2]]
    pairs = dict.fromkeys([*pairwise(named), *((name, other) for name in named[:2] for other in others)])
    orders = _SAID.cases("steal-order", {f"{more} - {few}": less(rates[more], rates[few]) for more, few in pairs})
    ours = ", ".join(f"{means[name]:.1f}" for name in named)
    most = max(means[name] for name in others)
    yield _SAID.judge("steal-order", [*near, *orders], f"{ours}; others to {most:.1f} %")
    cells = {name: days.cells[BIG_JOB, name] for name in SCENARIOS}
    k_h = {name: KNOWN_SCENARIOS[f"{FAMILY}/{name}"].k_h or 0.0 for name in SCENARIOS}
    rising = [(name, other) for name in SCENARIOS for other in SCENARIOS if k_h[name] > k_h[other]]
    more = {f"{name} - {other}": cells[name].less(cells[other], migrations) for name, other in rising}
    yield _SAID.judge("more-migrations", more, tally("pairs"))


def _fig_13(days: HadsDays) -> Claim:
    """Two VMs of a run of sc2; the text and the captions name them differently."""
    stated = {steal.type: steal.planned for steal in hads_figures().steals}
    planned = {vm_type: days.planned_tasks(vm_type) for vm_type in stated}
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
    more = percent_more(counts[many], counts[few])
    # One test of the extremes says as much as all pairs.
    case = below(f"{many} above {few}", more, 1, "%", limit=100 * (high / low - 1))
    yield _SAID.judge("as-many-checkpoints", case, f"{counts[few].value:.0f} to {counts[many].value:.0f}")
    moved = {name: cells[name].statistic(migrations) for name in ("sc1", "sc2")}
    times = quotient(moved["sc2"], moved["sc1"])
    hibernated = estimate_of(cells["sc1"].hibernated_vms_percent).mean or 0.0
    yield _SAID.judge("nine-times", times, f"{estimate_of(times).mean or 0:.1f} times", hibernated=hibernated)
    saved = {name: cell.statistic(lambda day: day.cpu_time_saved_s) for name, cell in cells.items()}
    yield _SAID.judge("twelve-minutes", saved["sc2"], f"{saved['sc2'].value:,.0f} s")
    drops = [above("sc2 - sc1", saved["sc2"] - saved["sc1"], 0, "s"), *_SAID.cases("drops", {"sc1": saved["sc1"]})]
    times_moved = moved["sc1"].value / rows["sc1"].migrations
    yield _SAID.judge("drops", drops, f"{saved['sc1'].value:,.0f} s", moved=times_moved)
    yield _SAID.judge("save-everywhere", saved, span([value.value for value in saved.values()], 0, "s"))


# ---------------------------------------------------------------------------- what was found besides


_COLUMNS = ("hibernations", "new on-demand VMs", "makespan", "cost")
_SAVED = ("checkpoints", "migrations", "recoveries", "CPU time saved")


def hads_findings(days: HadsDays) -> Iterator[Claim]:
    """Judge statements of ours: whether hibernations fall from sc2 to sc4, and which means three days may have."""
    figures, cells = hads_figures(), days.cells
    fewer = {job: cells[job, "sc4"].less(cells[job, "sc2"], hibernations) for job in days.jobs}
    yield _SAID.judge("fewer-in-sc4", fewer, _signed(1, ""))
    of_table_10 = [(f"{row.job} {row.scenario}", cells[row.job, row.scenario], row) for row in figures.results]
    of_table_11 = [(row.scenario, cells[BIG_JOB, row.scenario], row) for row in figures.checkpoints]
    yield from _three_runs("Table 10", _COLUMNS, TABLE_10, of_table_10)
    yield from _three_runs("Table 11", _SAVED, CHECKPOINTS, of_table_11)


def _three_runs(
    table: str,
    columns: Sequence[str],
    metrics: Mapping[str, Callable[..., float]],
    rows: Sequence[tuple[str, Cell, object]],
) -> Iterator[Claim]:
    """Claims on each column: how many printed means could be those of three of our days."""
    for column, (name, metric) in zip(columns, metrics.items(), strict=True):
        found = [_within(label, cell, metric, getattr(row, name)) for label, cell, row in rows]
        yield _SAID.judge("could-be-ours", found, tally(), table=table, column=column)


def _within(label: str, cell: Cell, metric: Callable[..., float], printed: float) -> Case:
    low, high = range_of_three(cell.values(metric))
    ours = f"{low:,.2f} to {high:,.2f}, printed {printed:,.2f}"
    if math.isinf(high):
        return Case(label, ours, "not decided")
    return exactly(label, low <= printed <= high, ours)


def range_of_three(values: list[float]) -> tuple[float, float]:
    """Prediction interval of 95 % for the mean of three more days, from the days replayed.

    By Student's t, as if days were normally distributed; endless of a single day.
    """
    from scipy.special import stdtrit

    n = len(values)
    spread = sd_of(values)
    mean = math.fsum(values) / n
    if spread is None:
        return -math.inf, math.inf
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * spread.value * math.sqrt(1 / PRINTED_RUNS + 1 / n)
    return mean - half, mean + half
