"""The papers' tables: what is printed, what is made of days, what is judged."""

from __future__ import annotations

import csv
import io
import json

import pytest

from spotbag.core.statistics import Estimate
from spotbag.heuristics.bags.d_spot import estimate_d_spot
from spotbag.instances.library import library_instance
from spotbag.replay.bags.runs import replay_day
from spotbag.traces.bags.lateness import CAUSES, RESCUE_GONE, RESUMED_WITH_TOO_MUCH
from spotbag_papers.bags.burst_hads.runs import SCENARIOS as BURST_SCENARIOS
from spotbag_papers.bags.hads.paper import PAPER as HADS
from spotbag_papers.bags.hads.runs import SCENARIOS, HadsOptions
from spotbag_papers.bags.paper_days import (
    DayOptions,
    Misses,
    burst_hads_figures,
    collect_misses,
    hads_figures,
    library_job,
    make_plan,
    miss_causes,
    paper_scenario,
    replay_cell,
    vms_of,
    with_paper_d_spot,
)
from spotbag_papers.claims import (
    Case,
    Claim,
    Statement,
    Verdict,
    about,
    above,
    all_hold,
    below,
    claim,
    corrected,
    exactly,
    is_above,
    is_below,
    majority,
    numbers,
    show,
    span,
    together,
    verdicts_in_words,
)
from spotbag_papers.paper_tables import (
    ComparisonRow,
    PublishedComparisonResult,
    format_result,
    format_rows_csv,
)
from tests.helpers.paper_results import compared, demand_judged_claims, demand_no_result_if_stopped, demand_page

pytestmark = pytest.mark.xdist_group("published")  # one process: they share a result that takes long

FEW = HadsOptions(runs=2)


@pytest.fixture(scope="module")
def hads() -> PublishedComparisonResult:
    return compared(HADS, FEW)


# ---------------------------------------------------------------------------- what is printed


def test_the_printed_tables_are_whole() -> None:
    hads = hads_figures()
    jobs = [entry.job for entry in hads.baselines]
    assert jobs == ["J60", "J80", "J100", "ED200"]
    assert [(row.job, row.scenario) for row in hads.results] == [(job, name) for job in jobs for name in SCENARIOS]
    assert [row.scenario for row in hads.checkpoints] == list(hads.hibernation_duration_s) == list(SCENARIOS)
    burst = burst_hads_figures()
    assert [row.job for row in burst.quiet] == jobs
    assert [(row.job, row.scenario) for row in burst.results] == [(job, x) for job in jobs for x in BURST_SCENARIOS]


def test_printed_jobs_are_those_of_the_library() -> None:
    for family, figures in (("hads", hads_figures()), ("burst-hads", burst_hads_figures())):
        for job in figures.jobs:
            assert library_instance(f"{family}/{job.job}").n_tasks == job.tasks


def test_printed_savings_are_those_of_the_printed_costs() -> None:
    # The paper's on-demand costs before they were rounded.
    on_demand = {"J60": 0.3200, "J80": 0.3695, "J100": 0.4361, "ED200": 0.9794}
    for row in hads_figures().results:
        assert row.saving_percent == pytest.approx(100 * (1 - row.cost_usd / on_demand[row.job]), abs=0.3)


# ---------------------------------------------------------------------------- verdicts


def test_a_comparison_is_decided_by_its_interval() -> None:
    assert is_above(Estimate(9, 5.0, 1.0), 3.0) == "holds"
    assert is_above(Estimate(9, 5.0, 1.0), 4.5) == "not decided"
    assert is_above(Estimate(9, 5.0, 1.0), 6.0) == "does not hold"
    assert is_below(Estimate(9, 5.0, 1.0), 6.5) == "holds"
    assert is_below(Estimate(9, 5.0, 1.0), 3.0) == "does not hold"
    assert is_above(Estimate(1, 5.0, None), 4.9) == "holds"
    assert is_above(Estimate(0, None, None)) == is_below(Estimate(0, None, None)) == "not decided"
    for value, points, verdict in ((5.0, 2.0, "holds"), (4.25, 1.25, "not decided"), (8.0, 1.0, "does not hold")):
        assert about("", Estimate(9, 5.0, 1.0), value=value, points=points).verdict == verdict


