"""Tables of the Burst-HADS paper."""

from __future__ import annotations

from ...paper_tables import JOB, PaperColumn, PaperTable, StatedNumbers
from .runs import BOTH

_COST = (
    PaperColumn("Burst ($)", "cost_usd", 3, "burst-hads"),
    PaperColumn("HADS ($)", "cost_usd", 3, "hads"),
)
_MAKESPAN = (
    PaperColumn("Burst (s)", "makespan_s", 0, "burst-hads"),
    PaperColumn("HADS (s)", "makespan_s", 0, "hads"),
)

TABLES = (
    PaperTable(
        "Table IV",
        "Table IV: without hibernation",
        [
            *_COST,
            PaperColumn("on-demand ($)", "cost_usd", 3, "on-demand"),
            *_MAKESPAN,
            PaperColumn("on-demand (s)", "makespan_s", 0, "on-demand"),
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
)

STATED = StatedNumbers(
    "Averages over Table VI",
    text="averages, text",
    follows="averages, Table VI",
    source="from the costs of Table VI",
    digits=2,
    text_digits=2,
    wording={
        "makespan_reduction_percent": "makespan reduction (%)",
        "cost_increase_percent": "cost increase (%)",
        "burst_hads_saving_percent": "saving of Burst-HADS against on-demand (%)",
        "hads_saving_percent": "saving of HADS against on-demand (%)",
    },
)
