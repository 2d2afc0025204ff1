"""Suites: frozen sets of instances and days on which results are published.

A suite is an experiment that is ready (``suite-1.toml``) beside what it was made of when it was frozen
(``suite-1.json``): digests of its instances and of its days. What no longer has these is not the suite. Of days that
are held out, the file has the digests alone: the seed is needed to draw them, and digests show that they are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ...core.errors import InputError, Issue, SpotbagError, input_error
from ...core.json_documents import check_format, parse_json
from ...core.records import Record, validate_record
from ...heuristics.bags.d_spot import with_d_spot
from ...instances.bags.scenarios import find_scenario
from ...instances.bags.timeline import Timeline, event_documents
from ...instances.clouds import Cloud
from ...instances.instance import Instance
from ...instances.library import library_instance
from ...replay.bags.runs import chosen_cloud
from ...solvers.bags.solve import solve
from ...traces.trace import document_sha256
from .plan_choice import price_of_a_late_day_usd
from .specification import read_specification

SUITE_FORMAT: Literal["spotbag.suite/1"] = "spotbag.suite/1"
ENDING = ".json"
_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class SuiteDays(Record):
    """Days of a suite.

    Attributes
    ----------
    seed : int, optional
        By which they are drawn; absent of days that are held out.
    n : int
        Days of each instance and scenario, from number 0 on.
    sha256 : mapping of str to str
        Digest of these days, as the cloud has them, by instance and scenario.
    """

    seed: int | None = None
    n: Annotated[int, Field(ge=1)]
    sha256: Mapping[str, _Digest]


class SuiteDocument(Record):
    """A frozen suite.

    Attributes
    ----------
    name : str
        Its name, with its version.
    instances : mapping of str to str
        Digest of each instance, with D_spot.
    late_usd : mapping of str to float
        What a late day counts more: ten times what the bag costs on demand, by a plan of the greedy.
    days : mapping of str to SuiteDays
        Sets of days: ``open`` ones, and those that are ``held-out``.
    """

    format: Literal["spotbag.suite/1"] = SUITE_FORMAT
    name: str
    instances: Mapping[str, _Digest]
    late_usd: Mapping[str, float]
    days: Mapping[str, SuiteDays]

    @property
    def sha256(self) -> str:
        """Digest of all of it: what a row says that it is of."""
        return document_sha256(self.model_dump(mode="json"))

    def instance(self, name: str) -> Instance:
        """Return an instance of the suite, with D_spot.

        Raises
        ------
        InputError
            If it is none of the suite.
        SpotbagError
            If the library has another one by that name.
        """
        if name not in self.instances:
            rule = f"is no instance of the suite; they are {', '.join(self.instances)}"
            raise InputError(self.name, [Issue("", rule, value=name)])
        return _frozen_instance(name, self.instances[name])

    def set_of_days(self, instance: str, scenario: str, digest: str) -> str:
        """Return the name of the set that days are, by their digest.

        Raises
        ------
        InputError
            If they are none of the suite's.
        """
        key = day_key(instance, scenario)
        for name, days in self.days.items():
            if days.sha256.get(key) == digest:
                return name
        if any(key in days.sha256 for days in self.days.values()):
            raise input_error(self.name, f"the days of {key} are not those of the suite: their digest is another one")
        raise input_error(self.name, f"the suite has no days of {key}")


@cache
def _frozen_instance(name: str, digest: str) -> Instance:
    instance = with_d_spot(library_instance(name))
    # A library that has changed would rank plans of another problem.
    if document_sha256(instance.to_document()) != digest:
        raise SpotbagError(f"{name}: the instance of this version of spotbag is another one than that of the suite")
    return instance


def suite_names() -> list[str]:
    """Return the names of the suites."""
    return sorted(
        file.name.removesuffix(ENDING)
        for file in resources.files(__package__).iterdir()
        if file.name.startswith("suite-") and file.name.endswith(ENDING)
    )


@cache
def find_suite(name: str) -> SuiteDocument:
    """Return a suite by its name.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in suite_names():
        raise InputError("suite", [Issue("", f"is unknown (known: {', '.join(suite_names())})", value=name)])
    document = parse_json(resources.files(__package__).joinpath(name + ENDING).read_text(encoding="utf-8"), name)
    check_format(document, SUITE_FORMAT, name)
    return validate_record(SuiteDocument, document, name)


def day_key(instance: str, scenario: str) -> str:
    """Key of the days of an instance in a scenario."""
    return f"{instance} {scenario}"


def days_sha256(days: list[list[dict[str, object]]]) -> str:
    """Digest of the events of some days."""
    return document_sha256({"days": days})


def cloud_of(instance: Instance, scenario: str) -> Cloud:
    """Cloud whose rules hold on the days of a suite."""
    return chosen_cloud(None, instance, find_scenario(scenario))


def drawn_days(instance: Instance, scenario: str, seed: int, n: int) -> list[Timeline]:
    """Draw days, as the cloud has them."""
    found, cloud = find_scenario(scenario), cloud_of(instance, scenario)
    return [found.day(instance, seed, day).resolved(cloud) for day in range(n)]


def freeze(name: str, held_out_seed: int | None = None) -> SuiteDocument:
    """Make the document of a suite out of its experiment: digests of what this version of spotbag makes of it.

    Parameters
    ----------
    name : str
        Of the experiment.
    held_out_seed : int, optional
        Of days to be held out, as many as there are open ones.
    """
    asked, _ = read_specification(name)
    settings = asked.days
    if settings is None:
        raise SpotbagError(f"{name} asks for no days: a suite has some")
    labels = dict.fromkeys(cell.source.label for cell in asked.cells(Path())[0])
    instances = {label: with_d_spot(library_instance(label)) for label in labels}
    days = {}
    for set_name, seed in (("open", settings.seed), ("held-out", held_out_seed)):
        if seed is None:
            continue
        digests = {
            day_key(label, scenario): days_sha256([event_documents(day) for day in drawn])
            for label, instance in instances.items()
            for scenario in settings.scenarios
            for drawn in [drawn_days(instance, scenario, seed, settings.days)]
        }
        # The seed of days that are held out stays unknown until the suite is closed.
        days[set_name] = SuiteDays(seed=seed if set_name == "open" else None, n=settings.days, sha256=digests)
    return SuiteDocument(
        name=name,
        instances={label: document_sha256(instance.to_document()) for label, instance in instances.items()},
        late_usd={label: _late_usd(instance) for label, instance in instances.items()},
        days=days,
    )


def _late_usd(instance: Instance) -> float:
    schedule = solve(instance, "greedy").schedule
    assert schedule is not None
    return round(price_of_a_late_day_usd(schedule, cloud_of(instance, "quiet")), 6)
