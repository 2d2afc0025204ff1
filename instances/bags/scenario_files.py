"""Reading and writing scenarios of all kinds: JSON of the format ``spotbag.scenario/1``."""

from __future__ import annotations

import dataclasses
import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from importlib import resources
from typing import Annotated, Any, Literal, cast

import numpy as np
from pydantic import BaseModel, Field, RootModel, WithJsonSchema

from ...core.errors import InputError, Issue, input_error
from ...core.json_documents import check_format, format_json
from ...core.quantities import Name
from ...core.records import INTEGRAL, Record, refuse_nonsense, validate_record
from ...core.text_files import write_text
from ..entries import CloudName
from .availability_days import AvailabilityScenario, OneMeans, availability_of_document
from .lifetime_days import BathtubScenario
from .poisson_days import PoissonScenario
from .price_days import PriceScenario
from .scripted_days import Scenario, ScriptedScenario
from .shock_days import SCENARIO_FORMAT, ShockScenario
from .timeline import format_timeline

_MOST_PRICES = 10_000_000
_RECORDS = ShockScenario, BathtubScenario
"""Scenarios that stand in files as they are."""


class _Head(Record):
    """Fields of scenarios of all kinds.

    Attributes
    ----------
    name : str, optional
        What it is called.
    cloud : str, optional
        Whose rules hold.
    """

    format: Literal["spotbag.scenario/1"] = SCENARIO_FORMAT
    name: Name | None = None
    cloud: CloudName | None = None


class PoissonDocument(_Head):
    """Scenario in which the spot VMs of a type are up and down in turn; see `PoissonScenario`.

    Attributes
    ----------
    k_h, k_r : float
        Hibernations, and resumes, to be expected within a deadline of being up, and of being down.
    rate_scale : float
        Multiplies both.
    """

    kind: Literal["poisson"]
    k_h: Annotated[float, Field(ge=0)]
    k_r: Annotated[float, Field(ge=0)]
    rate_scale: Annotated[float, Field(ge=0)] = 1.0


_COUNTS = {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}}


class AvailabilityDocument(_Head):
    """Scenario of as many spot VMs as a trace says; see `AvailabilityScenario`.

    Attributes
    ----------
    gap_seconds : float
        Time that an entry covers.
    one_means : {"available", "preempted"}
        What is counted.
    vms_per_one : float or "all", optional
        VMs that a 1 stands for.
    data : list of int, or mapping of VM type to such lists
        How many VMs were available, or preempted.
    """

    kind: Literal["availability"]
    gap_seconds: float
    one_means: OneMeans
    vms_per_one: Annotated[float | Literal["all"] | None, Field(union_mode="left_to_right")] = None
    data: Annotated[
        Any,
        WithJsonSchema({"anyOf": [_COUNTS, {"type": "object", "minProperties": 1, "additionalProperties": _COUNTS}]}),
    ]


class PriceEntry(Record):
    """Spot price of a VM type from a time on.

    Attributes
    ----------
    time_s : int
        Since when, in whole seconds from the start of the history.
    type : str
        Name of the VM type.
    usd_per_hour : float
        The price.
    """

    time_s: Annotated[int, Field(ge=0, le=2**53), INTEGRAL]
    type: Name
    usd_per_hour: Annotated[float, Field(ge=0, le=1e9)]


class PricesDocument(_Head):
    """Spot VMs have the prices of a recorded history; see `PriceScenario`.

    Attributes
    ----------
    start_s : int, optional
        When days start, in seconds from the start of the history; at a drawn second if absent.
    prices : tuple of PriceEntry
        In any order.
    """

    kind: Literal["prices"]
    start_s: Annotated[int, Field(ge=0, le=2**53), INTEGRAL] | None = None
    prices: Annotated[tuple[PriceEntry, ...], Field(strict=False, min_length=1)]


class ScenarioDocument(
    RootModel[ShockScenario | BathtubScenario | PoissonDocument | AvailabilityDocument | PricesDocument]
):
    """A scenario of any kind as written in a file; without a ``kind``, of shocks."""


def scenario_schema() -> str:
    """JSON Schema of ``spotbag.scenario/1``, as shipped with the package."""
    return resources.files(__package__).joinpath("scenario.schema.json").read_text(encoding="utf-8")


# ------------------------------------------------------------------------- reading


