"""What ``--json`` prints, kind by kind: records by which programs can rely on it, and the tests judge it.

The value of ``format`` is ``spotbag.KIND/VERSION``. A version changes when a key is taken away or changes its meaning;
new keys may come without that, so readers should leave alone those that they do not know.
"""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict

from ..audits.findings import Violation
from ..benchmarks.claims import Verdict
from ..executors.orders import Target
from ..instances.bags.best_known import BestKnown
from ..instances.entries import Architecture, Burstable, Goal, Market
from ..schedules.documents import ScheduleDocument, Survival, SurvivalVerdict
from ..schedules.method import StepEnd
from ..solvers.bags.result import Status


class _Output(BaseModel):
    """A JSON object of a command."""

    model_config = ConfigDict(frozen=True)


class Mean(_Output):
    """A mean over runs with its 95 % confidence interval; null where there are too few runs."""

    n: int
    mean: float | None
    low: float | None
    high: float | None


class Heuristic(_Output):
    """The plan of a heuristic beside a front."""

    method: str
    makespan_s: int
    cost_usd: float
    cost_of_front_usd: float | None


class PlannedVm(_Output):
    """A VM of a plan; what the plan itself has of it is in ``plan``."""

    id: str
    type: str
    market: str
    tasks: int
    end_s: int
    cost_usd: float


class Stage(_Output):
    """A quantity that a goal makes least."""

    quantity: Literal["cost_usd", "makespan_s"]
    value: float
    bound: float | None
    proven: bool


class PlanningStep(_Output):
    """A step of planning plans by ``d_spot_s`` and ``deadline_s``; ``objective`` and ``bound`` are those after it."""

    name: str
    began_s: float
    took_s: float
    objective: float | None
    bound: float | None
    better_plan: bool
    better_bound: bool
    ended: StepEnd
    d_spot_s: int | None
    deadline_s: int | None


class _Planned(_Output):
    """A bag that was planned; without a plan, its numbers are null and ``message`` says why."""

    instance: str
    status: Status
    method: str
    goal: Goal
    budget_usd: float | None
    objective: float | None
    bound: float | None
    gap: float | None
    bound_without: float | None
    gap_without: float | None
    stages: tuple[Stage, ...]
    cost_usd: float | None
    makespan_s: int | None
    deadline_s: int
    d_spot_s: int | None
    survival: Survival | None
    vms: tuple[PlannedVm, ...]
    message: str
    warnings: tuple[str, ...]
    runtime_s: float
    seed: int
    stats: dict[str, float]
    interrupted: bool
    steps: tuple[PlanningStep, ...]
    plan: ScheduleDocument | None = None


class PlanOnDays(_Output):
    """A plan on the days of the report, those of the choice being others."""

    plan: str
    method: str
    chosen: bool
    survives: bool | None
    quiet_cost_usd: float
    makespan_s: int
    d_spot_s: int | None
    days: int
    late_days: int
    cost_usd: Mean
    loss_usd: Mean
    p95_usd: float | None
    worst_usd: float | None
    more_than_chosen_usd: Mean
    days_of_choice: int


class DaysToCome(_Output):
    """For which days a plan was chosen, and how it and others fare on other such days."""

    policy: str
    scenario: str
    seed: int
    late_usd: float
    candidates: int
    days_of_choice: int
    plans: tuple[PlanOnDays, ...]


class Solve(_Planned):
    """``spotbag solve``; with ``days_to_come`` if there was a scenario."""

    format: Literal["spotbag.solve/1"]
    days_to_come: DaysToCome | None = None


class Replan(_Planned):
    """``spotbag replan``: times and costs count from the moment of the state; before it, ``spent_usd`` was spent."""

    format: Literal["spotbag.replan/1"]
    time_s: float
    spent_usd: float


class Check(_Output):
    """``spotbag check``."""

    format: Literal["spotbag.check/1"]
    instance: str
    status: Literal["feasible", "infeasible"]
    cost_usd: float
    makespan_s: int
    objective: float
    deadline_s: int
    d_spot_s: int | None
    survival: Survival | None
    violations: tuple[Violation, ...]
    notes: tuple[str, ...]


