"""``spotbag solve``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import typer

from ...core.errors import SpotbagError
from ...core.processes import interruptible
from ...core.text_tables import Table, number, table_of, words
from ...core.wording import counted, dollars
from ..answers import ABSENT, Answer, Mean, Part
from ..arguments import (
    USUAL_DAYS,
    USUAL_POLICY,
    DaysToComeOptions,
    InstanceOptions,
    MethodOptions,
    ScenarioOptions,
    notes_of,
)
from ..console import (
    LATE,
    NO_FEASIBLE_PLAN,
    beside_the_answer,
    counting,
    drawing,
    print_facts,
    print_rows,
    print_table,
    seconds,
    warn,
    wrote,
)
from ..options import (
    STANDARD_OUTPUT,
    given_options,
    instance_argument,
    json_option,
    option,
    plan_gantt_option,
)

if TYPE_CHECKING:
    from ...instances.entries import Goal
    from ...instances.instance import Instance
    from ...schedules.documents import Lateness, ScheduleDocument, Survival
    from ...schedules.method import StepEnd
    from ...schedules.schedule import Schedule
    from ...solvers.bags.plan_choice import PlanChoice
    from ...solvers.bags.result import Result, Stage, Status

EXAMPLE = (
    "Example:  spotbag solve burst-hads/J60 --markets spot --out plan.json --gantt plan.png   "
    "or   spotbag solve bag.json --near-least 5%"
)

_QUIET = DaysToComeOptions()
_NAMED = ScenarioOptions()
_SURVIVES = {True: "yes", False: "no", None: "-"}
_OF_SURVIVORS = " of plans that survive"


class PlannedVm(Part):
    """A VM of a plan; what the plan itself has of it is in ``plan``."""

    id: str
    type: str
    market: str
    tasks: int
    end_s: int
    cost_usd: float


class PlanningStep(Part):
    """A step of planning plans by ``d_spot_s`` and ``deadline_s``; ``objective`` and ``bound`` are those after it."""

    name: str
    began_s: float
    took_s: float
    objective: float | None
    bound: float | None
    better_plan: bool
    better_bound: bool
    ended: StepEnd
    d_spot_s: int | None
    deadline_s: int | None


class Planned(Answer):
    """A bag that was planned; without a plan, its numbers are null and ``message`` says why."""

    instance: str
    status: Status
    method: str
    goal: Goal
    budget_usd: float | None
    objective: float | None
    bound: float | None
    gap: float | None
    bound_without: float | None
    gap_without: float | None
    stages: tuple[Stage, ...]
    cost_usd: float | None
    makespan_s: int | None
    deadline_s: int
    d_spot_s: int | None
    survival: Survival | None
    late: Lateness | None
    vms: tuple[PlannedVm, ...]
    message: str
    warnings: tuple[str, ...]
    runtime_s: float
    seed: int
    stats: dict[str, float]
    interrupted: bool
    steps: tuple[PlanningStep, ...]
    plan: ScheduleDocument = ABSENT

    def print_with_plan(self, result: Result) -> None:
        """Print the answer as JSON, with the plan of the result, if there is one."""
        self.print_json(plan_pieces(result, indent="  "))


def plan_pieces(result: Result, indent: str = "") -> Iterable[str]:
    """Return the plan of a result, with all that is said of it, as the pieces of a document; none without a plan."""
    from ...schedules.schedule_files import schedule_pieces

    said = result.method, result.survival, result.late
    return () if result.schedule is None else schedule_pieces(result.schedule, *said, indent)


class PlanOnDays(Part):
    """A plan on the days of the report, those of the choice being others."""

    plan: str
    method: str
    chosen: bool
    survives: bool | None
    quiet_cost_usd: float
    makespan_s: int
    d_spot_s: int | None
    days: int
    late_days: int
    cost_usd: Mean
    loss_usd: Mean
    p95_usd: float | None
    worst_usd: float | None
    more_than_chosen_usd: Mean
    days_of_choice: int


class DaysToCome(Part):
    """Days for which a plan was chosen, and how it and others fare on other such days."""

    policy: str
    scenario: str
    seed: int
    late_usd: float
    candidates: int
    days_of_choice: int
    plans: tuple[PlanOnDays, ...]


class Solve(Planned, kind="solve"):
    """``spotbag solve``; with ``days_to_come`` if there was a scenario."""

    days_to_come: DaysToCome = ABSENT


@dataclass(frozen=True, kw_only=True)
class PlanFiles:
    """Options of the files to write; commands have them, or some, by a parameter of this type (see `spread`)."""

    out: str | None = option(
        "FILE",
        "Write the plan: .json, .csv (a row for each task), or - for standard output.",
        file="printed",
    )
    gantt: str | None = plan_gantt_option()
    plot: str | None = option(
        "FILE", "Draw how a search converged, or, with --scenario, the plans: .png, .svg, .pdf or .html.", file="drawn"
    )

    def check(self, as_json: bool) -> None:
        """Refuse, before any work is done, what cannot be written."""
        if as_json and self.out == STANDARD_OUTPUT:
            raise SpotbagError("--out - and --json: use one or the other; the JSON object has the plan")
        if self.out not in (None, STANDARD_OUTPUT) and not f"{self.out}".lower().endswith((".json", ".csv")):
            raise SpotbagError(f"{self.out}: a plan's name must end in .json or .csv, or be - for standard output")

    def tables(self) -> AbstractContextManager[object]:
        """Print tables on standard error where the plan is on standard output, to be read by the next command."""
        return redirect_stdout(sys.stderr) if self.out == STANDARD_OUTPUT else nullcontext()

    def write(self, result: Result, choice: PlanChoice | None = None) -> None:
        """Write the plan and the pictures."""
        schedule, method = result.schedule, result.method
        if schedule is not None and self.out == STANDARD_OUTPUT:
            sys.stdout.writelines(plan_pieces(result))
        elif schedule is not None and self.out is not None:
            from ...schedules.schedule_files import write_schedule

            write_schedule(schedule, self.out, method, result.survival, result.late)
            wrote(self.out)
        with beside_the_answer():
            self._draw(result, choice)

    def _draw(self, result: Result, choice: PlanChoice | None) -> None:
        """Draw the pictures."""
        schedule, method = result.schedule, result.method
        if schedule is not None and self.gantt is not None:
            from ...charts.bags.plan import write_gantt

            with drawing(self.gantt):
                write_gantt(schedule, self.gantt, method, result.survival)
        if self.plot is not None and choice is not None and choice.plans:
            from ...charts.bags.plots import write_plan_choice

            write_plan_choice(choice, self.plot)
            wrote(self.plot)
        elif self.plot is not None and choice is None and result.trace:
            from ...charts.bags.plots import write_convergence

            write_convergence(result, self.plot)
            wrote(self.plot)
        elif self.plot is not None:
            reason = "ended before there was anything to trace, or keeps no trace"
            warn([f"{self.plot} is not drawn: {method} {reason}"])


def solve_command(
    *,
    instance: str = instance_argument(),
    changes: InstanceOptions,
    planning: MethodOptions,
    days_to_come: DaysToComeOptions = _QUIET,
    scenarios: ScenarioOptions = _NAMED,
    near_least: float | None = option(
        "SHARE", "The fastest plan that costs at most so much more than the least: 0.05 or 5%.", reads="fraction"
    ),
    files: PlanFiles,
    explain: bool = option(None, "Print which steps ran, when, for how long, and what they brought.", False),
    as_json: bool = json_option(),
) -> None:
    """Plan a bag of tasks: which VMs to rent, and what runs where and when.

    With --scenario, plans of many kinds are made, and the one is chosen that costs least on average on sampled days
    under a policy; it is shown on other days beside the plan that is best on a quiet day. Plans that end early leave
    more time on a bad day: --near-least 5% is the fastest that costs little more than the cheapest.

    Ctrl-C ends it with the best plan so far. Exit code 0: there is a plan; 1: no feasible plan, or none that survives
    what --survive asks for, with the reason (where D_spot is given, a warning instead); 2: bad input; 3: with --late, a
    plan that has tasks late; 130: interrupted.
    """
    files.check(as_json)
    # One option for two things: what a plan may be, and, in dollars, what a late day counts among others.
    late = "least" if days_to_come.late == "least" else None
    days_to_come = replace(days_to_come, late=None) if late else days_to_come
    days_to_come.demand_scenario(scenarios)
    _refuse_goals(near_least, changes, days_to_come)
    problem = changes.load(instance, late, zone_of_days=days_to_come.scenario is not None)
    with interruptible():  # from here on there is an answer, which a signal asks for
        # A choice makes plans of its own, by methods and limits that it divides.
        choice = None if days_to_come.scenario is None else _choose(problem, days_to_come, scenarios, planning)
        result = planning.plan(problem, near_least) if choice is None else choice.result
        if result.interrupted:
            warn(["interrupted: this is the best plan and bound so far"])
        warn(result.warnings)
        files.write(result, choice)
        if as_json:
            # Without a scenario there is no such key, not a null: readers ask for it by its presence.
            days: Any = ABSENT if choice is None else choice.to_dict()
            Solve(**result.to_dict(), days_to_come=days).print_with_plan(result)
        else:
            with files.tables():
                print_result(result, problem)
                if explain:
                    print()
                    print_table(_steps_table(result))
                if choice is not None:
                    _print_choice(choice)
    exit_by_status(result)


def exit_by_status(result: Result) -> None:
    """End a command by the exit code of a late plan, or of none."""
    if result.schedule is None or result.late is not None:
        raise typer.Exit(NO_FEASIBLE_PLAN if result.late is None else LATE)


def _refuse_goals(near_least: float | None, changes: InstanceOptions, days_to_come: DaysToComeOptions) -> None:
    """Refuse other options about the goal beside ``--near-least``."""
    of_goals = ("goal", "budget", "cost_weight", "cost_scale", "makespan_scale")
    others = [name for field, name in given_options(changes).items() if field in of_goals]
    others += [] if days_to_come.scenario is None else ["--scenario"]
    if near_least is not None and others:
        raise SpotbagError(f"--near-least and {others[0]}: use one or the other; each says what is best")


def _choose(
    problem: Instance, asked: DaysToComeOptions, scenarios: ScenarioOptions, planning: MethodOptions
) -> PlanChoice:
    """Choose a plan for the days of the scenario that is given."""
    assert asked.scenario is not None, "there is one"
    for name in ("--option", "--iterations", "--target-gap", "--threads", "--initial"):
        if name in given_options(planning).values():
            raise SpotbagError(
                f"{name} and --scenario: use one or the other; plans of many kinds are made for a scenario"
            )
    from ...experiments.bags.plan_choice import choose_plan

    scenario = scenarios.find(asked.scenario)
    warn(notes_of(scenario, problem))
    with counting(f"choosing a plan for {problem.name}", None) as count:
        return choose_plan(
            problem,
            scenario,
            asked.policy or USUAL_POLICY,
            asked.days or USUAL_DAYS,
            method=planning.one_method(),
            time_limit_s=planning.time_limit,
            late_usd=None if asked.late is None else float(asked.late),
            seed=planning.seed,
            workers=asked.workers,
            on_progress=count,
        )


def d_spot_text(given: Instance, d_spot_s: int, by_paper: bool, deadline_s: int | None = None) -> str:
    """Return D_spot in words, with its source: the instance, the rule of the paper, the deadline, or survival.

    Of what a state leaves, ``deadline_s`` is the deadline, whose times count from the moment of the state.
    """
    chosen = "the deadline" if d_spot_s == (deadline_s or given.deadline_s) else "chosen so that the plan survives"
    whole = not given.machines and deadline_s in (None, given.deadline_s)  # the rule knows no other bags
    source = "given" if given.d_spot_s is not None else "by the rule of HADS" if by_paper and whole else chosen
    return f"{seconds(d_spot_s)} s ({source})"


def _d_spot(result: Result, given: Instance) -> str:
    value = result.instance.d_spot_s
    if value is None:
        return "-"
    from ...solvers.bags.methods import METHODS

    method = METHODS.get(result.method)
    # Published methods use the rule of their paper, whatever the instance says.
    by_paper = given.d_spot_rule == "paper" or (method is not None and method.published)
    return f"{d_spot_text(given, value, by_paper, result.instance.deadline_s)}: spot VMs end by then"


def _proved(result: Result, quantity: str) -> str:
    """Return the proof of the cost or of the makespan in words; nothing where both are weighed against each other."""
    from ...core.quantities import relative_gap

    for place, stage in enumerate(result.stages):
        if stage.quantity != quantity:
            continue
        # Only the first quantity has a bound of plans that need not survive.
        other = None if place else result.gap_without
        least = "the least at that " + ("cost" if quantity == "makespan_s" else "end") if place else "the least"
        least += "" if other is None else _OF_SURVIVORS
        whose = "(of the plan's " + ("cost)" if quantity == "cost_usd" else "makespan)")
        if stage.proven:
            of_all = "" if other is None else f"; gap to that of all plans at most {100 * other:.2f} % {whose}"
            return f"proved to be {least}{of_all}"
        if stage.bound is None or not stage.bound > 0:
            return f"not proved to be {least}"
        gap = relative_gap(stage.value, stage.bound)
        assert gap is not None, "both are there"
        of_all = "" if other is None else f", of all plans {100 * other:.2f} %"
        return f"gap to {least} at most {100 * gap:.2f} %{of_all} {whose}"
    return ""


def _bound(result: Result) -> str:
    assert result.gap is not None, "every result with a plan has a gap"
    # Of an optimal plan, the gap is that of rounding.
    gaps = [] if result.status == "optimal" else [f"gap at most {100 * result.gap:.3f} % (of the plan's objective)"]
    if result.gap_without is None:
        return ": ".join([f"{result.bound:.6f}", *gaps])
    of_all = f"{result.bound_without:.6f} of all plans: gap at most {100 * result.gap_without:.3f} %"
    return ": ".join([f"{result.bound:.6f}{_OF_SURVIVORS}", *gaps]) + f"; {of_all}"


def print_result(result: Result, given: Instance) -> None:
    """Print the figures of a result, and the VMs of its plan; ``given`` is the instance as it was asked for."""
    from ...schedules.plan_text import goal_text, late_lines, late_table, survival_lines
    from ...solvers.bags.result import STATUS_MEANINGS

    instance, schedule = result.instance, result.schedule
    if schedule is None:
        print(f"{instance.name}: no plan found by {result.method} ({STATUS_MEANINGS[result.status]})")
        print(result.message)
        return
    work = result.stats.get("counted_iterations")
    # Of the deadline, as one wants to know how much of the time is left.
    share = 100 * schedule.makespan_s / instance.deadline_s
    makespan = f"{seconds(schedule.makespan_s)} s ({share:.0f} % of the deadline, {seconds(instance.deadline_s)} s)"
    # For the other goals, the objective is the cost or the makespan, which have lines of their own.
    weighed = [("objective", f"{schedule.objective:.6f}")]
    weighed += [] if result.bound is None else [("bound", _bound(result))]
    lines = [
        ("status", f"{result.status}: {STATUS_MEANINGS[result.status]}"),
        ("goal", goal_text(instance)),
        ("method", result.method),
        *([] if result.late is None else late_lines(result.late, result.message)),
        ("cost", ", ".join(filter(None, (f"$ {schedule.cost_usd:.6f}", _proved(result, "cost_usd"))))),
        ("makespan", ", ".join(filter(None, (makespan, _proved(result, "makespan_s"))))),
        ("D_spot", _d_spot(result, given)),
        *([] if result.survival is None else survival_lines(result.survival)),
        *(weighed if instance.goal == "balanced" else []),
        ("time", f"{result.runtime_s:.3f} s" + ("" if work is None else f" for {work:,.0f} iterations")),
    ]
    print(f"{instance.name}: {counted(instance.n_tasks, 'task')} on {counted(len(schedule.vm_ids), 'VM')}")
    print_facts(lines, 12)
    print()
    if result.late is not None:
        print_table(late_table(result.late))
        print()
    print_rented(schedule)


def _steps_table(result: Result) -> Table:
    """Return the steps, one in a row; with a plan and a bound where a step brought them."""
    return table_of(
        result.steps,
        number("began (s)", "began_s", ".3f", measured=True),
        number("took (s)", "took_s", ".3f", measured=True),
        words("step", "name"),
        number("D_spot (s)", "d_spot_s", ","),
        number("deadline (s)", "deadline_s", ","),
        number("better plan", lambda step: f"{step.objective:.6f}" if step.better_plan else ""),
        number("better bound", lambda step: f"{step.bound:.6f}" if step.better_bound else ""),
        words("ended"),
    )


def print_rented(schedule: Schedule) -> None:
    """Print the VMs of a plan: a row for each type and market; from a state, also how many of them are new."""
    from ...schedules.plan_text import rented_table

    print_table(rented_table(schedule))


def _print_choice(choice: PlanChoice) -> None:
    """Print the plans side by side on the days of the report."""
    from ..runs import mean, mean_cell

    if choice.schedule is None:
        return
    n_days = choice.plans[0].days if choice.plans else 0
    print()
    print(
        f"chosen of {counted(choice.candidates, 'plan')} on {counted(choice.days_of_choice, 'day')} of "
        f"{choice.scenario} under {choice.policy}; a late day counts {dollars(choice.late_usd)} more"
    )
    if not n_days:
        return
    print(f"on {counted(n_days, 'other day')}, those of seed {choice.seed}; mean ± half of the 95 % interval")
    print_rows(
        choice.plans,
        words("plan", lambda plan: plan.name + (" (chosen)" if plan.chosen else "")),
        number("quiet day ($)", lambda plan: plan.schedule.cost_usd, ".4f"),
        mean("mean ($)", attrgetter("cost_usd"), 4),
        number("95th percentile ($)", "p95_usd", ".4f"),
        number("worst ($)", "worst_usd", ".4f"),
        number("late", "late_days"),
        number(
            "dearer than the chosen ($)",
            lambda plan: "" if plan.chosen else mean_cell(plan.more_than_chosen_usd, 4),
        ),
        words("survives", lambda plan: _SURVIVES[plan.survives]),
    )
