"""``spotbag replay``: the table, one day, the files, the exit codes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spotbag.audits.bags import plan as checker
from spotbag.instances.clouds import CLOUDS
from spotbag.instances.library import library_instance
from spotbag.replay.bags import compiled_engine, plan, runs
from spotbag.replay.bags.policies import POLICIES
from spotbag.schedules.schedule_files import write_schedule
from spotbag.solvers.bags import solve
from spotbag.solvers.bags.clairvoyant_bound import ClairvoyantBounds
from tests.helpers.command_shell import Shell
from tests.helpers.tiny_days import bag, vm_type
from tests.helpers.tiny_days import plan as plan_of

# Without a certificate, which takes longer than the days.
ANY = ("replay", "burst-hads/J60", "--method", "greedy", "--survive", "none", "--scenario", "burst-hads/sc4")
FEW = (*ANY, "--runs", "3")


def test_policies_stand_side_by_side(shell: Shell) -> None:
    out = shell.run(*FEW)
    heading = next(line for line in out.splitlines() if "clairvoyant" in line)
    assert heading.split() == ["static", "hads", "burst-hads", "on-demand", "clairvoyant"]
    for row in ("cost ($)", "saving against on-demand (%)", "makespan (s)", "days that miss the deadline", "regret"):
        assert row in out
    for row in ("hibernations", "resumes", "on-demand VMs started", "to idle VMs", "to busy VMs", "to new VMs"):
        assert row in out
    for row in ("that stole a task", "checkpoints", "recoveries", "CPU time saved"):
        assert row in out
    assert "Day by day against static" in out
    assert "Worst day of burst-hads" in out


def test_both_prices_of_on_demand_vms_are_shown(shell: Shell) -> None:
    """Idle VMs are paid for to the ends of their cycles, as by the schedulers, or not at all."""
    found = shell.json(*FEW, "--policy", "on-demand,on-demand+last-task")
    cycles, last_task = (entry["cost_usd"]["mean"] for entry in found["policies"])
    assert (found["on_demand_usd"], found["on_demand_last_task_usd"]) == (cycles, last_task)
    assert last_task < cycles
    out = shell.run(*FEW, "--policy", "hads")
    assert f"on-demand: $ {cycles:.4f} with idle VMs" in out
    assert f"$ {last_task:.4f} if VMs end with their last tasks" in out


def test_rules_of_policies_are_shown_in_one_order_and_each_policy_once(shell: Shell) -> None:
    names = "hads+trigger-once+spare-time-spot,hads+spare-time-spot+trigger-once"
    found = shell.json(*FEW, "--policy", names)
    assert [entry["policy"] for entry in found["policies"]] == ["hads+spare-time-spot+trigger-once"]
    shell.run(*ANY, "--policy", "hads+trigger-onec", code=2)
    assert "did you mean trigger-once?" in shell.err


def test_the_help_names_every_policy_and_rule(shell: Shell) -> None:
    shown = shell.run("replay", "--help")
    names = [*POLICIES, *(f"+{rule}" for policy in POLICIES.values() for rule in policy.rules)]
    missing = [name for name in names if f"   {name} " not in shown]
    assert not missing, f"the help in src/spotbag/cli/bags/replay.py has no {missing}"


def test_the_documentation_names_every_policy_and_rule() -> None:
    page = (Path(__file__).parents[3] / "docs" / "replay.md").read_text()
    missing = [name for name in POLICIES if f"| `{name}`" not in page and f", `{name}` |" not in page]
    missing += [rule for policy in POLICIES.values() for rule in policy.rules if f"| `+{rule}` |" not in page]
    assert not missing, f"the tables of policies in docs/replay.md have no {missing}"


def test_a_policy_without_a_compiled_loop_is_named_before_many_days(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "warning: no compiled loop goes through days of on-time: so many take several times as long in Python"
    monkeypatch.delitem(compiled_engine.DRIVERS, POLICIES["on-time"])
    shell.run(*FEW, "--policy", "on-time")
    assert said not in shell.err
    monkeypatch.setattr(runs, "_LOADS_FOR", 100)
    shell.run(*FEW, "--policy", "on-time")
    assert said in shell.err


def test_json_has_the_means_and_every_day(shell: Shell) -> None:
    found = shell.json(*FEW, "--policy", "hads,burst-hads,clairvoyant", "--seed", "3")
    assert [entry["policy"] for entry in found["policies"]] == ["hads", "burst-hads"]
    days = found["days"]
    assert [day["day"] for day in days] == list(range(3))
    costs = [day["policies"]["hads"]["cost_usd"] for day in days]
    mean = found["policies"][0]["cost_usd"]
    assert mean["mean"] == pytest.approx(sum(costs) / 3)
    assert mean["low"] < mean["mean"] < mean["high"]
    for day in days:
        for name in ("hads", "burst-hads"):
            if day["policies"][name]["late_tasks"] == day["policies"][name]["unfinished_tasks"] == 0:
                assert day["bound_usd"] <= day["policies"][name]["cost_usd"] + 1e-9
    assert found["differences"][0]["against"] == "hads"


def test_days_are_the_same_for_every_policy_and_number(shell: Shell) -> None:
    """Day 2 is the same day alone, among three, and under another policy."""
    among = shell.json(*FEW, "--policy", "hads,burst-hads")["days"][2]["policies"]["hads"]
    alone = shell.json(*ANY, "--policy", "hads", "--day", "2")["days"][0]["end"]
    assert alone["cost_usd"] == among["cost_usd"]


@pytest.mark.slow
@pytest.mark.xdist_group("processes")
def test_days_are_the_same_in_every_process(shell: Shell) -> None:
    among = shell.json(*FEW, "--policy", "hads,burst-hads")["days"][2]["policies"]["hads"]
    parallel = shell.json(*FEW, "--policy", "hads", "--workers", "2")["days"][2]["policies"]["hads"]
    assert parallel == among


def test_one_day_is_described_plotted_traced_and_audited(shell: Shell) -> None:
    described = shell.run(*ANY, "--policy", "hads", "--day", "1", "--trace", "day.jsonl", "--gantt", "day.png")
    assert "burst-hads/J60, policy hads, day 1" in described
    assert "hibernates" in described
    assert (shell.folder / "day.png").read_bytes().startswith(b"\x89PNG")
    assert "correct" in shell.run("audit", "day.jsonl")


def test_a_picture_for_each_policy(shell: Shell) -> None:
    shell.run(*ANY, "--policy", "hads,static", "--day", "1", "--gantt", "day.html")
    assert sorted(path.name for path in shell.folder.iterdir()) == ["day-hads.html", "day-static.html"]


def test_a_plan_is_read_and_a_scripted_day_replayed(shell: Shell) -> None:
    shell.run("solve", "tiny/one-task", "--out", "plan.json")
    day = {"format": "spotbag.timeline/1", "events": [{"time_s": 10, "type": "a", "event": "hibernate"}]}
    (shell.folder / "day.json").write_text(json.dumps(day))
    found = shell.json("replay", "tiny/one-task", "--plan", "plan.json", "--scenario", "day.json", "--runs", "2")
    by_name = {entry["policy"]: entry for entry in found["policies"]}
    assert "every day of" in shell.err
    assert found["runs"] == 1
    assert by_name["static"]["unfinished"] == 1
    assert by_name["static"]["cost_usd"]["mean"] is None  # half a bag is no bargain
    assert by_name["burst-hads"]["misses"] == 0


def test_availability_must_say_what_a_one_means(shell: Shell) -> None:
    (shell.folder / "trace.json").write_text(json.dumps({"gap_seconds": 600, "data": [1, 0, 1]}))
    words = ("replay", "burst-hads/J60", "--method", "greedy", "--scenario", "trace.json", "--runs", "1")
    shell.run(*words, code=2)
    assert "--one-means" in shell.err or "one_means" in shell.err
    shell.run(*words, "--one-means", "available")


def test_recorded_traces_are_replayed_and_audited_and_become_files(shell: Shell) -> None:
    """Counts of VMs and prices, directly, by a file of a scenario, and by a file of a day: the same day."""
    (shell.folder / "counts.json").write_text(json.dumps({"gap_seconds": 400, "data": [16, 4, 0, 9, 12, 2]}))
    rows = [f"2026-07-09T1{hour}:00Z,c3.large,0.0{hour + 1},{zone}" for hour in range(5) for zone in ("a", "b")]
    (shell.folder / "prices.csv").write_text("\n".join(["Timestamp,InstanceType,SpotPrice,AvailabilityZone", *rows]))
    shell.run("solve", "burst-hads/J60", "--method", "greedy", "--survive", "none", "--out", "plan.json")
    for file, options in (
        ("counts.json", ("--one-means", "available", "--vms-per-one", "0.5")),
        ("prices.csv", ("--zone", "b", "--since", "2026-07-09T11:30Z")),
    ):
        shell.run("instance", "scenario", file, *options, "--cloud", "gcp", "--name", "mine", "--out", "scenario.json")
        day = ("--day", "3", "--instance", "burst-hads/J60")
        shell.run("instance", "scenario", file, *options, *day, "--cloud", "gcp", "--out", "day.json")
        assert ("warning: prices.csv: has no prices of c4.large" in shell.err) == (file == "prices.csv")
        ends = []
        for scenario in ((file, *options, "--cloud", "gcp"), ("scenario.json",), ("day.json",)):
            words = ("replay", "burst-hads/J60", "--plan", "plan.json", "--policy", "hads", "--day", "3")
            found = shell.json(*words, "--scenario", *scenario, "--trace", "day.jsonl")
            ends.append(found["days"][0]["end"])
            shell.run("audit", "day.jsonl", "--instance", "burst-hads/J60")
        assert ends[0] == ends[1] == ends[2]
    shell.run("instance", "scenario", "prices.csv", "--day", "3", code=2)
    assert "--day and --instance go together" in shell.err
    shell.run("instance", "scenario", "poisson", "--k-h", "2", "--k-r", "1")
    assert json.loads(shell.out)["kind"] == "poisson"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--policy", "hadz"), "did you mean hads"),
        (("--scenario", "hads/sc9"), "hads/sc"),
        (("--plan", "plan.json", "--method", "lpt"), "give one of them"),
        (("--day", "1", "--runs", "3"), "use one or the other"),
        (("--gantt", "day.xyz"), ".png"),
        (("--trace", "no/folder/day.jsonl"), "folder does not exist"),
        (("--scenario", "hads/sc4", "--k-h", "3"), "k_h"),
        (("--cloud", "gpc"), "did you mean gcp"),
        (("--billing-block", "0"), "--billing-block: '0' must be at least 1 s"),
        (("--stopped-rate", "inf"), "must be a finite number"),
    ],
)
def test_bad_input_is_refused_with_a_way_out(shell: Shell, words: tuple[str, ...], said: str) -> None:
    shell.run("replay", "tiny/one-task", *words, code=2)
    assert said in shell.err
    assert "Traceback" not in shell.err


def test_a_plan_that_no_cloud_can_carry_out_is_refused(shell: Shell) -> None:
    shell.run("solve", "tiny/two-cores", "--out", "plan.json", "--method", "lpt")
    document = json.loads((shell.folder / "plan.json").read_text())
    for placed in document["tasks"]:
        placed.update(core=0, start_s=0, end_s=placed["end_s"] - placed["start_s"])
    (shell.folder / "plan.json").write_text(json.dumps(document))
    shell.run("replay", "tiny/two-cores", "--plan", "plan.json", "--runs", "1", code=2)
    assert "overlap" in shell.err


def test_no_plan_is_exit_code_1(shell: Shell) -> None:
    late = library_instance("burst-hads/ED200").replace(name="late", markets=["spot"])
    (shell.folder / "late.json").write_text(late.to_text())
    out = shell.run("replay", "late.json", "--method", "greedy", code=1)
    assert "no plan" in out


def test_the_bound_alone(shell: Shell) -> None:
    found = shell.json(*FEW, "--policy", "clairvoyant")
    assert found["policies"] == []
    assert all(day["bound_usd"] > 0 for day in found["days"])
    assert "clairvoyant" in shell.run(*FEW, "--policy", "clairvoyant")
    shell.run(*ANY, "--policy", "clairvoyant", "--day", "1", code=2)
    assert "name a policy as well" in shell.err


@pytest.mark.slow
def test_hindsight_stands_beside_the_bound(shell: Shell) -> None:
    words = (*FEW, "--policy", "hads,hindsight,clairvoyant")
    for day in shell.json(*words)["days"]:
        assert day["bound_usd"] <= day["hindsight_usd"] <= day["policies"]["hads"]["cost_usd"]
    lines = shell.run(*words).splitlines()
    assert next(line for line in lines if "clairvoyant" in line).split() == ["hads", "clairvoyant", "hindsight"]
    regret = next(line for line in lines if line.lstrip().startswith("regret: "))
    assert regret.count("±") == 2
    assert any(line.startswith("hindsight: the least cost found") for line in lines)


def test_one_day_is_compared_with_its_references(shell: Shell) -> None:
    day = shell.json(*FEW, "--policy", "hads,hindsight,clairvoyant")["days"][2]
    words = (*ANY, "--day", "2", "--policy")
    alone = shell.json(*words, "hads,hindsight,clairvoyant")
    assert (alone["bound_usd"], alone["hindsight_usd"]) == (day["bound_usd"], day["hindsight_usd"])
    alone = shell.json(*words, "hads,clairvoyant")
    assert (alone["bound_usd"], alone["hindsight_usd"]) == (day["bound_usd"], None)
    lines = shell.run(*words, "hads,hindsight,clairvoyant").splitlines()
    assert lines[-2] == f"clairvoyant: at least ${day['bound_usd']:.4f}"
    assert lines[-1] == f"hindsight: ${day['hindsight_usd']:.4f} was found"
    assert "hindsight" not in shell.run(*words, "hads")


@pytest.mark.slow
def test_hindsight_alone(shell: Shell) -> None:
    found = shell.json(*FEW, "--policy", "hindsight")
    assert [day["bound_usd"] for day in found["days"]] == [None] * 3
    assert all(day["hindsight_usd"] > 0 for day in found["days"])
    assert "regret" not in shell.run(*FEW, "--policy", "hindsight").partition("hindsight: ")[0]
    shell.run(*ANY, "--policy", "hindsight", "--day", "1", code=2)
    assert "hindsight is no policy" in shell.err


def test_without_on_demand_offers_the_default_leaves_the_baseline_out(shell: Shell) -> None:
    out = shell.run("replay", "tiny/two-cores", "--runs", "2")
    assert "has no on-demand offer" in shell.err
    assert "on-demand " not in out.splitlines()[4]
    shell.run("replay", "tiny/two-cores", "--runs", "2", "--policy", "on-demand", code=2)
    assert "has no on-demand offer" in shell.err


def test_the_on_demand_baseline_has_no_regret(shell: Shell) -> None:
    """It need not keep to the limits, the bound does."""
    found = shell.json(*FEW, "--policy", "on-demand,clairvoyant")
    assert found["policies"][0]["regret_usd"]["mean"] is None
    found = shell.json(*FEW, "--policy", "on-demand+last-task,clairvoyant")
    assert found["policies"][0]["regret_usd"]["mean"] is None


def test_a_plan_that_is_not_feasible_here_is_replayed_with_a_warning(shell: Shell) -> None:
    shell.run("solve", "hads/J60", "--method", "greedy", "--out", "plan.json")
    shell.run("replay", "hads/J60", "--plan", "plan.json", "--d-spot", "600", "--runs", "1")
    assert "not feasible here: d-spot" in shell.err
    assert "was made for a D_spot of" in shell.err
    shell.run("replay", "hads/J60", "--plan", "plan.json", "--markets", "on-demand", "--runs", "1", code=2)
    assert "does not allow" in shell.err
    shell.run("replay", "tiny/two-cores", "--plan", "plan.json", "--runs", "1", code=2)
    assert "is a plan for 'hads/J60'" in shell.err


def test_days_that_happen_to_be_alike_are_not_taken_for_the_same(shell: Shell) -> None:
    """Day 0 and day 1 may both be quiet where hibernations are rare; other days are not."""
    words = ("replay", "tiny/one-task", "--scenario", "poisson", "--k-h", "0.05", "--k-r", "1", "--runs", "40")
    found = shell.json(*words, "--policy", "static")
    assert found["runs"] == 40
    assert "is the same" not in shell.err
    words = ("replay", "tiny/one-task", "--scenario", "poisson", "--k-h", "0", "--k-r", "1", "--runs", "9")
    assert shell.json(*words, "--policy", "static")["runs"] == 1


def test_no_plan_is_an_object_too(shell: Shell) -> None:
    late = library_instance("burst-hads/ED200").replace(name="late", markets=["spot"])
    (shell.folder / "late.json").write_text(late.to_text())
    found = shell.json("replay", "late.json", "--method", "greedy", code=1)
    assert found["status"] == "no-plan"
    assert "no plan" in found["message"]


def test_the_table_states_the_rules_of_the_cloud_and_what_that_does(shell: Shell) -> None:
    out = shell.run(*ANY, "--cloud", "gcp", "--notice", "45s", "--policy", "static", "--runs", "2")
    assert "gcp, changed: spot VMs are stopped after 45 s of notice; VMs are billed by the second, at least 60 s" in out
    assert "VMs stopped" in out
    assert "started again" in out
    assert "hibernations" not in out
    assert "VMs terminated by the cloud" not in out
    assert "gcp" not in shell.run(*ANY, "--policy", "static", "--runs", "2")


def test_clouds_are_listed_with_how_to_use_them(shell: Shell) -> None:
    out = shell.run("instance", "clouds")
    assert "'spotbag replay --cloud NAME'" in out
    assert "--stopped-rate" in out
    for cloud in CLOUDS.values():
        assert cloud.summary in out
        assert cloud.source in out


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a plan was checked and the bound of a day was worked out."""
    counted: Counter[str] = Counter()

    def count(place: Any, name: str, word: str) -> None:
        usual = getattr(place, name)

        def counting(*given: Any) -> Any:
            counted[word] += 1
            return usual(*given)

        monkeypatch.setattr(place, name, counting)

    for module in (checker, plan, solve):
        count(module, "check", "checks")
    count(ClairvoyantBounds, "bound", "bounds")
    return counted


