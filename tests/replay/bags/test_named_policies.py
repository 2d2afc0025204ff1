"""Policies of bags by name, with rules after a plus, and what HADS as printed is worth on published jobs."""

from __future__ import annotations

from functools import partial

import pytest

from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.library import library_instance
from spotbag.replay.bags.policies import POLICIES, BurstHads, Hads, OnDemand, find_policy
from spotbag.replay.bags.runs import replay_day, replay_days
from spotbag.replay.bags.state import Policy
from spotbag.solvers.bags.solve import solve


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("hads", Hads()),
        ("hads+spare-time-spot", Hads(spare_time="spot")),
        ("hads+trigger-once", Hads(recompute=False)),
        ("hads+any-thief+spare-time-spot", Hads(spare_time="spot", thieves="all")),
        ("hads+idle-60", Hads(idle_limit_s=60)),
        ("burst-hads+idle-60", BurstHads(idle_limit_s=60)),
        ("on-demand+last-task", OnDemand(idle_limit_s=0)),
    ],
)
def test_rules_are_options(name: str, same: Policy) -> None:
    made = find_policy(name)
    assert (type(made), vars(made)) == (type(same), vars(same))
    assert set(made.name.split("+")) == set(name.split("+"))


def test_options_without_a_rule_are_named_all_the_same() -> None:
    assert Hads(recompute=False, idle_limit_s=30).name == "hads+trigger-once+idle_limit_s=30"
    assert OnDemand(idle_limit_s=5).name == "on-demand+idle_limit_s=5"


def test_a_class_derived_from_a_policy_keeps_its_name() -> None:
    class Mine(Hads):
        name = "mine"

    assert (Mine().name, Mine(thieves="all").name) == ("mine", "mine+any-thief")


def test_every_rule_of_a_name_changes_something() -> None:
    for base, policy in POLICIES.items():
        for rule in policy.rules:
            assert vars(find_policy(f"{base}+{rule}")) != vars(find_policy(base))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hads+trigger-onec", "changes no rule by 'trigger-onec' (did you mean trigger-once?)"),
        ("hads+last-task", "changes no rule by 'last-task' (known: spare-time-spot, trigger-once, any-thief, idle-60)"),
        ("static+idle-60", "changes a rule by 'idle-60'; static has none that could be changed"),
        ("+idle-60", "'+idle-60' is not a policy (rules follow the name of one: hads+idle-60)"),
        ("on-demand+last-task+idle-60", "has +last-task and +idle-60, which change the same"),
        ("hads+idle-60+idle-60", "has +idle-60 twice"),
        ("hads-as-printed", "'hads-as-printed' is not a policy"),
    ],
)
def test_names_that_are_none_are_refused_with_a_way_out(name: str, said: str) -> None:
    with pytest.raises(InputError) as described:
        find_policy(name)
    assert said in str(described.value)


def test_options_that_there_are_not_are_refused() -> None:
    with pytest.raises(InputError, match="hads: spare_time 'spots' must be 'all' or 'spot'"):
        Hads(spare_time="spots")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="hads: thieves 'any' must be 'spot' or 'all'"):
        Hads(thieves="any")  # type: ignore[arg-type]
    plan = solve(library_instance("hads/J60"), "greedy").schedule
    assert plan is not None
    with pytest.raises(SpotbagError, match="idle_limit_s must be 0 or more seconds, not -1"):
        replay_day(plan, OnDemand(idle_limit_s=-1))


@pytest.mark.slow
@pytest.mark.xdist_group("processes")
def test_rules_of_policies_go_to_other_processes() -> None:
    plan = solve(library_instance("hads/J60"), "greedy").schedule
    assert plan is not None
    given = ["hads+spare-time-spot", Hads(spare_time="spot"), partial(Hads, spare_time="spot"), "hads"]
    days = replay_days(plan, given, find_scenario("hads/sc2"), 9, workers=2, bounds=False)
    assert days.policies == ("hads+spare-time-spot",) * 3 + ("hads",)
    assert days.outcomes[0] == days.outcomes[1] == days.outcomes[2] != days.outcomes[3]


def test_hads_as_printed_keeps_deadlines_that_it_misses_as_read() -> None:
    """Where spare time is asked of all VMs, and no spot VM resumes, none is late, and it costs more."""
    plan = solve(library_instance("burst-hads/J60"), "ils").schedule
    assert plan is not None
    runs = replay_days(plan, ["hads", "hads+spare-time-spot"], find_scenario("hads/sc2"), 40, bounds=False)
    printed, read = runs.summaries()
    assert (printed.misses, read.misses) == (0, 4)
    assert printed.cost_usd.mean > 1.1 * read.cost_usd.mean


def test_the_baseline_and_what_it_is_compared_with_pay_alike() -> None:
    """On a quiet day and from a plan with on-demand VMs only, a scheduler pays what the baseline pays."""
    plan = solve(library_instance("burst-hads/J60").replace(markets=("on-demand",)), "ils").schedule
    assert plan is not None
    runs = replay_days(plan, ["hads", "on-demand", "on-demand+last-task"], find_scenario("quiet"), 1, bounds=False)
    hads, cycles, last_task = (outcomes[0].cost_usd for outcomes in runs.outcomes)
    assert hads == cycles == runs.on_demand_usd
    assert last_task == runs.on_demand_last_task_usd == pytest.approx(plan.cost_usd)
    assert last_task < cycles
