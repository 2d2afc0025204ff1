"""What traces tell as events of states: the state that they lead to is that of the replay, or of the logs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spotbag import State, find_scenario, library_instance, solve, trace_day, trace_events, trace_state
from spotbag.core.errors import InputError
from spotbag.instances.clouds import Cloud
from spotbag.replay.bags.record import trace_of
from spotbag.replay.bags.rows import NONE
from tests.helpers.random_days import random_replay
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak_of


def compare_states(document: dict[str, Any], seed: int, policy: str, todays: bool) -> None:
    """Compare the states of a replay with those that its trace leads to, moment by moment.

    ``todays`` is whether everything may happen that happens on today's clouds, or hibernations only.
    """
    replay, day, cloud = random_replay(document, seed, policy, todays, record=True)
    instance = replay.state.instance
    known = []
    while replay.step():
        if not any(event[0] <= replay.state.now_s for event in replay.state.queue) and replay.state.unfinished:
            tasks = zip(instance.task_ids, replay.state.tasks, strict=True)
            # To a replay, a task that writes its last checkpoint waits already.
            known.append((State.from_replay(replay.state), {name for name, row in tasks if row.dumping_s != NONE}))
    trace = trace_of(replay.state, day.resolved(cloud), cloud, replay.outcome())
    happened = trace_events(trace)
    for state, leaving in known:
        if state.time_s < trace.end["t"]:  # when all VMs go
            found = State(instance=instance.name).advance_through(happened, state.time_s)
            assert_same(found, state, leaving)
            if _bills_sessions(cloud) and not (
                cloud.billing.block_s > 1 and "price" in {one.kind for one in day.events}
            ):
                assert found.spent_usd == pytest.approx(state.spent_usd, abs=1e-9)


def _bills_sessions(cloud: Cloud) -> bool:
    """Whether a bill is one of sessions alone, which is what states know."""
    by = cloud.billing
    return not (by.first_hour_free or by.hibernated_usd_per_gb_hour or by.stopped_usd_per_gb_hour)


def assert_same(found: State, state: State, leaving: set[str]) -> None:
    assert (found.time_s, {*found.done}, {*found.gone}) == (state.time_s, {*state.done}, {*state.gone})
    assert [vm.id for vm in found.vms] == [vm.id for vm in state.vms]
    for mine, vm in zip(found.vms, state.vms, strict=True):
        assert (mine.type, mine.market, mine.billing) == (vm.type, vm.market, vm.billing)
        assert mine.price_usd_per_hour == pytest.approx(vm.price_usd_per_hour)
        # A VM that was stopped and boots again is on its way to a replay, and takes no tasks yet to a state.
        assert mine.status == vm.status or (mine.status, vm.status) == ("hibernated", "launching")
        told = {(run.task, run.core, run.mode) for run in mine.running if run.task not in leaving}
        runs = {(run.task, run.core, run.mode) for run in vm.running}
        # What will not end before its VM goes waits in the state of a replay; here the VM says when that is.
        assert told == runs or (told > runs and mine.status == "draining")
        ends_s = {run.task: run.end_s for run in vm.running}
        assert all(run.end_s in (None, ends_s.get(run.task, run.end_s)) for run in mine.running)
    for task, fraction in found.saved.items():
        assert fraction <= state.saved.get(task, 0.0) + 1e-12 or task in found.running_ids


POLICIES = ("static", "hads", "burst-hads", "on-time", "anything")
REPLAYS = st.integers(0, 2**32), st.sampled_from(POLICIES), st.booleans()


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance_documents(dates=True), *REPLAYS)
def test_the_trace_of_a_replay_leads_to_its_states(
    document: dict[str, Any], seed: int, policy: str, todays: bool
) -> None:
    compare_states(document, seed, policy, todays)


@soak_of(instance_documents(max_tasks=12, dates=True), *REPLAYS, sample=100, whole=5000)
def test_traces_of_thousands_of_replays_lead_to_their_states(
    document: dict[str, Any], seed: int, policy: str, todays: bool
) -> None:
    compare_states(document, seed, policy, todays)


@pytest.mark.parametrize("setup_s", [0, 40])
@pytest.mark.parametrize("cloud", ["papers", "gcp", "azure"])
def test_what_was_spent_by_the_end_is_the_bill(cloud: str, setup_s: int) -> None:
    bag = library_instance("hads/J60")
    types = [vm_type.model_copy(update={"setup_s": setup_s}) for vm_type in bag.vm_types]
    plan = solve(bag.replace(vm_types=types), "greedy").schedule
    assert plan is not None
    day = find_scenario("vms/stormy").day(plan.instance, 0, 3)
    outcome, trace = trace_day(plan, "on-time", day, cloud=cloud)
    assert trace_state(trace).spent_usd == pytest.approx(outcome.cost_usd)


def test_moments_beyond_the_end_and_events_out_of_order_are_refused() -> None:
    plan = solve(library_instance("tiny/two-cores"), "greedy", survive="none").schedule
    assert plan is not None
    _, trace = trace_day(plan, "static")
    with pytest.raises(InputError, match="trace: ends at"):
        trace_state(trace, trace.end["t"] + 1)
    happened = trace_events(trace)
    with pytest.raises(InputError, match="events come in their order"):
        State(instance=plan.instance.name).advance_through(happened[::-1], 10)
    begun = State(instance=plan.instance.name).advance_through(happened, 10)
    later = [entry for entry in happened if entry[0] > 10]
    assert begun.advance_through(later, 20) == trace_state(trace, 20)


def test_vms_whose_setups_end_between_two_records_are_ready_by_the_order_of_their_ends() -> None:
    bag = library_instance("hads/J60")
    setups = range(10 * len(bag.vm_types), 0, -10)  # of VMs of one moment, those that are listed later are done sooner
    types = [one.model_copy(update={"setup_s": of}) for one, of in zip(bag.vm_types, setups, strict=True)]
    plan = solve(bag.replace(vm_types=types), "greedy").schedule
    assert plan is not None
    _, trace = trace_day(plan, "static")
    quiet = replace(trace, events=[one for one in trace.events if one["event"] in ("launch", "ready")])
    assert {vm.status for vm in trace_state(quiet).vms} == {"running"}
    assert len({vm.ready_s for vm in trace_state(quiet).vms}) > 1
