"""What a command loads: itself and what it uses, in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spotbag.cli import main

_HEAVY = {"jinja2", "joblib", "llvmlite", "matplotlib", "networkx", "numba", "ortools", "pandas", "pulp", "pyomo"}


def loaded_by(*words: str) -> set[str]:
    """Names of all modules that a command has loaded when it ends."""
    code = "import json, sys; from spotbag.cli import main; assert main(sys.argv[1:]) == 0; "
    code += "print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def parts_of_spotbag(modules: set[str]) -> set[str]:
    """Names of our own modules, within the package."""
    return {name.removeprefix("spotbag.") for name in modules if name.startswith("spotbag.")}


def in_stage(own: set[str], stage: str) -> set[str]:
    """Modules of a stage that are more than a package."""
    return {name for name in own if name.startswith(f"{stage}.") and name.count(".") > 1}


def other_systems(own: set[str], system: str) -> set[str]:
    """Modules of the systems but one."""
    return {name for name in own if {"bags", "streams", "platforms"} - {system} & set(name.split("."))}


def test_the_greedy_loads_no_other_method_system_or_solver() -> None:
    modules = loaded_by("solve", "--method", "greedy", "distinct/1000", "--survive", "none")
    # HiGHS solves the linear programme of the bound that every result has.
    assert not (_HEAVY | {"scipy"}) & modules
    own = parts_of_spotbag(modules)
    assert in_stage(own, "heuristics") == {f"heuristics.bags.{name}" for name in ("d_spot", "greedy")}
    assert in_stage(own, "solvers") == {
        f"solvers.bags.{name}" for name in ("budget", "goals", "methods", "result", "solve")
    }
    assert not other_systems(own, "bags")
    assert not {name for name in own if name.split(".")[0] in ("charts", "replay", "traces", "benchmarks")}
    assert len(own) <= 71
    assert len(modules) <= 502


@pytest.mark.slow
def test_a_certificate_loads_its_rules_and_neither_a_search_nor_a_compiler() -> None:
    modules = loaded_by("solve", "--method", "greedy", "hads/J60")
    assert not (_HEAVY | {"scipy"}) & modules
    own = parts_of_spotbag(modules)
    assert {name for name in in_stage(own, "heuristics") if "rescue" not in name} == {
        f"heuristics.bags.{name}" for name in ("core_loads", "d_spot", "greedy")
    }
    assert "solvers.bags.survival" not in own


@pytest.mark.slow
def test_a_report_on_a_plan_loads_no_graphs_and_no_replay(tmp_path: Path) -> None:
    plan, page = str(tmp_path / "plan.json"), str(tmp_path / "plan.html")
    assert main(["solve", "--method", "greedy", "tiny/two-cores", "--out", plan]) == 0
    modules = loaded_by("report", plan, "--out", page)
    assert not ((_HEAVY | {"scipy"}) - {"jinja2"}) & modules
    assert not {name for name in parts_of_spotbag(modules) if name.split(".")[0] in ("replay", "benchmarks")}


@pytest.mark.slow
def test_a_replay_of_a_plan_loads_no_solver(tmp_path: Path) -> None:
    plan = str(tmp_path / "plan.json")
    assert main(["solve", "--method", "greedy", "tiny/two-cores", "--out", plan]) == 0
    modules = loaded_by("replay", "tiny/two-cores", "--plan", plan, "--policy", "hads,burst-hads", "--runs", "2")
    assert not (_HEAVY | {"highspy"}) & modules
    own = parts_of_spotbag(modules)
    assert not {name for name in own if name.split(".")[0] in ("solvers", "charts", "benchmarks")}
    assert in_stage(own, "heuristics") == {"heuristics.bags.d_spot"}


@pytest.mark.slow
def test_a_stream_and_a_platform_load_no_picture_and_no_other_system() -> None:
    for system, words in (("streams", ("stream", "tiny/two-jobs")), ("platforms", ("platform", "tiny/hybrid"))):
        modules = loaded_by(*words, "--once")
        assert not _HEAVY & modules
        own = parts_of_spotbag(modules)
        assert not {name for name in own if name.split(".")[0] in ("charts", "audits", "heuristics", "benchmarks")}
        used = {name for name in own if name.split(".")[0] in ("bounds", "cli", "models", "replay", "solvers")}
        assert not other_systems(used, system)
        assert f"replay.{system}.engine" in own


def test_the_name_of_a_method_loads_none() -> None:
    code = "import sys; from spotbag.solvers.bags.methods import METHODS, find_method; [*map(find_method, METHODS)]; "
    code += "print([name for name in sys.modules if name.endswith('_method')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
