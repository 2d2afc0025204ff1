"""Tables and figures of the HADS paper."""

from __future__ import annotations

from operator import attrgetter

from ...paper_tables import JOB, SCENARIO, Lead, PaperColumn, PaperTable, ours_alone

MEANS_OF_TABLE_10 = PaperTable(
    "Table 10, means",
    "Table 10: means of the jobs; saving against on-demand VMs that are paid alike, and to their last tasks",
    [
        PaperColumn("new on-demand VMs", "on_demand_started", 2, "hads"),
        PaperColumn("makespan (s)", "makespan_s", 0, "hads"),
        PaperColumn("cost ($)", "cost_usd", 3, "hads"),
        PaperColumn("saving (%)", "saving_percent", 1, "hads"),
        *ours_alone(
            PaperColumn("to last tasks (%)", "saving_to_last_task_percent", 1, "hads"),
            PaperColumn("late days (%)", "late_days_percent", 1, "hads"),
        ),
    ],
    leads=(SCENARIO,),
)

TABLES = (
    PaperTable(
        "Table 9",
        "Table 9: without hibernation. static ends a VM with its last task, HADS with its allocation cycle",
        [
            PaperColumn("VMs", "vms", 0, "static"),
            PaperColumn("makespan, static (s)", "makespan_s", 0, "static"),
            PaperColumn("makespan, HADS (s)", "makespan_s", 0, "hads"),
            PaperColumn("cost, static ($)", "cost_usd", 3, "static", printed=False),
            PaperColumn("cost, HADS ($)", "cost_usd", 3, "hads"),
        ],
        leads=(JOB,),
    ),
    PaperTable(
        "Table 9",
        "Table 9: on-demand VMs, with a plan of their own and with that of HADS; paid alike, and to their last tasks",
        [
            *ours_alone(
                PaperColumn("own plan: VMs", "vms", 0, "on-demand"),
                PaperColumn("makespan (s)", "makespan_s", 0, "on-demand"),
                PaperColumn("cost ($)", "cost_usd", 3, "on-demand"),
            ),
            PaperColumn("to last tasks ($)", "cost_usd", 3, "on-demand+last-task", printed=False),
            PaperColumn("same plan: cost ($)", "cost_usd", 3, "on-demand, same plan"),
            PaperColumn("to last tasks ($)", "cost_usd", 3, "on-demand+last-task, same plan", printed=False),
        ],
        leads=(JOB,),
    ),
    PaperTable(
        "Table 9",
        "Table 9: difference of HADS without hibernation to on-demand VMs",
        [
            PaperColumn("own plan (%)", "difference_percent", 1, "on-demand", printed=False),
            PaperColumn("to last tasks (%)", "difference_percent", 1, "on-demand+last-task", printed=False),
            PaperColumn("same plan (%)", "difference_percent", 1, "on-demand, same plan"),
            PaperColumn("to last tasks (%)", "difference_percent", 1, "on-demand+last-task, same plan", printed=False),
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
        "Table 10, second half: saving against on-demand VMs that are paid alike, and to their last tasks",
        [
            PaperColumn("makespan (s)", "makespan_s", 0, "hads"),
            PaperColumn("cost ($)", "cost_usd", 3, "hads"),
            PaperColumn("saving (%)", "saving_percent", 1, "hads"),
            PaperColumn("to last tasks (%)", "saving_to_last_task_percent", 1, "hads", printed=False),
        ],
    ),
    MEANS_OF_TABLE_10,
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
    PaperTable(
        "Fig. 13",
        "Fig. 13: ED200 in sc2, tasks of a spot VM, those of its plan and those it stole; printed: two VMs of a run",
        [
            PaperColumn("planned tasks", "planned_tasks", 1),
            PaperColumn("stolen tasks", "stolen_tasks", 2),
        ],
        leads=(Lead("VM type", attrgetter("policy")),),
    ),
)
