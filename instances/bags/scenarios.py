"""Scenarios: what days are like. By name, or from a file."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...core.errors import InputError, Issue, input_error, show_value
from ...core.json_documents import parse_json
from ...core.text_files import STANDARD_INPUT, is_readable_file, read_text, source_name
from .timeline import QUIET, Timeline

if TYPE_CHECKING:
    from ..instance import Instance


class Scenario(Protocol):
    """What days are like. A day is drawn before it is replayed, so that every policy meets the same one."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def fixed(self) -> bool:
        """Whether every day is the same."""

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Return the events of a day; the same arguments give the same day, in whatever order days are asked for.

        Parameters
        ----------
        instance : Instance
            The VM types with spot offers, the deadline and the boot overhead are those of this instance.
        seed, day : int
            Which day; 0 or more.

        Raises
        ------
        InputError
            If the scenario does not fit the instance.
        """


@dataclass(frozen=True, slots=True)
class ScriptedScenario:
    """Every day is the same given one.

    Attributes
    ----------
    timeline : Timeline
        The day.
    source : str
        Where it comes from, for messages.
    """

    timeline: Timeline
    source: str = "timeline"

    @property
    def name(self) -> str:
        """Name of the day."""
        return self.timeline.name

    @property
    def fixed(self) -> bool:
        """Every day is the same."""
        return True

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Return the day.

        Raises
        ------
        InputError
            If it has VM types that the instance does not have, or not as spot VMs.
        """
        spot = {vm_type.name for vm_type in instance.vm_types if "spot" in vm_type.offers}
        if not {event.vm_type for event in self.timeline.events} <= spot:
            raise InputError(self.source, self._issues_of_types(instance, spot))
        return self.timeline

    def _issues_of_types(self, instance: Instance, spot: set[str]) -> list[Issue]:
        first_s: dict[str, int] = {}
        for event in self.timeline.events:
            first_s.setdefault(event.vm_type, event.time_s)
        known = [vm_type.name for vm_type in instance.vm_types]
        issues = []
        for name, time_s in first_s.items():
            if name in spot:
                continue
            if name in known:
                rule = f"has no spot offer in the instance {instance.name!r}: only spot VMs are interrupted"
            else:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}"
                rule = f"is no VM type of the instance {instance.name!r} ({hint})"
            issues.append(Issue("events", rule, f"at {time_s} s: type", name))
        return issues


class NamedScenario(NamedTuple):
    """A scenario that can be asked for by name.

    Attributes
    ----------
    summary : str
        One line for people.
    k_h, k_r : float, optional
        Hibernations and resumes to be expected within a deadline; None if they are to be given.
    shocks : mapping, optional
        Instead: the numbers of a `ShockScenario`.
    """

    summary: str
    k_h: float | None = None
    k_r: float | None = None
    shocks: Mapping[str, Any] | None = None


_HOURS_A_MONTH = 730.0


def _rate(probability: float, hours: float = 1.0) -> float:
    """Rate for each hour of what happens within some hours with a probability."""
    return -math.log1p(-probability) / hours


def _printed(paper: str, rates: Mapping[str, tuple[float, float]]) -> dict[str, NamedScenario]:
    return {
        name: NamedScenario(f"{paper}: {k_h:g} hibernations and {k_r:g} resumes per deadline and type", k_h, k_r)
        for name, (k_h, k_r) in rates.items()
    }


SCENARIOS: Mapping[str, NamedScenario] = MappingProxyType(
    {
        "quiet": NamedScenario("no events", 0.0, 0.0),
        "poisson": NamedScenario("k_h hibernations and k_r resumes per deadline and type, as given", None, None),
    }
    | _printed(
        "HADS, Table 8",
        {
            "hads/sc1": (1, 0),
            "hads/sc2": (5, 0),
            "hads/sc3": (1, 5),
            "hads/sc4": (5, 5),
            "hads/sc5": (3, 2.5),
            "hads/sc6": (2, 1),
            "hads/sc7": (2, 2),
        },
    )
    | _printed(
        "Burst-HADS, Table V",
        {
            "burst-hads/sc1": (1, 0),
            "burst-hads/sc2": (5, 0),
            "burst-hads/sc3": (1, 5),
            "burst-hads/sc4": (5, 5),
            "burst-hads/sc5": (3, 2.5),
        },
    )
    | {
        "vms/calm": NamedScenario(
            "VM by VM: 5 % a month, the lowest class of the AWS Spot Instance Advisor",
            shocks={"vm_interruptions_per_hour": _rate(0.05, _HOURS_A_MONTH), "mean_outage_s": 1800.0},
        ),
        "vms/busy": NamedScenario(
            "VM by VM: 20 % a month, where the highest class of the AWS Spot Instance Advisor begins",
            shocks={"vm_interruptions_per_hour": _rate(0.2, _HOURS_A_MONTH), "mean_outage_s": 1800.0},
        ),
        "vms/stormy": NamedScenario(
            "VM by VM: 10 % an hour, amid the classes of Azure's eviction rates (0-5 to 20+ % an hour)",
            shocks={"vm_interruptions_per_hour": _rate(0.1), "mean_outage_s": 1800.0},
        ),
        "vms/shocks": NamedScenario(
            "VM by VM: 10 % an hour; and a shock every four hours that strikes half of the types",
            shocks={
                "vm_interruptions_per_hour": _rate(0.1),
                "shocks_per_hour": 0.25,
                "shock_share": 0.5,
                "mean_outage_s": 1800.0,
            },
        ),
    }
)
"""Scenarios by name; for what the rates mean, see `PoissonScenario`."""