class ExportedVm(_Output):
    """A VM of an exported plan: its folder, its file for SkyPilot if there is one, and what it runs."""

    vm: str
    type: str
    market: str
    folder: str
    file: str | None
    cores: int
    tasks: int
    end_s: int


class Export(_Output):
    """``spotbag export``."""

    format: Literal["spotbag.export/1"]
    instance: str
    to: Target
    folder: str
    vms: tuple[ExportedVm, ...]


class ActualTask(_Output):
    """A task as planned and as it was run; of several attempts, the one that counts."""

    task: str
    status: Literal["done", "failed", "cut off", "running", "waiting"]
    planned_vm: str
    planned_core: int
    planned_start_s: int
    planned_end_s: int
    vm: str | None
    core: int | None
    start_s: float | None
    end_s: float | None
    start_error_s: float | None
    end_error_s: float | None
    exit_code: int | None
    message: str
    attempts: int


class ActualVm(_Output):
    """A VM as planned and as it was used: from the start of its first task to the end of its last one."""

    vm: str
    tasks: int
    done: int
    planned_start_s: int
    planned_end_s: int
    start_s: float | None
    end_s: float | None
    starts: int
    lost: bool


class ImportLog(_Output):
    """``spotbag import-log``; times are seconds from the start of the plan, which ``began_at`` has on the clock."""

    format: Literal["spotbag.import-log/1"]
    instance: str
    tasks: int
    done: int
    failures: int
    unfinished: tuple[str, ...]
    planned_makespan_s: int
    makespan_s: float | None
    median_start_error_s: float | None
    wrong_vm: tuple[str, ...]
    inversions: tuple[tuple[str, str], ...]
    until_s: float
    began_at: float
    vms: tuple[ActualVm, ...]
    rows: tuple[ActualTask, ...]


class AuditedRun(_Output):
    """A run of a trace; the amounts of a platform are units of cost, those of bags and streams are dollars."""

    policy: str
    day: int | None = None
    seed: int | None = None
    status: Literal["correct", "incorrect"]
    cost_usd: float | None = None
    cost: float | None = None
    makespan_s: int | None
    events: int
    findings: tuple[Violation, ...]
    notes: tuple[str, ...]


class Audit(_Output):
    """``spotbag audit``."""

    format: Literal["spotbag.audit/1"]
    instance: str | None = None
    platform: str | None = None
    status: Literal["correct", "incorrect"]
    runs: tuple[AuditedRun, ...]


class Bound(_Output):
    """A lower bound; its value is null where it proves that no plan exists."""

    name: str
    value: float | None
    unit: str
    meaning: str
    runtime_s: float


class Bounds(_Output):
    """``spotbag bound``."""

    format: Literal["spotbag.bound/1"]
    instance: str
    status: Literal["bounded", "infeasible"]
    message: str
    deadline_s: int
    d_spot_s: int | None
    cost_weight: float
    cost_scale_usd: float
    makespan_scale_s: float
    warnings: tuple[str, ...]
    bounds: tuple[Bound, ...]


class ComparedReference(_Output):
    """What the plans for an instance are measured by."""

    instance: str
    best: float | None
    best_by: str
    bound: float | None
    bound_by: str
    optimum: float | None
    contradiction: str


class ComparedMethod(_Output):
    """All runs of a method on an instance."""

    instance: str
    method: str
    runs: int
    plans: int
    statuses: dict[str, int]
    objective_mean: float | None
    objective_worst: float | None
    cost_usd_mean: float | None
    makespan_s_mean: float | None
    bound_gap_mean: float | None
    bound_gap_worst: float | None
    optimum_gap_mean: float | None
    optimum_gap_worst: float | None
    runtime_s_mean: float | None
    runtime_s_total: float | None
    reason: str
    survives: dict[SurvivalVerdict, int]
    ended_by_time: int


class MethodOverall(_Output):
    """A method over all instances."""

    method: str
    instances: int
    solved: int
    optimal: int
    gap_mean: float | None
    gap_worst: float | None
    runtime_s: float


class ComparedRun(_Output):
    """A single run."""

    instance: str
    method: str
    seed: int
    status: str
    objective: float | None
    bound: float | None
    cost_usd: float | None
    makespan_s: int | None
    runtime_s: float | None
    reason: str
    interrupted: bool
    survives: SurvivalVerdict | None
    warnings: tuple[str, ...]
    ended_by_time: bool
    bound_without: float | None


