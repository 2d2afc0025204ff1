"""Texts of statements and notes that follow from printed numbers, recomputed from these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spotbag.instances.library import library_instance
from spotbag_papers.bags.burst_hads.claims import BURST_CHEAPER
from spotbag_papers.bags.hads.runs import BIG_JOB, FAMILY, SCENARIOS, price_difference_percent, spot_offers
from spotbag_papers.bags.paper_days import burst_hads_figures, hads_figures
from spotbag_papers.bags.uniform_progress.runs import FIGURES, GREEDY, OMNISCIENT, UNIFORM
from spotbag_papers.claims import ABOUT, span
from spotbag_papers.data_files import Figures, Statements, read_text
from spotbag_papers.streams.a2ha.claims import NEAR_PERCENT, NEARLY_TWICE
from spotbag_papers.streams.a2ha.settings import SHORT_JOBS, a2ha_figures
from spotbag_papers.streams.thai.claims import LESS_THAN_USD, WORST_TIMES
from spotbag_papers.streams.thai.settings import KNOWN, QUANTITIES, UNKNOWN, thai_figures


def demand(package: str, key: str, expected: Mapping[str, object]) -> None:
    """Demand the values of a key of statements."""
    found: Mapping[str, Mapping[str, Any]] = Statements.read(f"spotbag_papers.{package}").texts
    assert {name: found[name][key] for name in expected} == expected


def demand_words(package: str, name: str, *words: str) -> None:
    """Demand that the texts of a statement have some words."""
    said = Statements.read(f"spotbag_papers.{package}").texts[name]
    for expected in words:
        assert any(expected in str(text) for text in said.values()), expected


def demand_notes(package: str, *words: str) -> None:
    """Demand that the notes have some words."""
    notes = " ".join(read_text(f"spotbag_papers.{package}", "notes.md").split())
    for expected in words:
        assert expected in notes


def joined(values: Mapping[str, float] | list[float], form: str = "g", between: str = ", ") -> str:
    """Return numbers in a row."""
    return between.join(format(value, form) for value in (values.values() if isinstance(values, Mapping) else values))


# ---------------------------------------------------------------------------- HADS


def of_table_10(scenario: str, number: Callable[[Figures], float]) -> dict[str, float]:
    """Return printed numbers of a scenario, by job."""
    return {row.job: number(row) for row in hads_figures().results if row.scenario == scenario}


def test_table_10_of_hads() -> None:
    savings = {name: of_table_10(name, lambda row: row.saving_percent) for name in SCENARIOS}
    every = [percent for of in savings.values() for percent in of.values()]
    over_50 = [percent for job, percent in savings["sc1"].items() if job != "J80"]
    costs, often = (
        {name: of_table_10(name, number) for name in SCENARIOS}
        for number in (lambda row: row.cost_usd, lambda row: row.hibernations)
    )
    started = {name: of_table_10(name, lambda row: row.on_demand_started) for name in ("sc1", "sc2")}
    vms = {row.job: sum(row.vms.values()) for row in hads_figures().baselines}
    expected = {
        "mean-in-time": span([row.makespan_s for row in hads_figures().results], 0, "s"),
        "cheaper": f"{sum(percent > 0 for percent in every)} of {len(every)} cells",
        "savings-range": span(every, 2, "%"),
        "sc1-over-50": span(over_50, 2, "%"),
        "sc1-j80": f"{savings['sc1']['J80']:g} %",
        "sc3-over-60": span(savings["sc3"].values(), 2, "%"),
        "sc4-over-50": span(savings["sc4"].values(), 2, "%"),
        "sc2-best": span(savings["sc2"].values(), 2, "%"),
        "sc7-over-50": span(savings["sc7"].values(), 2, "%"),
        "sc5-saves": span(savings["sc5"].values(), 2, "%"),
        "sc2-dearest": f"$ {joined(costs['sc2'], '.3f')}",
        "sc3-cheapest": f"$ {joined(costs['sc3'], '.3f')}",
        "sc2-new-vms": f"{min(started['sc2'].values()):g} to {max(started['sc2'].values()):g} VMs a run",
        "sc1-half-hibernate": f"{joined([100 * often['sc1'][job] / vms[job] for job in vms], '.0f')} %",
        "sc4-saves-more": f"{joined([savings['sc4'][job] - savings['sc2'][job] for job in vms], '+.1f')} points",
        "sc7-cheaper": f"$ {joined([costs['sc7'][job] - costs['sc6'][job] for job in vms], '+.3f')}",
        "fewer-in-sc4": joined([often["sc4"][job] - often["sc2"][job] for job in vms], "+.1f"),
    }
    demand("bags.hads", "printed", expected)
    demand("bags.hads", "about", {"sc1-j80": savings["sc1"]["J80"], "sc2-best": savings["sc2"][BIG_JOB]})
    assert max(savings["sc2"], key=savings["sc2"].__getitem__) == BIG_JOB
    new = span([started["sc1"][job] / often["sc1"][job] for job in vms], 1)
    demand_words("bags.hads", "sc1-not-new", f"{new} new on-demand VMs for each hibernation")
    fewer = [job for job in vms if often["sc4"][job] < often["sc2"][job]]
    demand_notes("bags.hads", f"fall from sc2 to sc4 ({', '.join(fewer)})")


def test_other_tables_of_hads() -> None:
    figures, rows = hads_figures(), {row.scenario: row for row in hads_figures().checkpoints}
    ends = {row.job: row.makespan_s for row in figures.baselines}
    percents = [row.difference_percent for row in figures.baselines]
    instances = {row.job: library_instance(f"{FAMILY}/{row.job}") for row in figures.baselines}
    off = [
        row.difference_percent - price_difference_percent(instances[row.job], spot_offers(instances[row.job], row.vms))
        for row in figures.baselines
    ]
    slept = {name: f"{seconds:,.0f}" for name, seconds in figures.hibernation_duration_s.items()}
    counts, saved = (
        [getattr(row, name) for row in figures.checkpoints] for name in ("checkpoints", "cpu_time_saved_s")
    )
    stolen = joined([figures.steal_success_percent[name] for name in ("sc2", "sc5", "sc1")])
    expected = {
        "longest-hibernations": f"{slept['sc1']}, {slept['sc2']} s",
        "shortest-hibernations": f"{slept['sc3']}, {slept['sc4']} s",
        "hibernations-of-sc5": f"{slept['sc5']}, {slept['sc6']}, {slept['sc7']} s",
        "vms": joined([sum(row.vms.values()) for row in figures.baselines]),
        "end-when-printed-1": f"{ends['J60']:,}, {ends['J80']:,} s",
        "end-when-printed-2": f"{ends['J100']:,}, {ends['ED200']:,} s",
        "quiet-in-time": span(ends.values(), 0, "s"),
        "quiet-saving": f"{joined(percents)} %",
        "quiet-saving-is-prices": f"{joined(off, '+.1f')} points",
        "steal-order": f"{stolen} %",
        "planned-tasks": joined([steal.planned for steal in figures.steals], between="; "),
        "as-many-checkpoints": f"{min(counts):g} to {max(counts):g}",
        "nine-times": f"{rows['sc2'].migrations / rows['sc1'].migrations:.1f} times",
        "twelve-minutes": f"{rows['sc2'].cpu_time_saved_s:g} s",
        "drops": f"{rows['sc1'].cpu_time_saved_s:g} s",
        "save-everywhere": f"{min(saved):g} to {max(saved):g} s",
    }
    for entry in figures.shares:
        own = f"-{entry.job}" if entry.relation == "=" else ""
        relation = "" if entry.relation == "=" else f"{entry.relation} "
        expected[f"share-{entry.scenario}-{entry.share}{own}"] = f"{relation}{entry.percent:g} %"
    demand("bags.hads", "printed", expected)
    demand("bags.hads", "between", {"quiet-saving": [min(percents), max(percents)]})
    demand("bags.hads", "about", {"drops": rows["sc1"].cpu_time_saved_s})
    demand_words("bags.hads", "steal-order", f"stealing succeeds in {stolen} % of the attempts")
    demand_words(
        "bags.hads", "as-many-checkpoints", f"within {100 * (max(counts) / min(counts) - 1):.0f} %, as printed"
    )
    demand_words("bags.hads", "share-sc3-resumed", f"{slept['sc3']} s in the paper")
    demand_notes("bags.hads", f"{slept['sc3']} and {slept['sc4']} s in Fig. 8")


# ---------------------------------------------------------------------------- Burst-HADS


def test_numbers_of_burst_hads() -> None:
    figures = burst_hads_figures()
    stated = {(entry.quantity, entry.of): entry.printed for entry in figures.averages}
    shorter, dearer = (
        [percent for (name, _), percent in stated.items() if name == f"quiet_{quantity}_percent"]
        for quantity in ("makespan_reduction", "cost_increase")
    )
    quiet_s = {row.job: row.hads_makespan_s for row in figures.quiet}
    costs = {
        policy: {(row.job, row.scenario): getattr(row, f"{policy}_cost_usd") for row in figures.results}
        for policy in ("burst_hads", "hads")
    }
    worst = [of[job, "sc2"] > cost for of in costs.values() for (job, name), cost in of.items() if name != "sc2"]
    cheaper = [row.burst_hads_cost_usd < row.hads_cost_usd for row in figures.results if row.scenario in BURST_CHEAPER]
    later = [row.hads_makespan_s > quiet_s[row.job] for row in figures.results]
    expected = {
        "quiet-shorter-by": span(shorter, 1, "%"),
        "quiet-dearer-by": span(dearer, 1, "%"),
        "close-to-deadline": f"{sum(later)} of {len(later)}",
        "worst-scenario": f"{sum(worst)} of {len(worst)}",
        "cheaper": f"{sum(cheaper)} of {len(cheaper)}",
        "shorter-by": f"{stated['makespan_reduction_percent', '']:g} %",
        "hardly-dearer": f"{stated['cost_increase_percent', '']:g} %",
    }
    savings = {
        f"{policy}-saving{place}": stated[f"{policy.replace('-', '_')}_saving_percent", of]
        for policy in ("burst-hads", "hads")
        for place, of in (("", ""), ("-worst", "ED200 sc2"))
    }
    demand("bags.burst_hads", "printed", expected | {name: f"{percent:g} %" for name, percent in savings.items()})
    demand("bags.burst_hads", "about", {**savings, "quiet-longer": stated["quiet_makespan_increase_percent", ""]})
    demand("bags.burst_hads", "above", {"quiet-saving": stated["quiet_saving_percent", ""]})
    limits = {
        "hardly-dearer": stated["cost_increase_percent", ""] + ABOUT.points,
        "far-from-deadline": min(row.hads_makespan_s for row in figures.results),
    }
    demand("bags.burst_hads", "below", limits)


# ---------------------------------------------------------------------------- Wu et al.


def test_numbers_of_wu_et_al() -> None:
    rows, low_high = {row.policy: row for row in FIGURES.policies}, list(FIGURES.sliced_saves_percent)
    hours = {
        f"hours-{name}": f"{rows[policy].on_demand_h:g} and {rows[policy].spot_h:g} h"
        for name, policy in (("greedy", GREEDY), ("uniform", UNIFORM), ("omniscient", OMNISCIENT))
    }
    demand("bags.uniform_progress", "printed", hours | {"sliced-saves": f"{joined(low_high, between=' to ')} %"})
    demand("bags.uniform_progress", "between", {"sliced-saves": low_high})
    percents = {
        "utilisation-greedy": rows[GREEDY].spot_util_percent,
        "utilisation-uniform": rows[UNIFORM].spot_util_percent,
        "longer": FIGURES.longer_on_spot_points,
        "gap-of-spot": FIGURES.less_gap_percent,
    }
    demand("bags.uniform_progress", "about", percents)
    demand("bags.uniform_progress", "points", {"gap-of-spot": 2 * ABOUT.points})


# ---------------------------------------------------------------------------- A2HA


def test_jobs_and_predictions_of_a2ha() -> None:
    figures, image, suite = a2ha_figures(), a2ha_figures().job("image"), a2ha_figures().job("test-suite")
    jobs, said = [figures.job(job) for job in SHORT_JOBS], figures.prediction
    percents = {job.job: 100 * job.continued_hosts / job.charged_h for job in jobs}
    expected = {
        "final-prediction": f"{said.final_hosts}",
        "too-many-at-first": f"{said.first_hosts}, not {said.final_hosts}",
        "created-hosts": f"{said.created_hosts}",
        "formula": f"{image.optimal_hosts} and {figures.job('synthetic').optimal_hosts}",
        "formula-of-the-suite": f"{suite.optimal_hosts}",
        "significant": f"{percents['image']:.1f}; {percents['test-suite']:.1f} against {percents['synthetic']:.1f} %",
    }
    for name, unit in (("charged_h", " h"), ("interrupted_tasks", ""), ("wasted_min", " min"), ("continued_hosts", "")):
        expected[f"table-1-{name}"] = joined([getattr(job, name) for job in jobs], between="; ") + unit
    demand("streams.a2ha", "printed", expected)
    for name in ("average-is-near", "prediction-is-stable"):
        demand_words("streams.a2ha", name, f"{said.tasks} ")
    for name in ("full-ratio", "early-near-final", "early-near-optimal"):
        demand_words("streams.a2ha", name, f"about {said.full_ratio_tasks} tasks")
    product = said.first_hosts * said.creation_ratio
    words = (
        f"{said.first_hosts} predicted hosts, a creationRatio of {said.creation_ratio:g} creates {said.created_hosts}"
    )
    demand_words("streams.a2ha", "created-hosts", words, f"{product:g} is rounded up")
    for job, name in ((image, "image"), (suite, "test-suite")):
        demand_words("streams.a2ha", f"near-optimal-{name}", f"optimal {job.optimal_hosts} ({name})")
        demand_words("streams.a2ha", f"continued-{name}", f"{job.continued_hosts} of {job.charged_h:g}")
    means = span(figures.means_of_optimal_s(suite.job), 1, "s")
    demand_words("streams.a2ha", "formula-of-the-suite", f"{suite.optimal_hosts} needs one from {means}")
    words = f"need {figures.formula_hosts(suite.job)} hosts, not {suite.optimal_hosts}, which needs a mean from {means}"
    charged = joined([job.charged_h for job in jobs], between="; ")
    demand_words("streams.a2ha", "within-the-budget", f"Table 1 itself has {charged} h")
    demand_words(
        "streams.a2ha", "twice-optimal", f"close to twice is {joined(list(NEARLY_TWICE), between=' to ')} times"
    )
    demand_words("streams.a2ha", "prediction-is-stable", f"within {NEAR_PERCENT // 2} % it is in")
    slips = f"{percents['image']:.1f} and {percents['test-suite']:.1f} % by Table 1"
    demand_notes("streams.a2ha", words, slips)


def test_table_2_of_a2ha() -> None:
    figures = a2ha_figures()
    forms = {"hosts": ".1f", "wall_h": ".2f", "payment_h": ".1f"}
    expected = {}
    for case in figures.long:
        measured = [name for name in forms if case.initial_hosts is None or name != "hosts"]
        expected[f"table-2, {case.case}"] = "; ".join(format(getattr(case, name), forms[name]) for name in measured)
    cases, alone, optimal = figures.heuristic_cases, figures.case("1 per task"), figures.case("optimal")
    expected |= {
        "hosts-of-table-2": joined([case.hosts for case in cases], ".0f", "; "),
        "optimal-is-least": f"{optimal.payment_h:g} h",
        "cheaper-than-alone": f"{span([100 * (1 - case.payment_h / alone.payment_h) for case in cases])} % less",
        "near-optimal-time": f"{figures.case('100 initial').wall_h - optimal.wall_h:.2f} h",
    }
    demand("streams.a2ha", "printed", expected)
    demand_words("streams.a2ha", "optimal-is-least", f"{optimal.hosts:g} hosts pay for 3 started hours each")
    initials = sorted(figures.long_cases)
    by_initial = [figures.case(f"{initial} initial") for initial in initials]
    walls, payments = ([f"{case.wall_h:.2f}" for case in by_initial], [f"{case.payment_h:g}" for case in by_initial])
    created = [figures.long_cases[initial] - initial for initial in initials]
    demand_notes(
        "streams.a2ha",
        f"256 tasks pay {{at_once_h:.0f}} h that way (printed {alone.payment_h:g})",
        f"{', '.join(walls[:2])} and {walls[2]} h; {', '.join(payments[:2])} and {payments[2]} h paid",
        f"Table 2 has {joined([case.hosts for case in by_initial])}.",
        f"created after the initial ones are {joined(list(map(float, created)))}, which",
        f"{optimal.hosts:g} hosts of {optimal.wall_h:g} h pay 3 started hours each, {3 * optimal.hosts:g} h, "
        f"not {optimal.payment_h:g};",
    )


# ---------------------------------------------------------------------------- Thai et al.


def test_numbers_of_thai_et_al() -> None:
    figures = thai_figures()
    rows = {row.policy: row for row in figures.approaches}
    alike, mine, its = ("medium.8", "medium.10", "large.5"), rows[UNKNOWN], rows[KNOWN]
    more = [figures.ratio(policy, UNKNOWN, "cost_usd", "percent_more") for policy in alike]
    late = [rows[policy].late_tasks for policy in alike]
    violation = [figures.violation_cost_usd(policy) for policy in (UNKNOWN, KNOWN)]
    two, three = rows["xlarge.2"], rows["xlarge.3"]
    expected = {
        "cost-above-known": f"{figures.stated(UNKNOWN, 'cost_usd'):g} %",
        "late-above-known": f"{figures.stated(UNKNOWN, 'late_tasks'):g} %",
        "violation-above-known": f"{figures.stated(UNKNOWN, 'violation_cost_usd'):g} %",
        "alike": span(more, 1, "%", "+"),
        "more-late-tasks": f"{min(late)} to {max(late)} against {mine.late_tasks}",
        "cheapest": f"{rows['large.4'].cost_usd:.2f} against {its.cost_usd:.2f} $",
        "large-4-late": f"{figures.stated('large.4', 'late_tasks'):g} times",
        "dearest": f"{two.cost_usd:.2f} and {three.cost_usd:.2f} $",
        "latest": f"{two.late_tasks:.1f} and {three.late_tasks:.1f}",
        "dearer-and-later": f"$ {mine.cost_usd - its.cost_usd:.2f}, {mine.late_tasks - its.late_tasks:.1f} tasks more",
        "twice": f"{len(figures.fixed)} of {len(figures.fixed)} settings",
        "outperformed": f"$ {violation[0] - violation[1]:.3f} lower",
    }
    demand("streams.thai", "printed", expected)
    demand_words("streams.thai", "alike", f"less than {LESS_THAN_USD:g} $ more")
    demand_words("streams.thai", "worst", f"more than {WORST_TIMES:g} times", f"> {WORST_TIMES:g} times")
    blocks, vms = figures.implied_blocks("large.4"), rows["large.4"].vms
    assert blocks is not None
    assert vms is not None
    known, unknown = (round(row.late_tasks * figures.runs) for row in (its, mine))
    percents = [figures.ratio(UNKNOWN, KNOWN, name, "percent_more") for name in QUANTITIES]
    times = {policy: figures.ratio(policy, UNKNOWN, "violation_cost_usd", "times") for policy in rows}
    demand_notes(
        "streams.thai",
        f"that of {blocks * figures.runs:.0f} blocks in {figures.runs} runs, no multiple of {vms}:",
        f"It pays {blocks / vms:.2f} blocks of a VM there",
        f"{known} late tasks of known and {unknown} of unknown in all, a difference of {unknown - known}.",
        f"percentages of {joined(percents, '.2f')} are printed",
        f"xlarge.2 ({times['xlarge.2']:.0f} times; xlarge.3 {times['xlarge.3']:.0f});",
        f"just reached by large.5 ({times['large.5']:.2f}).",
    )
