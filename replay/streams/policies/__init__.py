"""The policies for streams, by their names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial

from ....core.errors import InputError, Issue
from ....core.wording import counted
from ....instances.streams.draws import most_vms_of_a_type
from ....instances.streams.stream import Stream
from ...policies import PolicyKind
from ..state import StreamPolicy
from .a2ha import A2ha, A2haSettings
from .fixed_fleet import FixedFleet
from .known import Known, KnownPaidBlocks
from .unknown import Sampling, Unknown, UnknownLearning, UnknownPaidBlocks

MOST_VMS = 10_000
MOST_BLOCKS = 10**7
"""Most blocks or periods, whichever are shorter, of all tasks of ``a2ha`` together: some minutes of replay."""

KNOWING_POLICIES: dict[str, type[Known]] = {policy.name: policy for policy in (Known, KnownPaidBlocks)}
SAMPLING_POLICIES: dict[str, type[Unknown]] = {
    policy.name: policy for policy in (Unknown, UnknownPaidBlocks, UnknownLearning)
}

_POLICIES: tuple[type[StreamPolicy], ...] = (*KNOWING_POLICIES.values(), *SAMPLING_POLICIES.values(), A2ha)
STREAM_POLICIES: dict[str, str] = {policy.name: policy.summary for policy in _POLICIES}
"""Summary of each policy, by name; fixed fleets have names of VM types."""

_FLEET = re.compile(r"(?P<type>.+)\.(?P<count>[0-9]+)", re.ASCII)


def a2ha_settings(options: Mapping[str, str]) -> A2haSettings:
    """Make settings of ``a2ha`` of texts, by their names.

    Raises
    ------
    InputError
        If there is no setting of a name; close names are suggested. If a value is none of it.
    """
    from pydantic import TypeAdapter, ValidationError

    known = [field.name for field in fields(A2haSettings)]
    issues = []
    for name in options:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            issues.append(Issue("", f"is no setting of a2ha ({hint})", value=name))
    if issues:
        raise InputError("a2ha", issues)
    try:
        return TypeAdapter(A2haSettings).validate_python(dict(options))
    except ValidationError as error:
        wrong = [Issue("", item["msg"].lower(), str(item["loc"][0]), item["input"]) for item in error.errors()]
        raise InputError("a2ha", wrong) from None


def stream_kind(
    stream: Stream, sampling: Sampling | None = None, a2ha: A2haSettings | None = None
) -> PolicyKind[StreamPolicy]:
    """Return the policies of a stream; settings are for those that are given by their names."""
    return replace(KIND, find=lambda name, _: stream_policy(stream, name, sampling, a2ha))


def stream_policy(
    stream: Stream, name: str, sampling: Sampling | None = None, a2ha: A2haSettings | None = None
) -> Callable[[], StreamPolicy]:
    """Return the maker of a policy by its name: each replay needs a fresh one.

    Parameters
    ----------
    stream : Stream
        The stream that it is for.
    name : str
        One of `KNOWING_POLICIES` or `SAMPLING_POLICIES`, ``a2ha``, or a fixed fleet: a VM type, or what follows the
        last dot of its name, and a number, e.g. ``m3.large.4`` or ``large.4``.
    sampling : Sampling, optional
        How policies sample that know nothing at first.
    a2ha : A2haSettings, optional
        Parameters of ``a2ha``.

    Raises
    ------
    InputError
        If there is no such policy; close names are suggested. If it cannot run the jobs of the stream.
    """
    if name in KNOWING_POLICIES:
        return KNOWING_POLICIES[name]
    if name == A2ha.name:
        _demand_type_for_all(stream, name, 0)
        _demand_few_blocks(stream, A2haSettings() if a2ha is None else a2ha)
        return partial(A2ha, a2ha)
    if name in SAMPLING_POLICIES:
        return partial(SAMPLING_POLICIES[name], sampling)
    fleet = _FLEET.fullmatch(name)
    types = _types_called(stream.type_names, fleet["type"]) if fleet else []
    if fleet is None or not types:
        raise InputError("policy", [Issue("", f"is not a policy ({_hint(stream, name)})", value=name)])
    if len(types) > 1:
        both = " or ".join(f"{stream.type_names[index]}.{fleet['count']}" for index in types)
        raise InputError("policy", [Issue("", f"could be {both}; give the whole name of the type", value=name)])
    count = int(fleet["count"])
    useful = most_vms_of_a_type(stream)
    if not 1 <= count <= min(useful, MOST_VMS):
        rule = f"must end in a number of VMs from 1 to {min(useful, MOST_VMS)}"
        if count > useful:
            has = f"{counted(stream.n_tasks, 'task')} and {counted(len(stream.vm_types), 'VM type')}"
            rule += f" ({stream.name} has {has}; more VMs than tasks are of no use)"
        raise InputError("policy", [Issue("", rule, value=name)])
    _demand_type_for_all(stream, name, types[0])
    return lambda: FixedFleet(name, types[0], count)


def _demand_type_for_all(stream: Stream, policy: str, type_index: int) -> None:
    """Refuse a policy that rents VMs of one type only, if some job cannot run there."""
    vm_type = stream.type_names[type_index]
    used = [stream.application(name) for name in dict.fromkeys(job.application for job in stream.jobs)]
    unable = [application.name for application in used if vm_type not in application.runtime_s]
    if unable:
        able = [name for name in stream.type_names if all(name in application.runtime_s for application in used)]
        rule = f"cannot do it: {', '.join(unable)} cannot run on {vm_type}, the only VM type that it rents; "
        rule += f"all applications can run on {' or '.join(able[:8])}" if able else "no VM type can run all of them"
        raise InputError("policy", [Issue("", rule, value=policy)])


def _demand_few_blocks(stream: Stream, settings: A2haSettings) -> None:
    """Refuse ``a2ha``, which decides about a host at the end of each block, where tasks take too many."""
    of_type = stream.type_names[0]
    total_s = sum(job.n_tasks * (stream.average_s(job.application, of_type) or 0) for job in stream.jobs)
    each_s, what = min((stream.block_s, "blocks"), (settings.period_s, "periods (period_s)"))
    if (number := total_s // each_s) > MOST_BLOCKS:
        looked = f"looks at its VMs again and again, and the tasks take about {number:,} {what} of {each_s:,} s"
        way_out = "make these longer, or take another policy"
        raise InputError("policy", [Issue("", f"{looked}: {MOST_BLOCKS:,} at most; {way_out}", value=A2ha.name)])


def _types_called(names: Sequence[str], wanted: str) -> list[int]:
    if wanted in names:
        return [names.index(wanted)]
    return [index for index, name in enumerate(names) if name.rsplit(".", 1)[-1] == wanted]


def _hint(stream: Stream, name: str) -> str:
    fleets = [f"{vm_type}.4" for vm_type in stream.type_names]
    names = list(STREAM_POLICIES)
    close = difflib.get_close_matches(name, [*names, *fleets], n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"there are {', '.join(names)}, and fixed fleets such as {fleets[0]}"


def _of_no_stream(name: str, _: Sequence[str]) -> Callable[[], StreamPolicy]:
    raise InputError("policy", [Issue("", "is to be looked up for a stream", value=name)])


KIND = PolicyKind(StreamPolicy, STREAM_POLICIES, _of_no_stream)
"""The kind of policies of streams; `stream_kind` also finds those that are built in."""