class Compare(_Output):
    """``spotbag compare``."""

    format: Literal["spotbag.compare/1"]
    interrupted: bool
    references: tuple[ComparedReference, ...]
    summaries: tuple[ComparedMethod, ...]
    methods: tuple[MethodOverall, ...]
    rows: tuple[ComparedRun, ...]


class BestEntry(BestKnown):
    """The best plan known for an instance."""

    gap: float


class BestKnownValues(_Output):
    """``spotbag best-known``."""

    format: Literal["spotbag.best-known/1"]
    entries: tuple[BestEntry, ...]


class BestKnownChange(_Output):
    """What became of an entry."""

    instance: str
    change: str
    message: str
    runtime_s: float
    before: BestEntry | None
    after: BestEntry | None


class BestKnownUpdate(_Output):
    """``spotbag best-known --update``."""

    format: Literal["spotbag.best-known-update/1"]
    interrupted: bool
    updates: tuple[BestKnownChange, ...]


class FrontPoint(_Output):
    """A plan that no other one beats; ``vms`` says how many of what are rented.

    Whether it survives is there with ``--survive``.
    """

    makespan_s: int
    cost_usd: float
    bound_cost_usd: float
    proven: bool
    vms: dict[str, int]
    survives: SurvivalVerdict | None = None
    worst_cost_usd: float | None = None


class Pareto(_Output):
    """``spotbag pareto``."""

    format: Literal["spotbag.pareto/1"]
    instance: str
    status: str
    method: str
    complete: bool
    proven: bool
    deadline_s: int
    d_spot_s: int | None
    points: tuple[FrontPoint, ...]
    message: str
    warnings: tuple[str, ...]
    runtime_s: float
    interrupted: bool
    heuristics: tuple[Heuristic, ...]


class ReplayedPlan(_Output):
    """The plan that was replayed."""

    by: str
    cost_usd: float
    makespan_s: int


