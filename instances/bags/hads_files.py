"""The files of the HADS and Burst-HADS authors: ``job.json`` (the tasks) and ``env.json`` (the VM types).

Their memory is in MB for tasks and GB for VMs (1 GB = 1024 MB), their prices in USD per hour, the baseline of a
burstable type in percent. The deadline is in neither file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from ...core.errors import InputError, Issue, SpotbagError
from ...core.json_documents import format_json, parse_json
from ...core.quantities import MB_PER_GB
from ...core.records import TheirRecord, validate_record
from ...core.text_files import read_text, source_name, write_text
from ..entries import MARKETS, MAX_TASKS, Market, Offer, VmType
from ..instance import Instance, instance_warnings
from .imported import Imported

Value = TypeVar("Value")
HADS_MARKETS: dict[Market, str] = {"spot": "preemptible", "on-demand": "on-demand"}


class _HadsTask(TheirRecord):
    memory: float
    command: str
    io: float
    runtime: dict[str, float]


class _HadsJob(TheirRecord):
    job_id: int
    job_name: str
    description: str
    tasks: dict[str, _HadsTask]


class _ByMarket(TheirRecord, Generic[Value]):
    on_demand: Annotated[Value, Field(alias="on-demand")]
    preemptible: Value


class _HadsBurstable(TheirRecord):
    burstable: str
    cpu_credit_rate: float
    baseline: float


class _Restrictions(TheirRecord):
    limits: _ByMarket[int]
    markets: _ByMarket[str]
    burstable: _HadsBurstable


class _HadsType(TheirRecord):
    vcpu: int
    memory: float
    gflops: float
    prices: _ByMarket[float]
    restrictions: _Restrictions


class _GlobalLimits(TheirRecord):
    ec2: _ByMarket[int]


class _HadsEnvironment(TheirRecord):
    global_limits: _GlobalLimits
    instances: dict[str, _HadsType]


@dataclass(frozen=True, slots=True)
class HadsFiles:
    """The texts of ``job.json`` and ``env.json``, and what they could not say."""

    job: str
    environment: str
    warnings: list[str] = field(default_factory=list)


def read_hads_files(
    job: str | os.PathLike[str], environment: str | os.PathLike[str], deadline_s: int, d_spot_s: int | None = None
) -> Imported:
    """Read an instance from ``job.json`` and ``env.json``.

    Tasks keep their order in the file (the greedy's sort is stable). Types of a run-time table that the environment
    does not know, and types that no market offers, are dropped with a warning. Their schedulers know no checkpoint
    parameters in these files, so the instance has none.

    Raises
    ------
    InputError
        With everything that is wrong in either file, or in both together.
    """
    job_source, environment_source = source_name(job), source_name(environment)
    read_job = validate_record(_HadsJob, parse_json(read_text(job), job_source, most_keys=MAX_TASKS), job_source)
    read_environment = validate_record(
        _HadsEnvironment, parse_json(read_text(environment), environment_source), environment_source
    )
    warnings: list[str] = []
    vm_types = _vm_types(read_environment, environment_source, warnings)
    tasks = _tasks(read_job, {str(vm_type["name"]) for vm_type in vm_types}, set(read_environment.instances), warnings)
    caps = read_environment.global_limits.ec2
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": read_job.job_name or f"job-{read_job.job_id}",
        "provenance": {"source": "HADS files", "notes": f"job {read_job.job_id}: {read_job.description}"},
        "deadline_s": deadline_s,
        "limits": {"max_spot": caps.preemptible, "max_on_demand": caps.on_demand},
        "vm_types": vm_types,
        "tasks": tasks,
    }
    if d_spot_s is not None:
        document["d_spot_s"] = d_spot_s
    instance = Instance.from_document(document, f"{job_source} with {environment_source}")
    return Imported(instance, warnings + instance_warnings(instance))


def _vm_types(environment: _HadsEnvironment, source: str, warnings: list[str]) -> list[dict[str, Any]]:
    vm_types = []
    issues = []

    def is_on(name: str, field: str, switch: str) -> bool:
        said = switch.strip().lower()
        if said not in ("yes", "no"):
            issues.append(Issue(f"instances.{name}", "must be yes or no", f"restrictions.{field}", said))
        return said == "yes"

    for name, entry in environment.instances.items():
        offers = {}
        for market, theirs in (("spot", "preemptible"), ("on-demand", "on_demand")):
            on = is_on(name, f"markets.{theirs}", getattr(entry.restrictions.markets, theirs))
            limit = getattr(entry.restrictions.limits, theirs)
            # Those files list every type for both markets, and switch markets off by one or the other.
            if on and limit != 0:
                offers[market] = {"price_usd_per_hour": getattr(entry.prices, theirs), "limit": limit}
        if not offers:
            warnings.append(f"{name}: no market offers it (limits of 0 or markets 'no'); left out")
            continue
        memory_mb = entry.memory * MB_PER_GB
        vm_type: dict[str, Any] = {"name": name, "vcpus": entry.vcpu, "memory_mb": memory_mb, "offers": offers}
        if entry.gflops != 0:
            vm_type["gflops"] = entry.gflops
        burstable = entry.restrictions.burstable
        if is_on(name, "burstable.burstable", burstable.burstable):
            vm_type["burstable"] = {
                "baseline_fraction": burstable.baseline / 100,
                "credits_per_hour": burstable.cpu_credit_rate,
            }
        vm_types.append(vm_type)
    if issues:
        raise InputError(source, issues)
    return vm_types


def _tasks(job: _HadsJob, offered: set[str], known: set[str], warnings: list[str]) -> list[dict[str, Any]]:
    tasks = []
    unknown: set[str] = set()
    for task_id, entry in job.tasks.items():
        unknown |= entry.runtime.keys() - known
        tasks.append(
            {
                "id": task_id,
                "memory_mb": entry.memory,
                "runtime_s": {name: seconds for name, seconds in entry.runtime.items() if name in offered},
                "command": entry.command,
            }
        )
    if unknown:
        warnings.append(f"run times on {', '.join(sorted(unknown))} left out: not in the environment file")
    return tasks


def hads_files(instance: Instance) -> HadsFiles:
    """Return an instance as ``job.json`` and ``env.json``.

    Their tasks are called 0 .. N-1 in the order of ours.

    Raises
    ------
    SpotbagError
        If it cannot be said in these files: a task without a run time on some type, or a type without Gflops.
    """
    warnings: list[str] = []
    if instance.has_dates:
        raise SpotbagError("HADS files have no place for a ready_s or a deadline_s of a task; leave these out for them")
    if instance.has_setups:
        raise SpotbagError("HADS files have no place for the setup_s of a VM type; leave these out for them")
    if not instance.in_market.all():
        raise SpotbagError("HADS files have no place for the markets of a task; leave these out for them")
    if any(vm_type.gflops is None and vm_type.burstable is None for vm_type in instance.vm_types):
        names = [vm_type.name for vm_type in instance.vm_types if vm_type.gflops is None]
        raise SpotbagError(f"HADS files need gflops for every VM type; missing for {', '.join(names)}")
    job_tasks = _export_tasks(instance)
    if instance.task_ids != tuple(str(index) for index in range(instance.n_tasks)):
        warnings.append(f"tasks are renamed 0 .. {instance.n_tasks - 1}, in the order of the instance")
    # Their format knows no times but run times: what cannot be written is named, for nobody to miss it later.
    dropped = [
        name
        for name in ("d_spot_s", "boot_overhead_s", "migration_overhead_s", "checkpoint", "objective")
        if name in instance.model_fields_set
    ]
    dropped_text = ", ".join(["deadline_s", *dropped])
    warnings.append(
        f"left out, their files have no place for it: {dropped_text} (the deadline is {instance.deadline_s} s)"
    )
    job = {
        "job_id": 1,
        "job_name": instance.name,
        "description": instance.description or instance.name,
        "tasks": job_tasks,
    }
    if instance.limits.quotas:
        raise SpotbagError("HADS files know no quotas: leave limits.quotas out, or say max_spot and max_on_demand")
    caps = {HADS_MARKETS[market]: _cap(instance, market) for market in MARKETS}
    environment = {
        "global_limits": {"ec2": caps},
        "instances": {vm_type.name: _export_type(vm_type, instance.markets) for vm_type in instance.vm_types},
    }
    return HadsFiles(format_json(job), format_json(environment), warnings)


def write_hads_files(instance: Instance, job: str | os.PathLike[str], environment: str | os.PathLike[str]) -> list[str]:
    """Write ``job.json`` and ``env.json``; return warnings about what they could not say.

    Raises
    ------
    SpotbagError
        If a file cannot be written, or the instance cannot be said in these files.
    """
    files = hads_files(instance)
    write_text(job, files.job)
    write_text(environment, files.environment)
    return files.warnings


def _export_tasks(instance: Instance) -> dict[str, Any]:
    names = [vm_type.name for vm_type in instance.vm_types]
    rows: list[dict[str, Any]] = []
    for row, task in enumerate(instance.tasks):
        if task.cores > 1:
            raise SpotbagError(f"HADS files know tasks of one core only; task {task.id!r} has {task.cores}")
        seconds = instance.given_runtime_s[row]
        missing = [name for name, value in zip(names, seconds, strict=True) if value == float("inf")]
        if missing:
            raise SpotbagError(
                f"HADS files need a run time on every VM type; task {task.id!r} has none on {missing[0]}"
            )
        runtime = dict(zip(names, seconds.tolist(), strict=True))
        # Their format knows no counts: each task has an entry of its own.
        rows += [{"memory": task.memory_mb, "io": 0.0, "command": task.command or "", "runtime": runtime}] * task.count
    return {str(index): entry for index, entry in enumerate(rows)}


def _cap(instance: Instance, market: Market) -> int:
    """Limit of a market; without one, the limits of its offers together."""
    cap = instance.limits.max_spot if market == "spot" else instance.limits.max_on_demand
    if cap is not None:
        return cap
    return sum(vm_type.offers[market].limit for vm_type in instance.vm_types if market in vm_type.offers)


def _export_type(vm_type: VmType, markets: tuple[Market, ...]) -> dict[str, Any]:
    offers: dict[str, Offer | None] = {
        HADS_MARKETS[market]: vm_type.offers.get(market) if market in markets else None for market in MARKETS
    }
    burstable = vm_type.burstable
    return {
        "vcpu": vm_type.vcpus,
        "memory": (vm_type.memory_mb - vm_type.reserved_mb) / MB_PER_GB,
        # Burstable types may have none: their files have 0 for these.
        "gflops": vm_type.gflops or 0.0,
        "provider": "ec2",
        "prices": {name: offer.price_usd_per_hour if offer else 0.0 for name, offer in offers.items()},
        "restrictions": {
            "limits": {name: offer.limit if offer else 0 for name, offer in offers.items()},
            "markets": {name: "yes" if offer else "no" for name, offer in offers.items()},
            "burstable": {
                "burstable": "yes" if burstable else "no",
                "cpu_credit_rate": burstable.credits_per_hour if burstable else 0,
                "baseline": 100 * burstable.baseline_fraction if burstable else 0,
            },
        },
    }
