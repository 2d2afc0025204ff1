"""``spotbag bound``: every bound in its unit, never above a plan, and why there is none."""

from __future__ import annotations

import pytest

from spotbag.bounds.bags.lower_bounds import lower_bounds
from spotbag.instances.library import library_instance
from spotbag.solvers.bags.solve import solve
from tests.helpers.command_shell import Shell
from tests.helpers.fake_time import fake_time


def test_the_table_has_every_bound_with_unit_and_meaning(shell: Shell) -> None:
    out = " ".join(shell.run("bound", "memory/m10").split())
    assert "every plan has an objective of at least 0.2449" in out
    for part in (
        "divisible bound",
        "configuration bound",
        "core-pattern bound",
        "least cost",
        "least makespan",
        "time (ms)",
        "308 s",
    ):
        assert part in out
    assert "configuration" not in shell.run("bound", "tiny/two-cores")


def test_no_bound_is_above_the_optimum_of_a_tiny_instance(shell: Shell) -> None:
    for name in ("two-cores", "memory-parts-them", "boot", "checkpoints", "credits"):
        provenance = library_instance(f"tiny/{name}").provenance
        assert provenance is not None
        assert provenance.optimum is not None
        for bound in shell.json("bound", f"tiny/{name}")["bounds"]:
            most = {"objective": provenance.optimum.objective, "$": 1e9, "s": provenance.optimum.makespan_s}
            if bound["name"] != "least cost":
                assert 0 <= bound["value"] <= most[bound["unit"]] * (1 + 1e-9), (name, bound)


def test_bounds_of_cost_and_makespan_alone_hold_for_plans_made_for_them(shell: Shell) -> None:
    found = {bound["name"]: bound["value"] for bound in shell.json("bound", "hads/J60")["bounds"]}
    for weight in (0.0, 1.0):
        instance = library_instance("hads/J60")
        plan = solve(instance.replace(objective={"cost_weight": weight}), "lpt").schedule
        assert plan is not None
        assert found["least cost"] <= plan.cost_usd
        assert found["combinatorial makespan"] <= found["least makespan"] <= plan.makespan_s


def test_two_tasks_on_two_cores_by_hand() -> None:
    # tiny/two-cores: 3 tasks of 10, 20 and 30 s, one VM of two cores at 0.001 $/s: 60 s of work on two cores.
    values = {bound.name: bound.value for bound in lower_bounds(library_instance("tiny/two-cores"))}
    assert values["least makespan"] == 30
    assert values["least cost"] == pytest.approx(0.03)
    assert values["divisible bound"] == pytest.approx(0.3)


def test_the_command_line_overrides_the_instance(shell: Shell) -> None:
    own = shell.json("bound", "hads/J60")
    options = ["--cost-weight", "1", "--cost-scale", "1", "--makespan-scale", "7", "--markets", "on-demand"]
    found = shell.json("bound", "hads/J60", *options, "--deadline", "3000")
    assert (found["deadline_s"], found["cost_weight"], found["makespan_scale_s"]) == (3000, 1, 7)
    values = {bound["name"]: bound["value"] for bound in found["bounds"]}
    assert values["divisible bound"] == pytest.approx(values["least cost"], rel=1e-9)
    assert values["least cost"] > own["bounds"][1]["value"]  # on demand is dearer


@pytest.mark.slow
def test_with_a_time_limit_bounds_are_what_was_proved_by_then(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shell.json("bound", "memory/m10")["bounds"]
    fake_time(monkeypatch, look_s=1.0)
    cut = shell.json("bound", "memory/m10", "--time-limit", "3")["bounds"]
    assert [bound["name"] for bound in cut] == [bound["name"] for bound in whole]
    assert all(less["value"] <= full["value"] for less, full in zip(cut, whole, strict=True))
    assert cut[1]["value"] < whole[1]["value"]


def test_no_plan_exists_is_said_with_the_reason_and_exit_code_1(shell: Shell) -> None:
    assert "no plan exists: the tasks take at least 302 s" in shell.run(
        "bound", "burst-hads/J60", "--deadline", "301", "--d-spot", "301", code=1
    )
    out = shell.run("bound", "burst-hads/ED200", "--markets", "spot", code=1)
    assert "no plan exists: even if tasks could be cut" in out
    found = shell.json("bound", "burst-hads/ED200", "--markets", "spot", code=1)
    assert found["status"] == "infeasible"
    assert "no plan exists" in found["message"]
    assert found["bounds"][0]["value"] is None


def test_bad_input_is_exit_code_2(shell: Shell) -> None:
    shell.run("bound", "hads/J61", code=2)
    assert "did you mean hads/J60" in shell.err
    shell.run("bound", "hads/J60", "--cost-weight", "2", code=2)
    assert "must be less than or equal to 1" in shell.err