class ReplaySummary(BaseModel):
    """A policy over all days: beside these, a mean for each thing that is counted."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Mean]

    policy: str
    days: int
    misses: int
    unfinished: int
    cost_usd: Mean
    makespan_s: Mean
    saving_percent: Mean
    regret_usd: Mean


class ReplayDifference(_Output):
    """A policy against the first one, day by day."""

    policy: str
    against: str
    cost_usd: Mean
    makespan_s: Mean
    cheaper: int
    dearer: int


class ReplayedDay(_Output):
    """A day; ``policies`` has what became of it under each policy."""

    day: int
    bound_usd: float | None
    hindsight_usd: float | None
    policies: dict[str, dict[str, Any]]


class CloudBilling(_Output):
    """How a cloud bills."""

    minimum_s: int
    block_s: int
    first_hour_free: bool
    hibernated_usd_per_gb_hour: float
    stopped_usd_per_gb_hour: float


class OneCloud(_Output):
    """What a cloud does."""

    name: str
    summary: str
    interruption: Literal["hibernate", "stop", "terminate"]
    notice_s: int
    billing: CloudBilling
    source: str
    date: str


class Replay(_Output):
    """``spotbag replay``."""

    format: Literal["spotbag.replay/1"]
    instance: str
    plan: ReplayedPlan
    deadline_s: int
    d_spot_s: int | None
    scenario: str
    cloud: OneCloud
    seed: int
    runs: int
    interrupted: bool
    on_demand_usd: float | None
    on_demand_last_task_usd: float | None
    policies: tuple[ReplaySummary, ...]
    differences: tuple[ReplayDifference, ...]
    days: tuple[ReplayedDay, ...]


class ExperimentRun(_Output):
    """``spotbag experiment run``: how many cells there are, had a row before, and have been run now."""

    format: Literal["spotbag.experiment-run/1"]
    folder: str
    cells: int
    before: int
    run: int
    papers: tuple[str, ...]
    interrupted: bool


class ReadyExperiment(_Output):
    """An experiment that is ready to be run."""

    name: str
    cells: int
    time_limit_s: float
    description: str


class ExperimentList(_Output):
    """``spotbag experiment list``."""

    format: Literal["spotbag.experiment-list/1"]
    experiments: tuple[ReadyExperiment, ...]


class MethodRuns(_Output):
    """The runs of a method on an instance."""

    instance: str
    method: str
    n_tasks: int | None
    runs: int
    plans: int
    status: str
    objective: float | None
    gap: float | None
    runtime_s: float | None
    peak_memory_mb: float | None
    ended_by_time: int


class ExperimentResults(_Output):
    """``spotbag experiment results``."""

    format: Literal["spotbag.experiment-results/1"]
    results: tuple[MethodRuns, ...]


class JudgedRun(_Output):
    """A run of the method that is judged, and the best plan of the others that meets the same demand."""

    instance: str
    seed: int
    drawn: dict[str, str]
    group: str
    verdict: Literal["held", "beaten", "beaten-second", "missed", "no-plan", "impossible"]
    cost_usd: float | None
    makespan_s: int | None
    gap: float | None
    runtime_s: float | None
    baseline: str
    baseline_percent: float | None
    better_bound: str
    reason: str


class GapsOfGroup(_Output):
    """Gaps of a group of cells: how many are within 0.1, 1 and 3 %."""

    group: str
    wanted: float
    cells: int
    plans: int
    within: tuple[int, ...]
    mean: float | None
    worst: float | None


class ExperimentJudge(_Output):
    """``spotbag experiment judge``."""

    format: Literal["spotbag.experiment-judge/1"]
    method: str
    cells: tuple[JudgedRun, ...]
    verdicts: dict[str, int]
    groups: tuple[GapsOfGroup, ...]


class StatusChange(_Output):
    """How many runs had another status before."""

    before: str
    after: str
    runs: int


class MethodChange(_Output):
    """A method in two experiments; objectives below 0, and bounds above 0, are better."""

    method: str
    runs: int
    ended_by_time: int
    better: int
    same: int
    worse: int
    objective_percent: Mean
    bound_percent: Mean
    time_percent: Mean
    statuses: tuple[StatusChange, ...]


class PolicyChange(_Output):
    """A policy in two experiments, day by day."""

    replayed: str
    policy: str
    days: int
    cost_usd: Mean
    cost_before_usd: Mean
    late_before: int
    late_after: int


class RunChange(_Output):
    """A run whose objective has changed."""

    instance: str
    method: str
    seed: int
    before: float
    after: float
    ended_by_time: bool


class ExperimentCompare(_Output):
    """``spotbag experiment compare``."""

    format: Literal["spotbag.experiment-compare/1"]
    settings: tuple[str, ...]
    only_before: int
    only_after: int
    methods: tuple[MethodChange, ...]
    policies: tuple[PolicyChange, ...]
    changes: tuple[RunChange, ...]


class TracedDay(_Output):
    """A day under a policy, as in a trace."""

    run: dict[str, Any]
    events: tuple[dict[str, Any], ...]
    end: dict[str, Any]


class ReplayDay(_Output):
    """``spotbag replay --day``; the costs are those of ``clairvoyant`` and ``hindsight``, if they were asked for."""

    format: Literal["spotbag.replay-day/1"]
    days: tuple[TracedDay, ...]
    bound_usd: float | None
    hindsight_usd: float | None


class NoPlan(_Output):
    """``spotbag replay`` without a plan to replay."""

    format: Literal["spotbag.no-plan/1"]
    instance: str
    status: Literal["no-plan"]
    message: str
    interrupted: bool


class VmUse(_Output):
    """VMs of a type that have the same number of tasks."""

    vm_type: str
    vms: int
    tasks_each: int
    runs_s: float
    started_blocks: int
    full_blocks: int
    last_block_use: float
    idle_blocks: int


class CheaperEnd(_Output):
    """An earlier end that costs less."""

    available_s: int
    cost_usd: float


class SizedJob(_Output):
    """The VMs that a job needs."""

    id: str
    application: str
    n_tasks: int
    available_s: int
    status: str
    reasons: tuple[str, ...]
    missing_s: float | None
    fastest: str | None
    counts: dict[str, int]
    tasks_per_vm: dict[str, int]
    runtime_s: dict[str, float | None]
    paid_blocks_per_vm: int
    cost_usd: float | None
    started_cost_usd: float | None
    cheaper_end: CheaperEnd | None
    uses: tuple[VmUse, ...]
    solving_s: float


class Size(_Output):
    """``spotbag size``."""

    format: Literal["spotbag.size/1"]
    stream: str
    method: str
    block_s: int
    creation_overhead_s: int
    jobs: tuple[SizedJob, ...]
    vms: int
    cost_usd: float
    started_cost_usd: float
    infeasible: tuple[str, ...]
    interrupted: bool


class StreamSummary(BaseModel):
    """A policy over all runs: beside these, a mean for each thing that is counted."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Mean]

    policy: str
    runs: int
    makespan_s: Mean
    violation_cost_usd: float | None
    blocks: dict[str, Mean]
    policy_counts: dict[str, Mean]


