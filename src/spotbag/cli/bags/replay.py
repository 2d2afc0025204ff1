"""``spotbag replay``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ...core.errors import SpotbagError
from ...core.processes import interruptible
from ...core.text_files import source_name
from ..answers import Answer, Part
from ..arguments import InstanceOptions, MethodOptions, names_in, refuse_two_from_standard_input
from ..console import INTERRUPTED, NO_FEASIBLE_PLAN, warn
from ..options import Only, given_options, instance_argument, option
from ..runs import RecordOptions, policies_option, print_stories, replay_counted, stories_of
from ..scenario_options import BAG_POLICIES, SCENARIOS, CloudOptions, ScenarioOptions, notes_of
from .replay_report import CLAIRVOYANT, HINDSIGHT, REFERENCES, print_summary, replay_answer

if TYPE_CHECKING:
    from ...core.workers import Workers
    from ...instances.bags.scripted_days import Scenario
    from ...instances.clouds import Cloud
    from ...instances.instance import Instance
    from ...replay.bags.plan import CheckedPlan
    from ...replay.bags.runs import Days
    from ...schedules.schedule import Schedule
    from ...traces.trace import Trace

EXAMPLE = (
    "Example:  spotbag replay burst-hads/J60 --method ils --policy hads,burst-hads --scenario burst-hads/sc4 --runs 200"
)

_DEFAULT_RUNS = 100
_DEFAULT_POLICIES = ("static", "hads", "burst-hads", "on-demand", CLAIRVOYANT)


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

    plan: str | None = option("FILE", "The plan (JSON), or - for standard input; made if absent.")
    policy: list[str] | None = policies_option(", ".join(_DEFAULT_POLICIES), BAG_POLICIES)
    scenario: str | None = option(
        "NAME",
        "Where the days come from: hads/sc1 to sc7, burst-hads/sc1 to sc5, vms/calm, vms/busy, vms/stormy, vms/shocks, "
        "poisson, quiet, or a file: a day, a scenario, a trace of availability, a history of prices; if absent, "
        "hads/sc4 on the papers' cloud, and else vms/shocks.",
        short="-s",
        completes=SCENARIOS,
    )


@dataclass(frozen=True, kw_only=True)
class DayOptions(RecordOptions):
    """Options of which days are replayed, and what is written of one."""

    runs: int | None = option("N", "Days to replay; 100 if absent.", short="-n", min=1)
    seed: int = option("SEED", "Seed of the days.", 0, min=0)
    day: int | None = option("K", "Replay only day K of the seed, and describe what happens.", min=0)
    trace: str | None = option("FILE", "Write all events of one day (--day, else the first).")
    gantt: str | None = option("FILE", "Draw that day: .png, .svg, .pdf or .html.")

    def check_number(self) -> None:
        """Refuse a number of days beside a single one."""
        if self.day is not None and self.runs is not None:
            raise SpotbagError(
                "--day and --runs: use one or the other; a single day is described, several are averaged"
            )

    def number_of_days(self, scenario: Scenario, instance: Instance) -> int:
        """Return the number of days; refuse, before any work is done, a scenario that does not suit the bag."""
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
    sources = instance, asked.plan, planning.initial, asked.scenario
    refuse_two_from_standard_input(*sources)
    options.check_files(*sources)
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
    from .planning import plan_by  # here, as a plan that is read needs none of it

    result = plan_by(problem, planning)
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
