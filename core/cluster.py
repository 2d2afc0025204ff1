"""Work on the workers of a Dask cluster."""

from __future__ import annotations

import importlib.metadata
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .errors import SpotbagError
from .limits import LimitReached, stop_point, within
from .processes import POLL_S, QUEUED_A_WORKER, NotImportable, lost_again_and_again

_ANSWERS_WITHIN_S = 10
_FETCHED_WITHIN_S = 5
_PACKAGE = "spotbag"


class ClusterGoneError(SpotbagError):
    """The scheduler of a cluster no longer answers."""


def import_distributed() -> Any:
    """Return Dask's package ``distributed``; refuse if it is not installed."""
    try:
        import distributed
    except ImportError as error:
        raise SpotbagError(f"a Dask cluster needs {error.name}: pip install 'spotbag[dask]'") from None
    return distributed


def check_versions(client: Any, workers: Sequence[str] | None = None) -> None:
    """Refuse workers, of all or of some addresses, that would compute something else, or nothing."""
    ours = importlib.metadata.version(_PACKAGE)
    versions = client.run(importlib.metadata.version, _PACKAGE, workers=workers, on_error="return")
    for address, theirs in versions.items():
        if isinstance(theirs, OSError):  # it is gone
            continue
        if theirs != ours:
            has = "lacks spotbag" if isinstance(theirs, Exception) else f"has spotbag {theirs}"
            raise SpotbagError(f"the Dask worker at {address} {has}: install version {ours} there, as it is here")


@contextmanager
def cluster_is_there(client: Any) -> Iterator[None]:
    """Say for people that workers, or the scheduler of a cluster, are gone."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise lost_again_and_again(error.allowed_failures + 1) from error
    except Exception as error:  # a client without a scheduler raises what comes of it
        gone = client.status != "running" or isinstance(error, CancelledError | CommClosedError)
        if isinstance(error, LimitReached) or not gone:
            raise
        raise ClusterGoneError("the Dask cluster is gone: its scheduler no longer answers") from error


def dumps(what: Any) -> bytes:
    """Pickle an object for workers, also functions and classes of a script, which workers cannot import."""
    import cloudpickle

    return cloudpickle.dumps(what)  # type: ignore[no-any-return]


def connect(address: str) -> Any:
    """Connect with the scheduler of a Dask cluster.

    Parameters
    ----------
    address : str
        Such as ``tcp://10.0.0.5:8786``.

    Returns
    -------
    distributed.Client
        To be closed by the caller.

    Raises
    ------
    SpotbagError
        If Dask is not installed, or no scheduler answers there.
    """
    distributed = import_distributed()
    try:
        return distributed.Client(address, timeout=_ANSWERS_WITHIN_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SpotbagError(f"no Dask scheduler answers at {address}: {error}") from None


class Cluster:
    """Does work on cases on a cluster, as `spotbag.core.processes.Executor`.

    Dask repeats by itself what a worker that is lost had to do. Work and cases are sent as bytes: what a worker cannot
    import would otherwise take down its connection with the scheduler.

    Parameters
    ----------
    work : callable
        What is done with a case.
    client : distributed.Client
        Of the cluster.
    """

    def __init__(self, work: Callable[[Any], Any], client: Any) -> None:
        self._client = client
        self._work = dumps(work)
        self._jobs: list[Any] = []
        self._any_done = threading.Event()
        self._room = self._submitted = 0
        with cluster_is_there(self._client):
            check_versions(client)

    def room(self) -> int:
        """Number of jobs that the cluster may hold at a time: workers may come and go."""
        if self._submitted >= self._room:
            with cluster_is_there(self._client):
                self._room = QUEUED_A_WORKER * max(sum(self._client.nthreads().values()), 1)
            self._submitted = 0
        return self._room

    def submit(self, case: Any) -> Any:
        """Hand over a case; return its future."""
        with cluster_is_there(self._client):
            job = self._client.submit(_do, self._work, dumps(case), pure=False)
        job.add_done_callback(lambda _: self._any_done.set())
        self._jobs.append(job)
        self._submitted += 1
        return job

    def wait(self, jobs: Sequence[Any]) -> Sequence[Any]:
        """Wait a moment until one of some jobs is done; return those that are."""
        self._any_done.clear()
        if not any(job.done() for job in jobs):
            self._any_done.wait(POLL_S)
        return [job for job in jobs if job.done()]

    def result(self, job: Any) -> Any:
        """Return the result of a job that is done, or raise its error."""
        self._jobs.remove(job)
        with cluster_is_there(self._client):
            while True:
                try:
                    return job.result(timeout=_FETCHED_WITHIN_S)
                except TimeoutError:  # its worker is lost, and the work is done once more
                    if job.status == "error":
                        raise
                    stop_point()

    def end(self) -> None:
        """Take back the jobs that are not done; those that have begun hear of it."""
        if self._client.status == "running":
            self._client.cancel(self._jobs, force=True)


def _do(work: bytes, case: bytes) -> Any:
    """Do work on a case, on a worker, until it is done or taken back."""
    with within(stop=_TakenBack()):
        try:
            ready, given = pickle.loads(work), pickle.loads(case)
        except Exception as error:  # whatever modules raise that are imported for it
            raise NotImportable(f"{type(error).__name__}: {error}") from None
        return ready(given)


class _TakenBack:
    """Set when the job that runs in this thread of a worker is wanted no longer."""

    def __init__(self) -> None:
        from distributed import get_worker

        worker = get_worker()
        self._tasks = worker.state.tasks
        self._key = worker.get_current_task()

    def is_set(self) -> bool:
        """True if no client waits for the result of the task any more."""
        task = self._tasks.get(self._key)
        return task is None or task.state == "cancelled"