def test_verdicts_are_counted_in_words() -> None:
    def claims(holds: int, fails: int, open_: int) -> list[Claim]:
        return [
            *[Claim("s", "holds", "")] * holds,
            *[Claim("s", "does not hold", "")] * fails,
            *[Claim("s", "not decided", "")] * open_,
        ]

    assert verdicts_in_words(claims(9, 7, 1)) == "Of 17 statements, 9 hold, 7 do not hold, 1 is not decided"
    assert verdicts_in_words(claims(1, 2, 3)) == "Of 6 statements, 1 holds, 2 do not hold, 3 are not decided"
    assert verdicts_in_words(claims(0, 1, 0)) == "Of 1 statement, 1 does not hold"


def test_what_was_fitted_is_not_counted() -> None:
    fitted = Claim("s", "holds", "", fitted=True)
    assert verdicts_in_words([Claim("s", "not decided", ""), fitted]) == (
        "Of 1 statement, 1 is not decided; 1 more is fitted"
    )
    assert verdicts_in_words([fitted, fitted]) == "No statement is judged; 2 more are fitted"


def cases(*verdicts: Verdict) -> list[Case]:
    return [Case(label, "1", verdict) for label, verdict in zip("abcde", verdicts, strict=False)]


def test_a_claim_names_what_does_not_bear_it_out() -> None:
    assert all_hold(cases("holds", "not decided", "does not hold")) == "does not hold"
    assert all_hold(cases("holds", "not decided")) == "not decided"
    assert all_hold([]) == "not decided"
    found = claim(Statement("s", why="because", note="besides"), cases("holds", "does not hold", "not decided"), "o")
    assert found.verdict == "does not hold"
    assert found.reason == "against it 1 of 3: b 1; within the interval 1 of 3: c 1; because; besides"
    assert found.why == "because"
    assert claim(Statement("s", why="because"), exactly("a", True, "1"), "o").reason == ""


def test_most_of_several_is_more_than_half() -> None:
    assert majority(cases("holds", "holds", "does not hold")) == "holds"
    assert majority(cases("holds", "does not hold")) == "does not hold"
    assert majority(cases("holds", "not decided")) == "not decided"
    assert claim(Statement("s", most=True), cases("holds", "holds", "does not hold")).reason == ""


def test_one_of_many_that_is_against_may_be_chance() -> None:
    """With 200 runs, t = -2.5 has p = 0.0066 at one side: enough of 3 (0.025 / 3), too little of 4; -5 always is."""
    width = 1.972  # half of a 95 % interval of 200 runs whose mean has a standard error of 1
    weak, strong = above("w", Estimate(200, -2.5, width)), above("s", Estimate(200, -5.0, width))
    fine = above("f", Estimate(200, 5.0, width))
    assert weak.verdict == strong.verdict == "does not hold"
    assert weak.against == pytest.approx(0.0066, abs=1e-4)
    assert [case.verdict for case in corrected([weak, fine, fine])] == ["does not hold", "holds", "holds"]
    assert [case.verdict for case in corrected([weak, fine, fine, fine])] == ["not decided", "holds", "holds", "holds"]
    # Step by step: of four, the stronger one is tested at 0.025 / 4, the other at 0.025 / 3.
    assert [case.verdict for case in corrected([weak, strong, fine, fine])][:2] == ["does not hold", "does not hold"]
    assert claim(Statement("s"), [weak, fine, fine, fine]).verdict == "not decided"
    assert claim(Statement("s"), weak).verdict == "does not hold"
    assert below("b", Estimate(200, 2.5, width)).against == pytest.approx(weak.against)


