"""Policies of one's own on hybrid platforms: how they are given, and what is refused."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from spotbag.audits.auditor import audit
from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.platforms.job_draws import JobSet
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.replay.platforms.candidate import NOWHERE, Candidate, PlatformJob
from spotbag.replay.platforms.local_scheduler import PlatformRules
from spotbag.replay.platforms.policies import platform_policy
from spotbag.replay.platforms.runs import replay_platform, replay_platform_once
from spotbag.replay.platforms.state import PlatformPolicy, PlatformState

HYBRID = library_platform("caron/hybrid")
TINY = library_platform("tiny/hybrid")
DEDICATED, ALLOCATED, CLOUD = range(3)
FIRST, HUMBLE, URGENT = range(3)


class Cheap(PlatformPolicy):
    """The cheapest good offer, or the cheapest: the same as ``cheapest-of-all``."""

    name = "cheap"

    def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
        def order(offer: Candidate) -> tuple[float, ...]:
            return not offer.good, offer.cost, offer.end_s, len(offer.displaced), offer.resource

        return min(replay.offers(job, sender), key=order, default=None)


class Sampled(PlatformPolicy):
    """Any resource, without displacement: the same as ``round-robin``."""

    name = "drawn"
    displaces = False

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
        assert sender == NOWHERE
        return replay.offers(job, sender)[int(self._random.integers(len(replay.schedulers)))]


class Ruled(Cheap):
    """Has rules that are given."""

    name = "ruled"

    def __init__(self, rules: PlatformRules, seed: int) -> None:
        self.rules = rules


class Stubborn(PlatformPolicy):
    """Chooses one thing for the third job of ``tiny/hybrid``, and for those displaced; offers of the dedicated else."""

    name = "stubborn"

    def __init__(self, chosen: Any, displaces: bool = True) -> None:
        self.displaces = displaces
        self._chosen = chosen

    def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
        if job.index in (FIRST, HUMBLE) and sender == NOWHERE:
            return replay.offers(job, sender)[DEDICATED]
        chosen: Candidate | None = self._chosen
        return chosen


def test_own_policies_stand_beside_the_others() -> None:
    jobs = JobSet("mixed", 30)
    runs = replay_platform(HYBRID, ["cheapest-of-all", Cheap, "round-robin", Sampled], 2, seed=3, job_set=jobs)
    assert runs.policies == ("cheapest-of-all", "cheap", "round-robin", "drawn")
    assert [summary.policy for summary in runs.summaries()] == list(runs.policies)
    for theirs, own in zip(runs.outcomes[::2], runs.outcomes[1::2], strict=True):
        assert [outcome.jobs for outcome in own] == [outcome.jobs for outcome in theirs]
    asked = runs.outcomes[1][0]
    assert asked.messages == 2 * (3 * asked.placements - asked.displaced)
    assert asked.messages == runs.outcomes[0][0].messages
    assert asked.comparisons == runs.outcomes[0][0].comparisons > 0


def test_rules_of_an_own_policy() -> None:
    jobs = JobSet("mixed", 100)
    rules = PlatformRules(queue="deadline", estimates="exact")
    theirs, trace = replay_platform_once(HYBRID, "cheapest-of-all+exact+deadline", job_set=jobs, seed=1)
    own, own_trace = replay_platform_once(HYBRID, partial(Ruled, rules), job_set=jobs, seed=1)
    assert own.jobs == theirs.jobs != replay_platform_once(HYBRID, Cheap, job_set=jobs, seed=1)[0].jobs
    assert own_trace.run["rules"] == trace.run["rules"]
    assert own_trace.run["policy"] == "ruled"


@pytest.mark.parametrize("make", [Cheap, Sampled])
def test_what_own_policies_do_is_audited(make: type[PlatformPolicy]) -> None:
    assert audit(replay_platform_once(HYBRID, make, job_set=JobSet("mixed", 40))[1]).correct


@pytest.mark.slow
def test_own_policies_go_to_other_processes() -> None:
    class Local(PlatformPolicy):
        name = "local"

        def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
            return min(replay.offers(job, sender), default=None)

    policies = [Local, lambda seed: Local(seed), "round-robin"]
    jobs = JobSet("small", 10)
    alone = replay_platform(HYBRID, policies, 4, job_set=jobs)
    assert replay_platform(HYBRID, policies, 4, job_set=jobs, workers=2) == alone


@pytest.mark.slow
def test_what_other_processes_cannot_import_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = types.ModuleType("elsewhere")
    exec(
        "from spotbag import PlatformPolicy\nclass Lost(PlatformPolicy):\n    name, choose = 'lost', None",
        vars(elsewhere),
    )
    monkeypatch.setitem(sys.modules, "elsewhere", elsewhere)
    with pytest.raises(InputError, match="policies cannot be imported in other processes"):
        replay_platform(TINY, [elsewhere.Lost], 4, workers=2)


@pytest.mark.xdist_group("processes")
def test_what_cannot_be_sent_to_other_processes_is_said() -> None:
    lock = threading.Lock()

    def locked(seed: int) -> PlatformPolicy:
        with lock:
            return Cheap(seed)

    assert replay_platform(TINY, [locked], 2).n_runs == 2
    with pytest.raises(InputError, match=r"policies\[1\]: cannot be sent to other processes \(.*lock.*workers=1\)"):
        replay_platform(TINY, ["money-saving", locked], 2, workers=2)


class Nameless(PlatformPolicy):
    def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
        return None


class Undecided(PlatformPolicy):
    name = "undecided"


class Unruled(Cheap):
    rules = "exact"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("policies", "said"),
    [
        ("money-saving", r"policies must be a list, also of a single policy: \['money-saving'\]"),
        (Cheap, r"policies must be a list, also of a single policy: \[Cheap\]"),
        ([], "must have at least one policy"),
        (["round-robin", 3], r"policies\[1\]: must be the name of a policy, a PlatformPolicy .*, not 3"),
        ([Undecided], r"Undecided has no method choose\(self, replay, job, sender\)"),
        ([lambda seed: "money-saving"], "what <lambda> makes must be a PlatformPolicy, not 'money-saving'"),
        ([Nameless], "Nameless must have a name: name = 'mine'"),
        ([Unruled], "Unruled must have PlatformRules as its rules, not 'exact'"),
        (["money-savign"], r"policies\[0\]: 'money-savign' is not a policy \(did you mean money-saving"),
    ],
)
def test_what_is_no_policy_is_refused(policies: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        replay_platform(TINY, policies)


@pytest.mark.parametrize("policy", [None, Nameless, Undecided])
def test_what_is_no_policy_is_refused_for_a_single_run(policy: Any) -> None:
    with pytest.raises(InputError, match=r"^replay: policy: "):
        replay_platform_once(TINY, policy)


def at(resource: Any, **fields: Any) -> Candidate:
    """Candidate that may be none."""
    return Candidate(resource, True, 900, 0.0, **fields)


@pytest.mark.parametrize(
    ("chosen", "fault"),
    [
        ("dedicated", "must be a Candidate or None, not 'dedicated'"),
        ((0, True, 900, 0.0), r"must be a Candidate or None, not \(0, True, 900, 0.0\)"),
        (at(3), "is on resource 3, and there are 0 to 2"),
        (at(-1), "is on resource -1"),
        (at("cloud"), "is on resource 'cloud'"),
        (at(DEDICATED, last=True), "is behind all others on dedicated, which is for jobs that nobody takes"),
        (at(CLOUD), "is on 0 machines of cloud, which offers 1 to 10000"),
        (at(CLOUD, machines=10_001), "is on 10001 machines of cloud"),
        (at(DEDICATED, machines=1), "is on 1 machines of dedicated, which offers 0 to 0"),
        (at(DEDICATED, displaced=(FIRST,)), r"displaces \(0,\): each once, and only jobs that wait on dedicated"),
        (at(DEDICATED, displaced=(99,)), r"displaces \(99,\)"),
        (at(DEDICATED, displaced=("humble",)), r"displaces \('humble',\)"),
        (at(DEDICATED, displaced=(HUMBLE, HUMBLE)), r"displaces \(1, 1\)"),
        (at(ALLOCATED, displaced=(HUMBLE,)), r"displaces \(1,\): each once, and only jobs that wait on allocated"),
        (at(DEDICATED, displaced=(HUMBLE,)), "is dedicated, which it has been pushed out of"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_with_the_policy_and_the_time(chosen: Any, fault: str) -> None:
    # At 120 s 'first' runs and 'humble' waits; its 10 processor-minutes are less than the 14 of 'urgent'.
    with pytest.raises(SpotbagError, match=rf"^stubborn at 120 s: what it chooses for \w+ {fault}") as described:
        run(lambda: Stubborn(chosen))
    assert not isinstance(described.value, InputError)


def run(make: Callable[[], PlatformPolicy], platform: Platform = TINY) -> None:
    replay_platform(platform, [lambda seed: make()])


def test_who_says_that_nothing_is_displaced_displaces_nothing() -> None:
    with pytest.raises(SpotbagError, match=r"stubborn at 120 s: .* displaces jobs, although the policy says"):
        run(lambda: Stubborn(at(DEDICATED, displaced=(HUMBLE,)), displaces=False))


def test_nobody_displaces_as_much_work_as_a_job_has() -> None:
    document = TINY.to_document()
    document["jobs"][URGENT]["size_processor_minutes"] = document["jobs"][HUMBLE]["size_processor_minutes"]
    with pytest.raises(SpotbagError, match="displaces as much work on dedicated as it has, or more"):
        run(lambda: Stubborn(at(DEDICATED, displaced=(HUMBLE,))), Platform.from_document(document, "alike"))


def test_who_takes_no_offer_needs_a_cluster_where_jobs_wait() -> None:
    replay_platform(TINY, [named_nameless])
    document = TINY.to_document()
    document["resources"] = document["resources"][CLOUD:]
    with pytest.raises(SpotbagError, match="nobody at 0 s: it takes no offer for first, and there is no cluster"):
        replay_platform(Platform.from_document(document, "cloud"), [named_nameless])


def named_nameless(seed: int) -> PlatformPolicy:
    made = Nameless(seed)
    made.name = "nobody"
    return made


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("money-saving+exact+exact", "'money-saving+exact+exact' has +exact twice"),
        ("+exact", "'+exact' is not a policy (rules follow the name of one: money-saving+exact)"),
        ("money-saving+exat", "changes no rule by 'exat' (did you mean exact?)"),
    ],
)
def test_names_that_are_none_are_refused_with_a_way_out(name: str, said: str) -> None:
    with pytest.raises(InputError) as described:
        platform_policy(name)
    assert said in str(described.value)


@pytest.mark.parametrize("base", ["money-saving", "round-robin"])
def test_rules_are_shown_in_one_order(base: str) -> None:
    for name in (f"{base}+exact+patient+deadline", f"{base}+patient+deadline+exact"):
        assert platform_policy(name)(0).name == f"{base}+deadline+patient+exact"
    assert replay_platform(TINY, [f"{base}+exact+deadline"]).policies == (f"{base}+deadline+exact",)


def test_a_platform_without_jobs_is_refused_with_a_way_out() -> None:
    with pytest.raises(InputError, match=r"^caron/hybrid: has no jobs: have some drawn, e.g. JobSet\('mixed', 100\)"):
        replay_platform(HYBRID, ["money-saving"])
