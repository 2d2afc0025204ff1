"""Budget of the time of a `solve`: all shares of all layers, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.limits import seconds_left

SMALL_TASKS = 20
"""Tasks of a bag that exact models prove as a rule, so that it is their time which counts, and not that of a search."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Shares of the time that is left, where no unit is named; the layers from the outermost to the innermost.

    Attributes
    ----------
    check_s_a_task, certificate, certificate_s, most_reserved
        Kept for what follows the plan: the check of each task, the certificate of survival (a share of the limit, and
        its most seconds); of the limit, no more than a share for both.
    half
        The first of two parts, where neither is known to be the longer one: a step of the route, or a look of a method,
        that others follow; a simple plan that ends early within a budget, of the time for it; the cheapest plan, where
        the fastest is wanted that costs little more; the plan without the guarantee, where D_spot is chosen so that
        plans survive, and a first plan that leaves time to do again what is lost, for a method most of whose plans do
        not; the search for a plan in time, where one with late tasks is wanted if there is none; of that for a plan
        that survives, the first one where what is lost at once may not fit the time on demand, and plans with tasks
        that end as late as they may, where a simple one survives only with an earlier D_spot. Without a limit, the
        second quantity where the first is not proved, as a share of the time of the first.
    first
        What is asked first, and leaves little: the first quantity of a goal; the annealing of the objective of a plan
        with late tasks; building a model.
    most
        All but a look: the plan that survives, which leaves what one costs that need not; and so much of its time says
        that time has ended a search.
    look_share
        Of the limit, each look for what would save the late tasks.
    least_s
        Least seconds, without a limit, of a second quantity and of other questions beside the first.
    look_s, look_s_a_task
        Seconds beyond the limit in which a plan may be looked at, and more of them for each task: the
        limit was used up to make it.
    least_question_s
        Least seconds for one question of the second quantity, or of a front.
    bound_after_method
        The divisible bound after a method that works out none; of a limit of more than a second, a tenth of one.
    patience_s, patience_s_a_task, most_patience_s
        Seconds of exact steps in all, and of both quantities of a goal, where there is no limit; more of them for each
        task, up to the most; see `patience_for_s`. They are those of the clock of work (`core.limits.work_clock`).
    first_search_s, short_search_s
        Most seconds of the first search, where proofs follow it; and of one of few tasks, or beside which another goes
        on.
    """

    check_s_a_task: float = 20e-6
    certificate: float = 0.03
    certificate_s: float = 0.25
    most_reserved: float = 0.3
    half: float = 0.5
    first: float = 0.8
    most: float = 0.9
    look_share: float = 0.05
    least_s: float = 1.0
    look_s: float = 0.1
    look_s_a_task: float = 3e-6
    least_question_s: float = 0.05
    bound_after_method: float = 0.1
    patience_s: float = 4.0
    patience_s_a_task: float = 0.04
    most_patience_s: float = 30.0
    first_search_s: float = 5.0
    short_search_s: float = 1.0

    def patience_for_s(self, n_tasks: int) -> float:
        """Seconds in which steps that prove something may go on without a limit: what a bag does not need is not lost.

        Of up to 60 tasks, what is not proved in 6.4 s is hardly ever proved in 30.
        """
        return min(self.patience_s + self.patience_s_a_task * n_tasks, self.most_patience_s)

    def time_for_plan_s(self, n_tasks: int, time_limit_s: float | None) -> float | None:
        """Seconds of a limit for a plan and a bound: all but what the check and the certificate take afterwards."""
        if time_limit_s is None:
            return None
        certificate_s = min(self.certificate_s, self.certificate * time_limit_s)
        reserved_s = self.check_s_a_task * n_tasks + certificate_s
        return time_limit_s - min(reserved_s, self.most_reserved * time_limit_s)

    def time_for_method_s(self) -> float | None:
        """Seconds for a method: all but what a bound takes afterwards, which few methods work out before."""
        left = seconds_left()
        return None if left is None else left - self.bound_after_method * min(left, 1.0)


BUDGET = Budget()
"""Budget as it is used: for the plans of `solve`, not for `replan`, whose times are in milliseconds."""
