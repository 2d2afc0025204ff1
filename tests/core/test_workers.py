"""Work on many cases by processes and by a Dask cluster: the same results, also when some of them are lost."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spotbag.cli import main
from spotbag.core.cluster import connect
from spotbag.core.errors import InputError, Issue, SpotbagError
from spotbag.core.limits import LimitReached, within
from spotbag.core.processes import NotImportable
from spotbag.core.workers import by_workers, check_workers, each
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.library import library_instance
from spotbag.replay.bags.runs import replay_days
from spotbag.solvers.bags.solve import solve
from tests.helpers.worker_tasks import end_after_the_next, end_always, end_once, twice, wait_until_stopped

pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture(scope="module")
def threads() -> Iterator[Any]:
    """Return the client of a cluster whose workers are threads of this process."""
    from distributed import Client

    here = dict.fromkeys(("dashboard_address", "worker_dashboard_address"), "127.0.0.1:0")
    with Client(processes=False, n_workers=1, threads_per_worker=2, **here) as client:
        yield client


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Return the client of a cluster of processes, which can import what tests have them do."""
    from distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:
        client.run(sys.path.append, str(Path(__file__).parents[2]))
        yield client


def refuse(number: int) -> int:
    """Raise what a bad input raises."""
    raise InputError("file", [Issue("tasks[3]", "must be less", "runtime_s", number)])


class Unknown:
    """Cannot be read where it is sent to."""

    def __reduce__(self) -> Any:
        return __import__, ("no_such_module",)


@pytest.mark.slow
def test_a_cluster_gives_what_this_process_gives(threads: Any) -> None:
    assert list(each(twice, range(9), threads)) == list(each(twice, range(9), 1))
    assert sorted(by_workers(twice, range(9), threads, in_order=False)) == list(each(twice, range(9), 1))
    with pytest.raises(InputError, match=r"file: tasks\[3\]: runtime_s 7 must be less"):
        list(each(refuse, [7], threads))
    with pytest.raises(NotImportable, match="no_such_module"):
        list(each(twice, [Unknown()], threads))


@pytest.mark.slow
def test_days_replayed_on_a_cluster_are_those_of_this_process(threads: Any) -> None:
    schedule = solve(library_instance("tiny/two-cores"), "lpt").schedule
    assert schedule is not None
    policies, scenario, reported = ["hads", "burst-hads"], find_scenario("burst-hads/sc4"), list[int]()
    days = replay_days(schedule, policies, scenario, 30, workers=threads, on_day=reported.append)
    assert days == replay_days(schedule, policies, scenario, 30)
    assert sum(reported) == 30


class StopWhen:
    """Set once a file is there."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def is_set(self) -> bool:
        return self.file.exists()


def test_what_is_taken_back_from_a_cluster_hears_of_it(threads: Any, tmp_path: Path) -> None:
    file = tmp_path / "work"
    with within(stop=StopWhen(file)), pytest.raises(LimitReached):
        list(each(wait_until_stopped, [file], threads))
    for _ in range(10_000):
        if file.read_text() == "stopped":
            break
        time.sleep(0.001)
    assert file.read_text() == "stopped"


def test_workers_are_a_number_or_a_client_that_can_be_waited_for() -> None:
    for wrong, rule in ((0, "must be 1 or more"), ("tcp://host", "must be a number of processes, or a Dask client")):
        with pytest.raises(InputError, match=rule):
            check_workers(wrong)  # type: ignore[arg-type]


def test_what_is_missing_for_a_cluster_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SpotbagError, match=r"a Dask cluster needs distributed: pip install 'spotbag\[dask\]'"):
        connect("tcp://127.0.0.1:8786")


def test_an_error_of_an_input_can_be_sent_between_processes() -> None:
    error = InputError("file", [Issue("tasks[3]", "must be less", "runtime_s", 7)])
    assert pickle.loads(pickle.dumps(error)).issues == error.issues


@pytest.mark.slow
@pytest.mark.parametrize("in_order", [True, False])
def test_what_a_lost_process_had_to_do_is_done_once_more(tmp_path: Path, in_order: bool) -> None:
    found = by_workers(end_once, [(str(tmp_path), number) for number in range(8)], 2, in_order)
    assert sorted(found) == [2 * number for number in range(8)]


@pytest.mark.slow
@pytest.mark.parametrize("in_order", [True, False])
def test_what_a_lost_worker_of_a_cluster_had_to_do_is_done_once_more(
    cluster: Any, tmp_path: Path, in_order: bool
) -> None:
    found = list(by_workers(end_once, [(str(tmp_path), number) for number in range(8)], cluster, in_order))
    assert (found if in_order else sorted(found)) == [2 * number for number in range(8)]


@pytest.mark.slow
def test_processes_that_are_lost_again_and_again_are_an_error() -> None:
    with pytest.raises(SpotbagError, match=r"processes were lost 4 times in a row: if they lack memory"):
        list(by_workers(end_always, range(3), 2))
    assert list(by_workers(twice, range(3), 2)) == [0, 2, 4]


@pytest.mark.slow
def test_days_are_the_same_when_a_worker_of_the_cluster_is_killed_midway(cluster: Any) -> None:
    schedule = solve(library_instance("burst-hads/J60"), "lpt").schedule
    assert schedule is not None
    processes = list(cluster.run(os.getpid).values())

    def kill_one(_: int) -> None:
        if len(processes) > 1:
            os.kill(processes.pop(), signal.SIGKILL)

    scenario = find_scenario("burst-hads/sc4")
    days = replay_days(schedule, ["hads", "burst-hads"], scenario, 60, workers=cluster, on_day=kill_one)
    assert days == replay_days(schedule, ["hads", "burst-hads"], scenario, 60)
    assert len(processes) == 1


@pytest.mark.slow
def test_a_command_prints_the_same_from_a_cluster(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["stream", "tiny/two-jobs", "--runs", "6", "--json"]
    assert main(words) == 0
    here = capsys.readouterr().out
    assert main([*words, "--dask", cluster.scheduler.address]) == 0
    assert capsys.readouterr().out == here
    assert main([*words, "--dask", "tcp://127.0.0.1:9", "--workers", "2"]) == 2
    assert "--workers and --dask: use one or the other" in capsys.readouterr().err
    assert main([*words, "--dask", "no://where"]) == 2
    assert "no Dask scheduler answers at no://where" in capsys.readouterr().err


def test_results_come_in_the_order_of_the_cases_whichever_ends_first(threads: Any, tmp_path: Path) -> None:
    assert list(by_workers(end_after_the_next, [(str(tmp_path), number) for number in range(2)], threads)) == [0, 1]
