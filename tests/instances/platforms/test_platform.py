"""Hybrid platforms: what is refused, the tree, files, the library."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from spotbag.core.errors import InputError
from spotbag.instances.library import library_instance
from spotbag.instances.platforms.agent_trees import many_resources
from spotbag.instances.platforms.entries import Agent, AllocatedCluster, Cloud
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import (
    library_platform,
    read_platform,
    write_platform,
)
from spotbag.instances.streams.stream_files import library_stream
from tests.helpers.faulty_documents import errors_of
from tests.helpers.random_platforms import platform_documents

ROOT = Path(__file__).parents[3]
BASE: dict[str, Any] = {
    "format": "spotbag.platform/1",
    "name": "demo",
    "agents": [{"id": "root"}, {"id": "site", "parent": "root"}],
    "resources": [
        {"id": "own", "kind": "dedicated", "parent": "site", "processors": 4},
        {
            "id": "rented",
            "kind": "allocated",
            "parent": "root",
            "availability": [{"from_s": 0, "processors": 3}, {"from_s": 600, "processors": 0}],
            "repeat_s": 1200,
        },
        {"id": "cloud", "kind": "cloud", "parent": "root"},
    ],
    "jobs": [
        {"id": "late", "size_processor_minutes": 30, "arrival_s": 60, "deadline_s": 600, "budget": 9.5},
        {"id": "early", "size_processor_minutes": 5, "priority": 3, "deadline_s": 300, "budget": 0},
    ],
}

Change = Callable[[dict[str, Any]], Any]


def document(change: Change) -> dict[str, Any]:
    """The valid document after a change in place."""
    changed = copy.deepcopy(BASE)
    change(changed)
    return changed


def errors(change: Change) -> str:
    """What is said about a document that a change has made faulty."""
    return errors_of(Platform, document(change))


def top(**values: Any) -> Change:
    """Change keys of the document."""
    return lambda changed: changed.update(values)


def entry(key: str, index: int, **values: Any) -> Change:
    """Change keys of an entry of a list."""
    return lambda changed: changed[key][index].update(values)


def agent(index: int, **values: Any) -> Change:
    return entry("agents", index, **values)


def resource(index: int, **values: Any) -> Change:
    return entry("resources", index, **values)


def job(**values: Any) -> Change:
    return entry("jobs", 0, **values)


def chain(length: int) -> Change:
    """A tree of so many agents, each below the one before."""

    def change(changed: dict[str, Any]) -> None:
        changed["agents"] = [{"id": "root"}]
        changed["agents"] += [{"id": f"a{n}", "parent": f"a{n - 1}" if n > 2 else "root"} for n in range(2, length + 1)]
        changed["resources"][0]["parent"] = f"a{length}"

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (top(format="spotbag.platform/2"), "of a version that cannot be read here"),
        (top(format="spotbag.instance/1"), "is not 'spotbag.platform/1'; this is an instance: use 'spotbag solve'"),
        (top(format="spotbag.jobs/1"), "this is a stream of jobs: use 'spotbag stream' or 'spotbag size'"),
        (top(agents=[]), "agents (an array) must have at least 1 entry"),
        (top(resources=[]), "resources (an array) must have at least 1 entry"),
        (top(resource=[]), "resource is an unknown key (did you mean 'resources'?)"),
        (agent(1, id=""), "agents[1]: id '' must not be empty"),
        (agent(1, parents="x"), "agents[1] 'site': parents is an unknown key (did you mean 'parent'?)"),
        (lambda d: d["resources"][0].pop("kind"), "resources[0] 'own': kind is missing"),
        (resource(0, kind="dedicate"), "resources[0] 'own': kind 'dedicate' is unknown (did you mean 'dedicated'?)"),
        (resource(0, kind="grid"), "kind 'grid' is unknown (known: dedicated, allocated, cloud)"),
        (resource(0, kind=3), "kind 3 is unknown (known: dedicated, allocated, cloud)"),
        (resource(0, kind=["cloud"]), "kind (an array) is unknown"),
        (lambda d: d["resources"].append(7), "resources[3]: 7 must be an object"),
        (lambda d: d["resources"][0].pop("processors"), "resources[0] 'own': processors is missing"),
        (resource(0, processor=4), "resources[0] 'own': processor is an unknown key (did you mean 'processors'?)"),
        (resource(0, processors_per_vm=4), "resources[0] 'own': processors_per_vm is an unknown key (did you mean"),
        (resource(0, zzz=4), "zzz is an unknown key (known: id, kind, parent, processors)"),
        (resource(0, processors=0), "resources[0] 'own': processors 0 must be greater than or equal to 1"),
        (resource(1, availability=[]), "resources[1] 'rented': availability (an array) must have at least 1 entry"),
        (resource(1, availability=[{"from_s": 0, "processors": -1}]), "availability[0].processors -1 must be greater"),
        (resource(1, availability=[{"from_s": 0, "processors": 1}, {"from_s": 90, "processors": 1}]),
         "resources[1] 'rented': availability[1].from_s 90 must be a multiple of 60"),
        (resource(1, availability=[{"from_s": 60, "processors": 1}]),
         "resources[1] 'rented': availability[0].from_s 60 must be 0"),
        (resource(1, availability=[{"from_s": 0, "processors": 1}, {"from_s": 0, "processors": 2}]),
         "availability[1].from_s 0 must be after that of the step before it (0)"),
        (lambda d: d["resources"][1].pop("repeat_s"), "availability[1].processors 0 is 0 in the last step, which"),
        (resource(1, repeat_s=90), "resources[1] 'rented': repeat_s 90 must be a multiple of 60"),
        (resource(1, repeat_s=600), "resources[1] 'rented': repeat_s 600 must be after the last step (600)"),
        (resource(1, availability=[{"from_s": 0, "processors": 0}]), "availability has no processors in any step"),
        (resource(1, cost_per_processor_minute=-1), "cost_per_processor_minute -1 must be greater than or equal to 0"),
        (resource(2, processors_per_vm=0), "resources[2] 'cloud': processors_per_vm 0 must be greater"),
        (resource(2, cost_per_vm_hour="9"), "resources[2] 'cloud': cost_per_vm_hour '9' must be a number"),
        (agent(1, id="cloud"), "resources[2]: id 'cloud' is a duplicate of agents[1]"),
        (resource(1, id="own"), "resources[1]: id 'own' is a duplicate of resources[0]"),
        (lambda d: d["agents"].append({"id": "site", "parent": "root"}),
         "agents[2]: id 'site' is a duplicate of agents[1]"),
        (lambda d: d["agents"][1].pop("parent"),
         "agents[1] 'site': parent is missing, as it is in agents[0] 'root': there is one root"),
        (agent(0, parent="site"), "agents have no root: one agent, to which jobs are submitted, must have no parent"),
        (agent(0, parent="site"), "agents[0] 'root': parent 'site' closes a cycle: 'root' below 'site' below 'root'"),
        (agent(1, parent="site"), "agents[1] 'site': parent 'site' closes a cycle: 'site' below 'site'; agents must"),
        (agent(1, parent="roots"), "agents[1] 'site': parent 'roots' is no agent (did you mean root?)"),
        (resource(0, parent="zzz"), "resources[0] 'own': parent 'zzz' is no agent (known: root, site)"),
        (resource(0, parent="cloud"), "resources[0] 'own': parent 'cloud' is a resource (resources[2]): only agents"),
        (agent(1, parent="cloud"), "agents[1] 'site': parent 'cloud' is a resource (resources[2]): only agents have"),
        (lambda d: d["resources"].pop(0), "agents[1] 'site': has nothing below it"),
        (chain(65), "agents[64] 'a65': is an agent of level 65, more than 64"),
        (job(id="early"), "jobs[1]: id 'early' is a duplicate of jobs[0]"),
        (job(deadline_s=60), "jobs[0] 'late': deadline_s 60 must be after arrival_s (60): deadlines are not counted"),
        (job(size_processor_minutes=0), "jobs[0] 'late': size_processor_minutes 0 must be greater than or equal to 1"),
        (job(budget=None), "jobs[0] 'late': budget null must be a number"),
        (job(budget=-1), "jobs[0] 'late': budget -1 must be greater than or equal to 0"),
        (job(priority=1.5), "jobs[0] 'late': priority 1.5 must be a whole number"),
    ],
)  # fmt: skip
def test_each_fault_is_named_with_place_value_and_rule(change: Change, said: str) -> None:
    assert said in errors(change)


def test_the_document_without_faults_is_read() -> None:
    platform = Platform.parse(json.dumps(BASE))
    assert platform.root == "root"
    assert {name: list(below) for name, below in platform.children.items()} == {
        "root": ["site", "rented", "cloud"],
        "site": ["own"],
    }
    assert [job.id for job in platform.jobs_by_arrival] == ["early", "late"]
    cloud = platform.resources[2]
    assert isinstance(cloud, Cloud)
    assert (cloud.processors_per_vm, cloud.cost_per_vm_hour) == (8, 960)
    assert len(Platform.parse(json.dumps(document(chain(64)))).agents) == 64


def test_all_faults_are_reported_at_once_also_between_the_valid_parts() -> None:
    def change(faulty: dict[str, Any]) -> None:
        faulty["nam"] = "x"
        faulty["agents"][1]["parent"] = "rot"
        faulty["resources"][0]["processors"] = 0
        faulty["resources"][1]["repeat_s"] = 60
        faulty["resources"].append({"id": "own", "kind": "cloud", "parent": "sites"})
        faulty["jobs"][0]["budget"] = "much"
        faulty["jobs"][1] |= {"arrival_s": 300, "id": "late"}

    message = errors(change)
    assert "8 errors" in message
    for part in (
        "nam",
        "'rot' is no agent",
        "processors 0",
        "repeat_s 60 must be after",
        "resources[3]: id 'own'",
        "parent 'sites'",
        "budget 'much'",
        "deadline_s 300",
    ):
        assert part in message


def test_faulty_ids_and_parents_are_not_held_against_those_who_use_them() -> None:
    message = errors(agent(1, id=7))
    assert message == "demo.json: agents[1]: id 7 must be a text"
    message = errors(resource(0, parent=7))  # the one resource of the site
    assert message == "demo.json: resources[0] 'own': parent 7 must be a text"
    message = errors(agent(0, parent=7))
    assert message == "demo.json: agents[0] 'root': parent 7 must be a text"


def test_each_cycle_is_named_once_with_the_agents_on_it() -> None:
    def change(faulty: dict[str, Any]) -> None:
        faulty["agents"] += [{"id": name, "parent": above} for name, above in ("ab", "bc", "ca", "da", "ee")]
        faulty["agents"] += [{"id": f"x{number}", "parent": f"x{(number + 1) % 20}"} for number in range(20)]
        faulty["resources"][0]["parent"] = "d"
        faulty["resources"][1]["parent"] = "site"

    message = errors(change)
    assert "3 errors" in message
    assert (
        "agents[2] 'a': parent 'b' closes a cycle: 'a' below 'b' below 'c' below 'a'; agents must form a tree"
        in message
    )
    assert "agents[6] 'e': parent 'e' closes a cycle: 'e' below 'e'" in message
    assert "'x6' below 'x7' below ... below 'x0'; agents must" in message


def test_a_wrong_parent_is_not_blamed_on_the_agent_that_it_leaves_empty() -> None:
    def change(faulty: dict[str, Any]) -> None:
        for resource in faulty["resources"]:
            resource["parent"] = "sites"

    message = errors(change)
    assert message.count("'sites' is no agent (did you mean site?)") == 3
    assert "has nothing below it" not in message


def test_many_faults_are_refused_in_time() -> None:
    def change(faulty: dict[str, Any]) -> None:
        faulty["resources"] += [{"id": f"r{n}", "kind": "cloud", "parent": f"p{n}"} for n in range(5_000)]
        faulty["agents"] += [{"id": f"x{n}", "parent": f"x{n + 1}"} for n in range(5_000)]

    assert "... and 498" in errors(change)  # of 5,001: the last agent is below no agent either
    assert "only the first 1000 of 20003 entries were looked at" in errors(
        lambda faulty: faulty["resources"].extend([{"id": "r", "kind": "cloud", "x": 1}] * 20_000)
    )


@pytest.mark.slow
def test_long_lists_of_several_kinds_are_read() -> None:
    platform = many_resources(3500, 3500, 3500)  # so many that a sample is looked at before all are
    assert Platform.parse(platform.to_text()) == platform


def test_python_callers_get_the_same_errors() -> None:
    with pytest.raises(InputError, match=r"availability\[0\].from_s 60 must be 0"):
        AllocatedCluster(id="a", kind="allocated", parent="b", availability=[{"from_s": 60, "processors": 1}])
    with pytest.raises(
        InputError, match=r"Platform: 2 errors\n  agents have no root: .*\n  agents\[0\] 'a': parent 'a' closes"
    ):
        Platform(name="x", agents=[Agent(id="a", parent="a")], resources=[Cloud(id="c", kind="cloud", parent="a")])
    with pytest.raises(InputError, match=r"resources\[0\]: .* must be an object"):
        Platform(name="x", agents=[Agent(id="a")], resources=[Agent(id="b", parent="a")])
    platform = Platform(**BASE)
    with pytest.raises(InputError, match=r"jobs\[1\]: id 'late' is a duplicate"):
        platform.with_jobs([platform.jobs[0], platform.jobs[0]])


def test_other_jobs_leave_the_rest_alone() -> None:
    platform = Platform(**BASE)
    alone = platform.with_jobs(())
    assert alone.jobs == ()
    assert (alone.agents, alone.resources) == (platform.agents, platform.resources)
    assert alone.with_jobs(platform.jobs) == platform


@given(platform_documents())
@settings(max_examples=20, deadline=None)
def test_writing_and_reading_gives_the_same_platform_and_the_schema_accepts_it(valid: dict[str, Any]) -> None:
    platform = Platform.from_document(valid, "random")
    text = platform.to_text()
    assert Platform.parse(text) == platform
    assert json.loads(text) == valid
    jsonschema.Draft202012Validator(json.loads(Platform.schema_text())).validate(valid)
    assert sorted(name for below in platform.children.values() for name in below) == sorted(
        node.id for node in (*platform.agents, *platform.resources) if node.id != platform.root
    )


def test_files_round_trip(tmp_path: Path) -> None:
    platform = Platform(**BASE)
    write_platform(platform, tmp_path / "hybrid.json")
    assert read_platform(tmp_path / "hybrid.json") == platform
    with pytest.raises(InputError, match="no such file"):
        read_platform(tmp_path / "none.json")


def test_the_shipped_schema_is_that_of_the_model_and_refuses_what_the_reader_refuses() -> None:
    schema = json.loads(Platform.schema_text())
    assert schema == Platform.model_json_schema()
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(BASE)
    for change in (top(extra=1), resource(0, kind="grid"), resource(0, processors_per_vm=4), resource(1, repeat_s=90)):
        assert not validator.is_valid(document(change))


def test_names_of_the_library_are_sent_where_they_belong() -> None:
    with pytest.raises(InputError, match=r"no platform of the library has this name \(did you mean caron/hybrid or"):
        library_platform("caron/hybird")
    with pytest.raises(InputError, match="hads/J60: this is an instance: use 'spotbag solve'"):
        library_platform("hads/J60")
    with pytest.raises(InputError, match="tiny/two-jobs: this is a stream of jobs: use 'spotbag stream'"):
        library_platform("tiny/two-jobs")
    for load in (library_instance, library_stream):
        with pytest.raises(InputError, match="tiny/hybrid: this is a hybrid platform: use 'spotbag platform'"):
            load("tiny/hybrid")


def test_the_platforms_of_caron_have_the_printed_figures() -> None:
    for name in ("caron/hybrid", "caron/two-sites"):
        platform = library_platform(name)
        assert not platform.jobs
        for node in platform.resources:
            if isinstance(node, Cloud):
                assert (node.processors_per_vm, node.cost_per_vm_hour) == (8, 960)
            elif isinstance(node, AllocatedCluster):
                assert node.cost_per_processor_minute == 1
    assert [node.kind for node in library_platform("caron/hybrid").resources] == ["dedicated", "allocated", "cloud"]


def test_the_platform_in_formats_md_is_read_and_its_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    (text,) = re.findall(r"```json platform\n(.*?)```", page, re.DOTALL)
    platform = Platform.parse(text)
    assert platform.to_text() == text
    assert (platform.root, len(platform.resources), len(platform.jobs)) == ("root", 3, 2)
    (code,) = re.findall(r"```python\n(from \S+ import draw_malleable_jobs.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    mixed = read_platform("mixed.json")
    assert mixed.with_jobs(()).resources == library_platform("caron/hybrid").resources
    assert len(mixed.jobs) == 100
