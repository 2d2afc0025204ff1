"""Reading and writing streams of jobs: JSON of the format ``spotbag.jobs/1``; the streams of the library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from typing import Any

from .errors import input_error
from .job_stream import JOBS_FORMAT, JobStream, near_names
from .json_documents import check_format, format_json, parse_json
from .library import JOB_STREAMS
from .text_files import read_text, source_name, write_text

_SUFFIX = ".json"


def read_job_stream(path: str | os.PathLike[str]) -> JobStream:
    """Read a stream of jobs from a JSON file, or from standard input for ``-``.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return parse_job_stream(read_text(path), source_name(path))


def parse_job_stream(text: str, source: str = "jobs") -> JobStream:
    """Read a stream of jobs from a JSON text; ``source`` names it in messages.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return job_stream_of_document(parse_json(text, source), source)


def job_stream_of_document(document: Mapping[str, Any], source: str = "jobs") -> JobStream:
    """Make a stream of a parsed JSON document; ``source`` names it in messages.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    check_format(document, JOBS_FORMAT, source)
    return JobStream.from_document(document, source)


def write_job_stream(stream: JobStream, path: str | os.PathLike[str]) -> None:
    """Write a stream of jobs as a JSON file; reading it gives the same stream.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    write_text(path, format_job_stream(stream))


def format_job_stream(stream: JobStream) -> str:
    """Return a stream of jobs as a JSON text; reading it gives the same stream."""
    return format_json(stream.to_document())


def job_stream_schema() -> str:
    """JSON Schema of ``spotbag.jobs/1``, as shipped with the package."""
    return resources.files(__package__).joinpath("jobs.schema.json").read_text(encoding="utf-8")


def job_stream_names() -> list[str]:
    """Names of all streams of the library, sorted: ``thai/table2``, ``tiny/two-jobs``."""
    return sorted(
        f"{family.name}/{entry.name.removesuffix(_SUFFIX)}"
        for family in _streams().iterdir()
        if family.is_dir()
        for entry in family.iterdir()
        if entry.name.endswith(_SUFFIX)
    )


def library_job_stream(name: str) -> JobStream:
    """Load a stream of the library by its name.

    Raises
    ------
    InputError
        If there is none of that name; close names are suggested.
    """
    names = job_stream_names()
    if name not in names:
        raise input_error(name, f"no job stream of the library has this name ({near_names(name, names)})")
    entry = _streams().joinpath(*PurePosixPath(name + _SUFFIX).parts)
    return parse_job_stream(entry.read_text(encoding="utf-8"), name)


def _streams() -> Traversable:
    return resources.files(__package__).joinpath("data", JOB_STREAMS)
