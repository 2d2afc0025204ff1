"""The numbers that the papers print, as they are printed."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from spotbag.core.records import INTEGRAL, Record

from ..data_files import read_figures
from ..paper_result import Relation

Share: TypeAlias = Literal["new", "idle", "busy", "resumed"]


_Seconds: TypeAlias = Annotated[int, Field(ge=0), INTEGRAL]
_Count: TypeAlias = Annotated[float, Field(ge=0)]
_Usd: TypeAlias = Annotated[float, Field(gt=0)]


class PublishedJob(Record):
    """A job: its tasks and their mean run time (HADS, Table 5)."""

    job: str
    tasks: Annotated[int, Field(gt=0)]
    mean_runtime_s: _Count


class PublishedBaseline(Record):
    """A job without hibernation (HADS, Table 9): VMs, makespan, cost on spot and on on-demand VMs."""

    job: str
    vms: dict[str, int]
    makespan_s: _Seconds
    spot_usd: _Usd
    on_demand_usd: _Usd
    difference_percent: float


class PublishedHadsResult(Record):
    """A job in a scenario under HADS (Table 10): means of three runs."""

    job: str
    scenario: str
    hibernations: _Count
    on_demand_started: _Count
    makespan_s: _Seconds
    cost_usd: _Usd
    saving_percent: float


class PublishedCheckpoints(Record):
    """ED200 in a scenario under HADS (Table 11)."""

    scenario: str
    checkpoints: _Count
    migrations: _Count
    recoveries: _Count
    cpu_time_saved_s: _Count


class PublishedShare(Record):
    """A share of the hibernations that the text states of Figs 9 and 10, whose values are in the pictures only.

    Attributes
    ----------
    job, scenario : str
        Where.
    share : {"new", "idle", "busy", "resumed"}
        Tasks migrated to a VM in that state, or the VM resumed before the migration trigger.
    relation : {"=", ">", "<"}
        How the share is to the number.
    percent : float
        The number.
    """

    job: str
    scenario: str
    share: Share
    relation: Relation
    percent: float


class PublishedSteal(Record):
    """A spot VM of a run of ED200 in sc2 (HADS, Fig. 13): the tasks of its plan, and those that it stole.

    The text says which numbers are those of which VM; the captions of the figure have it the other way round.
    """

    type: str
    planned: Annotated[int, Field(gt=0)]
    stolen: Annotated[int, Field(gt=0)]


class HadsFigures(Record):
    """Printed figures of the HADS paper.

    Attributes
    ----------
    source : str
        The paper.
    jobs, baselines, results, checkpoints, shares, steals
        See the records.
    hibernation_duration_s : dict of str to float
        Mean duration of a hibernation in each scenario (Fig. 8).
    steal_success_percent : dict of str to float
        ED200: attempts to steal that took a task, in the scenarios that the text names (Fig. 12).
    """

    format: Literal["spotbag.published-figures/1"]
    source: str
    jobs: Annotated[tuple[PublishedJob, ...], Field(strict=False)]
    baselines: Annotated[tuple[PublishedBaseline, ...], Field(strict=False)]
    results: Annotated[tuple[PublishedHadsResult, ...], Field(strict=False)]
    checkpoints: Annotated[tuple[PublishedCheckpoints, ...], Field(strict=False)]
    hibernation_duration_s: dict[str, float]
    steal_success_percent: dict[str, float]
    shares: Annotated[tuple[PublishedShare, ...], Field(strict=False)]
    steals: Annotated[tuple[PublishedSteal, ...], Field(strict=False)]


class PublishedQuietDay(Record):
    """A job without hibernation (Burst-HADS, Table IV)."""

    job: str
    burst_hads_cost_usd: _Usd
    burst_hads_makespan_s: _Seconds
    hads_cost_usd: _Usd
    hads_makespan_s: _Seconds
    on_demand_cost_usd: _Usd
    on_demand_makespan_s: _Seconds


class PublishedComparison(Record):
    """A job in a scenario under both schedulers (Burst-HADS, Table VI): means of three runs.

    Reductions are those of Burst-HADS against HADS; the table prints one number of hibernations, and of resumes, for
    both.
    """

    job: str
    scenario: str
    hibernations: _Count
    resumes: _Count
    burst_hads_on_demand_started: _Count
    hads_on_demand_started: _Count
    burst_hads_cost_usd: _Usd
    burst_hads_makespan_s: _Seconds
    hads_cost_usd: _Usd
    hads_makespan_s: _Seconds
    cost_reduction_percent: float
    makespan_reduction_percent: float


class PublishedAverage(Record):
    """A number of section IV: what the text says, and what the printed costs and makespans give.

    Attributes
    ----------
    quantity : str
        Name with its unit.
    of : str
        Of which job, or job and scenario; a mean over all if empty.
    relation : {"=", ">", "<"}
        How the paper's value is to the number of the text.
    printed, recomputed : float
        The number of the text, and that of the tables.
    """

    quantity: str
    of: str = ""
    relation: Relation = "="
    printed: float
    recomputed: float


class BurstHadsFigures(Record):
    """Printed figures of the Burst-HADS paper."""

    format: Literal["spotbag.published-figures/1"]
    source: str
    jobs: Annotated[tuple[PublishedJob, ...], Field(strict=False)]
    quiet: Annotated[tuple[PublishedQuietDay, ...], Field(strict=False)]
    results: Annotated[tuple[PublishedComparison, ...], Field(strict=False)]
    averages: Annotated[tuple[PublishedAverage, ...], Field(strict=False)]


def hads_figures() -> HadsFigures:
    """Read the printed figures of the HADS paper."""
    return read_figures(HadsFigures, __package__, "hads.json")


def burst_hads_figures() -> BurstHadsFigures:
    """Read the printed figures of the Burst-HADS paper."""
    return read_figures(BurstHadsFigures, __package__, "burst_hads.json")
