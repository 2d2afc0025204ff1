"""Hypothesis looks for new examples on a developer's machine, and for the same ones where changes are judged.

How long an example takes, or is in the making, decides nothing: machines differ.

The garbage collector runs seldom, and passes over what was loaded before the first test: a fifth of the processor time
went into looking at solvers and plotting libraries again and again.

Where nothing has been compiled yet, each of the processes of a run compiles a part of the loops first, and finds the
others kept when it needs them: else all compile the same ones at the same time.

Compiled modules are kept, even where PYTHONDONTWRITEBYTECODE is set: else each of some sixty processes compiles the
package and the tests anew.

Plans are made in one thread where a test asks for no other number: the same ones each time.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

_AS_LONG_AS_IT_TAKES = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("new-examples", _AS_LONG_AS_IT_TAKES)
settings.register_profile("same-examples", _AS_LONG_AS_IT_TAKES, derandomize=True)
settings.load_profile("same-examples" if os.environ.get("CI") else "new-examples")

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["SPOTBAG_THREADS"] = "1"

gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out the fast tests by files: asking for each of thousands takes as long as to run it."""
    from xdist.scheduler import LoadGroupScheduling

    class ByFiles(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group = super()._split_scope(nodeid)
            return group.partition("::")[0]

    return ByFiles(config, log) if "not slow" in config.option.markexpr else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process of a run whether it has to compile, and what."""
    if not any(Path(__file__).parents[1].glob("*/bags/__pycache__/*.nbi")):
        node.workerinput["compiles"] = True


def pytest_sessionstart(session: pytest.Session) -> None:
    given = getattr(session.config, "workerinput", {})
    if "compiles" in given:
        number = int(given["workerid"].removeprefix("gw"))
        for compile_loops in (_compile_replays, _compile_plans)[number :: given["workercount"]]:
            compile_loops()


def _compile_replays() -> None:
    from spotbag import library_instance, solve
    from spotbag.instances.bags.timeline import QUIET
    from spotbag.instances.clouds import PAPERS
    from spotbag.replay.bags.compiled_engine import CompiledReplays
    from spotbag.replay.bags.plan import replay_plan
    from spotbag.replay.bags.policies import find_policy

    plan = solve(library_instance("tiny/two-cores"), "lpt", survive="none").schedule
    assert plan is not None
    CompiledReplays(replay_plan(plan)).outcome(find_policy("static"), QUIET, PAPERS)


def _compile_plans() -> None:
    from spotbag import find_scenario, library_instance, replay_days, solve, warm_up

    warm_up()
    plan = solve(library_instance("hads/J60"), "greedy").schedule
    assert plan is not None
    replay_days(plan, ["on-time"], find_scenario("hads/sc4"), 2, hindsight=True)


def pytest_collection_finish() -> None:
    gc.freeze()
