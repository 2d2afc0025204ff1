"""The choice of a plan for the days to come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import spotbag
from spotbag.audits.bags.plan import CheckReport, check
from spotbag.cli import main
from spotbag.core.errors import InputError
from spotbag.experiments.bags import plan_choice
from spotbag.replay.bags import plan
from spotbag.replay.bags.runs import replay_days
from spotbag.solvers.bags.candidates import QUIET, Candidate, candidates

_SLOW = pytest.mark.slow
pytestmark = pytest.mark.xdist_group("plan choice")  # they share a choice
_WHERE = spotbag.find_scenario("hads/sc2")


@pytest.fixture(scope="module", autouse=True)
def made_once() -> Iterator[None]:
    """Candidates of the same instance and plan are made by the first test, and are those of all others."""
    made: dict[object, list[Candidate]] = {}

    def once(instance: spotbag.Instance, quiet: spotbag.Result, **more: Any) -> list[Candidate]:
        assert quiet.schedule is not None
        key = (instance.to_text(), quiet.schedule.task_start_s.tobytes(), quiet.schedule.task_vm.tobytes())
        if key not in made:
            made[key] = candidates(instance, quiet, **more)
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_choice, "candidates", once)
        yield


@pytest.fixture(scope="module")
def bag() -> spotbag.Instance:
    return spotbag.library_instance("burst-hads/J60")


@pytest.fixture(scope="module")
def choice(bag: spotbag.Instance) -> spotbag.PlanChoice:
    return spotbag.choose_plan(bag, _WHERE, "rescue", 40, method="greedy")


@_SLOW
def test_the_chosen_plan_is_one_of_the_instance_and_survives(bag: spotbag.Instance, choice: spotbag.PlanChoice) -> None:
    plan = choice.schedule
    assert plan is not None
    assert plan.instance.offers == bag.offers
    assert not check(plan.instance, plan).violations
    assert choice.result.survival is not None
    assert choice.result.survival.verdict == "survives"
    assert choice.candidates > 20


@_SLOW
def test_the_report_is_of_the_days_that_a_replay_has_and_the_choice_of_others(
    bag: spotbag.Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    usual = plan_choice.outcomes_of

    def watched(schedule, make, scenario, numbers, *more):  # type: ignore[no-untyped-def]
        seen.extend(numbers)
        return usual(schedule, make, scenario, numbers, *more)

    monkeypatch.setattr(plan_choice, "outcomes_of", watched)
    found = spotbag.choose_plan(bag, _WHERE, "static", 10, method="greedy")
    of_choice = {number for number in seen if number >= plan_choice._FIRST_OF_CHOICE}
    assert set(seen) - of_choice == set(range(10))
    assert len(of_choice) == 10
    assert found.schedule is not None
    assert found.chosen is not None
    again = replay_days(found.schedule, ["static"], _WHERE, 10, bounds=False).summaries()[0]
    assert found.chosen.cost_usd == again.cost_usd or again.unfinished
    assert found.chosen.late_days == again.misses


@_SLOW
def test_it_is_no_dearer_than_the_plan_for_a_quiet_day_on_the_days_of_the_choice(choice: spotbag.PlanChoice) -> None:
    quiet = next(plan for plan in choice.plans if plan.name == QUIET)
    chosen = choice.chosen
    assert chosen is not None
    assert chosen.days_of_choice >= quiet.days_of_choice
    assert quiet.more_than_chosen_usd.mean == pytest.approx(quiet.cost_usd.mean - chosen.cost_usd.mean)
    assert [plan.schedule.cost_usd for plan in choice.plans] == sorted(plan.schedule.cost_usd for plan in choice.plans)


@_SLOW
def test_the_choice_is_the_same_with_two_workers(bag: spotbag.Instance, choice: spotbag.PlanChoice) -> None:
    other = spotbag.choose_plan(bag, _WHERE, "rescue", 40, method="greedy", workers=2)
    assert other.to_dict() == choice.to_dict()


@pytest.mark.slow
def test_candidates_that_are_the_same_plan_are_one() -> None:
    """On one core there is not much to choose."""
    tiny = spotbag.library_instance("tiny/two-cores")
    made = candidates(tiny, spotbag.solve(tiny, "greedy"))
    places = {(entry.schedule.cost_usd, entry.schedule.makespan_s) for entry in made}
    assert next(entry.name for entry in made) == QUIET
    assert len(made) == len(places) < 5
    assert not any(check(entry.schedule.instance, entry.schedule).violations for entry in made)


@_SLOW
def test_the_fastest_plan_near_the_least_cost_is_a_candidate() -> None:
    """Of the candidates that cost at most 5 % more than the cheapest, one ends as early as the fastest such plan."""
    bag = spotbag.library_instance("tiny/fast-or-cheap").replace(survive="none")
    made = candidates(bag, spotbag.solve(bag, "greedy"))
    least = min(entry.schedule.cost_usd for entry in made)
    fastest = spotbag.solve(bag, near_least=0.05).schedule
    assert fastest is not None
    near = [entry.schedule for entry in made if entry.schedule.cost_usd <= 1.05 * least * (1 + 1e-9)]
    assert min(plan.makespan_s for plan in near) == fastest.makespan_s


@pytest.mark.slow
def test_each_candidate_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many parts its 70 days of the choice and 70 of the report are replayed in."""
    seen: list[spotbag.Schedule] = []

    def watched(instance: spotbag.Instance, plan: spotbag.Schedule) -> CheckReport:
        seen.append(plan)
        return check(instance, plan)

    monkeypatch.setattr(plan, "check", watched)
    made = spotbag.choose_plan(spotbag.library_instance("tiny/two-cores"), _WHERE, "static", 70, method="greedy")
    assert len(seen) == len({id(plan) for plan in seen}) == made.candidates


