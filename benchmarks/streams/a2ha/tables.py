"""Tables and figures of the A2HA paper."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

from ...paper_tables import JOB, Lead, PaperColumn, PaperTable, ours_alone

_STYLE = Lead("ratios", attrgetter("policy"))
_RATIOS = Lead("ratios", attrgetter("scenario"))
_LINE = Lead("line", attrgetter("policy"))
_OURS_WITH = Lead("ours with", attrgetter("scenario"))

_TABLE_2 = (
    PaperColumn("hosts", "hosts", 1),
    PaperColumn("wall (h)", "wall_h", 2),
    PaperColumn("speedup", "speedup", 1),
    PaperColumn("payment (h)", "payment_h", 1),
)

TABLES = (
    PaperTable(
        "optimal hosts",
        "Optimal numbers of hosts by the paper's formula, and the heuristic's (conservative: both ratios "
        "0.5; aggressive: 0.75)",
        [
            PaperColumn("optimal", "formula_hosts", 0),
            PaperColumn("conservative", "hosts", 1, "conservative", printed=False),
            PaperColumn("above (%)", "above_optimal_percent", 1, "conservative", printed=False),
            PaperColumn("aggressive", "hosts", 1, "aggressive", printed=False),
            PaperColumn("above (%)", "above_optimal_percent", 1, "aggressive", printed=False),
        ],
        leads=(JOB,),
    ),
    PaperTable(
        "reference lines",
        "One host for all tasks, and one for each, with 5 minutes to boot",
        ours_alone(*_TABLE_2),
        leads=(JOB, _LINE),
    ),
    PaperTable(
        "Table 1",
        "Table 1: hosts that end with their hour (the paper does not say with which ratios)",
        [
            PaperColumn("charged (h)", "charged_h", 1),
            PaperColumn("interrupted tasks", "interrupted_tasks", 1),
            PaperColumn("wasted (min)", "wasted_min", 1),
            PaperColumn("continued hosts", "continued_hosts", 1),
            PaperColumn("continued (%)", "continued_percent", 1),
        ],
        leads=(JOB, _STYLE),
    ),
    PaperTable(
        "Table 2",
        "Table 2: long tasks (the paper does not say with which ratios, nor whether hosts take time to boot)",
        _TABLE_2,
        leads=(_LINE, _OURS_WITH),
    ),
    PaperTable(
        "Table 2",
        "Table 2: standard deviations",
        [replace(column, quantity=f"{column.quantity}_sd") for column in _TABLE_2],
        leads=(_LINE, _OURS_WITH),
    ),
    PaperTable(
        "Table 2",
        "Table 2: our mean less the printed one, in printed standard deviations (within: from -1 to 1)",
        ours_alone(
            PaperColumn("hosts", "hosts_off_sd", 1),
            PaperColumn("wall", "wall_h_off_sd", 1),
            PaperColumn("speedup", "speedup_off_sd", 1),
            PaperColumn("payment", "payment_h_off_sd", 1),
        ),
        leads=(_LINE, _OURS_WITH),
    ),
    PaperTable(
        "Figs 9-11",
        "Figs 9 to 11: by creationRatio / increaseRatio; sd: standard deviation (no numbers are printed)",
        ours_alone(
            PaperColumn("wall (h)", "wall_h", 3),
            PaperColumn("sd", "wall_h_sd", 3),
            PaperColumn("speedup", "speedup", 2),
            PaperColumn("sd", "speedup_sd", 2),
            PaperColumn("hosts", "hosts", 2),
            PaperColumn("sd", "hosts_sd", 2),
            PaperColumn("payment (h)", "payment_h", 2),
            PaperColumn("sd", "payment_h_sd", 2),
        ),
        leads=(JOB, _RATIOS),
    ),
    PaperTable(
        "Fig. 12",
        "Fig. 12: hosts and speedup; efficiency: speedup by hosts (no numbers are printed; --plots draws ours)",
        ours_alone(
            PaperColumn("hosts", "hosts", 1),
            PaperColumn("speedup", "speedup", 2),
            PaperColumn("sd", "speedup_sd", 2),
            PaperColumn("efficiency (%)", "efficiency_percent", 1),
        ),
        leads=(JOB, _STYLE),
    ),
    PaperTable(
        "budget factor",
        "A user who pays twice the least: hosts work in the first half of each paid hour (both ratios 0.5)",
        ours_alone(*_TABLE_2),
        leads=(JOB, Lead("budget factor", attrgetter("scenario"))),
    ),
    PaperTable(
        "not knowing",
        "What not knowing the run times costs: payment against the least for the same time; gap: how much"
        " less that could be at most",
        ours_alone(
            PaperColumn("payment (h)", "payment_h", 1),
            PaperColumn("least of any plan (h)", "fewest_h", 1),
            PaperColumn("least for the same time (h)", "least_h", 1),
            PaperColumn("dearer by (%)", "payment_above_percent", 1),
            PaperColumn("gap (%)", "payment_gap_percent", 2),
        ),
        leads=(JOB, _STYLE),
    ),
    PaperTable(
        "not knowing",
        "... and time against the least for the same payment; gap: how much less that could be at most",
        ours_alone(
            PaperColumn("hosts", "hosts", 1),
            PaperColumn("wall (h)", "wall_h", 3),
            PaperColumn("hosts of the best", "best_hosts", 1),
            PaperColumn("least for the same payment (h)", "best_wall_h", 3),
            PaperColumn("later by (%)", "wall_above_percent", 1),
            PaperColumn("gap (%)", "gap_percent", 2),
        ),
        leads=(JOB, _STYLE),
    ),
)
