"""Scenarios: what days are like. By name, or from a file."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ...core.errors import InputError, Issue, input_error, show_value
from ...core.json_documents import parse_json
from ...core.text_files import STANDARD_INPUT, is_readable_file, packaged_toml, read_text, source_name
from .scripted_days import Scenario, ScriptedScenario, rate_per_hour
from .timeline import QUIET, timeline_of_document


class NamedScenario(NamedTuple):
    """A scenario that can be asked for by name.

    Attributes
    ----------
    summary : str
        One line for people.
    k_h, k_r : float, optional
        Hibernations and resumes to be expected within a deadline; None if they are to be given.
    shocks, bathtub : mapping, optional
        Instead: the numbers of a `ShockScenario`, or of a `BathtubScenario`.
    """

    summary: str
    k_h: float | None = None
    k_r: float | None = None
    shocks: Mapping[str, Any] | None = None
    bathtub: Mapping[str, Any] | None = None


def _described(
    summary: str = "", paper: str = "", interrupted: Mapping[str, float] | None = None, **numbers: Any
) -> NamedScenario:
    """Return the scenario that is described by its numbers, or by those of a paper."""
    if paper:
        summary = f"{paper}: {numbers['k_h']:g} hibernations and {numbers['k_r']:g} resumes per deadline and type"
    if interrupted is not None:
        numbers["shocks"] = {"vm_interruptions_per_hour": rate_per_hour(**interrupted), **numbers["shocks"]}
    return NamedScenario(summary, **numbers)


SCENARIOS: Mapping[str, NamedScenario] = MappingProxyType(
    {name: _described(**said) for name, said in packaged_toml(__package__, "scenarios.toml").items()}
)
"""Scenarios by name; for what the rates mean, see `PoissonScenario`."""


def find_scenario(
    text: str,
    *,
    k_h: float | None = None,
    k_r: float | None = None,
    rate_scale: float = 1.0,
    one_means: str | None = None,
    vms_per_one: float | str | None = None,
    zone: str | None = None,
    product: str | None = None,
    since: str | None = None,
    amplitude: float | None = None,
    early_scale_s: float | None = None,
    late_scale_s: float | None = None,
    end_age_s: float | None = None,
) -> Scenario:
    """Find a scenario by its name or in a file.

    Parameters
    ----------
    text : str
        A name of `SCENARIOS`, or the path of a file (``-`` for standard input): JSON of a day of the format
        ``spotbag.timeline/1``, of a scenario of the format ``spotbag.scenario/1``, or of an availability trace with
        ``gap_seconds`` and ``data``; a history of spot prices, as JSON of AWS or as a table; or the file of the Spot
        Instance Advisor of AWS.
    k_h, k_r : float, optional
        Of ``poisson``, which needs both: hibernations and resumes to be expected within a deadline.
    rate_scale : float
        Multiplies both rates, also of the scenarios of the papers.
    one_means : {"available", "preempted"}, optional
        What a 1 in an availability trace means; required for one.
    vms_per_one : float or "all", optional
        How many VMs it stands for; if absent, all of a type in a trace of 0 and 1 only, and one VM in others.
    zone, product : str, optional
        Availability zone and operating system whose prices count, of a history that has several; of the advisor, the
        zone's region.
    since : str, optional
        When the days of a history of prices start, such as ``2026-07-09T12:00:00Z``; drawn by the seed if absent.
    amplitude, early_scale_s, late_scale_s, end_age_s : float, optional
        Of ``vms/bathtub``: *A*, *tau1*, *tau2* and *b* of a `BathtubScenario`.

    Raises
    ------
    InputError
        If there is no such scenario, if the file is wrong, or if an option is missing or does not apply.
    """
    options: dict[str, Any] = {"k_h": k_h, "k_r": k_r, "rate_scale": None if rate_scale == 1 else rate_scale}
    options |= {"one_means": one_means, "vms_per_one": vms_per_one, "zone": zone, "product": product, "since": since}
    options |= {"amplitude": amplitude, "early_scale_s": early_scale_s}
    options |= {"late_scale_s": late_scale_s, "end_age_s": end_age_s}
    # Built-in names win over files of the same name, as plug-ins do not replace what is built in.
    return _named(text, options) if text in SCENARIOS else _of_path(text, options)


def _named(name: str, options: Mapping[str, Any]) -> Scenario:
    """Scenario of a name; see `find_scenario`."""
    known = SCENARIOS[name]
    if known.bathtub is not None:
        own = {"amplitude", "early_scale_s", "late_scale_s", "end_age_s"}
    else:
        own = {"rate_scale"} if name != "quiet" and known.shocks is None else set()
        own |= {"k_h", "k_r"} if name == "poisson" else set()
    _refuse(options, own, name, f"the scenario {name!r}")
    given = {key: options[key] for key in own if options[key] is not None}
    if known.bathtub is not None:
        from ...core.records import validate_record
        from .lifetime_days import BathtubScenario

        return validate_record(BathtubScenario, {"name": name, **given}, name)
    if known.shocks is not None:
        from .shock_days import ShockScenario

        return ShockScenario(name=name, **known.shocks)
    if name == "quiet":
        return ScriptedScenario(QUIET, name)
    from .poisson_days import PoissonScenario

    rates = given if name == "poisson" else {"k_h": known.k_h, "k_r": known.k_r, **given}
    if missing := [key for key in ("k_h", "k_r") if rates.get(key) is None]:
        rule = "must be given: the hibernations (k_h) and resumes (k_r) to be expected within a deadline"
        raise InputError(name, [Issue("", rule, " and ".join(missing))])
    said = [f"{key}={given[key]:g}" for key in ("k_h", "k_r", "rate_scale") if key in given]
    return PoissonScenario(" ".join([name, *said]), **rates)


def _of_path(text: str, options: Mapping[str, Any]) -> Scenario:
    """Scenario of what may be a path; see `find_scenario`."""
    looks_like_path = (
        text.endswith((".json", ".csv", ".tsv")) or text.startswith((".", "/", "~")) or os.path.isdir(text)
    )
    # A text that looks like a path is read as one, so that the message is of a missing file, not of a scenario.
    if text != STANDARD_INPUT and not is_readable_file(text) and not looks_like_path:
        close = difflib.get_close_matches(text, SCENARIOS, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(SCENARIOS)}; or give a file"
        raise input_error(text or "scenario", f"is neither the name of a scenario nor a file ({hint})")
    return _of_file(text, options)


def _of_file(path: str, options: Mapping[str, Any]) -> Scenario:
    """Scenario of a file; see `find_scenario`."""
    source, content = source_name(path), read_text(path)
    prices = {name: options[name] for name in ("zone", "product", "since")}
    # A table has neither brace nor bracket first; a JSON text is told apart by its keys below.
    if not path.endswith(".json") and content.lstrip()[:1] not in ("{", "[", ""):
        from .price_days import price_scenario
        from .spot_price_history import spot_prices_of_table

        _refuse(options, set(prices), source, "a history of spot prices")
        return price_scenario(spot_prices_of_table(content, source), source, **prices)
    document = parse_json(content, source)
    # Our own formats come first: their keys could be those of a foreign document as well.
    ours = str(document.get("format", "")).startswith("spotbag.")
    if str(document.get("format", "")).startswith("spotbag.scenario/"):
        from .scenario_files import scenario_of_document

        _refuse(options, set(), source, "a scenario of a file")
        return scenario_of_document(document, source)
    # A format that is not known may be one of ours of a later version, whose message says so.
    if ours or ("format" in document and not document.keys() & {"data", "SpotPriceHistory"}):
        timeline = timeline_of_document(document, source)
        _refuse(options, set(), source, "a day of a file")
        return ScriptedScenario(timeline, source, document.get("cloud"))
    if "SpotPriceHistory" in document:
        from .price_days import price_scenario
        from .spot_price_history import spot_prices_of_document

        _refuse(options, set(prices), source, "a history of spot prices")
        return price_scenario(spot_prices_of_document(document, source), source, **prices)
    if "spot_advisor" in document:
        from .shock_days import advisor_scenario

        _refuse(options, {"zone", "product"}, source, "the file of the Spot Instance Advisor")
        return advisor_scenario(document, source, options["zone"], options["product"])
    if "data" in document or "gap_seconds" in document:
        from .availability_days import availability_of_document

        of_traces = ("one_means", "vms_per_one")
        _refuse(options, set(of_traces), source, "an availability trace")
        return availability_of_document(document, source, *(options[name] for name in of_traces))
    raise input_error(
        source,
        'is no scenario: it has neither "format": "spotbag.timeline/1" or "spotbag.scenario/1", as days and scenarios '
        'have, nor "data", as availability traces have, nor "SpotPriceHistory" or "spot_advisor", as files of AWS have',
    )


def _refuse(options: Mapping[str, object], own: Collection[str], source: str, what: str) -> None:
    """Refuse options that were given and do not apply."""
    given = [f"{name} {show_value(value)}" for name, value in options.items() if value is not None and name not in own]
    if not given:
        return
    hint = "; to choose rates, take the scenario 'poisson'" if any(name.startswith("k_") for name in given) else ""
    raise input_error(source, f"{' and '.join(given)} cannot be given with {what}{hint}")