@_SLOW
def test_late_days_count(bag: spotbag.Instance) -> None:
    """Who only waits is late with spot VMs that do not come back: what is dear on a quiet day is chosen then."""
    careless = spotbag.choose_plan(bag, _WHERE, "static", 32, method="greedy", late_usd=0)
    careful = spotbag.choose_plan(bag, _WHERE, "static", 32, method="greedy")
    assert careless.chosen is not None
    assert careful.chosen is not None
    assert careful.chosen.late_days < careless.chosen.late_days
    assert careful.schedule is not None
    assert not any(offer.startswith("spot") for offer in careful.schedule.vm_counts()) or careful.chosen.late_days == 0


def test_whoever_stops_it_gets_the_plan_for_a_quiet_day(bag: spotbag.Instance) -> None:
    stop = Event()
    made = spotbag.choose_plan(bag, _WHERE, "rescue", method="greedy", stop=stop, on_progress=lambda *_: stop.set())
    assert made.result.interrupted
    assert made.schedule is not None
    assert made.plans == ()


def test_numbers_out_of_range_are_refused(bag: spotbag.Instance) -> None:
    with pytest.raises(InputError, match="late_usd"):
        spotbag.choose_plan(bag, _WHERE, late_usd=-1)
    with pytest.raises(InputError, match="runs"):
        spotbag.choose_plan(bag, _WHERE, days=0)


@_SLOW
def test_the_command_writes_plan_picture_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, picture = tmp_path / "plan.json", tmp_path / "care.png"
    words = ["solve", "burst-hads/J60", "-m", "greedy", "--scenario", "hads/sc2", "--policy", "rescue", "--days", "8"]
    assert main([*words, "--json", "--out", str(plan), "--plot", str(picture)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert sum(entry["chosen"] for entry in printed["days_to_come"]["plans"]) == 1
    assert json.loads(plan.read_text())["format"]
    assert picture.stat().st_size > 10_000


def test_the_command_says_for_which_days_a_plan_was_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["solve", "tiny/two-cores", "-m", "greedy", "--scenario", "quiet", "--policy", "static"]
    assert main([*words, "--survive", "none"]) == 0
    printed = capsys.readouterr().out
    assert "on 1 day of quiet under static" in printed
    assert "quiet-day optimum" in printed


def test_options_about_days_need_a_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "tiny/two-cores", "--days", "3"]) == 2
    assert "--days is about the days to come: give --scenario as well" in capsys.readouterr().err
    assert main(["solve", "tiny/two-cores", "--scenario", "quiet", "--initial", "x.json"]) == 2
    assert "--initial and --scenario" in capsys.readouterr().err


def test_what_is_best_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "tiny/fast-or-cheap", "--near-least", "5%", "--survive", "none"]) == 0
    assert "fastest: the earliest end, then the least cost, for at most $" in capsys.readouterr().out
    for more in (["--goal", "fastest"], ["--budget", "3"], ["--scenario", "quiet"]):
        assert main(["solve", "tiny/fast-or-cheap", "--near-least", "5%", *more]) == 2
        assert f"--near-least and {more[0]}: use one or the other" in capsys.readouterr().err
