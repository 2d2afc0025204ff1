"""Policies that others have added, by name: of installed distributions, and by module:attribute, in all systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spotbag
from spotbag.core.errors import InputError
from spotbag.core.plugins import PluginError, PluginWarning
from spotbag.replay.bags.runs import replay_day, replay_days, trace_day
from spotbag.replay.streams.policies.known import Known
from tests.helpers.distributions import Distributions

PLAN = spotbag.solve(spotbag.library_instance("tiny/boot"), "greedy", survive="none").schedule
STREAM = spotbag.library_stream("tiny/two-jobs")
PLATFORM = spotbag.library_platform("tiny/hybrid")

TEXT = """
from functools import partial

from tests.helpers.own_policies import Bag, OfPlatform, OfStream
from spotbag.plugins import Policy, Rule


class Patient(Policy):
    name = "patient"
    summary = "waits"
    rules = {"long": Rule({"wait_s": 60}, "waits for a minute")}

    def __init__(self, wait_s: int = 1) -> None:
        self.wait_s = wait_s

    def idle(self, replay, vm):
        assert self.wait_s in (1, 60)
        replay.terminate(vm)


class Careless(Patient):
    name = "careless"

    def finished(self, replay, vm, task):
        {}[task]


class Unready(Patient):
    name = "unready"

    def __init__(self):
        raise OSError("no such licence")


class Fixed(Patient):
    name = property(lambda self: "fixed")


made = partial(Patient, wait_s=60)
one = Patient()
stream = OfStream(label="streamed")
NUMBER = 7
"""


@pytest.fixture
def distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Distributions:
    return Distributions(tmp_path, monkeypatch)


def replayed(policy: Any) -> str:
    """Name of a policy in the trace of a day."""
    assert PLAN is not None
    outcome, trace = trace_day(PLAN, policy)
    assert outcome.policy == trace.run["policy"]
    assert spotbag.audit(trace).correct
    return outcome.policy


def test_a_policy_is_found_by_module_and_attribute(distributions: Distributions) -> None:
    module = distributions.module(TEXT)
    for attribute in ("Patient", "Patient+long", "made", "one"):
        assert replayed(f"{module}:{attribute}") == f"{module}:{attribute}"
    assert replayed(f"{module}:Fixed") == "fixed"
    for platform in spotbag.replay_platform(PLATFORM, [f"{module}:OfPlatform", "money-saving"]).policies[:1]:
        assert platform == f"{module}:OfPlatform"
    runs = spotbag.replay_stream(STREAM, [f"{module}:OfStream", "known", f"{module}:stream"], runs=1)
    assert [outcome.policy for [outcome] in runs.outcomes] == [f"{module}:OfStream", "known", f"{module}:stream"]


def test_an_installed_policy_is_found_by_its_name(distributions: Distributions) -> None:
    distributions.install("Patience", TEXT, policies={"patient": "Patient", "streamed": "stream", "mine": "OfPlatform"})
    assert replayed("patient+long") == "patient+long"
    assert spotbag.replay_stream(STREAM, ["streamed"], runs=1).policies == ("streamed",)
    assert spotbag.replay_platform(PLATFORM, ["mine"]).policies == ("mine",)
    with pytest.raises(InputError, match=r"'patient\+short' changes no rule by 'short' \(known: long"):
        replayed("patient+short")
    with pytest.raises(InputError, match=r"'mine\+deadline' changes a rule by 'deadline'; mine has none"):
        spotbag.replay_platform(PLATFORM, ["mine+deadline"])
    with pytest.raises(InputError, match="'mine' OfPlatform is no Policy"):
        replayed("mine")
    with pytest.raises(InputError, match=r"'patent' is not a policy .*; installed: mine, patient, streamed"):
        replayed("patent")


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ("NUMBER", "must be the name of a policy, a Policy .* not 7"),
        ("Patent", r"cannot be found: .* \(did you mean Patient"),
        ("OfStream", "OfStream is no Policy"),
        ("stream", "must be the name of a policy, a Policy"),
        ("Patient+short", r"changes no rule by 'short' \(known: long\)"),
    ],
)
def test_what_is_no_policy_is_refused_with_the_reason(distributions: Distributions, attribute: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        replayed(f"{distributions.module(TEXT)}:{attribute}")


def test_a_policy_that_fails_is_named(distributions: Distributions) -> None:
    module = distributions.module(TEXT)
    with pytest.raises(
        PluginError, match=rf"the policy {module}:Careless failed: KeyError: 0 \({module}.py, line 25\)"
    ):
        replayed(f"{module}:Careless")
    with pytest.raises(PluginError, match=rf"the policy {module}:Unready failed: OSError: no such licence"):
        replayed(f"{module}:Unready")


def test_a_policy_given_in_python_that_fails_is_named() -> None:
    class Careless(spotbag.Policy):
        name = "careless"

        def finished(self, replay: Any, vm: Any, task: int) -> None:
            raise OSError("no such file")

    assert PLAN is not None
    with pytest.raises(PluginError, match="the policy careless failed: OSError: no such file") as caught:
        replay_day(PLAN, Careless)
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.slow  # the processes of other tests look for modules elsewhere, and are replaced
@pytest.mark.xdist_group("processes")
def test_plugged_policies_go_to_other_processes(distributions: Distributions) -> None:
    module = distributions.install("Patience", TEXT, policies={"patient": "Patient"})
    assert PLAN is not None
    given = ["patient", f"{module}:Patient+long", "static"]
    scenario = spotbag.find_scenario("hads/sc1")
    here, there = (replay_days(PLAN, given, scenario, 3, workers=workers, bounds=False) for workers in (1, 2))
    assert here.outcomes == there.outcomes
    assert there.policies == ("patient", f"{module}:Patient+long", "static")


def test_policies_are_listed_with_a_warning_for_each_that_is_left_out(distributions: Distributions) -> None:
    from spotbag.cli.policies import _installed

    entries = {"patient": "made", "hads": "Patient", "streamed": "stream", "unready": "Unready", "number": "NUMBER"}
    distributions.install("Patience", TEXT, policies={**entries, "mine": "OfPlatform", "alias": "OfStream"})
    with pytest.warns(PluginWarning) as warned:
        found = {policy.name: (policy.command, policy.summary, *policy.rules) for policy in _installed()}
    assert found == {
        "mine": ("platform", ""),
        "patient": ("replay", "waits"),
        "streamed": ("stream", Known.summary),
    }
    said = [str(warning.message).removeprefix("the policy ") for warning in warned]
    assert [text.split(" is left out: ")[0] for text in said] == [
        f"{name!r} of the distribution Patience 1.0" for name in ("alias", "hads", "number", "unready")
    ]
    assert "must have the name of its entry point, not 'mine'" in said[0]
    assert "has the name of one that is built in" in said[1]
    assert "must be a Policy or StreamPolicy or PlatformPolicy" in said[2]
    assert "failed: OSError: no such licence" in said[3]