def scenario_of_document(document: Mapping[str, Any], source: str = "scenario") -> Scenario:
    """Make a scenario of a parsed JSON document; ``source`` names it in messages.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    check_format(document, SCENARIO_FORMAT, source)
    kind = document.get("kind", "shocks")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise InputError(source, [Issue("", f"must be one of {', '.join(_READERS)}", "kind", kind)])
    return read(document, source)


def _poisson(document: Mapping[str, Any], source: str) -> Scenario:
    record = validate_record(PoissonDocument, document, source)
    try:
        return PoissonScenario(record.name or source, record.k_h, record.k_r, record.rate_scale, record.cloud)
    except InputError as error:
        raise InputError(source, error.issues) from None


def _availability(document: Mapping[str, Any], source: str) -> Scenario:
    record = validate_record(AvailabilityDocument, document, source)
    return availability_of_document(
        document, source, record.one_means, record.vms_per_one, name=record.name, cloud=record.cloud
    )


def _prices(document: Mapping[str, Any], source: str) -> Scenario:
    refuse_nonsense(document, source, _MOST_PRICES, prices=PriceEntry)
    record = validate_record(PricesDocument, document, source)
    by_type: dict[str, dict[int, float]] = defaultdict(dict)
    issues = []
    for index, entry in enumerate(record.prices):
        if entry.time_s in by_type[entry.type]:
            rule = f"is given twice for the type {entry.type!r}"
            issues.append(Issue(f"prices[{index}]", rule, "time_s", entry.time_s))
        by_type[entry.type][entry.time_s] = entry.usd_per_hour
    if issues:
        raise InputError(source, issues)
    columns = {}
    for name, steps in by_type.items():
        times = sorted(steps)
        columns[name] = np.array(times, dtype=np.int64), np.array([steps[time_s] for time_s in times])
    return PriceScenario(record.name or source, columns, record.start_s, record.cloud)


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], Scenario]] = {
    "shocks": partial(validate_record, ShockScenario),
    "bathtub": partial(validate_record, BathtubScenario),
    "poisson": _poisson,
    "availability": _availability,
    "prices": _prices,
}


# ------------------------------------------------------------------------- writing


def write_scenario(scenario: Scenario, path: str | os.PathLike[str]) -> None:
    """Write a scenario as a JSON file; reading it gives the same days.

    Raises
    ------
    InputError
        If it is of no kind that files have, or its name cannot stand in a file.
    SpotbagError
        If the file cannot be written.
    """
    write_text(path, format_scenario(scenario))


def changed_scenario(scenario: Scenario, *, name: str | None = None, cloud: CloudName | None = None) -> Scenario:
    """Return a scenario with another name, or the rules of another cloud; what is None stays as it is."""
    changes = {key: value for key, value in (("name", name), ("cloud", cloud)) if value is not None}
    if isinstance(scenario, _RECORDS):
        return type(scenario)(**{field: getattr(scenario, field) for field in type(scenario).model_fields} | changes)
    # A single day has its name in the day.
    if isinstance(scenario, ScriptedScenario) and name is not None:
        timeline = dataclasses.replace(scenario.timeline, name=changes.pop("name"))
        scenario = dataclasses.replace(scenario, timeline=timeline)
    return cast("Scenario", dataclasses.replace(cast("Any", scenario), **changes))


def format_scenario(scenario: Scenario) -> str:
    """Return a scenario as a JSON text, a single day as ``spotbag.timeline/1``; reading it gives the same days."""
    if isinstance(scenario, ScriptedScenario):
        return format_timeline(scenario.timeline, scenario.cloud)
    model, fields = _fields_of(scenario)
    head = {"format": SCENARIO_FORMAT, "name": scenario.name, "cloud": scenario.cloud}
    document = {key: value for key, value in (head | fields).items() if value is not None}
    validate_record(model, document, "scenario")  # whatever is written can be read
    return format_json(document)


def _fields_of(scenario: Scenario) -> tuple[type[BaseModel], dict[str, Any]]:
    """Kind of document of a scenario, and what it has beside name and cloud."""
    if isinstance(scenario, _RECORDS):
        return type(scenario), scenario.model_dump(mode="json", exclude={"format", "name", "cloud"})
    if isinstance(scenario, PoissonScenario):
        rates = {"k_h": scenario.k_h, "k_r": scenario.k_r, "rate_scale": scenario.rate_scale}
        return PoissonDocument, {"kind": "poisson"} | rates
    if isinstance(scenario, AvailabilityScenario):
        data = scenario.data
        columns = (
            {name: column.tolist() for name, column in data.items()} if isinstance(data, Mapping) else data.tolist()
        )
        said = {"one_means": scenario.one_means, "vms_per_one": scenario.vms_per_one}
        return AvailabilityDocument, {"kind": "availability", "gap_seconds": scenario.gap_s, **said, "data": columns}
    if isinstance(scenario, PriceScenario):
        prices = [
            {"time_s": time_s, "type": name, "usd_per_hour": usd}
            for name, steps in scenario.prices.items()
            for time_s, usd in zip(*(column.tolist() for column in steps), strict=True)
        ]
        return PricesDocument, {"kind": "prices", "start_s": scenario.start_s, "prices": prices}
    raise input_error(
        scenario.name, f"is of no kind that files have: {type(scenario).__name__}; write single days of it"
    )
