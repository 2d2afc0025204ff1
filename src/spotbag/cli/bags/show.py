"""``spotbag show``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from textwrap import indent
from typing import TYPE_CHECKING, Any

from ...core.errors import SpotbagError
from ...core.text_files import read_once, read_text, source_name
from ...core.text_tables import Table, number, table_of, words
from ...core.wording import printable_line
from ..answers import Answer, Part, print_object
from ..arguments import (
    InstanceOptions,
    is_path,
)
from ..console import drawing, print_facts, print_rows, print_table, seconds, warn
from ..options import INSTANCES, argument, json_option, of_plan_option, plan_gantt_option, state_option
from .solve import d_spot_text, print_rented

if TYPE_CHECKING:
    from ...instances.instance import Instance
    from ...schedules.documents import ScheduleDocument
    from ...schedules.schedule import Schedule

EXAMPLE = "Example:  spotbag show hads/J100   or   spotbag show plan.json --gantt plan.svg"


class Range(Part):
    """The least, the mean and the most of a quantity."""

    min: float
    mean: float
    max: float

    @classmethod
    def of_values(cls, values: Any) -> Range | None:
        """Return the range of some values; None of none."""
        return cls(min=float(values.min()), mean=float(values.mean()), max=float(values.max())) if len(values) else None


class Show(Answer, kind="show"):
    """``spotbag show`` of an instance; of a plan, it prints the plan: ``spotbag.schedule/1``."""

    instance: str
    tasks: int
    entries: int
    deadline_s: int
    d_spot_s: int | None
    memory_mb: Range
    runtime_s: dict[str, Range | dict[str, float]]
    cost_scale_usd: float
    makespan_scale_s: float
    memory_never_binds: dict[str, bool]
    cores: Range


def show_command(
    *,
    what: str = argument(
        "INSTANCE|PLAN", "An instance or a plan: a file, - or a library name.", completes=INSTANCES, file="read"
    ),
    changes: InstanceOptions,
    instance: str | None = of_plan_option(),
    state: str | None = state_option(),
    gantt: str | None = plan_gantt_option(),
    as_json: bool = json_option(),
) -> None:
    """Show an instance or a plan.

    A plan is shown as its instance says it is; without the instance, as it says of itself. With --state, what that
    leaves of the instance is shown, or a plan for that. Exit code 0: done; 2: bad input.
    """
    from ...audits.bags.plan import check
    from ...instances.instance import Instance

    found = _load(what, changes)
    if isinstance(found, Instance):
        if gantt is not None:
            raise SpotbagError(f"{what}: is an instance; --gantt draws plans ('spotbag solve' makes them)")
        if state is not None:
            from ...schedules.state import State

            found = State.read(state).remaining(found)
        _show_instance(found, as_json)
        return
    schedule = changes.plan_or_none(found, instance, what, state)
    if schedule is None:
        if gantt is not None or state is not None:
            wanted = "to draw it" if gantt is not None else "to show it by a state"
            raise SpotbagError(f"{what}: is a plan for {found.instance!r}; {wanted}, name that with --instance")
        _show_document(found, as_json)
        return
    # A plan is shown as it is, but nobody shall believe that it can be carried out if it cannot.
    report = check(schedule.instance, found)
    if report.violations:
        warn([f"the plan is not feasible as it stands: {report.violations[0]}; 'spotbag check' lists all"])
    if gantt is not None:
        from ...charts.bags.plan import write_gantt

        with drawing(gantt):
            write_gantt(schedule, gantt, "NOT FEASIBLE" if report.violations else found.method, found.survival)
    _show_schedule(schedule, found, as_json)


def _load(what: str, changes: InstanceOptions) -> Instance | ScheduleDocument:
    """Load an instance or a plan, whichever the format says."""
    from ...core.json_documents import format_of
    from ...instances.instance import Instance, instance_warnings
    from ...instances.library import library_names
    from ...schedules.documents import SCHEDULE_FORMAT
    from ...schedules.schedule_files import parse_schedule_document

    file = read_once(what)
    # Only a document of ours says itself what it is.
    if changes.is_of_tasks(file) or not is_path(file, library_names()):
        return changes.load(file)
    text, source = read_text(file), source_name(file)
    if format_of(text) == SCHEDULE_FORMAT:
        return parse_schedule_document(text, source)
    instance = Instance.parse(text, source)
    warn(instance_warnings(instance))
    return changes.apply(instance)


def _show_instance(instance: Instance, as_json: bool) -> None:
    import numpy as np

    counts = instance.group_size
    memory = Range.of_values(np.repeat([task.memory_mb for task in instance.tasks], counts))
    cores = Range.of_values(np.repeat(instance.cores, counts))
    assert memory is not None, "an instance has tasks"
    assert cores is not None, "an instance has tasks"
    runtimes: dict[str, Range | None] = {}
    for index, vm_type in enumerate(instance.vm_types):
        # As given, before they are rounded to whole seconds.
        column = instance.given_runtime_s[:, index]
        there = np.isfinite(column)
        runtimes[vm_type.name] = Range.of_values(np.repeat(column[there], counts[there]))
    d_spot = _d_spot_s(instance)
    if not as_json:
        _print_instance(instance, d_spot, memory, cores)
        print_table(_offer_table(instance, runtimes))
        _print_provenance(instance)
        return
    never_binds = zip(instance.vm_types, instance.memory_never_binds, strict=True)
    Show.of(
        instance,
        instance=instance.name,
        tasks=instance.n_tasks,
        entries=len(instance.tasks),
        d_spot_s=d_spot,
        memory_mb=memory,
        runtime_s={name: found or {} for name, found in runtimes.items()},
        memory_never_binds={
            vm_type.name: bool(free) or not instance.slots.count_memory for vm_type, free in never_binds
        },
        cores=cores,
    ).print_json()


def _d_spot_s(instance: Instance) -> int | None:
    """D_spot as given, or as estimated where that is possible."""
    from ...heuristics.bags.d_spot import with_d_spot

    # Where no D_spot can be estimated there is still an instance to show, and whoever looks for the reason needs it.
    try:
        return with_d_spot(instance).d_spot_s
    except SpotbagError:
        return None


def _print_instance(instance: Instance, d_spot: int | None, memory: Range, cores: Range) -> None:
    from ...schedules.plan_text import goal_text

    print(f"{instance.name}: {instance.n_tasks:,} tasks in {len(instance.tasks):,} entries")
    if instance.description:
        print(indent(instance.description, "  "))
    by_paper = instance.d_spot_rule == "paper"
    limits, migration_s = instance.limits, seconds(instance.migration_overhead_s)
    facts = [
        ("deadline", f"{seconds(instance.deadline_s)} s"),
        ("D_spot", "-" if d_spot is None else d_spot_text(instance, d_spot, by_paper)),
        ("boot overhead", f"{seconds(instance.boot_overhead_s)} s"),
        ("migration", f"{migration_s} s, allocation cycle {instance.allocation_cycle_s} s"),
        ("goal", goal_text(instance)),
        ("VMs at most", f"spot {_limit(limits.max_spot)}, on-demand {_limit(limits.max_on_demand)} in all"),
        *([("quotas", "; ".join(map(str, limits.quotas)))] if limits.quotas else []),
        ("task memory", f"{memory.min:g} / {memory.mean:.2f} / {memory.max:g} MB (least / mean / most)"),
    ]
    facts += [("task cores", f"{cores.min:g} / {cores.mean:.2f} / {cores.max:g} (least / mean / most)")] * (
        cores.max > 1
    )
    print_facts(facts, 14)
    print()


def _print_provenance(instance: Instance) -> None:
    provenance = instance.provenance
    if provenance is None:
        return
    print(f"source: {provenance.source}")
    if provenance.notes:
        print(provenance.notes)
    if provenance.optimum is not None:
        optimum = provenance.optimum
        print(f"optimum: objective {optimum.objective:g} ($ {optimum.cost_usd:g}, {optimum.makespan_s} s)")
        print(optimum.derivation)


def _offer_table(instance: Instance, runtimes: Mapping[str, Range | None]) -> Table:
    def runtime(offer: Any) -> str:
        found = runtimes[offer.vm_type.name]
        return f"{found.min:,.0f} / {found.mean:,.0f} / {found.max:,.0f}" if found else "cannot run any"

    def baseline(offer: Any) -> float | None:
        credits = offer.vm_type.burstable
        return None if credits is None else 100 * credits.baseline_fraction

    return table_of(
        instance.offers,
        words("VM type", lambda offer: offer.vm_type.name),
        words("market"),
        number("cores", "vcpus"),
        number("memory (MB)", lambda offer: offer.vm_type.memory_mb, "g"),
        number("Gflops", lambda offer: offer.vm_type.gflops, "g"),
        number("price ($/h)", "price_usd_per_hour", "g"),
        number("VMs at most", "limit"),
        number("baseline (%)", baseline, "g"),
        number("run time min / mean / max (s)", runtime),
    )


def _limit(limit: int | None) -> str:
    return "unlimited" if limit is None else str(limit)


def _show_schedule(schedule: Schedule, document: ScheduleDocument, as_json: bool) -> None:
    if as_json:
        from ...schedules.schedule_files import schedule_pieces

        # In pieces, as there is no text of a large plan as a whole.
        sys.stdout.writelines(schedule_pieces(schedule, document.method, document.survival, document.late))
        return
    from ...schedules.plan_text import late_lines, survival_lines

    method = f" by {printable_line(document.method)}" if document.method else ""
    print(f"plan{method} for {document.instance}: {len(document.tasks):,} tasks on {len(document.vms)} VMs")
    deadline = f"(deadline {seconds(schedule.instance.deadline_s)} s)"
    facts = [("cost", f"$ {schedule.cost_usd:.6f}"), ("makespan", f"{seconds(schedule.makespan_s)} s {deadline}")]
    said = survival_lines(document.survival) if document.survival else []
    said += late_lines(document.late) if document.late else []
    facts += [
        ("objective", f"{schedule.objective:.6f}"),
        *((name, f"{text} (as the plan says)") for name, text in said),
    ]
    print_facts(facts, 10)
    print()
    print_rented(schedule)


def _show_document(document: ScheduleDocument, as_json: bool) -> None:
    if as_json:
        print_object(document.model_dump(mode="json", exclude_none=True))
        return
    print(f"plan for {document.instance}: {len(document.tasks):,} tasks on {len(document.vms)} VMs")
    claims = {name: getattr(document, name) for name in ("cost_usd", "makespan_s", "objective")}
    hint = "(as the file says; --instance INSTANCE derives it)"
    print_facts(((name, f"{value:g} {hint}") for name, value in claims.items() if value is not None), 10)
    print()
    ends: dict[str, list[int]] = {vm.id: [] for vm in document.vms}
    for placed in document.tasks:
        ends.setdefault(placed.vm, []).append(placed.end_s)
    print_rows(
        document.vms,
        words("VM", "id"),
        words("type"),
        words("market"),
        number("tasks", lambda vm: len(ends[vm.id])),
        number("last end (s)", lambda vm: seconds(max(ends[vm.id], default=0))),
    )
