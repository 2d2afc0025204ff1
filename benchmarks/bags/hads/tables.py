"""Tables and figures of the HADS paper."""

from __future__ import annotations

from ...paper_tables import JOB, PaperColumn, PaperTable

TABLES = (
    PaperTable(
        "Table 9",
        "Table 9: without hibernation. static ends a VM with its last task, HADS with its allocation "
        "cycle; difference: to on-demand VMs",
        [
            PaperColumn("makespan (s)", "makespan_s", 0, "static"),
            PaperColumn("on-demand ($)", "cost_usd", 3, "on-demand"),
            PaperColumn("spot, static ($)", "cost_usd", 3, "static"),
            PaperColumn("spot, HADS ($)", "cost_usd", 3, "hads", printed=False),
            PaperColumn("difference, static (%)", "difference_percent", 1, "static"),
            PaperColumn("difference, HADS (%)", "difference_percent", 1, "hads", printed=False),
        ],
        leads=(JOB,),
    ),
    PaperTable(
        "Table 10",
        "Table 10, first half: hibernations, on-demand VMs started in runs with hibernations, and late days",
        [
            PaperColumn("hibernations", "hibernations", 2, "hads"),
            PaperColumn("on-demand VMs", "on_demand_started", 2, "hads"),
            PaperColumn("late days (%)", "late_days_percent", 1, "hads"),
        ],
    ),
    PaperTable(
        "Table 10",
        "Table 10, second half: makespan, cost, saving against on-demand VMs",
        [
            PaperColumn("makespan (s)", "makespan_s", 0, "hads"),
            PaperColumn("cost ($)", "cost_usd", 3, "hads"),
            PaperColumn("saving (%)", "saving_percent", 1, "hads"),
        ],
    ),
    PaperTable(
        "Table 11",
        "Table 11: checkpoints of ED200",
        [
            PaperColumn("checkpoints", "checkpoints", 1, "hads"),
            PaperColumn("task migrations", "migrations", 1, "hads"),
            PaperColumn("recoveries", "recoveries", 1, "hads"),
            PaperColumn("CPU time saved (s)", "cpu_time_saved_s", 0, "hads"),
        ],
    ),
    PaperTable(
        "Fig. 8",
        "Fig. 8: mean duration of a hibernation, all jobs together",
        [
            PaperColumn("duration (s)", "hibernation_duration_s", 0, "hads"),
        ],
    ),
    PaperTable(
        "Figs 9-10",
        "Figs 9 and 10: what came of the hibernations of VMs that had tasks (%); one may count for several",
        [
            PaperColumn("new VMs", "share_new_percent", 1, "hads"),
            PaperColumn("idle VMs", "share_idle_percent", 1, "hads"),
            PaperColumn("busy VMs", "share_busy_percent", 1, "hads"),
            PaperColumn("resumed in time", "share_resumed_percent", 1, "hads"),
        ],
    ),
    PaperTable(
        "Fig. 11",
        "Fig. 11: ED200, cost as the rates grow",
        [
            PaperColumn("cost ($)", "cost_usd", 3, "hads", printed=False),
            PaperColumn("above on-demand (%)", "above_on_demand_percent", 1, "hads"),
        ],
    ),
    PaperTable(
        "Fig. 12",
        "Fig. 12: ED200, attempts to steal that took a task",
        [
            PaperColumn("success (%)", "steal_success_percent", 1, "hads"),
        ],
    ),
)
