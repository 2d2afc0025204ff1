"""Tables of the Burst-HADS paper."""

from __future__ import annotations

from ...paper_tables import JOB, SCENARIO, PaperColumn, PaperTable, StatedNumbers, ours_alone
from ..paper_days import BASELINE_POLICY
from .runs import BOTH

_COST = (
    PaperColumn("Burst ($)", "cost_usd", 3, "burst-hads"),
    PaperColumn("HADS ($)", "cost_usd", 3, "hads"),
)
_MAKESPAN = (
    PaperColumn("Burst (s)", "makespan_s", 0, "burst-hads"),
    PaperColumn("HADS (s)", "makespan_s", 0, "hads"),
)
_CYCLES, _LAST_TASK = BASELINE_POLICY["cycles"], BASELINE_POLICY["last-task"]

HEADLINE = PaperTable(
    "Table VI, means",
    "Means of Table VI over the jobs: what Burst-HADS takes off cost and makespan of HADS, and what both save against "
    "ILS On-demand",
    [
        PaperColumn("cost reduction (%)", "cost_reduction_percent", 1, BOTH),
        PaperColumn("makespan reduction (%)", "makespan_reduction_percent", 1, BOTH),
        PaperColumn("saving, Burst (%)", "saving_percent", 1, "burst-hads"),
        PaperColumn("saving, HADS (%)", "saving_percent", 1, "hads"),
    ],
    leads=(SCENARIO,),
)

TABLES = (
    PaperTable(
        "Table IV",
        "Table IV: cost without hibernation",
        [
            _COST[0],
            *ours_alone(
                PaperColumn("least plan ($)", "cost_usd_least", 3, "burst-hads"),
                PaperColumn("most ($)", "cost_usd_most", 3, "burst-hads"),
            ),
            _COST[1],
            PaperColumn("on-demand ($)", "cost_usd", 3, _CYCLES),
            *ours_alone(PaperColumn("the same, to the last task ($)", "cost_usd", 3, _LAST_TASK)),
        ],
        leads=(JOB,),
    ),
    PaperTable(
        "Table IV",
        "Table IV: makespan without hibernation",
        [
            _MAKESPAN[0],
            *ours_alone(
                PaperColumn("least plan (s)", "makespan_s_least", 0, "burst-hads"),
                PaperColumn("most (s)", "makespan_s_most", 0, "burst-hads"),
            ),
            _MAKESPAN[1],
            PaperColumn("on-demand (s)", "makespan_s", 0, _CYCLES),
        ],
        leads=(JOB,),
    ),
    PaperTable(
        "Table VI",
        "Table VI: hibernations and resumes (the paper prints one number for both schedulers)",
        [
            PaperColumn("hibernations, Burst", "hibernations", 2, "burst-hads"),
            PaperColumn("hibernations, HADS", "hibernations", 2, "hads", printed=False),
            PaperColumn("resumes, Burst", "resumes", 2, "burst-hads"),
            PaperColumn("resumes, HADS", "resumes", 2, "hads", printed=False),
        ],
    ),
    PaperTable(
        "Table VI",
        "Table VI: regular on-demand VMs started, and late days",
        [
            PaperColumn("VMs, Burst", "on_demand_started", 2, "burst-hads"),
            PaperColumn("VMs, HADS", "on_demand_started", 2, "hads"),
            PaperColumn("late days (%), Burst", "late_days_percent", 1, "burst-hads"),
            PaperColumn("late days (%), HADS", "late_days_percent", 1, "hads"),
        ],
    ),
    PaperTable(
        "Table VI",
        "Table VI: cost, and by how much Burst-HADS reduces it",
        [
            *_COST,
            PaperColumn("reduction (%)", "cost_reduction_percent", 1, BOTH),
        ],
    ),
    PaperTable(
        "Table VI",
        "Table VI: makespan, and by how much Burst-HADS reduces it",
        [
            *_MAKESPAN,
            PaperColumn("reduction (%)", "makespan_reduction_percent", 1, BOTH),
        ],
    ),
    PaperTable(
        "savings",
        "Savings against on-demand VMs: idle ones billed to the ends of their cycles, and each to its last task",
        [
            PaperColumn("Burst, cycles (%)", f"saving_percent {_CYCLES}", 1, "burst-hads"),
            *ours_alone(PaperColumn("Burst, last task (%)", f"saving_percent {_LAST_TASK}", 1, "burst-hads")),
            PaperColumn("HADS, cycles (%)", f"saving_percent {_CYCLES}", 1, "hads"),
            *ours_alone(PaperColumn("HADS, last task (%)", f"saving_percent {_LAST_TASK}", 1, "hads")),
        ],
    ),
    PaperTable(
        "Table VI",
        "Stealing, and tasks migrated to burstable VMs at full speed, under Burst-HADS (the paper prints neither)",
        ours_alone(
            PaperColumn("steals", "steals", 2, "burst-hads"),
            PaperColumn("tasks at full speed", "tasks_at_full_speed", 2, "burst-hads"),
        ),
    ),
)

STATED = StatedNumbers(
    "Numbers of the text",
    text="text",
    follows="tables",
    source="from Tables IV and VI",
    digits=2,
    text_digits=2,
    wording={
        "quiet_makespan_reduction_percent": "{policy}, no hibernation: makespan reduction (%)",
        "quiet_cost_increase_percent": "{policy}, no hibernation: cost increase (%)",
        "quiet_saving_percent": "no hibernation: saving of Burst-HADS against on-demand (%)",
        "quiet_makespan_increase_percent": "no hibernation: makespan increase against on-demand (%)",
        "makespan_reduction_percent": "{policy}: makespan reduction (%)",
        "cost_increase_percent": "{policy}: cost increase (%)",
        "burst_hads_saving_percent": "{policy}: saving of Burst-HADS against on-demand (%)",
        "hads_saving_percent": "{policy}: saving of HADS against on-demand (%)",
    },
)
