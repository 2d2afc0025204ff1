"""What `warm_up` leaves to the first call."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from spotbag import InputError, warm_up

_SCRIPT = """
import json, sys
from importlib import import_module
import spotbag

KERNELS = {
    "heuristics.bags.annealing_kernel": ["anneal"],
    "heuristics.bags.assignment_kernel": ["anneal_assignments"],
    "heuristics.bags.local_search_kernel": ["local_search"],
    "heuristics.bags.rescue_loops": ["LOOP"],
    "models.bags.core_knapsack_kernel": ["core_gains"],
    "models.bags.slack_kernel": ["list_columns", "add_vm", "run_rest", "copy_reached"],
    "models.bags.vm_columns_kernel": ["find_columns", "least_end", "quick_bound"],
}

def compiled():
    modules = [(import_module(f"spotbag.{module}"), names) for module, names in KERNELS.items()]
    return [len(getattr(module, name).signatures) for module, names in modules for name in names]

spotbag.warm_up()
before, loaded = compiled(), set(sys.modules)
for name, method in [("hads/J60", "auto"), ("memory/m20", "auto"), ("distinct/200", "search"), ("memory/m20", "ils"),
                     ("memory/m20", "columns"), ("burst-hads/J60", "columns"), ("burst-hads/J60", "ils")]:
    spotbag.solve(spotbag.library_instance(name), method, time_limit_s=1.0)
spotbag.solve(spotbag.library_instance("hads/J60"), goal="cheapest", time_limit_s=10.0)
for name in ("hads/J60", "memory/m20"):
    instance = spotbag.library_instance(name)
    plan = spotbag.solve(instance, "greedy").schedule
    spotbag.replan(instance, spotbag.State.planned(plan, 10), start=plan, time_limit_s=0.2)
new = sorted(name for name in set(sys.modules) - loaded if name.split(".")[0] in ("spotbag", "highspy", "ortools"))
print(json.dumps([before, compiled(), new]))
"""


@pytest.mark.slow
def test_nothing_is_left_to_load_or_to_compile() -> None:
    run = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True, timeout=300)
    before, after, new = json.loads(run.stdout)
    assert all(number > 0 for number in before)
    assert after == before
    assert new == []


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'search'"):
        warm_up(["serch"])
