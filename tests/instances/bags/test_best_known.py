"""The best values that come with the package: one for each library instance, each with its plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.core.errors import InputError
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.best_known import BestKnown, best_known, best_known_plan_path, format_best_known
from spotbag.instances.library import library_instance, library_names
from spotbag.schedules.schedule_files import read_schedule_document

KNOWN = best_known()


def entry(**changes: object) -> BestKnown:
    return KNOWN["tiny/two-cores"].model_copy(update=changes)


def test_every_library_instance_has_an_entry() -> None:
    assert sorted(KNOWN) == library_names()
    assert all(name == found.instance for name, found in KNOWN.items())


@pytest.mark.parametrize("name", library_names())
def test_the_stored_plan_has_the_value_and_no_bound_is_above_it(name: str) -> None:
    instance, known = with_d_spot(library_instance(name)), KNOWN[name]
    report = check(instance, read_schedule_document(best_known_plan_path(name)))
    assert report.feasible, report.violations
    assert report.objective == pytest.approx(known.value, rel=1e-9)
    assert report.cost_usd == pytest.approx(known.cost_usd, rel=1e-9)
    assert report.makespan_s == known.makespan_s
    assert known.bound <= known.value
    assert divisible_bound(instance).objective <= known.value * (1 + 1e-9)


@pytest.mark.parametrize("name", [name for name in library_names() if name.startswith("tiny/")])
def test_derived_optima_are_known_as_such(name: str) -> None:
    provenance = library_instance(name).provenance
    assert provenance is not None
    assert provenance.optimum is not None
    assert KNOWN[name].status == "optimal"
    assert KNOWN[name].value == pytest.approx(provenance.optimum.objective, rel=1e-9)


def test_the_plans_stay_small() -> None:
    assert sum(best_known_plan_path(name).stat().st_size for name in KNOWN) < 1_000_000


def test_reading_what_was_written_gives_the_same(tmp_path: Path) -> None:
    file = tmp_path / "best.json"
    file.write_text(format_best_known(reversed(KNOWN.values())))
    assert best_known(file) == KNOWN
    assert list(best_known(file)) == sorted(KNOWN)


def test_plans_lie_in_a_folder_of_the_name_of_the_file() -> None:
    assert best_known_plan_path("hads/J60", "folder/mine.json") == Path("folder/mine/hads/J60.json")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bound": 0.4}, "entries[0] 'tiny/two-cores': bound 0.4 is above the value 0.3"),
        ({"bound": 0.1}, "status 'optimal' must be 'feasible'"),
        ({"status": "feasible"}, "status 'feasible' must be 'optimal'"),
        ({"value": -1.0}, "value -1 must be greater than or equal to 0"),
        ({"makespan_s": "long"}, "makespan_s 'long' must be a whole number"),
        ({"colour": "red"}, "colour is an unknown key"),
    ],
)
def test_entries_that_cannot_be_are_refused(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    document = {"format": "spotbag.best-known/1", "entries": [entry().model_dump(mode="json") | changes]}
    (tmp_path / "best.json").write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        best_known(tmp_path / "best.json")
    assert said in str(caught.value)


def test_an_instance_has_one_entry(tmp_path: Path) -> None:
    document = {"format": "spotbag.best-known/1", "entries": [entry().model_dump(mode="json")] * 2}
    (tmp_path / "best.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"is a duplicate of entries\[0\]"):
        best_known(tmp_path / "best.json")


def test_a_record_made_in_python_is_checked_as_well() -> None:
    with pytest.raises(InputError, match="is above the value"):
        BestKnown(**(entry().model_dump() | {"bound": 1.0}))
