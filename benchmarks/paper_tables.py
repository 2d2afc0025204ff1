"""The tables that ``spotbag bench`` prints: which of our figures stand beside which printed ones."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ..core.text_files import write_text
from .claims import show, verdicts_in_words
from .paper import ComparisonRow, PublishedComparisonResult

Lead: TypeAlias = Literal["job", "scenario", "policy"]


@dataclass(frozen=True, slots=True)
class Column:
    """A quantity of a table.

    Attributes
    ----------
    heading : str
        With its unit.
    policy : str
        Of which policy; empty if each row has its own.
    quantity : str
        Which.
    digits : int
        Decimals.
    printed : bool
        Whether the paper's number is shown.
    """

    heading: str
    policy: str
    quantity: str
    digits: int
    printed: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a paper.

    Attributes
    ----------
    name, title : str
        Name of its rows, and what stands above it.
    columns : tuple of Column
        Its quantities.
    leads : tuple of str
        What the rows are told apart by, left of the quantities.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    leads: tuple[Lead, ...] = ("job", "scenario")


_BOTH = "burst-hads against hads"

TABLES = {
    "HADS": (
        Table(
            "Table 9",
            "Table 9: without hibernation. static ends a VM with its last task, HADS with its allocation cycle; "
            "difference: to on-demand VMs",
            (
                Column("makespan (s)", "static", "makespan_s", 0),
                Column("on-demand ($)", "on-demand", "cost_usd", 3),
                Column("spot, static ($)", "static", "cost_usd", 3),
                Column("spot, HADS ($)", "hads", "cost_usd", 3, False),
                Column("difference, static (%)", "static", "difference_percent", 1),
                Column("difference, HADS (%)", "hads", "difference_percent", 1, False),
            ),
            leads=("job",),
        ),
        Table(
            "Table 10",
            "Table 10, first half: hibernations, on-demand VMs started in runs with hibernations, and late days",
            (
                Column("hibernations", "hads", "hibernations", 2),
                Column("on-demand VMs", "hads", "on_demand_started", 2),
                Column("late days (%)", "hads", "late_days_percent", 1),
            ),
        ),
        Table(
            "Table 10",
            "Table 10, second half: makespan, cost, saving against on-demand VMs",
            (
                Column("makespan (s)", "hads", "makespan_s", 0),
                Column("cost ($)", "hads", "cost_usd", 3),
                Column("saving (%)", "hads", "saving_percent", 1),
            ),
        ),
        Table(
            "Table 11",
            "Table 11: checkpoints of ED200",
            (
                Column("checkpoints", "hads", "checkpoints", 1),
                Column("task migrations", "hads", "migrations", 1),
                Column("recoveries", "hads", "recoveries", 1),
                Column("CPU time saved (s)", "hads", "cpu_time_saved_s", 0),
            ),
        ),
        Table(
            "Fig. 8",
            "Fig. 8: mean duration of a hibernation, all jobs together",
            (Column("duration (s)", "hads", "hibernation_duration_s", 0),),
        ),
        Table(
            "Figs 9-10",
            "Figs 9 and 10: what came of the hibernations of VMs that had tasks (%); one may count for several",
            (
                Column("new VMs", "hads", "share_new_percent", 1),
                Column("idle VMs", "hads", "share_idle_percent", 1),
                Column("busy VMs", "hads", "share_busy_percent", 1),
                Column("resumed in time", "hads", "share_resumed_percent", 1),
            ),
        ),
        Table(
            "Fig. 11",
            "Fig. 11: ED200, cost as the rates grow",
            (
                Column("cost ($)", "hads", "cost_usd", 3, False),
                Column("above on-demand (%)", "hads", "above_on_demand_percent", 1),
            ),
        ),
        Table(
            "Fig. 12",
            "Fig. 12: ED200, attempts to steal that took a task",
            (Column("success (%)", "hads", "steal_success_percent", 1),),
        ),
    ),
    "Burst-HADS": (
        Table(
            "Table IV",
            "Table IV: without hibernation",
            (
                Column("Burst ($)", "burst-hads", "cost_usd", 3),
                Column("HADS ($)", "hads", "cost_usd", 3),
                Column("on-demand ($)", "on-demand", "cost_usd", 3),
                Column("Burst (s)", "burst-hads", "makespan_s", 0),
                Column("HADS (s)", "hads", "makespan_s", 0),
                Column("on-demand (s)", "on-demand", "makespan_s", 0),
            ),
            leads=("job",),
        ),
        Table(
            "Table VI",
            "Table VI: hibernations and resumes (the paper prints one number for both schedulers)",
            (
                Column("hibernations, Burst", "burst-hads", "hibernations", 2),
                Column("hibernations, HADS", "hads", "hibernations", 2, False),
                Column("resumes, Burst", "burst-hads", "resumes", 2),
                Column("resumes, HADS", "hads", "resumes", 2, False),
            ),
        ),
        Table(
            "Table VI",
            "Table VI: regular on-demand VMs started, and late days",
            (
                Column("VMs, Burst", "burst-hads", "on_demand_started", 2),
                Column("VMs, HADS", "hads", "on_demand_started", 2),
                Column("late days (%), Burst", "burst-hads", "late_days_percent", 1),
                Column("late days (%), HADS", "hads", "late_days_percent", 1),
            ),
        ),
        Table(
            "Table VI",
            "Table VI: cost, and by how much Burst-HADS reduces it",
            (
                Column("Burst ($)", "burst-hads", "cost_usd", 3),
                Column("HADS ($)", "hads", "cost_usd", 3),
                Column("reduction (%)", _BOTH, "cost_reduction_percent", 1),
            ),
        ),
        Table(
            "Table VI",
            "Table VI: makespan, and by how much Burst-HADS reduces it",
            (
                Column("Burst (s)", "burst-hads", "makespan_s", 0),
                Column("HADS (s)", "hads", "makespan_s", 0),
                Column("reduction (%)", _BOTH, "makespan_reduction_percent", 1),
            ),
        ),
    ),
    "Thai et al.": (
        Table(
            "Table 3",
            "Table 3 and Fig. 3: cost, late tasks, violation cost (paper: eq. 7 and 8 on its Table 3; Fig. 3 is lost)",
            (
                Column("cost ($)", "", "cost_usd", 3),
                Column("late tasks", "", "late_tasks", 1),
                Column("violation cost ($)", "", "violation_cost_usd", 4),
            ),
            leads=("policy",),
        ),
        Table(
            "Fig. 4",
            "Fig. 4: blocks by VM type (paper: what the costs of Table 3 pay for, and the text; Fig. 4 is lost)",
            tuple(Column(name, "", f"blocks_{name}", 1) for name in ("m3.medium", "m3.large", "m3.xlarge")),
            leads=("policy",),
        ),
        Table(
            "Fig. 5",
            "Fig. 5: mis-utilisation: seconds in which VMs are idle, seconds by which tasks are late (Fig. 5 is lost)",
            (
                Column("over-utilisation, idle (s)", "", "idle_s", 0),
                Column("under-utilisation, late (s)", "", "late_s", 0, False),
            ),
            leads=("policy",),
        ),
        Table(
            "variants",
            "Another reading of the paper (-paid-blocks: section 3.2 to the letter), and our variation (-learning)",
            (
                Column("cost ($)", "", "cost_usd", 3, False),
                Column("late tasks", "", "late_tasks", 1, False),
                Column("violation cost ($)", "", "violation_cost_usd", 4, False),
                Column("idle (s)", "", "idle_s", 0, False),
            ),
            leads=("policy",),
        ),
        Table(
            "sampling",
            "unknown by the length of the sampling phase, in percent of the time to the deadline (not in the paper)",
            (
                Column("cost ($)", "", "cost_usd", 3, False),
                Column("late tasks", "", "late_tasks", 1, False),
                Column("violation cost ($)", "", "violation_cost_usd", 4, False),
                Column("idle (s)", "", "idle_s", 0, False),
                Column("excluded (of 9)", "", "excluded_types", 2, False),
                Column("off by (%)", "", "error_percent", 1, False),
            ),
            leads=("policy", "scenario"),
        ),
    ),
    "A2HA": (
        Table(
            "optimal hosts",
            "Optimal numbers of hosts by the paper's formula, and the heuristic's (conservative: both ratios 0.5; "
            "aggressive: 0.75)",
            (
                Column("optimal", "", "formula_hosts", 0),
                Column("conservative", "conservative", "hosts", 1, False),
                Column("above (%)", "conservative", "above_optimal_percent", 1, False),
                Column("aggressive", "aggressive", "hosts", 1, False),
                Column("above (%)", "aggressive", "above_optimal_percent", 1, False),
            ),
            leads=("job",),
        ),
        Table(
            "reference lines",
            "One host for all tasks, and one for each, with 5 minutes to boot",
            (
                Column("hosts", "", "hosts", 0, False),
                Column("wall (h)", "", "wall_h", 2, False),
                Column("speedup", "", "speedup", 1, False),
                Column("payment (h)", "", "payment_h", 1, False),
            ),
            leads=("job", "policy"),
        ),
        Table(
            "Table 1",
            "Table 1: hosts that end with their hour (the paper does not say with which ratios)",
            (
                Column("charged (h)", "", "charged_h", 1),
                Column("interrupted tasks", "", "interrupted_tasks", 1),
                Column("wasted (min)", "", "wasted_min", 1),
                Column("continued hosts", "", "continued_hosts", 1),
            ),
            leads=("job", "policy"),
        ),
        Table(
            "Table 2",
            "Table 2: long tasks (the paper does not say with which ratios, nor whether hosts take time to boot)",
            (
                Column("hosts", "", "hosts", 1),
                Column("wall (h)", "", "wall_h", 2),
                Column("speedup", "", "speedup", 1),
                Column("paid (h)", "", "payment_h", 1),
            ),
            leads=("policy", "scenario"),
        ),
        Table(
            "Table 2",
            "Table 2: standard deviations",
            (
                Column("hosts", "", "hosts_sd", 1),
                Column("wall (h)", "", "wall_h_sd", 2),
                Column("speedup", "", "speedup_sd", 1),
                Column("paid (h)", "", "payment_h_sd", 1),
            ),
            leads=("policy", "scenario"),
        ),
        Table(
            "Table 2",
            "Table 2: our mean less the printed one, in printed standard deviations (within: from -1 to 1)",
            (
                Column("hosts", "", "hosts_off_sd", 1, False),
                Column("wall", "", "wall_h_off_sd", 1, False),
                Column("speedup", "", "speedup_off_sd", 1, False),
                Column("payment", "", "payment_h_off_sd", 1, False),
            ),
            leads=("policy", "scenario"),
        ),
        Table(
            "Figs 9-11",
            "Figs 9 to 11: by creationRatio / increaseRatio; sd: standard deviation (the pictures are lost)",
            (
                Column("wall (h)", "", "wall_h", 3, False),
                Column("sd", "", "wall_h_sd", 3, False),
                Column("speedup", "", "speedup", 2, False),
                Column("sd", "", "speedup_sd", 2, False),
                Column("hosts", "", "hosts", 2, False),
                Column("sd", "", "hosts_sd", 2, False),
                Column("payment (h)", "", "payment_h", 2, False),
                Column("sd", "", "payment_h_sd", 2, False),
            ),
        ),
        Table(
            "Fig. 12",
            "Fig. 12: hosts and speedup; efficiency: speedup by hosts (the picture is lost; --plots draws ours)",
            (
                Column("hosts", "", "hosts", 2, False),
                Column("speedup", "", "speedup", 2, False),
                Column("sd", "", "speedup_sd", 2, False),
                Column("efficiency (%)", "", "efficiency_percent", 1, False),
            ),
            leads=("job", "policy"),
        ),
        Table(
            "budget factor",
            "A user who pays twice the least: hosts work in the first half of each paid hour (both ratios 0.5)",
            (
                Column("hosts", "", "hosts", 2, False),
                Column("wall (h)", "", "wall_h", 3, False),
                Column("speedup", "", "speedup", 2, False),
                Column("payment (h)", "", "payment_h", 2, False),
            ),
        ),
        Table(
            "not knowing",
            "What not knowing the run times costs: payment against the least for the same time; gap: how much less "
            "that could be at most",
            (
                Column("payment (h)", "", "payment_h", 1, False),
                Column("least (h)", "", "least_h", 1, False),
                Column("above (%)", "", "payment_above_percent", 1, False),
                Column("gap (%)", "", "payment_gap_percent", 2, False),
            ),
            leads=("job", "policy"),
        ),
        Table(
            "not knowing",
            "... and time against the least for the same payment; gap: how much less that could be at most",
            (
                Column("hosts", "", "hosts", 1, False),
                Column("best", "", "best_hosts", 1, False),
                Column("wall (h)", "", "wall_h", 3, False),
                Column("least (h)", "", "best_wall_h", 3, False),
                Column("above (%)", "", "wall_above_percent", 1, False),
                Column("gap (%)", "", "gap_percent", 2, False),
            ),
            leads=("job", "policy"),
        ),
    ),
    "Caron & de Assuncao": (
        Table(
            "Figs 2-7",
            "Figs 2 to 7, and the same of big jobs (the pictures are lost, and there is no table: nothing is printed)",
            (
                Column("cost", "", "cost", 0, False),
                Column("execution time (h)", "", "execution_time_h", 1, False),
                Column("delay (h)", "", "delay_h", 2, False),
                Column("late jobs", "", "late_jobs", 1, False),
                Column("over budget", "", "overspent_jobs", 1, False),
                Column("by", "", "overspend", 0, False),
            ),
            leads=("job", "scenario", "policy"),
        ),
        Table(
            "where",
            "Where the work is done (%), how much of what is paid in the cloud is used (%), jobs pushed out of queues",
            (
                Column("dedicated", "", "dedicated_percent", 1, False),
                Column("allocated", "", "allocated_percent", 1, False),
                Column("cloud", "", "cloud_percent", 1, False),
                Column("cloud, used", "", "cloud_use_percent", 1, False),
                Column("displaced", "", "displaced", 1, False),
            ),
            leads=("job", "scenario", "policy"),
        ),
        Table(
            "bounds",
            "Lower bounds: least cost of any schedule with no more delay; gap: what could be saved at most",
            (
                Column("delay (h)", "", "delay_h", 2, False),
                Column("cost", "", "cost", 0, False),
                Column("least cost", "", "least_cost", 0, False),
                Column("gap (%)", "", "cost_gap_percent", 1, False),
            ),
            leads=("job", "scenario", "policy"),
        ),
        Table(
            "rules",
            "Other rules of local schedulers, not the paper's: +exact, clouds say what will be; +patient, jobs that "
            "are\nlate anyhow are not displaced; +deadline, queues by deadline",
            (
                Column("cost", "", "cost", 0, False),
                Column("execution time (h)", "", "execution_time_h", 1, False),
                Column("delay (h)", "", "delay_h", 2, False),
                Column("cloud, used (%)", "", "cloud_use_percent", 1, False),
                Column("displaced", "", "displaced", 1, False),
            ),
            leads=("job", "scenario", "policy"),
        ),
        Table(
            "grid",
            "What is not printed, varied: in how many settings a statement holds (alike: equal in each draw)",
            (
                Column("holds", "", "holds", 0, False),
                Column("does not hold", "", "does_not_hold", 0, False),
                Column("not decided", "", "not_decided", 0, False),
                Column("alike", "", "alike", 0, False),
            ),
            leads=("job", "scenario", "policy"),
        ),
        Table(
            "trees",
            "The same resources and jobs below trees of agents; messages, candidates compared: for a placement",
            (
                Column("agents", "", "agents", 0, False),
                Column("depth m", "", "depth", 0, False),
                Column("mn", "", "mn", 0, False),
                Column("messages", "", "sent", 1, False),
                Column("compared", "", "comparisons", 1, False),
                Column("busiest", "", "busiest", 0, False),
                Column("in a row", "", "path", 0, False),
                Column("placed alike (%)", "", "same_percent", 0, False),
            ),
        ),
    ),
}

RATIOS = {
    "averages": (
        "Averages over Table VI",
        "paper, from its costs",
        2,
        {
            "makespan_reduction_percent": "makespan reduction (%)",
            "cost_increase_percent": "cost increase (%)",
            "burst_hads_saving_percent": "saving of Burst-HADS against on-demand (%)",
            "hads_saving_percent": "saving of HADS against on-demand (%)",
        },
    ),
    "ratios": (
        "Against one another",
        "paper, from Table 3",
        1,
        {
            "cost_usd_percent_more": "{policy}: cost above (%)",
            "late_tasks_percent_more": "{policy}: late tasks above (%)",
            "violation_cost_usd_percent_more": "{policy}: violation cost above (%)",
            "late_tasks_times": "{policy}: late tasks, times",
            "violation_cost_usd_times": "{policy}: violation cost, times",
        },
    ),
}
"""Numbers of a text that also follow from a table: title, heading of what follows, decimals, wording by quantity."""


Columns: TypeAlias = Sequence[tuple[str, str, int]]
"""Heading, quantity and decimals of each column."""

_WIDTH = 120


def with_section(text: str, new: str) -> str:
    """Return a text with a new section in place of the old one, or at its end.

    The first and the last line of the section are the marks by which the old one is found.
    """
    lines = new.strip().splitlines()
    begin, end = lines[0], lines[-1]
    if begin not in text or end not in text:
        return f"{text.rstrip()}\n\n{new}" if text.strip() else new
    before, rest = text.split(begin, 1)
    return before + new.rstrip() + rest.split(end, 1)[1]


def write_section(path: Path, title: str, new: str) -> None:
    """Write a section into a file; one that does not exist begins with a title."""
    old = path.read_text(encoding="utf-8") if path.exists() else f"# {title}\n"
    write_text(path, with_section(old, new))


def verdicts(result: PublishedComparisonResult) -> str:
    """How many statements of the paper hold."""
    return f"Of {len(result.claims)} statements, {verdicts_in_words(result.claims)}"


def claims_table(result: PublishedComparisonResult) -> str:
    """All statements of the paper with their verdicts."""
    rows = ((claim.statement, claim.verdict, claim.ours, claim.reason) for claim in result.claims)
    return markdown_table(("the paper says", "in our runs it", "our numbers", "why"), rows, words=4)


def notes_list(result: PublishedComparisonResult) -> str:
    """All notes, numbered."""
    return "\n".join(wrapped(f"{number}. {note}", "   ") for number, note in enumerate(result.notes, start=1))


def wrapped(text: str, indent: str = "") -> str:
    """Break a text into lines; all but the first begin with an indent."""
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def headings(columns: Columns) -> Iterator[str]:
    """Headings of columns."""
    return (heading for heading, _, _ in columns)


def table_lines(
    result: PublishedComparisonResult, table: str, columns: Columns, lead: Callable[[ComparisonRow], Sequence[str]]
) -> Iterator[Sequence[str]]:
    """Lines of a table: ``printed / ours``, or ours alone where nothing is printed.

    Parameters
    ----------
    result : PublishedComparisonResult
        All rows.
    table : str
        Which of them.
    columns : sequence of (str, str, int)
        The quantities.
    lead : callable
        What a line begins with; rows with the same make a line.
    """
    found: dict[Sequence[str], dict[str, ComparisonRow]] = {}
    for row in result.rows:
        if row.table == table:
            found.setdefault(lead(row), {})[row.quantity] = row
    for words, rows in found.items():
        if any(quantity in rows for _, quantity, _ in columns):
            yield *words, *(_cell(rows.get(quantity), digits) for _, quantity, digits in columns)


def _cell(row: ComparisonRow | None, digits: int) -> str:
    if row is None:
        return "-"
    ours = show(row.ours, digits)
    return ours if row.printed is None else f"{printed_text(row, digits)} / {ours}"


def printed_text(row: ComparisonRow, digits: int) -> str:
    """What the paper prints."""
    if row.printed is None:
        return "-"
    return ("" if row.relation == "=" else f"{row.relation} ") + f"{row.printed:,.{digits}f}"


def markdown_table(names: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """Return a table; columns after the first so many are numbers."""
    rule = "|" + "|".join(["---"] * words + ["---:"] * (len(names) - words)) + "|"
    return "\n".join([_line(names), rule, *map(_line, rows)])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table in Markdown, row by row."""
    widths = [max(len(heading), 12) for heading in headings]
    print(f"\n{title}\n", flush=True)
    print("| " + " | ".join(heading.rjust(width) for heading, width in zip(headings, widths, strict=True)) + " |")
    print("|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|", flush=True)
    for row in rows:
        print("| " + " | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + " |", flush=True)
