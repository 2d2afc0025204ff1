"""Hypothesis strategies: small streams of jobs with run times of every kind."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from spotbag.instances.streams.stream import Stream

MOST_TASKS = 5
seconds = st.one_of(st.integers(1, 300), st.floats(0.25, 300))


@st.composite
def run_times(draw: st.DrawFn) -> dict[str, Any]:
    """Run times of an application on a VM type."""
    kind = draw(st.sampled_from(["constant", "uniform", "normal", "lognormal", "samples", "sequence"]))
    if kind == "samples":
        return {"samples_s": draw(st.lists(seconds, min_size=1, max_size=4))}
    if kind == "sequence":
        return {"sequence_s": draw(st.lists(seconds, min_size=MOST_TASKS, max_size=MOST_TASKS + 1))}
    if kind == "constant":
        return {"distribution": kind, "value_s": draw(seconds)}
    if kind == "uniform":
        low_s, high_s = sorted([draw(seconds), draw(seconds)])
        return {"distribution": kind, "low_s": low_s, "high_s": high_s}
    given: dict[str, Any] = {"distribution": kind, "mean_s": draw(seconds), "sd_s": draw(seconds)}
    if kind == "normal" and draw(st.booleans()):
        given["min_s"] = given["mean_s"] * draw(st.floats(0.01, 1))
    return given


@st.composite
def stream_documents(draw: st.DrawFn) -> dict[str, Any]:
    """Valid documents of the format ``spotbag.jobs/1``."""
    types = [f"type{number}" for number in range(draw(st.integers(1, 3)))]
    applications = [f"app{number}" for number in range(draw(st.integers(1, 2)))]
    document: dict[str, Any] = {
        "format": "spotbag.jobs/1",
        "name": "random",
        "block_s": draw(st.sampled_from([60, 600, 3600])),
        "vm_types": [{"name": name, "price_usd_per_block": draw(st.sampled_from([0.073, 0.1, 2]))} for name in types],
        "applications": [
            {"name": name, "runtime_s": draw(st.dictionaries(st.sampled_from(types), run_times(), min_size=1))}
            for name in applications
        ],
        "jobs": [],
    }
    for vm_type in document["vm_types"]:
        if draw(st.booleans()):
            vm_type |= {"vcpus": draw(st.integers(1, 4)), "memory_mb": draw(st.sampled_from([1, 3840, 7680.5]))}
    if draw(st.booleans()):
        document["creation_overhead_s"] = draw(st.integers(0, 30))
    for number in range(draw(st.integers(1, 4))):
        submitted_s = draw(st.integers(0, 1000))
        document["jobs"].append(
            {
                "id": f"j{number}",
                "application": draw(st.sampled_from(applications)),
                "submitted_s": submitted_s,
                "deadline_s": submitted_s + draw(st.integers(1, 1000)),
                "n_tasks": draw(st.integers(1, MOST_TASKS)),
            }
        )
    return document


def random_streams() -> st.SearchStrategy[Stream]:
    """Valid streams of jobs."""
    return stream_documents().map(lambda document: Stream.from_document(document, "random"))
