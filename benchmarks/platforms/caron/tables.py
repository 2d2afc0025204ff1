"""Figures of Caron & de Assuncao, and what is not in their paper."""

from __future__ import annotations

from operator import attrgetter

from ...paper_tables import POLICY, Lead, PaperColumn, PaperTable, ours_alone
from .claims import WORDS
from .rows import FIGURES, GAPS, GRID, OTHER_RULES, PAIR, SIZES, TREES, WHERE
from .settings import GRID_PROCESSORS, THEIRS

_JOBS = Lead("jobs", lambda row: row.scenario.replace("jobs", f"{row.job} jobs"))
_METRIC = Lead("what", lambda row: WORDS[row.scenario])
_RESOURCES = Lead("resources", lambda row: row.job.split()[0])
_CHILDREN = Lead("most children n", lambda row: row.scenario.split()[0])

_COST = PaperColumn("cost", "cost", 0)
_TIME = PaperColumn("execution time (h)", "execution_time_h", 1)
_DELAY = PaperColumn("delay (h)", "delay_h", 2)
_CLOUD_USE = PaperColumn("cloud, used (%)", "cloud_use_percent", 1)
_DISPLACED = PaperColumn("displaced", "displaced", 1)

_COUNTS = (("lower", "lower", 0), ("higher", "higher", 0), ("open", "open", 0), ("median (%)", "median_percent", 0))

AGAINST_ROUND_ROBIN = PaperTable(
    GRID,
    "Against round robin, in the settings that the paper might have had: in how many a number is lower, higher, or\n"
    "neither by its 95 % interval (open), and the median difference; the paper's figures are lost, nothing is printed",
    ours_alone(
        *(
            PaperColumn(f"{letter}: {heading}", quantity, digits, policy)
            for letter, policy in zip("AB", THEIRS, strict=True)
            for heading, quantity, digits in _COUNTS
        )
    ),
    leads=(Lead("jobs", attrgetter("job")), _METRIC),
)

TABLES = (
    AGAINST_ROUND_ROBIN,
    PaperTable(
        SIZES,
        "The same of both policies by the processors of each cluster: in how many percent of the settings it is lower",
        ours_alone(*(PaperColumn(f"{number} (%)", f"lower_{number}_percent", 0) for number in GRID_PROCESSORS)),
        leads=(Lead("jobs", attrgetter("job")), _METRIC),
    ),
    PaperTable(
        PAIR,
        "Policy A (money-saving) and B (time-saving) against one another, likewise",
        ours_alone(*(PaperColumn(heading, quantity, digits) for heading, quantity, digits in _COUNTS)),
        leads=(Lead("jobs", attrgetter("job")), Lead("what", lambda row: f"{WORDS[row.scenario]} of {row.policy}")),
    ),
    PaperTable(
        FIGURES,
        "Figs 2 to 7, and the same of big jobs (the pictures are lost, and there is no table: nothing is printed)",
        ours_alone(
            _COST,
            _TIME,
            _DELAY,
            PaperColumn("late jobs", "late_jobs", 1),
            PaperColumn("jobs over budget", "overspent_jobs", 1),
            PaperColumn("by", "overspend", 0),
        ),
        leads=(_JOBS, POLICY),
    ),
    PaperTable(
        WHERE,
        "Where the work is done, how much of what is paid in the cloud is used, jobs pushed out of queues",
        ours_alone(
            PaperColumn("dedicated (%)", "dedicated_percent", 1),
            PaperColumn("allocated (%)", "allocated_percent", 1),
            PaperColumn("cloud (%)", "cloud_percent", 1),
            _CLOUD_USE,
            _DISPLACED,
        ),
        leads=(_JOBS, POLICY),
    ),
    PaperTable(
        GAPS,
        "Lower bounds: least cost of any schedule with no more delay; gap: what could be saved at most",
        ours_alone(
            _DELAY,
            _COST,
            PaperColumn("least cost", "least_cost", 0),
            PaperColumn("gap (%)", "cost_gap_percent", 1),
        ),
        leads=(_JOBS, POLICY),
    ),
    PaperTable(
        OTHER_RULES,
        "Other rules of local schedulers, not the paper's: +exact, clouds say what will be; +patient, jobs that are\n"
        "late anyhow are not displaced; +deadline, queues by deadline",
        ours_alone(_COST, _TIME, _DELAY, _CLOUD_USE, _DISPLACED),
        leads=(_JOBS, POLICY),
    ),
    PaperTable(
        TREES,
        "The same resources and jobs below trees of agents; messages, candidates compared: for a placement",
        ours_alone(
            PaperColumn("agents", "agents", 0),
            PaperColumn("levels m", "depth", 0),
            PaperColumn("mn", "mn", 0),
            PaperColumn("messages", "sent", 1),
            PaperColumn("offers compared", "comparisons", 1),
            PaperColumn("of the busiest agent", "busiest", 0),
            PaperColumn("one after another", "path", 0),
            PaperColumn("placed alike (%)", "same_percent", 0),
        ),
        leads=(_RESOURCES, _CHILDREN),
    ),
)
