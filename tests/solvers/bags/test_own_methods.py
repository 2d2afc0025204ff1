"""Methods of one's own: how they are given, and what they are told if they go wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spotbag
from spotbag.cli.options import METHODS
from spotbag.core.plugins import PluginError, PluginWarning
from spotbag.plugins import InputError, ModelRefusal, TracePoint
from spotbag.solvers.bags.methods import describe_options, find_method, listed_methods, method_names
from tests.helpers import own_methods
from tests.helpers.distributions import Distributions
from tests.helpers.own_methods import InTurn

TINY = spotbag.library_instance("tiny/boot").replace(survive="none")


@pytest.fixture
def distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Distributions:
    return Distributions(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (InTurn, "in-turn"),
        (InTurn(), "in-turn"),
        (own_methods.in_turn, "tests.helpers.own_methods:in_turn"),
        (own_methods.of_a_copy, "tests.helpers.own_methods:of_a_copy"),
        ("tests.helpers.own_methods:InTurn", "tests.helpers.own_methods:InTurn"),
        ("tests.helpers.own_methods:in_turn", "tests.helpers.own_methods:in_turn"),
        ("tests.helpers.own_methods:InTurn.plan.__globals__", None),
    ],
)
def test_a_method_is_given_by_class_instance_function_or_place(given: Any, name: str | None) -> None:
    if name is None:
        with pytest.raises(InputError, match="must be a Method"):
            spotbag.solve(TINY, given)
        return
    result = spotbag.solve(TINY, given)
    assert result.method == name
    assert result.schedule is not None
    assert len(result.schedule.vm_offer) == 2
    assert spotbag.check(result.instance, result.schedule).feasible
    assert result.bound <= result.schedule.objective


def test_options_are_the_fields_of_the_class() -> None:
    given = {"vms": "1", "market": "spot", "slack": "none", "reverse": "true"}
    for method in (InTurn, InTurn(vms=5), "tests.helpers.own_methods:InTurn"):
        result = spotbag.solve(TINY, method, options=given)
        assert result.schedule is not None
        assert result.schedule.vm_counts() == {"a spot": 1}
    assert describe_options(find_method(InTurn)) == [
        ("vms", "a whole number", "2"),
        ("market", "a text", "spot"),
        ("slack", "a number or none", ""),
        ("reverse", "true or false", "False"),
    ]


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        (InTurn, {"vms": "many"}, "vms 'many' must be a whole number"),
        (InTurn, {"slack": "much"}, "slack 'much' must be a number or none"),
        (InTurn, {"vmss": 1}, r"vmss is no option of in-turn \(did you mean 'vms'\?\)"),
        (own_methods.in_turn, {"vms": 1}, r"vms is no option of tests.helpers.own_methods:in_turn \(it has none\)"),
        (own_methods.Refined, {"vms": 1}, "the method 'refined' failed: ValueError: an even number of VMs is wanted"),
    ],
)
def test_options_that_a_method_does_not_have_are_refused(method: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        spotbag.solve(TINY, method, options=options)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (
            own_methods.fails,
            r"the method tests.helpers.own_methods:fails failed: ZeroDivisionError: .* \(own_methods.py, line \d+\)",
        ),
        (own_methods.misspells, "tests.helpers.own_methods:misspells failed: method: 'gredy' is unknown"),
        (own_methods.forgets, "tests.helpers.own_methods:forgets must return an Outcome, not Schedule"),
        (own_methods.says_nan, "must return a number as its bound, not nan"),
        (
            own_methods.too_late,
            "tests.helpers.own_methods:too_late made a plan that breaks a rule: deadline: task .* more",
        ),
        (own_methods.keeps_a_late_plan, "made a plan that breaks a rule: deadline"),
        (own_methods.of_another_bag, "made a plan that does not fit the instance: task_vm has shape"),
        (own_methods.boasts, "claims a bound of .* and made a plan of"),
    ],
)
def test_a_method_that_goes_wrong_is_named_with_the_reason(method: Callable[..., Any], said: str) -> None:
    with pytest.raises(PluginError, match=said) as caught:
        spotbag.solve(TINY, method)
    causes = {
        own_methods.fails: ZeroDivisionError,
        own_methods.misspells: InputError,
        own_methods.of_another_bag: ValueError,
    }
    assert isinstance(caught.value.__cause__, causes.get(method, type(None)))


@pytest.mark.parametrize("goal", ["cheapest", "fastest"])
def test_a_method_that_has_one_plan_only_is_not_blamed_for_harder_questions(goal: Any) -> None:
    one_after_the_other = InTurn(vms=1)
    result = spotbag.solve(spotbag.library_instance("tiny/boot"), one_after_the_other, goal=goal, survive="one-type")
    assert result.schedule is not None
    assert len(result.schedule.vm_offer) == 1
    with pytest.raises(PluginError, match="breaks a rule: d-spot"):
        spotbag.solve(TINY.replace(d_spot_s=result.schedule.makespan_s - 1), one_after_the_other)


def test_a_method_may_refuse_an_instance() -> None:
    with pytest.raises(ModelRefusal, match="no bags on Sundays"):
        spotbag.solve(TINY, own_methods.refuses)


def test_what_a_method_has_kept_is_the_answer_when_its_time_is_over() -> None:
    points: list[TracePoint] = []
    result = spotbag.solve(TINY, own_methods.says_hello, on_progress=lambda point, planned: points.append(point))
    assert result.schedule is not None
    assert points[0] == TracePoint(1, 2.0, 1.0)


def test_what_a_method_has_kept_counts_if_it_returns_none_or_its_time_is_over() -> None:
    kept = spotbag.solve(TINY, own_methods.keeps_a_plan)
    assert kept.schedule is not None
    better = spotbag.solve(TINY, own_methods.keeps_a_better_plan, time_limit_s=0.05)
    assert better.objective == pytest.approx(spotbag.solve(TINY, InTurn()).objective)
    assert better.objective < spotbag.solve(TINY, InTurn(vms=1)).objective


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "tests.helpers.own_methods:InTrun",
            r"'tests.helpers.own_methods:InTrun' cannot be found: tests.helpers.own_methods has no InTrun \(did you",
        ),
        ("own_method:InTurn", "there is no module own_method .*current folder"),
        ("own_methods.py:InTurn", "leave out .py"),
        ("tests.helpers.own_methods:", "must be module:attribute, such as my_module:MyMethod"),
        ("tests/own_methods:InTurn", "must be module:attribute"),
        (
            "tests.helpers.own_methods:NO_METHOD",
            "must be a Method .* or a function of an instance and a Run, not Incumbent",
        ),
        ("tests.helpers.own_methods:Incumbent", "must be a Method .*, not Incumbent"),
        (lambda instance: None, r"cannot be called with these two \(too many positional arguments\)"),
        (own_methods.Nameless, "must have a name: Nameless has none"),
        (own_methods.Untyped, "types of options that cannot be read: NameError: name 'Nowhere' is not defined"),
        (own_methods.Greedy, "must have a name of its own: greedy is built in"),
        (own_methods.Planless, r"must have a method plan\(instance, run\): Planless has none"),
        (7, "must be a Method .*, not int"),
        ("in-turn", "is unknown .*known: auto"),
    ],
)
def test_what_is_no_method_is_refused_with_the_reason(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        spotbag.solve(TINY, given)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nowhere_at_all", "cannot be loaded: ModuleNotFoundError: No module named 'nowhere_at_all' .*line 1"),
        ("def method(:", "cannot be loaded: SyntaxError"),
        ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3 .*line 1"),
        ("\n\n1 / 0", "cannot be loaded: ZeroDivisionError: division by zero .*line 3"),
    ],
)
def test_a_module_that_cannot_be_loaded_says_why(distributions: Distributions, text: str, said: str) -> None:
    module = distributions.module(text)
    with pytest.raises(InputError, match=said) as caught:
        spotbag.solve(TINY, f"{module}:method")
    assert caught.value.__cause__ is not None


def test_an_installed_method_is_found_by_its_name_and_listed(distributions: Distributions) -> None:
    distributions.install(
        "Turns", "from tests.helpers.own_methods import InTurn, in_turn", methods={"in-turn": "InTurn", "f": "in_turn"}
    )
    assert spotbag.solve(TINY, "in-turn", options={"vms": 1}).method == "in-turn"
    assert spotbag.solve(TINY, "f").method == "f"
    *_, function, method = listed_methods()
    assert (function.name, function.summary) == ("f", "Give tasks to two VMs in turn.")
    assert (method.name, method.summary, method.distribution) == ("in-turn", "tasks in turn", "Turns 1.0")
    assert method_names()[-2:] == ["f", "in-turn"]
    assert METHODS("greedy,in-") == ["greedy,in-turn"]
    with pytest.raises(InputError, match="did you mean 'in-turn'"):
        spotbag.solve(TINY, "in-trun")


def test_plug_ins_that_cannot_be_used_are_left_out_with_a_warning_that_names_the_distribution(
    distributions: Distributions,
) -> None:
    own = "from tests.helpers.own_methods import *\nfrom tests.helpers.own_methods import InTurn as another"
    distributions.install("first", own, methods={"in-turn": "InTurn", "greedy": "Greedy"})
    distributions.install("second", own, methods={"in-turn": "another", "none": "NO_METHOD", "alias": "InTurn"})
    distributions.install("third", "import nowhere_at_all", methods={"gone": "anything"})
    with pytest.warns(PluginWarning) as warned:
        assert [entry.name for entry in listed_methods() if entry.plugin] == ["in-turn"]
    assert [str(warning.message) for warning in warned] == [
        "the method 'alias' of the distribution second 1.0 is left out: it must have the name of its entry point, "
        "not 'in-turn'",
        "the method 'gone' of the distribution third 1.0 is left out: it cannot be loaded from third 1.0: "
        "ModuleNotFoundError: No module named 'nowhere_at_all' "
        f"({warned[1].message.args[0].rpartition('(')[2]}",  # type: ignore[union-attr]
        "the method 'greedy' of the distribution first 1.0 is left out: it has the name of one that is built in, which "
        "cannot be replaced",
        "the method 'in-turn' of the distribution second 1.0 is left out: first 1.0 has one of this name, too",
        "the method 'none' of the distribution second 1.0 is left out: it must be a Method (a class or an instance), "
        "or a function of an instance and a Run, not Incumbent",
    ]
    with pytest.warns(PluginWarning, match="second 1.0 is left out: first 1.0 has one"):
        assert spotbag.solve(TINY, "in-turn").method == "in-turn"
    with pytest.raises(InputError, match=r"'gone' cannot be loaded from third 1\.0: ModuleNotFoundError"):
        spotbag.solve(TINY, "gone")


def test_names_that_are_built_in_are_never_looked_up_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked_up(**_: object) -> None:
        raise AssertionError("entry points were looked up")

    monkeypatch.setattr("importlib.metadata.entry_points", looked_up)
    plan = spotbag.solve(TINY, "greedy").schedule
    assert plan is not None
    spotbag.replay_day(plan, "hads+trigger-once")
    with pytest.raises(InputError, match="changes no rule by 'x'"):
        spotbag.replay_day(plan, "hads+x")
    with pytest.raises(AssertionError, match="looked up"):
        spotbag.solve(TINY, "gredy")
