"""Figures of Caron & de Assuncao, and what is not in their paper."""

from __future__ import annotations

from operator import attrgetter

from ...paper_tables import POLICY, Lead, PaperColumn, PaperTable

_JOBS = Lead("jobs", lambda row: row.scenario.replace("jobs", f"{row.job} jobs"))
_STATEMENT = Lead("statement", lambda row: row.scenario.replace("_h", "").replace("_", " "))
_RESOURCES = Lead("resources", lambda row: row.job.split()[0])
_CHILDREN = Lead("most children n", lambda row: row.scenario.split()[0])

TABLES = (
    PaperTable(
        "Figs 2-7",
        "Figs 2 to 7, and the same of big jobs (the pictures are lost, and there is no table: nothing is printed)",
        [
            PaperColumn("cost", "cost", 0, printed=False),
            PaperColumn("execution time (h)", "execution_time_h", 1, printed=False),
            PaperColumn("delay (h)", "delay_h", 2, printed=False),
            PaperColumn("late jobs", "late_jobs", 1, printed=False),
            PaperColumn("jobs over budget", "overspent_jobs", 1, printed=False),
            PaperColumn("by", "overspend", 0, printed=False),
        ],
        leads=(_JOBS, POLICY),
    ),
    PaperTable(
        "where",
        "Where the work is done, how much of what is paid in the cloud is used, jobs pushed out of queues",
        [
            PaperColumn("dedicated (%)", "dedicated_percent", 1, printed=False),
            PaperColumn("allocated (%)", "allocated_percent", 1, printed=False),
            PaperColumn("cloud (%)", "cloud_percent", 1, printed=False),
            PaperColumn("cloud, used (%)", "cloud_use_percent", 1, printed=False),
            PaperColumn("displaced", "displaced", 1, printed=False),
        ],
        leads=(_JOBS, POLICY),
    ),
    PaperTable(
        "bounds",
        "Lower bounds: least cost of any schedule with no more delay; gap: what could be saved at most",
        [
            PaperColumn("delay (h)", "delay_h", 2, printed=False),
            PaperColumn("cost", "cost", 0, printed=False),
            PaperColumn("least cost", "least_cost", 0, printed=False),
            PaperColumn("gap (%)", "cost_gap_percent", 1, printed=False),
        ],
        leads=(_JOBS, POLICY),
    ),
    PaperTable(
        "rules",
        "Other rules of local schedulers, not the paper's: +exact, clouds say what will be; +patient, jobs that are\n"
        "late anyhow are not displaced; +deadline, queues by deadline",
        [
            PaperColumn("cost", "cost", 0, printed=False),
            PaperColumn("execution time (h)", "execution_time_h", 1, printed=False),
            PaperColumn("delay (h)", "delay_h", 2, printed=False),
            PaperColumn("cloud, used (%)", "cloud_use_percent", 1, printed=False),
            PaperColumn("displaced", "displaced", 1, printed=False),
        ],
        leads=(_JOBS, POLICY),
    ),
    PaperTable(
        "grid",
        "What is not printed, varied: in how many settings a statement holds (alike: equal in each draw)",
        [
            PaperColumn("holds", "holds", 0, printed=False),
            PaperColumn("does not hold", "does_not_hold", 0, printed=False),
            PaperColumn("not decided", "not_decided", 0, printed=False),
            PaperColumn("alike", "alike", 0, printed=False),
        ],
        leads=(Lead("jobs", attrgetter("job")), POLICY, _STATEMENT),
    ),
    PaperTable(
        "trees",
        "The same resources and jobs below trees of agents; messages, candidates compared: for a placement",
        [
            PaperColumn("agents", "agents", 0, printed=False),
            PaperColumn("levels m", "depth", 0, printed=False),
            PaperColumn("mn", "mn", 0, printed=False),
            PaperColumn("messages", "sent", 1, printed=False),
            PaperColumn("offers compared", "comparisons", 1, printed=False),
            PaperColumn("of the busiest agent", "busiest", 0, printed=False),
            PaperColumn("one after another", "path", 0, printed=False),
            PaperColumn("placed alike (%)", "same_percent", 0, printed=False),
        ],
        leads=(_RESOURCES, _CHILDREN),
    ),
)
