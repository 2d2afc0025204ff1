"""How soon long functions answer a request to stop: ``python tests/stop_times.py --stops 200``.

Each function is stopped at random moments of its work, by a thread, in a process that is warm: seconds from then until
it returns, and whether all is there that its callbacks were called with before. The times say something on an idle
machine only; whether nothing is lost is also tested, by amounts of work (``tests/solvers/bags/test_stops.py``).
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from spotbag.core.limits import LimitReached, Stop
from spotbag.experiments.bags.run import run_experiment
from spotbag.experiments.bags.specification import Specification
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.instances.platforms.job_draws import JobSet
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.instances.streams.stream_files import library_stream
from spotbag.replay.bags.runs import replay_days
from spotbag.replay.platforms.runs import replay_platform
from spotbag.replay.streams.runs import replay_stream
from spotbag.schedules.method import TracePoint
from spotbag.solvers.bags.pareto import FrontPoint, pareto_front
from spotbag.solvers.bags.solve import solve
from spotbag_papers.bags.hads.paper import PAPER as HADS
from spotbag_papers.bags.hads.runs import HadsOptions
from spotbag_papers.measuring import print_table
from spotbag_papers.paper import compare

_SLACK = 1 + 1e-9
_LATEST_S = 3.0


@dataclass
class _Work:
    """A long function: it takes a stop, and says whether all that was reported before is in its answer."""

    name: str
    run: Callable[[Stop], bool]
    answers_s: list[float] = field(default_factory=list)
    kept: bool = True

    def stop_at(self, moment_s: float) -> None:
        """Run it, and stop it so many seconds after its begin; not measured if it has ended before."""
        stop = threading.Event()
        timer = threading.Timer(moment_s, stop.set)
        begin = time.perf_counter()
        timer.start()
        self.kept &= self.run(stop)
        end = time.perf_counter()
        timer.cancel()
        if stop.is_set():
            self.answers_s.append(max(end - begin - moment_s, 0.0))


def _solve(instance: Instance, method: str, options: dict[str, Any] | None = None) -> Callable[[Stop], bool]:
    def run(stop: Stop) -> bool:
        points: list[TracePoint] = []
        result = solve(
            instance, method, options=options, on_progress=lambda point, planned: points.append(point), stop=stop
        )
        best = min((point.best for point in points), default=math.inf)
        bound = max((point.bound for point in points if point.bound is not None), default=-math.inf)
        objective = math.inf if result.objective is None else result.objective
        return objective <= best * _SLACK and result.bound is not None and min(bound, best) <= result.bound * _SLACK

    return run


def _front(instance: Instance) -> Callable[[Stop], bool]:
    def run(stop: Stop) -> bool:
        reported: list[FrontPoint] = []
        front = pareto_front(instance, on_point=lambda point, found: reported.append(point), stop=stop)
        return all(any(_beats(mine, other) for mine in front.points) for other in reported)

    return run


def _beats(mine: FrontPoint, other: FrontPoint) -> bool:
    return mine.makespan_s <= other.makespan_s and mine.cost_usd <= other.cost_usd * _SLACK


def _replays(workers: int) -> Iterator[_Work]:
    """Replays of all systems."""
    schedule = solve(library_instance("burst-hads/ED200"), "greedy").schedule
    assert schedule is not None
    scenario, stream = find_scenario("hads/sc4"), library_stream("thai/table2")
    platform = library_platform("caron/hybrid")
    jobs = JobSet("mixed", 100)
    said = "" if workers == 1 else f", {workers} workers"

    def days(stop: Stop) -> bool:
        done: list[int] = []
        found = replay_days(
            schedule, ["hads", "burst-hads"], scenario, 100_000, workers=workers, on_day=done.append, stop=stop
        )
        return found.n_runs >= sum(done)

    def streams(stop: Stop) -> bool:
        done: list[int] = []
        found = replay_stream(stream, ["known", "unknown"], 100_000, workers=workers, on_run=done.append, stop=stop)
        return found.n_runs >= sum(done)

    def platforms(stop: Stop) -> bool:
        done: list[int] = []
        policies = ["time-saving", "round-robin"]
        found = replay_platform(
            platform, policies, 100_000, job_set=jobs, workers=workers, on_run=done.append, stop=stop
        )
        return found.n_runs >= sum(done)

    yield _Work(f"replay_days{said}", days)
    yield _Work(f"replay_stream{said}", streams)
    yield _Work(f"replay_platform{said}", platforms)


def _experiment(stop: Stop) -> bool:
    asked = Specification(instances=["hads/J60"], methods=["greedy", "lpt", "search"], seeds=100)
    rows: list[dict[str, Any]] = []
    run_experiment(asked, None, on_cell=lambda cell: rows.append(cell.row), stop=stop)
    return all(row["status"] in ("feasible", "optimal", "no-plan") for row in rows)


def _bench(stop: Stop) -> bool:
    try:
        compare(HADS, HadsOptions(runs=10_000), stop=stop)
    except LimitReached:
        return True
    return False


def works() -> list[_Work]:
    """All that is stopped."""
    distinct = generate_instance(200, distinct=True, seed=1, d_spot_fraction=0.8, goal="balanced")
    found = [
        _Work(f"solve {method}, {instance.name}", _solve(instance, method))
        for instance, methods in (
            (library_instance("memory/m20"), ("auto", "columns", "interval", "search")),
            (distinct, ("auto", "search", "ils", "columns")),
            (library_instance("hads/J100"), ("patterns",)),
            (generate_instance(100, classes=3, seed=1, d_spot_fraction=0.8, goal="balanced"), ("class-programme",)),
        )
        for method in methods
    ]
    coarse = library_instance("hads/J100")
    found.append(_Work("solve time-indexed, hads/J100", _solve(coarse, "time-indexed", {"step_s": 64})))
    found.append(_Work("pareto_front burst-hads/J60", _front(library_instance("burst-hads/J60"))))
    found.append(_Work("run_experiment", _experiment))
    found.append(_Work("bench hads", _bench))
    return [*found, *_replays(1), *_replays(2)]


def rows(stops: int, seed: int) -> Iterator[Sequence[str]]:
    """One row for each function, stopped in turn."""
    draw = random.Random(seed)
    every = works()
    for work in every:
        work.stop_at(_LATEST_S)  # loads and compiles
        work.answers_s.clear()
    for number in range(stops):
        every[number % len(every)].stop_at(draw.uniform(0.0, _LATEST_S))
    for work in every:
        times = work.answers_s
        yield (
            work.name,
            str(len(times)),
            f"{statistics.median(times):.3f}" if times else "-",
            f"{max(times):.3f}" if times else "-",
            "yes" if work.kept else "NO",
        )
    if not all(work.kept for work in every):
        raise SystemExit(1)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stops", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    headings = ("function", "stops", "median (s)", "worst (s)", "nothing lost")
    title = f"{given.stops} stops, at random moments of the first {_LATEST_S:g} s"
    print_table(title, headings, rows(given.stops, given.seed))


if __name__ == "__main__":
    main()
