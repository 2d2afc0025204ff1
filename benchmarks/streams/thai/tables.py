"""Tables and figures of Thai et al."""

from __future__ import annotations

from operator import attrgetter

from ...paper_tables import Lead, PaperColumn, PaperTable, StatedNumbers, ours_alone
from .rows import FROM_TABLE_3, TEXT

_APPROACH = Lead("approach", attrgetter("policy"))
_SAMPLED = Lead("approach", lambda row: f"{row.policy}, {row.scenario}")

_COST = PaperColumn("cost ($)", "cost_usd", 3)
_LATE_TASKS = PaperColumn("late tasks", "late_tasks", 1)
_VIOLATION_COST = PaperColumn("violation cost ($)", "violation_cost_usd", 4)
_IDLE = PaperColumn("idle (s)", "idle_s", 0)

TABLES = (
    PaperTable(
        "Table 3",
        "Table 3 and Fig. 3: cost, late tasks, violation cost (paper: eq. 7 and 8 on its Table 3; Fig. 3 is lost)",
        [_COST, _LATE_TASKS, _VIOLATION_COST],
        leads=(_APPROACH,),
    ),
    PaperTable(
        "Fig. 4",
        "Fig. 4: blocks by VM type (paper: what the costs of Table 3 pay for, and the text; Fig. 4 is lost)",
        [
            PaperColumn("m3.medium", "blocks_m3.medium", 1),
            PaperColumn("m3.large", "blocks_m3.large", 1),
            PaperColumn("m3.xlarge", "blocks_m3.xlarge", 1),
        ],
        leads=(_APPROACH,),
    ),
    PaperTable(
        "Fig. 5",
        "Fig. 5: mis-utilisation: seconds in which VMs are idle, seconds by which tasks are late (Fig. 5 is lost)",
        [
            _IDLE,
            PaperColumn("late (s)", "late_s", 0, printed=False),
        ],
        leads=(_APPROACH,),
    ),
    PaperTable(
        "variants",
        "Another reading (-paid-blocks: section 3.2 to the letter), our variation (-learning), and no m3.xlarge",
        ours_alone(_COST, _LATE_TASKS, _VIOLATION_COST, _IDLE),
        leads=(_APPROACH,),
    ),
    PaperTable(
        "sampling",
        "unknown by the length of the sampling phase, in percent of the time to the deadline (not in the paper)",
        ours_alone(
            _COST,
            _LATE_TASKS,
            _VIOLATION_COST,
            _IDLE,
            PaperColumn("excluded (of 9)", "excluded_types", 2),
            PaperColumn("off by (%)", "error_percent", 1),
        ),
        leads=(_SAMPLED,),
    ),
)

STATED = StatedNumbers(
    "Against one another",
    text=TEXT,
    follows=FROM_TABLE_3,
    source="Table 3",
    digits=1,
    text_digits=0,
    wording={
        "cost_usd_percent_more": "{policy}: cost above (%)",
        "late_tasks_percent_more": "{policy}: late tasks above (%)",
        "violation_cost_usd_percent_more": "{policy}: violation cost above (%)",
        "late_tasks_times": "{policy}: late tasks, times",
        "violation_cost_usd_times": "{policy}: violation cost, times",
    },
)