def test_comparisons_that_hold_together_are_one() -> None:
    both = together("both", [above("a", 1.0), below("b", 1.0)])
    assert (both.label, both.verdict, both.ours) == ("both", "does not hold", "a 1.0, b 1.0")
    assert numbers([above("a", 1.0, 1, "$"), above("b", 2.0, 1, "$")]) == "$ 1.0, 2.0"
    assert span([3.0, None, 1000.0], 0, "s") == "3 to 1,000 s"
    assert span([]) == "-"


def test_numbers_are_shown_with_half_of_their_interval() -> None:
    assert show(Estimate(9, 1234.56, 7.89), 1) == "1,234.6 ± 7.9"
    assert show(Estimate(1, 0.5, None), 2) == "0.50"
    assert show(Estimate(9, -0.001, 0.2), 1) == "0.0 ± 0.2"
    assert show(Estimate(0, None, None), 2) == "-"


# ---------------------------------------------------------------------------- D_spot and plans


def test_d_spot_is_the_estimate_unless_the_printed_plan_ends_later() -> None:
    instance = library_instance("hads/J60")
    estimated = estimate_d_spot(instance)
    for printed, rule, wanted in (
        (estimated - 1, "printed", (estimated, "Algorithm 1")),
        (estimated, "printed", (estimated + 1, "printed makespan")),
        (estimated + 50, "estimated", (estimated, "Algorithm 1")),
    ):
        resolved, source = with_paper_d_spot(instance, printed, rule)  # type: ignore[arg-type]
        assert (resolved.d_spot_s, source) == wanted


def test_the_estimated_d_spot_of_ed200_leaves_no_spot_vm() -> None:
    instance, _ = library_job("hads", "ED200", 1887, "estimated")
    assert all(name.endswith("on demand") for name in vms_of(make_plan(instance, "greedy")))
    instance, _ = library_job("hads", "ED200", 1887, "printed")
    assert not any(name.endswith("on demand") for name in vms_of(make_plan(instance, "greedy")))


# ---------------------------------------------------------------------------- misses


def test_a_late_day_is_explained_by_one_cause() -> None:
    """One with several late tasks counted for the cause of each."""
    instance, _ = library_job("hads", "ED200", 1887, "printed")
    plan = make_plan(instance, "greedy")
    days_from = paper_scenario("hads", "sc3", DayOptions())
    options = DayOptions(runs=60)
    [cell] = replay_cell("ED200", "sc3", days_from, plan, ["hads"], options, lambda done, label: None)
    misses = collect_misses([cell], miss_causes(cell, plan, days_from, 0))
    assert misses.days == 60
    assert len(misses.late_s) == len(cell.late_days) > 0
    assert {cause for cause, _ in misses.causes} <= set(CAUSES)
    assert sum(number for _, number in misses.causes) == len(cell.late_days)


def test_misses_say_how_many_and_how_late() -> None:
    assert str(Misses(1400, ())) == "0 of 1,400 days"
    misses = Misses(200, (5, 40, 7), ((RESCUE_GONE, 2), (RESUMED_WITH_TOO_MUCH, 1)))
    assert str(misses) == "3 of 200 days (1.50 %), late by 7 s in the middle and 40 s at most"
    assert misses.why() == f"{RESCUE_GONE}: 2 days; {RESUMED_WITH_TOO_MUCH}: 1 day"


# ---------------------------------------------------------------------------- results


def quantity(result: PublishedComparisonResult, table: str, *key: str) -> ComparisonRow:
    """The row of a table by job, scenario, policy, quantity."""
    [row] = [
        row for row in result.rows if row.table == table and (row.job, row.scenario, row.policy, row.quantity) == key
    ]
    return row