class ReplayedRun(_Output):
    """A run; ``policies`` has what became of it under each policy."""

    seed: int
    policies: dict[str, dict[str, Any]]


class Stream(_Output):
    """``spotbag stream``."""

    format: Literal["spotbag.stream-runs/1"]
    stream: str
    jobs: int
    tasks: int
    block_s: int
    creation_overhead_s: int
    seed: int
    runs: int
    interrupted: bool
    sampling: dict[str, float]
    a2ha: dict[str, float | str | None]
    policies: tuple[StreamSummary, ...]
    outcomes: tuple[ReplayedRun, ...]


class ListedStream(_Output):
    """A stream of the library."""

    name: str
    jobs: int
    tasks: int
    applications: int
    vm_types: tuple[str, ...]
    block_s: int
    last_deadline_s: int
    source: str


class StreamList(_Output):
    """``spotbag stream --list``."""

    format: Literal["spotbag.stream-list/1"]
    streams: tuple[ListedStream, ...]


class JobSet(_Output):
    """The jobs that were drawn."""

    kind: str
    number: int


class PlatformSummary(BaseModel):
    """A policy over all runs: beside these, a mean for each metric."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Mean]

    policy: str
    runs: int
    at_least: dict[str, Mean] | None = None


class Platform(_Output):
    """``spotbag platform``."""

    format: Literal["spotbag.platform-runs/1"]
    platform: str
    agents: int
    resources: int
    jobs: int
    job_set: JobSet | None
    seed: int
    runs: int
    interrupted: bool
    policies: tuple[PlatformSummary, ...]
    outcomes: tuple[ReplayedRun, ...]
    written: tuple[str, ...]
    picture_refused: str | None = None


class ListedPlatform(_Output):
    """A platform of the library."""

    name: str
    agents: int
    dedicated: int
    allocated: int
    cloud: int
    jobs: int
    source: str


class PlatformList(_Output):
    """``spotbag platform --list``."""

    format: Literal["spotbag.platform-list/1"]
    platforms: tuple[ListedPlatform, ...]


class Written(_Output):
    """Commands that write files and no more; what is in them, as far as it applies."""

    format: Literal["spotbag.written/1"]
    written: tuple[str, ...]
    instance: str | None = None
    stream: str | None = None
    platform: str | None = None
    tasks: int | None = None
    jobs: int | None = None
    vm_types: int | None = None
    spot_prices: int | None = None
    deadline_s: int | None = None
    d_spot_s: int | None = None
    warnings: tuple[str, ...] = ()


class Range(_Output):
    """The least, the mean and the most of a quantity."""

    min: float
    mean: float
    max: float


class Show(_Output):
    """``spotbag show`` of an instance; of a plan, it prints the plan: ``spotbag.schedule/1``."""

    format: Literal["spotbag.show/1"]
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


class MethodOption(_Output):
    """An option of a method."""

    name: str
    values: str
    default: Any


class WarmUpStep(_Output):
    """A part of ``spotbag warm-up``, and how long it took."""

    step: str
    took_s: float


class WarmUp(_Output):
    """``spotbag warm-up``; ``kept`` says whether other processes find what is compiled."""

    format: Literal["spotbag.warm-up/1"]
    steps: tuple[WarmUpStep, ...]
    took_s: float
    kept: bool


class DescribedMethod(_Output):
    """A method of ``spotbag solve``."""

    summary: str
    exact: bool
    takes: str
    distribution: str
    options: tuple[MethodOption, ...]


class Methods(_Output):
    """``spotbag methods``."""

    format: Literal["spotbag.methods/1"]
    methods: dict[str, DescribedMethod]


class DescribedPolicy(_Output):
    """A policy of ``spotbag replay``, ``stream`` or ``platform``, and what its rules change."""

    command: Literal["replay", "stream", "platform"]
    name: str
    summary: str
    rules: dict[str, str]
    distribution: str


class Policies(_Output):
    """``spotbag policies``."""

    format: Literal["spotbag.policies/1"]
    policies: tuple[DescribedPolicy, ...]


class PublishedRow(_Output):
    """A quantity of a table, as printed and as replayed."""

    table: str
    job: str
    scenario: str
    policy: str
    quantity: str
    relation: Literal["=", ">", "<"]
    printed: float | None
    n: int
    mean: float | None
    low: float | None
    high: float | None


class PublishedClaim(BaseModel):
    """A statement of a paper, judged."""

    model_config = ConfigDict(frozen=True, extra="allow")

    paper: str
    verdict: Verdict


class PublishedComparison(BaseModel):
    """``spotbag bench``: beside these, the settings of the replays."""

    model_config = ConfigDict(frozen=True, extra="allow")

    format: Literal["spotbag.published-comparison/1"]
    paper: str
    plans: tuple[dict[str, Any], ...]
    claims: tuple[PublishedClaim, ...]
    findings: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    rows: tuple[PublishedRow, ...]


class ListedInstance(_Output):
    """An instance of the library."""

    name: str
    tasks: int
    entries: int
    vm_types: int
    deadline_s: int
    memory_may_bind: bool
    source: str


class InstanceList(_Output):
    """``spotbag instance list``."""

    format: Literal["spotbag.instance-list/1"]
    instances: tuple[ListedInstance, ...]
    streams: tuple[str, ...]
    platforms: tuple[str, ...]


class TypePrice(_Output):
    """What a market asks for a VM type."""

    price_usd_per_hour: float
    usd_per_core_hour: float
    date: str
    source: str
    zones: dict[str, float] | None = None


class ListedType(_Output):
    """A VM type of the catalogue, in a region."""

    name: str
    region: str
    vcpus: int
    memory_mb: float
    architecture: Architecture | None = None
    burstable: Burstable | None = None
    source: str
    date: str
    prices: dict[Market, TypePrice]


class Types(_Output):
    """``spotbag instance types``."""

    format: Literal["spotbag.types/1"]
    catalogue: str
    provider: str
    vm_types: tuple[ListedType, ...]


class Clouds(_Output):
    """``spotbag instance clouds``."""

    format: Literal["spotbag.clouds/1"]
    clouds: tuple[OneCloud, ...]


class ErrorIssue(_Output):
    """One thing that is wrong in an input."""

    path: str
    item: str
    message: str


class ListedSchema(_Output):
    """A kind of output; what its records look like is printed by its name."""

    kind: str
    format: str
    printed_by: str


class Schemas(_Output):
    """``spotbag schema`` without a kind."""

    format: Literal["spotbag.schemas/1"]
    schemas: tuple[ListedSchema, ...]


class Error(_Output):
    """Any command that ends with exit code 2."""

    format: Literal["spotbag.error/1"]
    status: Literal["error"]
    message: str
    issues: tuple[ErrorIssue, ...]


def format_of(output: type[BaseModel]) -> str:
    """Return the format of a kind of output."""
    (name,) = get_args(output.model_fields["format"].annotation)
    return cast("str", name)


OUTPUTS: dict[str, type[BaseModel]] = {
    format_of(output).removeprefix("spotbag.").partition("/")[0]: output
    for output in (
        Solve, Replan, Check, Audit, Bounds, Compare, BestKnownValues, BestKnownUpdate, Pareto, Replay, ReplayDay,
        NoPlan, ExperimentRun, ExperimentList, ExperimentResults, ExperimentJudge, ExperimentCompare, Size, Stream,
        StreamList, Platform, PlatformList, Show, Methods, Policies, WarmUp, PublishedComparison, InstanceList, Types,
        Clouds, Export, ImportLog, Written, Schemas, Error,
    )
}  # fmt: skip
"""What ``--json`` prints, by its kind: the word in ``format``."""
