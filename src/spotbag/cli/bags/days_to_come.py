"""``spotbag solve --scenario``: the plan for the days to come."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from ...core.errors import SpotbagError
from ...core.text_tables import number, words
from ...core.wording import counted, dollars
from ..arguments import MethodOptions, warn
from ..options import given_options
from ..progress import counting
from ..runs import mean, mean_cell
from ..scenario_options import USUAL_DAYS, USUAL_POLICY, DaysToComeOptions, ScenarioOptions, notes_of
from ..tables import print_rows

if TYPE_CHECKING:
    from ...instances.instance import Instance
    from ...solvers.bags.plan_choice import PlanChoice

_SURVIVES = {True: "yes", False: "no", None: "-"}


def choose(
    problem: Instance, asked: DaysToComeOptions, scenarios: ScenarioOptions, planning: MethodOptions
) -> PlanChoice:
    """Choose a plan for the days of the scenario that is given."""
    assert asked.scenario is not None, "there is one"
    for name in ("--option", "--iterations", "--target-gap", "--threads", "--initial"):
        if name in given_options(planning).values():
            raise SpotbagError(
                f"{name} and --scenario: use one or the other; plans of many kinds are made for a scenario"
            )
    from ...replay.bags.plan_choice import choose_plan

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


def print_choice(choice: PlanChoice) -> None:
    """Print the plans side by side on the days of the report."""
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
