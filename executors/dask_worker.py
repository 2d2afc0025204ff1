"""Part of the executor on the workers of a Dask cluster: running the tasks of a plan."""

from __future__ import annotations

import os
import pickle
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_MOST_MESSAGE = 500
"""Characters of what a command says when it fails that are reported."""


class Job(NamedTuple):
    """A task in its place.

    Attributes
    ----------
    topic : str
        Of the events by which its starts and ends are reported; each run of a plan has its own.
    generation : int
        How often the plan had been made anew when it was handed over.
    task, vm : str
        Ids of the task and of its VM.
    core : int
        Core of the VM.
    command : str
        What the shell runs, unless there is a function to be called.
    call : bytes, optional
        The function, pickled; it gets the id of the task.
    retries : int
        How often it is tried once more if it fails.
    cores : tuple of int
        All its cores, if it has several.
    """

    topic: str
    generation: int
    task: str
    vm: str
    core: int
    command: str
    call: bytes | None
    retries: int
    cores: tuple[int, ...]


@dataclass(slots=True)
class _Book:
    """State of a VM in a run of a plan."""

    generation: int = -1
    running: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ended: bool = False


_books: dict[tuple[str, str], _Book] = {}
_lock = threading.Lock()


def hold(topic: str, vm: str, generation: int) -> tuple[set[str], set[str]]:
    """Have no task begin that was handed over before a generation; return those that run, and all that have begun."""
    with _lock:
        book = _books.setdefault((topic, vm), _Book())
        book.generation = generation
        return set(book.running), set(book.begun)


def end(topic: str, vm: str) -> None:
    """Have no task begin any more, and end those that run."""
    with _lock:
        book = _books.pop((topic, vm), _Book())
        book.ended = True
        processes = list(book.processes.values())
    for process in processes:
        _end_process(process)


def perform(job: Job, *_before: Any) -> None:
    """Do a task after those before it, unless it is planned anew; it is reported when it starts and ends.

    Dask would do a task again if it had lost its result, or send it to a worker that comes later under the same name:
    only those of the present generation are done, and each once.
    """
    with _lock:
        book = _books.get((job.topic, job.vm))
        if book is None or book.generation != job.generation:
            return
        book.running.add(job.task)
        book.begun.add(job.task)
    try:
        for attempt in range(job.retries + 1):
            _report(job, what="start")
            code, message = _call(job) if job.call is not None else _command(job, book)
            last = code == 0 or attempt == job.retries or book.ended
            if not book.ended:
                _report(job, what="end", exit_code=code, message=message, last=last)
            if last:
                break
    finally:
        with _lock:
            book.running.discard(job.task)


def _report(job: Job, **event: Any) -> None:
    from distributed import get_worker

    get_worker().log_event(job.topic, {"task": job.task, "vm": job.vm, "core": job.core, **event})


def _call(job: Job) -> tuple[int, str]:
    """Call the function; return 0, or 1 and why it failed."""
    try:
        pickle.loads(job.call or b"")(job.task)
    except Exception as error:  # whatever it raises is told
        return 1, f"{type(error).__name__}: {error}"[:_MOST_MESSAGE]
    return 0, ""


def _command(job: Job, book: _Book) -> tuple[int, str]:
    """Run the command; return its exit code, and the end of what it said on standard error if it failed."""
    about = {"SPOTBAG_TASK": job.task, "SPOTBAG_VM": job.vm, "SPOTBAG_CORE": str(job.core)}
    about["SPOTBAG_CORES"] = ",".join(map(str, job.cores or (job.core,)))
    with tempfile.TemporaryFile() as said:
        with _lock:
            if book.ended:
                return 1, ""
            try:
                # As the scripts of a plan run it, also where it begins with a dash.
                words = ["sh", "-c", "--", job.command]
                process = subprocess.Popen(words, env=os.environ | about, stdin=subprocess.DEVNULL, stderr=said)
            except (OSError, ValueError) as error:
                return 127, str(error)[:_MOST_MESSAGE]
            book.processes[job.task] = process
        code = process.wait()
        with _lock:
            book.processes.pop(job.task, None)
        if code == 0:
            return 0, ""
        begin = said.seek(max(said.seek(0, os.SEEK_END) - _MOST_MESSAGE, 0))
        message = said.read().decode("utf-8", "replace").strip()
    if begin:  # whole lines, if there are any
        message = message.partition("\n")[2] or message
    # As a shell has it: a command that a signal ended has 128 and its number.
    return (code if code > 0 else 128 - code), message


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it has started."""
    import psutil

    try:
        begun = [psutil.Process(process.pid)]
        begun += begun[0].children(recursive=True)
    except psutil.NoSuchProcess:
        return
    for one in begun:
        try:
            one.terminate()
        except psutil.NoSuchProcess:
            continue
