"""Instances made of tasks from files of other formats, and of VM types from the catalogue."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.errors import InputError, Issue, SpotbagError
from ...core.record_lists import grouped_by
from ...core.text_files import STANDARD_INPUT, source_name
from ..clouds import CLOUD_OF_PROVIDER
from ..instance import Instance, instance_warnings
from ..instance_checks import with_deadline_first
from .vm_catalogue import VmChoice, choose_vm_types, price_notes, read_catalogue

_TASK = re.compile(r"tasks\[([0-9]+)\]")
_NUMBERS = re.compile(r"[0-9][0-9.,]*")
_SHOWN_LINES = 5
_MANY = 1_000


@dataclass(frozen=True, slots=True)
class Imported:
    """An instance read from files of another format, and what a user should know about it."""

    instance: Instance
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Asked:
    """Facts of an instance that a file of tasks does not hold: deadline, VM types, name, default memory.

    Attributes
    ----------
    deadline_s : int
        All tasks end by then.
    vms : VmChoice
        VM types that may be used.
    name : str, optional
        Of the instance; the name of the file if absent.
    memory_mb : float, optional
        Memory of tasks whose file does not give it.
    late : {"least"}, optional
        See `Instance`.
    """

    deadline_s: int
    vms: VmChoice
    name: str | None = None
    memory_mb: float | None = None
    late: str | None = None


def make_instance(
    tasks: list[dict[str, Any]],
    asked: Asked,
    source: str,
    made_from: str,
    place: Callable[[int], tuple[str, str]],
    warnings: Iterable[str] = (),
) -> Imported:
    """Make an instance of tasks.

    Parameters
    ----------
    tasks : list of dict
        As in the document of an instance.
    asked : Asked
        The rest of it.
    source, made_from : str
        Name of the file in messages; what it is, for the provenance.
    place : callable
        Where the task of an index stands in the file, as `lines_of` names it: a word and a number.
    warnings : iterable of str
        What is to be said already.

    Raises
    ------
    InputError
        With everything that is wrong, each with its place in the file.
    SpotbagError
        If the VM types cannot be loaded.
    """
    vm_types = choose_vm_types(asked.vms)
    notes = price_notes(asked.vms)
    provider = read_catalogue(asked.vms.prices).provider
    # Run times of a file were measured on one machine; an instance states those of speed 1.
    more = _at_speed_1(tasks, asked.vms, [vm_type["name"] for vm_type in vm_types])
    caps = {"max_spot": asked.vms.max_spot, "max_on_demand": asked.vms.max_on_demand}
    limits: dict[str, Any] = {key: value for key, value in caps.items() if value is not None}
    if asked.vms.quotas:
        limits["quotas"] = [quota.model_dump(exclude_none=True) for quota in asked.vms.quotas]
    # Standard input has no name that a bag could have.
    stem = "bag" if source == source_name(STANDARD_INPUT) else os.path.basename(source).rsplit(".", 1)[0]
    name = asked.name or stem or "bag"
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": name,
        "provenance": {"source": made_from, "notes": "; ".join(notes)},
        "deadline_s": asked.deadline_s,
        **({} if asked.late is None else {"late": asked.late}),
        **({"cloud": CLOUD_OF_PROVIDER[provider]} if provider in CLOUD_OF_PROVIDER else {}),
        **({"limits": limits} if limits else {}),
        "vm_types": vm_types,
        "tasks": tasks,
    }
    try:
        instance = _instance_of(document, source)
    # The instance knows nothing of the file: places in the document become lines, for people to find them.
    except InputError as error:
        issues = with_deadline_first(error.issues, asked.deadline_s)
        raise InputError(source, grouped(_placed(issues, place))) from None
    return Imported(instance, [*warnings, *notes, *more, *instance_warnings(instance)])


def _instance_of(document: dict[str, Any], source: str) -> Instance:
    """Make an instance of a document; one of many tasks is written and parsed, by the decoder of long lists."""
    # Below that, the detour by a text takes longer than it saves.
    if len(document["tasks"]) < _MANY:
        return Instance.from_document(document, source)
    import msgspec

    try:
        text = msgspec.json.encode(document).decode()
    except UnicodeEncodeError:  # half a surrogate, which is refused by name
        return Instance.from_document(document, source)
    return Instance.parse(text, source)


def _at_speed_1(tasks: list[dict[str, Any]], vms: VmChoice, chosen: Sequence[str]) -> list[str]:
    """Turn run times that were measured once into those at speed 1; say what is assumed, and what does nothing."""
    measured = [task for task in tasks if "base_runtime_s" in task]
    if not measured:
        given = [name for name, value in (("--speed", vms.speeds), ("--measured-on", vms.measured_on)) if value]
        return [f"{' and '.join(given)} changes nothing: every type has run times of its own"] if given else []
    reference = _reference_speed(vms, chosen)
    if reference != 1:
        for task in measured:
            task["base_runtime_s"] *= reference
    if vms.speeds or len(chosen) == 1:
        return []
    return ["run times are taken to be the same on all types (--speed c6i.large=1.0,... says how cores differ)"]


def _reference_speed(vms: VmChoice, chosen: Sequence[str]) -> float:
    """Speed of what single run times were measured on.

    Raises
    ------
    SpotbagError
        If it is a type that has no speed.
    """
    speeds = dict(vms.speeds or {})
    if vms.measured_on is None:
        return 1.0
    if vms.measured_on in speeds:
        return speeds[vms.measured_on]
    if not speeds and list(chosen) == [vms.measured_on]:
        return 1.0
    # An example that can be copied: with a type that was chosen.
    other = next((name for name in chosen if name != vms.measured_on), "m6i.large")
    raise SpotbagError(
        f"--measured-on {vms.measured_on}: --speed must give its speed and those of the other types, "
        f"e.g. --speed {vms.measured_on}=1.0,{other}=0.9"
    )


def _placed(issues: Sequence[Issue], place: Callable[[int], tuple[str, str]]) -> Iterable[Issue]:
    """Issues of tasks with their places in the file instead of those in a document that nobody sees."""
    for issue in issues:
        found = _TASK.fullmatch(issue.where)
        if found is None:
            yield issue
            continue
        where = " ".join(place(int(found[1])))
        rule = _TASK.sub(lambda other: " ".join(place(int(other[1]))), issue.rule)
        yield Issue(where, rule, issue.field, issue.value, issue.item)


def grouped(issues: Iterable[Issue]) -> list[Issue]:
    """Merge issues with the same rule and column into one, with the first lines and the number of all."""
    made: list[Issue] = []
    for group in grouped_by(issues, lambda issue: (issue.field, _NUMBERS.sub("0", issue.rule))).values():
        first = group[0]
        if len(group) == 1 or not first.where:
            made += group
            continue
        # "line 7" of several becomes "lines 7, 8, 12".
        word, blank, _ = first.where.rpartition(" ")
        numbers = [issue.where.rsplit(" ", 1)[-1] for issue in group[:_SHOWN_LINES]]
        more = len(group) - len(numbers)
        where = (f"{word}s " if blank else "") + ", ".join(numbers) + (f" and {more} more" if more else "")
        made.append(Issue(where, f"{first.rule} (that of {first.where})", first.field, first.value))
    return made