def test_every_printed_number_of_hads_has_ours_beside_it(hads: PublishedComparisonResult) -> None:
    counts = {table: sum(row.table == table for row in hads.rows) for table in {row.table for row in hads.rows}}
    assert counts == {
        "Table 9": 4 * (5 + 2 + 4 * 2 + 2 * 2),
        "Table 10": 28 * 7,
        "Table 10, means": 8 * 6,
        "Table 11": 7 * 4,
        "Fig. 8": 7,
        "Figs 9-10": 28 * 4,
        "Fig. 11": 21 * 2,
        "Fig. 12": 7,
        "Fig. 13": 4,
    }
    row = quantity(hads, "Table 10", "J60", "sc2", "hads", "cost_usd")
    assert row.printed == 0.256
    assert row.ours.n == 2
    assert sum(row.relation != "=" for row in hads.rows) == 15 + 1


def test_table_9_is_a_quiet_day(hads: PublishedComparisonResult) -> None:
    instance, _ = library_job("hads", "J60", 1208, "printed")
    plan = make_plan(instance, "greedy")
    price = replay_day(plan, "on-demand").cost_usd
    assert quantity(hads, "Table 9", "J60", "", "on-demand, same plan", "cost_usd").ours.mean == price
    assert quantity(hads, "Table 9", "J60", "", "static", "cost_usd").ours.mean == pytest.approx(plan.cost_usd)
    assert quantity(hads, "Table 9", "J60", "", "static", "makespan_s").ours.mean == plan.makespan_s
    saving = quantity(hads, "Table 9", "J60", "", "on-demand, same plan", "difference_percent").ours.mean
    assert saving == pytest.approx(100 * (1 - replay_day(plan, "hads").cost_usd / price))


def test_table_10_is_made_of_the_days_of_the_scenario(hads: PublishedComparisonResult) -> None:
    instance, _ = library_job("hads", "J80", 1189, "printed")
    plan = make_plan(instance, "greedy")
    days_from = paper_scenario("hads", "sc5", FEW)
    days = [replay_day(plan, "hads", days_from.day(instance, 0, number)) for number in range(2)]
    found = quantity(hads, "Table 10", "J80", "sc5", "hads", "cost_usd").ours
    assert found.mean == pytest.approx(sum(day.cost_usd for day in days) / 2)
    found = quantity(hads, "Table 10", "J80", "sc5", "hads", "hibernations").ours
    assert found.mean == sum(day.hibernations for day in days) / 2


def test_every_claim_is_judged_and_one_that_fails_has_a_reason(hads: PublishedComparisonResult) -> None:
    demand_judged_claims(hads, 52)


@pytest.mark.slow
def test_notes_say_of_which_plans_d_spot_is_printed(hads: PublishedComparisonResult) -> None:
    assert len(hads.notes) == 5
    assert "the printed makespan (J100 " in hads.notes[1]
    runs = HADS.replay(HadsOptions(runs=1, d_spot="estimated"), lambda done, label: None)
    notes = tuple(HADS.notes(runs))
    assert notes[1:] == hads.notes[2:]  # none is: the note is left out


def test_a_user_who_stops_it_gets_no_means_of_fewer_days() -> None:
    demand_no_result_if_stopped(HADS, HadsOptions(runs=1))


def test_files_hold_all_rows(hads: PublishedComparisonResult) -> None:
    rows = list(csv.DictReader(io.StringIO(format_rows_csv(hads.rows))))
    assert len(rows) == len(hads.rows)
    assert rows[0].keys() == hads.rows[0].to_dict().keys()
    document = json.loads(format_result(hads, ".json"))
    assert document["format"] == "spotbag.published-comparison/1"
    assert (document["runs"], document["seed"], document["d_spot"]) == (2, 0, "printed")
    assert document["rows"] == json.loads(json.dumps([row.to_dict() for row in hads.rows]))
    assert format_result(hads, ".csv") == format_rows_csv(hads.rows)


def test_the_page_is_the_present_one(hads: PublishedComparisonResult) -> None:
    demand_page("hads", hads)