@pytest.mark.parametrize("more", [("--runs", "3"), ("--day", "0")])
def test_a_plan_is_checked_once_and_a_day_bounded_once_for_all_policies(
    shell: Shell, calls: Counter[str], more: tuple[str, str]
) -> None:
    """Whoever makes or reads the plan checks it; neither the policies nor the two prices on demand do so again."""
    days = 3 if more[0] == "--runs" else 1
    words = ("--policy", "static,hads,on-demand,clairvoyant", "--scenario", "hads/sc4", *more)
    shell.run("replay", "burst-hads/J60", "--method", "greedy", *words)
    assert calls == {"checks": 1, "bounds": days}
    shell.run("solve", "burst-hads/J60", "--method", "greedy", "--out", "plan.json")
    calls.clear()
    shell.run("replay", "burst-hads/J60", "--plan", "plan.json", *words)
    assert calls == {"checks": 1, "bounds": days}


def test_days_of_tasks_with_dates(shell: Shell, tmp_path: Path) -> None:
    """A task of weight 2.5 is due at 220 s, and ends at 240 s, as its VM was away for 20 s."""
    dates = {"t": {"ready_s": 120, "deadline_s": 220, "weight": 2.5}}
    schedule = plan_of(bag({"t": {"a": 100}}, [vm_type("a")], dates=dates), ["a spot"], {"t": (0, 0, 120)})
    bag_file, plan_file = tmp_path / "bag.json", tmp_path / "plan.json"
    bag_file.write_text(schedule.instance.to_text())
    write_schedule(schedule, plan_file)
    shell.run("replay", str(bag_file), "--policy", "hads,greedy-spot", code=2)
    assert "the policy greedy-spot does not know" in shell.err
    promised = shell.json("replay", str(bag_file), "--policy", "hads,on-time", "--runs", "20")["policies"]
    assert promised[0]["misses"] > promised[1]["misses"] == 0
    late = tmp_path / "day.json"
    events = [{"time_s": time_s, "type": "a", "event": kind} for time_s, kind in ((130, "hibernate"), (150, "resume"))]
    late.write_text(json.dumps({"format": "spotbag.timeline/1", "name": "late", "events": events}))
    of_day = ("replay", str(bag_file), "--plan", str(plan_file), "--scenario", str(late), "--policy", "static")
    shown = shell.json(*of_day)
    assert shown["policies"][0]["late_weight"]["mean"] == 2.5
    assert (shown["policies"][0]["misses"], shown["days"][0]["policies"]["static"]["late_tasks"]) == (1, 1)
    out = shell.run(*of_day)
    assert "tasks late, by weight" in out
    assert "(1 task late)" in out