def find_scenario(
    text: str,
    *,
    k_h: float | None = None,
    k_r: float | None = None,
    rate_scale: float = 1.0,
    one_means: str | None = None,
) -> Scenario:
    """Find a scenario by its name or in a file.

    Parameters
    ----------
    text : str
        A name of `SCENARIOS`, or the path of a JSON file (``-`` for standard input): a day of the format
        ``spotbag.timeline/1``, interruptions of the format ``spotbag.scenario/1``, or an availability trace with
        ``gap_seconds`` and ``data``.
    k_h, k_r : float, optional
        Of ``poisson``, which needs both: hibernations and resumes to be expected within a deadline.
    rate_scale : float
        Multiplies both rates, also of the scenarios of the papers.
    one_means : {"available", "preempted"}, optional
        What a 1 in an availability trace means; required for one.

    Raises
    ------
    InputError
        If there is no such scenario, if the file is wrong, or if an option is missing or does not apply.
    """
    if text in SCENARIOS:
        options: dict[str, object] = {"one_means": one_means}
        if text != "poisson":
            options |= {"k_h": k_h, "k_r": k_r}
        if text == "quiet" or SCENARIOS[text].shocks is not None:
            options["rate_scale"] = None if rate_scale == 1 else rate_scale
        _refuse(options, text, f"the scenario {text!r}")
        return _named(text, k_h, k_r, rate_scale)
    looks_like_path = text.endswith(".json") or text.startswith((".", "/", "~")) or os.path.isdir(text)
    if text != STANDARD_INPUT and not is_readable_file(text) and not looks_like_path:
        close = difflib.get_close_matches(text, SCENARIOS, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(SCENARIOS)}; or give a JSON file"
        raise input_error(text or "scenario", f"is neither the name of a scenario nor a file ({hint})")
    rates = {"k_h": k_h, "k_r": k_r, "rate_scale": None if rate_scale == 1 else rate_scale}
    source = source_name(text)
    document = parse_json(read_text(text), source)
    ours = str(document.get("format", "")).startswith("spotbag.")
    if str(document.get("format", "")).startswith("spotbag.scenario/"):
        from .shock_days import shock_scenario_of_document

        _refuse(rates | {"one_means": one_means}, source, "a scenario of a file")
        return shock_scenario_of_document(document, source)
    if ours or ("format" in document and "data" not in document):
        from .timeline import timeline_of_document

        timeline = timeline_of_document(document, source)
        _refuse(rates | {"one_means": one_means}, source, "a day of a file")
        return ScriptedScenario(timeline, source)
    if "data" in document or "gap_seconds" in document:
        from .availability_days import availability_of_document

        _refuse(rates, source, "an availability trace")
        return availability_of_document(document, source, one_means)
    raise input_error(
        source,
        'is no scenario: it has neither "format": "spotbag.timeline/1" or "spotbag.scenario/1", as days and scenarios '
        'have, nor "data", as availability traces have',
    )


def _named(name: str, k_h: float | None, k_r: float | None, rate_scale: float) -> Scenario:
    from .poisson_days import PoissonScenario

    if name == "quiet":
        return ScriptedScenario(QUIET, name)
    known = SCENARIOS[name]
    if known.shocks is not None:
        from .shock_days import ShockScenario

        return ShockScenario(name=name, **known.shocks)
    full_name = name
    if name == "poisson":
        missing = [field for field, value in (("k_h", k_h), ("k_r", k_r)) if value is None]
        if missing:
            rule = "must be given: the hibernations (k_h) and resumes (k_r) to be expected within a deadline"
            raise InputError(name, [Issue("", rule, " and ".join(missing))])
        full_name += f" k_h={k_h:g} k_r={k_r:g}"
    else:
        k_h, k_r = known.k_h, known.k_r
    if rate_scale != 1:
        full_name += f" rate_scale={rate_scale:g}"
    assert k_h is not None
    assert k_r is not None
    return PoissonScenario(full_name, k_h, k_r, rate_scale)


def _refuse(options: Mapping[str, object], source: str, what: str) -> None:
    """Refuse options that were given and do not apply."""
    given = [f"{name} {show_value(value)}" for name, value in options.items() if value is not None]
    if not given:
        return
    hint = "; to choose rates, take the scenario 'poisson'" if any(name.startswith("k_") for name in given) else ""
    raise input_error(source, f"{' and '.join(given)} cannot be given with {what}{hint}")
