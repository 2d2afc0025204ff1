"""What is installed is what lies in the folders, under the version of the project."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import spotbag
from spotbag import plugins

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]
PAPERS = tomllib.loads((ROOT / "benchmarks" / "pyproject.toml").read_text(encoding="utf-8"))


def folder_of(package: str) -> Path:
    """Folder of a package by the maps of both distributions."""
    if package.split(".")[0] == "spotbag_papers":
        return (ROOT / "benchmarks").joinpath(*package.split(".")[1:])
    head = ".".join(package.split(".")[:2])
    places = SETUPTOOLS["package-dir"]
    base = ROOT / places.get(head, places["spotbag"] + "/" + head.removeprefix("spotbag").strip("."))
    return base.joinpath(*package.split(".")[2:])


def test_every_data_file_is_packaged() -> None:
    data = ROOT / "instances" / "data"
    patterns = SETUPTOOLS["package-data"]["spotbag.instances.data"]
    packaged = {path for pattern in patterns for path in data.glob(pattern)}
    assert packaged == set(data.rglob("*.json"))
    assert "*.toml" in SETUPTOOLS["package-data"]["spotbag.instances"]


def test_printed_numbers_and_sections_of_the_papers_are_packaged() -> None:
    packaged = {
        path
        for package, patterns in PAPERS["tool"]["setuptools"]["package-data"].items()
        for pattern in patterns
        for path in folder_of(package).glob(pattern)
    }
    benchmarks = ROOT / "benchmarks"
    kinds = "*.bib", "*.json", "*.md", "*.md.j2", "*.toml"
    assert packaged == {path for kind in kinds for path in benchmarks.rglob(kind)} - {benchmarks / "pyproject.toml"}


def test_every_folder_with_modules_is_packaged() -> None:
    packages = [*SETUPTOOLS["packages"], *PAPERS["tool"]["setuptools"]["packages"]]
    packaged = {folder_of(package).resolve() for package in packages}
    found = {
        path.parent.resolve()
        for top in [*SETUPTOOLS["package-dir"].values(), "benchmarks"]
        for path in (ROOT / top).rglob("*.py")
        if "build" not in path.parts and not any(part.endswith(".egg-info") for part in path.parts)
    }
    assert found == packaged


def test_data_files_are_found_where_the_package_is_installed() -> None:
    from spotbag.instances.bags.best_known import best_known, best_known_path, best_known_plan_path
    from spotbag.instances.bags.timeline import timeline_schema
    from spotbag.instances.bags.vm_catalogue import Catalogue, shipped_catalogue
    from spotbag.instances.instance import Instance
    from spotbag.instances.library import library_names, platform_names, stream_names
    from spotbag.instances.platforms.platform import Platform
    from spotbag.instances.streams.stream import Stream
    from spotbag.schedules.schedule_files import schedule_schema

    data = ROOT / "instances" / "data"
    plans = list((data / "best_known").rglob("*.json"))
    found = {path.relative_to(data).with_suffix("").as_posix() for path in data.rglob("*.json") if path not in plans}
    streams = {f"streams/{name}" for name in stream_names()}
    platforms = {f"platforms/{name}" for name in platform_names()}
    assert found == {*library_names(), *streams, *platforms, "best_known", "catalogue"}
    assert best_known_path().read_bytes() == (data / "best_known.json").read_bytes()
    assert sum(best_known_plan_path(name).is_file() for name in best_known()) == len(plans)
    assert Instance.schema_text() == (ROOT / "instances" / "instance.schema.json").read_text(encoding="utf-8")
    assert Stream.schema_text() == (ROOT / "instances" / "streams" / "stream.schema.json").read_text(encoding="utf-8")
    platform_schema = ROOT / "instances" / "platforms" / "platform.schema.json"
    assert Platform.schema_text() == platform_schema.read_text(encoding="utf-8")
    assert schedule_schema() == (ROOT / "schedules" / "schedule.schema.json").read_text(encoding="utf-8")
    assert timeline_schema() == (ROOT / "instances" / "bags" / "timeline.schema.json").read_text(encoding="utf-8")
    catalogue_schema = ROOT / "instances" / "bags" / "catalogue.schema.json"
    assert Catalogue.schema_text() == catalogue_schema.read_text(encoding="utf-8")
    assert shipped_catalogue() == Catalogue.read(data / "catalogue.json")
    assert (Path(spotbag.__file__).parent / "py.typed").exists()


def test_public_names_are_there_and_unknown_ones_are_not() -> None:
    for name in spotbag.__all__:
        assert getattr(spotbag, name).__name__ == name
        assert name in dir(spotbag)
    with pytest.raises(AttributeError, match="has no attribute 'slove'"):
        _ = spotbag.slove


def test_names_for_plug_ins_stay_and_cost_nothing_until_they_are_used() -> None:
    code = "import sys, spotbag.plugins as p; assert not {'numpy', 'pydantic'} & set(sys.modules); print(*p.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = set(done.stdout.split())
    assert {getattr(plugins, name) is not None for name in names} == {True}
    assert names <= set(dir(plugins))
    assert names >= STABLE
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        plugins.nothing  # noqa: B018


STABLE = {
    *("BASELINE", "Candidate", "FULL_SPEED", "HIBERNATED", "Incumbent", "InputError", "Instance", "LAUNCHING"),
    *("LimitReached", "Method", "MethodFunction", "ModelRefusal", "NEVER", "NOWHERE", "Outcome", "PlatformJob"),
    *("PlatformPolicy", "PlatformRules", "PlatformState", "PluginError", "PluginWarning", "Policy", "Queue", "RUNNING"),
    *("RentalOffer", "ReplayState", "Rule", "Run", "Schedule", "SpotbagError", "StreamPolicy", "StreamState"),
    *("StreamVm", "TERMINATED", "TracePoint", "Vm", "VmTimeline", "checkpoint", "ends_in_time", "out_of_time"),
    *("queues_of_schedule", "schedule_of_queues", "seconds_left"),
}
"""What plug-ins are promised: names may be added, none is taken away."""


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert spotbag.__version__ == project["version"]
    assert PAPERS["project"]["version"] == project["version"]
    assert PAPERS["project"]["dependencies"] == [f"spotbag=={project['version']}"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.xdist_group("one group")
def test_tests_of_a_group_run_in_one_process(request: pytest.FixtureRequest) -> None:
    # With a pytest that pytest-xdist does not know, groups are lost without a word, and what they share is made twice.
    workers = os.environ.get("PYTEST_XDIST_WORKER")
    assert workers is None or request.node.nodeid.endswith("@one group")


@pytest.mark.slow
def test_the_example_of_the_package_runs() -> None:
    assert doctest.testmod(spotbag).failed == 0


def test_each_lowest_version_is_tried_by_the_smoke_test_or_locked() -> None:
    """Else a bound says what nobody has seen: ruff 0.6, once among them, does not know our options."""
    extras = dict(PYPROJECT["project"]["optional-dependencies"])
    smoke_test = (ROOT / ".ci" / "lowest").read_text(encoding="utf-8")
    [tried] = re.findall(r"requirements project ([\w ]+) \|", smoke_test)
    product = {entry for name in tried.split() for entry in extras.pop(name)}
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").lower().replace("_", "-").splitlines()
    others = {entry for entries in extras.values() for entry in entries} - product
    assert {entry for entry in others if re.sub(r"\[\w+\]|,.*", "", entry).replace(">=", "==") not in lines} == set()
