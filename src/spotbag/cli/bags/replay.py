"""``spotbag replay``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ...core.errors import SpotbagError
from ...core.processes import interruptible
from ...core.text_files import source_name
from ...core.text_tables import Column, Table, number, words
from ...core.wording import counted
from ..answers import Answer, Mean, Part, beside
from ..arguments import (
    BAG_POLICIES,
    SCENARIOS,
    CloudOptions,
    InstanceOptions,
    MethodOptions,
    ScenarioOptions,
    names_in,
    notes_of,
)
from ..console import INTERRUPTED, NO_FEASIBLE_PLAN, least_width, print_rows, print_table, seconds, terminal_width, warn
from ..options import Only, given_options, instance_argument, option
from ..runs import (
    RecordOptions,
    by_policy,
    fields_except,
    mean_cell,
    policies_option,
    print_stories,
    replay_counted,
    stories_of,
)

if TYPE_CHECKING:
    from ...core.workers import Workers
    from ...instances.bags.scripted_days import Scenario
    from ...instances.clouds import Cloud, InterruptionKind
    from ...instances.instance import Instance
    from ...replay.bags.outcome import DayOutcome
    from ...replay.bags.plan import CheckedPlan
    from ...replay.bags.runs import Days, PairedDifference, PolicySummary
    from ...schedules.schedule import Schedule
    from ...traces.trace import Trace

EXAMPLE = (
    "Example:  spotbag replay burst-hads/J60 --method ils --policy hads,burst-hads --scenario burst-hads/sc4 --runs 200"
)

CLAIRVOYANT, HINDSIGHT = REFERENCES = ("clairvoyant", "hindsight")
"""Names among the policies of what they are compared with on each day: the bound, and the least cost found."""

_ROWS: tuple[tuple[str, str, int, tuple[InterruptionKind, ...] | None], ...] = (
    ("hibernations", "hibernations", 2, ("hibernate",)),
    ("resumes", "resumes", 2, ("hibernate",)),
    ("VMs stopped", "stops", 2, ("stop",)),
    ("  started again", "restarts", 2, ("stop",)),
    ("back before the migration trigger", "resumes_in_time", 2, ("hibernate", "stop")),
    ("VMs terminated by the cloud", "reclaims", 2, ("terminate",)),
    ("on-demand VMs started", "on_demand_started", 2, None),
    ("tasks migrated to idle VMs", "migrations_idle", 2, None),
    ("  to busy VMs", "migrations_busy", 2, None),
    ("  to new VMs", "migrations_new", 2, None),
    ("tasks preempted", "preemptions", 2, ()),
    ("tasks late, by weight", "late_weight", 2, ()),
    ("attempts to steal", "steal_attempts", 2, None),
    ("  that stole a task", "steals", 2, None),
    ("checkpoints", "checkpoints", 1, None),
    ("recoveries from one", "recoveries", 2, None),
    ("CPU time saved by them (s)", "cpu_time_saved_s", 1, None),
)
"""Rows of the table: heading, metric, decimals; where it stands there only if something of the kind has happened, or if
the cloud interrupts VMs so, by which interruptions."""

_DEFAULT_RUNS = 100
_DEFAULT_POLICIES = ("static", "hads", "burst-hads", "on-demand", CLAIRVOYANT)


class ReplayedPlan(Part):
    """The plan that was replayed."""

    by: str
    cost_usd: float
    makespan_s: int


class ReplaySummary(Part):
    """A policy over all days: beside these, a mean for each thing that is counted."""

    policy: str
    days: int
    misses: int
    unfinished: int
    cost_usd: Mean
    makespan_s: Mean
    saving_percent: Mean
    regret_usd: Mean
    means: dict[str, Mean] = beside()


class ReplayedDay(Part):
    """A day; ``policies`` has what became of it under each policy."""

    day: int
    bound_usd: float | None
    hindsight_usd: float | None
    policies: Mapping[str, Mapping[str, Any]]


class Replay(Answer, kind="replay"):
    """``spotbag replay``."""

    instance: str
    plan: ReplayedPlan
    deadline_s: int
    d_spot_s: int | None
    scenario: str
    cloud: Cloud
    seed: int
    runs: int
    interrupted: bool
    on_demand_usd: float | None
    on_demand_last_task_usd: float | None
    policies: tuple[ReplaySummary, ...]
    differences: tuple[PairedDifference, ...]
    days: tuple[ReplayedDay, ...]


class TracedDay(Part):
    """A day under a policy, as in a trace."""

    run: dict[str, Any]
    events: tuple[dict[str, Any], ...]
    end: dict[str, Any]


class ReplayDay(Answer, kind="replay-day"):
    """``spotbag replay --day``; the costs are those of ``clairvoyant`` and ``hindsight``, if they were asked for."""

    days: tuple[TracedDay, ...]
    bound_usd: float | None
    hindsight_usd: float | None


class NoPlan(Answer, kind="no-plan"):
    """``spotbag replay`` without a plan to replay."""

    instance: str
    status: Literal["no-plan"]
    message: str
    interrupted: bool


@dataclass(frozen=True)
class _Days:
    """The days to replay, of which plan, under which policies, and with which references beside them."""

    plan: CheckedPlan
    policies: Sequence[str]
    references: Sequence[str]
    scenario: Scenario
    n_days: int
    seed: int
    workers: Workers
    cloud: Cloud

    def replay(self, policies: Sequence[str], n_days: int, **how: Any) -> Days:
        """Replay days under policies, and work out what they are compared with."""
        from ...replay.bags.runs import replay_days

        return replay_days(
            self.plan,
            policies,
            self.scenario,
            n_days,
            seed=self.seed,
            cloud=self.cloud,
            bounds=CLAIRVOYANT in self.references,
            hindsight=HINDSIGHT in self.references,
            **how,
        )

    def replay_all(self) -> Days:
        """Replay all days, and say how many are done."""
        from ...replay.bags.runs import without_loops

        if slow := without_loops(self.plan, self.policies, self.n_days):
            many = "so many take several times as long in Python"
            warn([f"no compiled loop goes through days of {', '.join(slow)}: {many}"])
        return replay_counted(
            f"replaying {self.plan.instance.name}",
            self.n_days,
            lambda on_day: self.replay(self.policies, self.n_days, workers=self.workers, on_day=on_day),
            "days",
        )

    def traces(self, day: int) -> list[Trace]:
        """Return the trace of one day under each policy."""
        from ...replay.bags.runs import trace_day

        timeline, law = self.scenario.day(self.plan.instance, self.seed, day), self.scenario.law
        return [trace_day(self.plan, name, timeline, cloud=self.cloud, day=day, law=law)[1] for name in self.policies]

    def costs_of(self, day: int) -> dict[str, float | None]:
        """Return the bound of a day, and the least cost found for it, those that are asked for."""
        if not self.references:
            return {}
        days = self.replay(self.policies if HINDSIGHT in self.references else [], 1, first_day=day)
        # A single day has no answer that could be cut short.
        if days.interrupted:
            raise KeyboardInterrupt
        found = zip(REFERENCES, (*days.bounds_usd, *days.hindsight_usd), strict=True)
        return {name: cost for name, cost in found if name in self.references}


@dataclass(frozen=True, kw_only=True)
class ReplayedOptions:
    """Options of what is replayed: which plan, under which policies, on days of which scenario."""

    plan: str | None = option("FILE", "The plan (JSON), or - for standard input; made if absent.", file="read")
    policy: list[str] | None = policies_option(", ".join(_DEFAULT_POLICIES), BAG_POLICIES)
    scenario: str | None = option(
        "NAME",
        "Where the days come from: hads/sc1 to sc7, burst-hads/sc1 to sc5, vms/calm, vms/busy, vms/stormy, vms/shocks, "
        "poisson, quiet, or a file: a day, a scenario, a trace of availability, a history of prices; if absent, "
        "hads/sc4 on the papers' cloud, and else vms/shocks.",
        short="-s",
        completes=SCENARIOS,
        file="read",
    )


@dataclass(frozen=True, kw_only=True)
class DayOptions(RecordOptions):
    """Options of which days are replayed, and what is written of one."""

    runs: int | None = option("N", "Days to replay; 100 if absent.", short="-n", min=1)
    seed: int = option("SEED", "Seed of the days.", 0, min=0)
    day: int | None = option("K", "Replay only day K of the seed, and describe what happens.", min=0)
    trace: str | None = option("FILE", "Write all events of one day (--day, else the first).", file="written")
    gantt: str | None = option("FILE", "Draw that day: .png, .svg, .pdf or .html.", file="drawn")

    def check_number(self) -> None:
        """Refuse a number of days beside a single one."""
        if self.day is not None and self.runs is not None:
            raise SpotbagError(
                "--day and --runs: use one or the other; a single day is described, several are averaged"
            )

    def number_of_days(self, scenario: Scenario, instance: Instance) -> int:
        """Return the number of days; refuse, before any work is done, a scenario that does not suit the bag."""
        # Drawn for its refusal alone, before days are replayed in other processes.
        scenario.day(instance, self.seed, 0)
        warn(notes_of(scenario, instance))
        if scenario.fixed and (self.runs or 1) > 1:
            warn([f"every day of {scenario.name} is the same: it is replayed once"])
        return 1 if scenario.fixed else self.runs or _DEFAULT_RUNS

    def write(self, traces: Sequence[Trace]) -> None:
        """Write the trace of a day, and a picture for each policy."""
        self.write_trace(traces)
        if self.gantt is None:
            return
        stem, ending = os.path.splitext(self.gantt)
        for trace in traces:
            name = self.gantt if len(traces) == 1 else f"{stem}-{trace.run['policy'].replace(':', '-')}{ending}"
            replace(self, gantt=name).write_picture([trace])


def replay_command(
    *,
    context: typer.Context,
    instance: str = instance_argument(),
    changes: InstanceOptions,
    clouds: CloudOptions,
    planning: Annotated[MethodOptions, Only("method", "pairs", "time_limit", "target_gap", "threads", "initial")],
    asked: ReplayedOptions,
    scenarios: ScenarioOptions,
    options: Annotated[DayOptions, Only("runs", "seed", "day", "workers", "dask", "trace", "gantt", "as_json")],
) -> None:
    """Replay a plan on days on which spot VMs are interrupted, under policies that react.

    All policies meet the same days. Means have 95 % confidence intervals.

    \b
    Policies:
      static       follows the plan, and waits for hibernated VMs to resume
      hads         migrates when waiting on would miss the deadline (HADS)
      burst-hads   migrates at once, burstable VMs first (Burst-HADS)
      rescue       does on demand what is lost, as the plan's survival
                   certificate has it
      on-time      keeps a rescue on demand ready for all that is left, and does
                   of it what cannot wait; spot VMs until then
      uniform-progress  one long job, in step with the time that is left
                   (Can't Be Late)
      greedy-spot  one long job, on spot VMs while the deadline allows
      time-sliced  one long job, greedy-spot in ten slices of the time
      on-demand    the same plan on on-demand VMs: what is to be beaten
      clairvoyant  no policy but a bound: what none can beat, knowing the day
      hindsight    no policy but the least cost found by who knows the day:
                   what of a regret is below it may be due to the bound

    \b
    Other rules are added to them: hads+spare-time-spot+trigger-once
      +spare-time-spot  (hads) on-demand VMs may be busy up to the deadline
      +trigger-once     (hads) the trigger is never computed anew
      +any-thief        (hads) idle on-demand VMs steal as well
      +idle-60          (hads, burst-hads, on-demand) idle VMs end after a
                        minute, not at the end of their allocation cycle
      +last-task        (on-demand) VMs end with their last tasks
      +tick-60          (uniform-progress, greedy-spot, time-sliced) decides
                        every minute, not every ten
      +slices-5         (time-sliced) in five slices, not ten
      +slices-20        (time-sliced) in 20 slices
      +always-move      (on-time) what is lost never waits for its VM
      +no-balance       (on-time) free cores of spot VMs take nothing from others
      +no-spread        (on-time) no new spot VMs for what would end last
      +no-relief        (on-time) work stays on on-demand VMs
      +no-early         (on-time) on-demand VMs start no earlier than they must
      +keep-idle        (on-time) idle VMs end after their allocation cycle

    Exit code 0: done; 1: no feasible plan; 2: bad input; 130: interrupted, after showing the days so far.
    """  # noqa: D301 (the control character keeps the lines of the paragraph)
    _replay(options.executor(context), instance, changes, clouds, planning, asked, scenarios, options)


def _replay(
    workers: Workers,
    instance: str,
    changes: InstanceOptions,
    clouds: CloudOptions,
    planning: MethodOptions,
    asked: ReplayedOptions,
    scenarios: ScenarioOptions,
    options: DayOptions,
) -> None:
    """Read or make the plan, replay it, and show what became of it."""
    from ...replay.bags.policies import KIND
    from ...replay.bags.state import require_dates_known

    # The rules of a policy in one order, so that none is replayed twice under two names.
    names = KIND.full_names(names_in(asked.policy or _DEFAULT_POLICIES), REFERENCES)
    replayed = [name for name in names if name not in REFERENCES]
    references = [name for name in REFERENCES if name in names]
    day, as_json = options.day, options.as_json
    one_day = day is not None or options.recorded
    # References are numbers for a day, and have no events to be shown.
    if one_day and not replayed:
        raise SpotbagError(f"{references[0]} is no policy and has no day to look at; name a policy as well")
    # Options of planning would be passed over.
    if asked.plan is not None and (given := given_options(planning)):
        raise SpotbagError(f"--plan and {next(iter(given.values()))}: give one of them; the plan is read, or made")
    options.check_number()
    days_from = None if asked.scenario is None else scenarios.find(asked.scenario)
    # Zones are those of the days here, also where the bag is a file of tasks.
    problem = changes.load(instance, zone_of_days=True)
    if days_from is None:  # whole types as in the papers, or VM by VM on today's clouds
        cloud = clouds.cloud or problem.cloud or "papers"
        days_from = scenarios.find("hads/sc4" if cloud == "papers" else "vms/shocks")
    # Before planning, which may take minutes: not all policies know dates of tasks.
    for make in KIND.several(replayed, 0, none=True):
        require_dates_known(make(0), problem)
    checked, maker, interrupted = _plan(problem, asked.plan, planning)
    if checked is None or interrupted:
        reason = "interrupted while planning: nothing was replayed" if interrupted else maker
        _print_no_plan(problem, reason, as_json, interrupted=interrupted)
        raise typer.Exit(INTERRUPTED if interrupted else NO_FEASIBLE_PLAN)
    plan = checked.schedule
    n_days = options.number_of_days(days_from, plan.instance)
    if asked.policy is None:
        replayed = _without_impossible_baseline(replayed, plan)
    found = clouds.find(days_from.cloud, plan.instance)
    wanted = _Days(checked, replayed, references, days_from, n_days, options.seed, workers, found)
    if one_day:
        traces = wanted.traces(day or 0)
        options.write(traces)
        if day is not None:
            _print_day(traces, wanted.costs_of(day), as_json)
            return
    with interruptible():  # from here on there is an answer, which a signal asks for
        days = wanted.replay_all()
        if as_json:
            replay_answer(plan, maker, days, days_from.name, options.seed).print_json()
        elif days.n_runs:
            print_summary(f"{problem.name}: {maker}", plan, days, days_from.name, options.seed, references)


def _print_no_plan(problem: Instance, reason: str, as_json: bool, interrupted: bool = False) -> None:
    if as_json:
        NoPlan(instance=problem.name, status="no-plan", message=reason, interrupted=interrupted).print_json()
    elif interrupted:
        warn([reason])
    else:
        print(reason)


def _without_impossible_baseline(policies: list[str], schedule: Schedule) -> list[str]:
    """Leave out the on-demand baseline, which nobody has asked for, if a type has no on-demand offer."""
    from ...replay.bags.plan import on_demand_schedule
    from ...replay.bags.runs import is_baseline

    try:
        on_demand_schedule(schedule)
    except SpotbagError as error:
        warn([str(error)])
        return [name for name in policies if not is_baseline(name)]
    return policies


def _plan(problem: Instance, plan: str | None, planning: MethodOptions) -> tuple[CheckedPlan | None, str, bool]:
    """Read or make the plan; with what it is called, or why there is none, and whether its making was interrupted."""
    from ...replay.bags.plan import with_verdict

    if plan is not None:
        return _read_plan(problem, plan), f"the plan of {source_name(plan)}", False

    result = planning.plan(problem)
    name = result.method
    warn(result.warnings)
    if result.schedule is None:
        return None, f"{problem.name}: no plan found by {name}\n{result.message}", result.interrupted
    made = with_verdict(result.schedule, ())  # `solve` returns no plan that breaks a rule
    return made, f"plan by {name}", result.interrupted


def _read_plan(problem: Instance, path: str) -> CheckedPlan:
    """Read a plan; say what the checker would say of it."""
    from ...audits.bags.plan import check
    from ...heuristics.bags.d_spot import with_d_spot
    from ...replay.bags.plan import with_verdict
    from ...schedules.schedule_files import read_schedule_document, schedule_of_document

    document = read_schedule_document(path)
    forbidden = sorted({vm.market for vm in document.vms} - set(problem.markets))
    if forbidden:
        raise SpotbagError(f"{path}: rents {forbidden[0]} VMs, a market that --markets or the instance does not allow")
    resolved = with_d_spot(problem, made_for_s=document.d_spot_s)
    schedule = schedule_of_document(document, resolved, source_name(path))
    report = check(resolved, document)
    warn(report.notes)
    if report.violations:
        more = (
            f" (and {len(report.violations) - 1} more; 'spotbag check' lists all)" if len(report.violations) > 1 else ""
        )
        warn([f"the plan is not feasible here: {report.violations[0]}{more}"])
    return with_verdict(schedule, report.violations)


def _print_day(traces: Sequence[Trace], references: Mapping[str, float | None], as_json: bool) -> None:
    if as_json:
        costs = {"bound_usd": references.get(CLAIRVOYANT), "hindsight_usd": references.get(HINDSIGHT)}
        ReplayDay(days=tuple(TracedDay.of(trace) for trace in traces), **costs).print_json()
        return
    print_stories(stories_of(traces))
    if references:
        print()
    if CLAIRVOYANT in references:
        cost = references[CLAIRVOYANT]
        print("clairvoyant: no policy can meet the deadline" if cost is None else f"clairvoyant: at least ${cost:.4f}")
    if HINDSIGHT in references:
        cost = references[HINDSIGHT]
        print("hindsight: nothing found" if cost is None else f"hindsight: ${cost:.4f} was found")


# ------------------------------------------------------------------------- reports


def print_summary(
    title: str, schedule: Schedule, days: Days, scenario: str, seed: int, references: Sequence[str]
) -> None:
    """Print the policies side by side, then the differences to the first of them, then what to look at."""
    from ...instances.clouds import interruption_text

    instance = schedule.instance
    print(
        f"{title}, {counted(instance.n_tasks, 'task')} on {counted(len(schedule.vm_ids), 'VM')}, "
        f"$ {schedule.cost_usd:.4f}, makespan {seconds(schedule.makespan_s)} s of {seconds(instance.deadline_s)} s"
    )
    print(
        f"scenario {scenario} on {days.cloud.name}, {counted(days.n_runs, 'day')} of seed {seed}; "
        "mean ± half of the 95 % interval"
    )
    if days.cloud.name != "papers":
        what = interruption_text(days.cloud.interruption, days.cloud.notice_s)
        print(f"{days.cloud.name}: spot VMs {what}; VMs are {days.cloud.billing}")
    print()
    summaries = days.summaries()
    columns = [Column(""), *(Column(name, True) for name in (*[entry.policy for entry in summaries], *references))]
    rows = [*_main_rows(summaries, days, references), []]
    for heading, metric, digits, kinds in _ROWS:
        means = [summary.means[metric] for summary in summaries]
        # What cannot happen on a cloud has no row, unless it has happened nevertheless, by an event of a script.
        if kinds is None or days.cloud.interruption in kinds or any(found.mean for found in means):
            rows.append([heading, *(mean_cell(found, digits) for found in means), *[""] * len(references)])
    for part in _side_by_side(Table(columns, rows)):
        print_table(part)
    _print_notes(days, references)
    if len(summaries) > 1:
        print()
        _print_differences(days)
    if summaries:
        print()
        _print_worst(days)


def _side_by_side(table: Table) -> Iterator[Table]:
    """Divide a table into as many as a narrow terminal needs, each with the headings of the rows."""
    width = terminal_width()
    first, end = 1, len(table.columns)
    # As many policies side by side as fit, at least one, whatever the width.
    while first < len(table.columns):
        part = table.with_columns([0, *range(first, end)])
        part = Table(part.columns, [row for row in part.rows if not row or any(row[1:])])
        if width is None or end == first + 1 or least_width(part) <= width:
            yield part
            first, end = end, len(table.columns)
        else:
            end -= 1


def _main_rows(summaries: Sequence[PolicySummary], days: Days, references: Sequence[str]) -> list[list[str]]:
    """Return the rows of cost and time: cells of policies, and of the references where they have some."""
    from ...core.statistics import estimate

    by_name = {CLAIRVOYANT: days.bounds_usd, HINDSIGHT: days.hindsight_usd}
    costs = [[cost for cost in by_name[name] if cost is not None] for name in references]
    on_demand_usd = days.on_demand_usd
    saved = [[] if on_demand_usd is None else [100 * (1 - cost / on_demand_usd) for cost in of] for of in costs]

    def line(heading: str, cells: Iterable[str], of_references: Iterable[str] = ()) -> list[str]:
        return [heading, *cells, *(of_references or [""] * len(references))]

    def means(of: str, digits: int) -> Iterable[str]:
        return (mean_cell(getattr(entry, of), digits) for entry in summaries)

    def shares(of: str) -> Iterable[str]:
        return (_share(getattr(entry, of), days.n_runs) for entry in summaries)

    missed = [_share(days.n_runs - len(found), days.n_runs) for found in costs]
    lines = [
        line("cost ($)", means("cost_usd", 4), [mean_cell(estimate(found), 4) for found in costs]),
        line("saving against on-demand (%)", means("saving_percent", 1), [mean_cell(estimate(of), 1) for of in saved]),
        line("makespan (s)", means("makespan_s", 0)),
        line("days that miss the deadline", shares("misses"), missed),
        line("  with tasks that never end", shares("unfinished")),
    ]
    if CLAIRVOYANT in references:
        pairs = zip(days.hindsight_usd, days.bounds_usd, strict=True)
        gaps = [best - bound for best, bound in pairs if best is not None and bound is not None]
        regret = line("regret: cost above the bound ($)", means("regret_usd", 4))
        if HINDSIGHT in references:
            # Regret of the references themselves: only of hindsight there is some, and it may be that of the bound.
            regret[references.index(HINDSIGHT) - len(references)] = mean_cell(estimate(gaps), 4)
        lines.append(regret)
    return lines


def _print_notes(days: Days, references: Sequence[str]) -> None:
    if any(any(day.migrations.values()) for outcomes in days.outcomes for day in outcomes):
        print("A VM counts as new or idle for the first task that it takes, as busy for those after it.")
    if any(day.makespan_s is None for outcomes in days.outcomes for day in outcomes):
        print("Cost, saving, makespan and differences are means over the days on which all tasks ended.")
    if days.on_demand_usd is not None:
        print(f"on-demand: $ {days.on_demand_usd:.4f} with idle VMs paid for to the ends of their allocation cycles;")
        print(f"$ {days.on_demand_last_task_usd:.4f} if VMs end with their last tasks.")
    if CLAIRVOYANT in references:
        print(
            "clairvoyant: a lower bound on the cost of any policy that meets the deadline and knows the day beforehand;"
        )
        print("regret is a mean over the days on which a policy met the deadline.")
        if days.cloud.billing.first_hour_free:
            print("Who knows when VMs are taken within their first hour, which is free then, may pay next to nothing:")
            print(
                "hindsight says what was found."
                if HINDSIGHT in references
                else "--policy hindsight says what was found."
            )
    if HINDSIGHT in references:
        print("hindsight: the least cost found that meets the deadline, of the policies here and of plans made for the")
        print("known day and replayed on it; as much regret as it has may be due to the bound.")


def _print_differences(days: Days) -> None:
    from ...replay.bags.runs import compare_days

    print(f"Day by day against {days.policies[0]}:")
    print_rows(
        [compare_days(outcomes, days.outcomes[0]) for outcomes in days.outcomes[1:]],
        words("policy"),
        number("cost ($)", lambda entry: mean_cell(entry.cost_usd, 4, signed=True)),
        number("makespan (s)", lambda entry: mean_cell(entry.makespan_s, 0, signed=True)),
        number("days cheaper / dearer", lambda entry: f"{entry.cheaper} / {entry.dearer}"),
    )


def _print_worst(days: Days) -> None:
    """Name the day of each policy that is most worth a look."""
    from ...replay.bags.runs import is_baseline

    for name, outcomes in zip(days.policies, days.outcomes, strict=True):
        # The baseline pays the same on all days.
        if is_baseline(name):
            continue
        number = max(range(len(outcomes)), key=lambda index: _badness(outcomes[index]))
        worst = outcomes[number]
        if worst.makespan_s is None:
            what = f"{counted(worst.unfinished_tasks, 'task')} never ended"
        elif worst.late_tasks:
            late_s = worst.makespan_s - worst.deadline_s
            what = f"{counted(worst.late_tasks, 'task')} late"
            what += f", the last by {seconds(late_s)} s" if late_s > 0 else ""
        else:
            what = f"$ {worst.cost_usd:.4f}, makespan {seconds(worst.makespan_s)} s"
        print(f"Worst day of {name}: {number} ({what}); the same command with")
        print(f"  --policy {name} --day {number} --gantt day.png   shows it.")


def _badness(outcome: DayOutcome) -> tuple[int, int, float, float]:
    # Days with tasks that never end come first, then those that are latest, then the dearest.
    late_s = 0 if outcome.makespan_s is None else max(outcome.makespan_s - outcome.deadline_s, 0)
    return outcome.unfinished_tasks, late_s, outcome.late_weight, outcome.cost_usd


def _share(count: int, days: int) -> str:
    return f"{count} ({100 * count / days:.1f} %)"


def replay_answer(schedule: Schedule, maker: str, days: Days, scenario: str, seed: int) -> Replay:
    """Return the answer on all days: the plan, policies, differences, and each day."""
    from ...replay.bags.runs import compare_days

    def outcome(_: int, found: DayOutcome) -> Mapping[str, Any]:
        return fields_except(found, "policy", "bills", "events")

    def day(number: int) -> ReplayedDay:
        costs = {"bound_usd": days.bounds_usd[number], "hindsight_usd": days.hindsight_usd[number]}
        return ReplayedDay(day=number, **costs, policies=by_policy(days, number, outcome))

    return Replay.of(
        days,
        schedule.instance,
        instance=schedule.instance.name,
        plan=ReplayedPlan.of(schedule, by=maker),
        scenario=scenario,
        seed=seed,
        runs=days.n_runs,
        policies=tuple(ReplaySummary.of(summary) for summary in days.summaries()),
        differences=tuple(compare_days(each, days.outcomes[0]) for each in days.outcomes[1:] if days.n_runs),
        days=tuple(map(day, range(days.n_runs))),
    )
