"""What `warm_up` leaves to the first call."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from spotbag import InputError, warm_up

_SCRIPT = """
import json, pkgutil, sys
from importlib import import_module
from numba.core.dispatcher import Dispatcher
import spotbag
from spotbag.core.compiled import _Cache

def loops():
    found = {}
    for module in [name for name in sys.modules if name.startswith("spotbag.")]:
        for name, value in vars(sys.modules[module]).items():
            made_late = name == "loop" and hasattr(value, "cache_info") and value.cache_info().currsize
            for part in value.values() if name == "DRIVERS" else [value() if made_late else value]:
                if isinstance(part, Dispatcher) and isinstance(part._cache, _Cache):
                    found[f"{part.py_func.__module__}.{part.py_func.__qualname__}"] = len(part.signatures)
    return found

def ready():
    return {name: n for name, n in loops().items() if n}

spotbag.warm_up()
loaded = set(sys.modules)
before = ready()
for name, method in [("hads/J60", "auto"), ("memory/m20", "auto"), ("distinct/200", "search"), ("memory/m20", "ils"),
                     ("memory/m20", "columns"), ("burst-hads/J60", "columns"), ("burst-hads/J60", "ils")]:
    spotbag.solve(spotbag.library_instance(name), method, time_limit_s=1.0)
spotbag.solve(spotbag.library_instance("hads/J60"), goal="cheapest", time_limit_s=10.0)
for name in ("hads/J60", "memory/m20"):
    instance = spotbag.library_instance(name)
    plan = spotbag.solve(instance, "greedy").schedule
    state = spotbag.State.planned(plan, 10)
    for now in (state, state.advance(11, spotbag.VmEnded(plan.vm_ids[0]))):
        spotbag.replan(instance, now, start=plan, time_limit_s=0.2)
new = sorted(name for name in set(sys.modules) - loaded if name.split(".")[0] in ("spotbag", "highspy", "ortools"))
planned = ready()
from spotbag.replay.bags.runs import steps_of_replays
for step in steps_of_replays().values():
    step()
for package in ("heuristics.bags", "models.bags", "replay.bags"):
    for module in pkgutil.iter_modules(import_module(f"spotbag.{package}").__path__):
        import_module(f"spotbag.{package}.{module.name}")
compiled = loops()
plan = spotbag.solve(spotbag.library_instance("hads/J60"), "greedy").schedule
policies = ["static", "hads", "burst-hads", "rescue", "on-time", "on-demand"]
spotbag.replay_days(plan, policies, spotbag.find_scenario("hads/sc4"), 5, hindsight=True)
spotbag.replay_day(plan, "on-time", spotbag.find_scenario("hads/sc4").day(plan.instance, 1, 0))
print(json.dumps([before, planned, new, compiled, loops()]))
"""


@pytest.mark.slow
def test_nothing_is_left_to_load_or_to_compile() -> None:
    run = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True, timeout=300)
    before, planned, new, compiled, after = json.loads(run.stdout)
    assert {"work_out_rescues", "place_where_cheapest", "anneal"} <= {name.rpartition(".")[2] for name in before}
    assert planned == before
    assert new == []
    assert after == compiled
    assert [name for name, signatures in compiled.items() if not signatures] == []


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'search'"):
        warm_up(["serch"])
