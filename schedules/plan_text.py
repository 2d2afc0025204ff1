"""Plans in words: what is made least, what is rented, and what the survival certificate says."""

from __future__ import annotations

from collections import Counter

from ..core.text_tables import Table, number, table_of, words
from ..core.wording import counted, dollars, shortened
from ..instances.instance import Instance
from .documents import LOSSES, Lateness, SpotWith, Survival
from .schedule import Schedule


def goal_text(instance: Instance) -> str:
    """Objective of an instance in words: the quantities to be made least, in their order."""
    budget = instance.objective.budget_usd
    within = "" if budget is None else f", for at most {dollars(budget)}"
    return {
        "cheapest": "cheapest: the least cost, then the earliest end",
        "fastest": f"fastest: the earliest end, then the least cost{within}",
        "balanced": f"balanced: {instance.cost_weight:g} cost / {dollars(instance.cost_scale_usd)} + "
        f"{1 - instance.cost_weight:g} makespan / {instance.makespan_scale_s:g} s",
    }[instance.goal]


def rented_table(schedule: Schedule) -> Table:
    """Table of rented VMs, a row for each VM type and market; from a state, also the numbers of new VMs."""
    offers, from_state = schedule.instance.offers, bool(schedule.instance.machines)
    vms = Counter(schedule.vm_offer.tolist())
    tasks = Counter(schedule.vm_offer[schedule.task_vm].tolist())
    ready, cores = schedule.vm_ready_s, schedule.instance.cores[schedule.instance.task_group]
    # Of tasks that run already, only the time from the state on is compared with what is paid from then on.
    from_s = schedule.task_start_s.clip(min=ready[schedule.task_vm])
    rented = {index: schedule.vm_offer == index for index in sorted(vms)}

    def busy_percent(index: int) -> float | None:
        mine, vcpus = rented[index], offers[index].vm_type.vcpus
        paid = (schedule.vm_end_s[mine] - ready[mine]).sum() * vcpus
        used = ((schedule.task_end_s - from_s) * cores)[mine[schedule.task_vm]].sum()
        return 100 * used / paid if paid else None

    return table_of(
        rented,
        words("VM type", lambda index: offers[index].vm_type.name),
        words("market", lambda index: offers[index].market),
        number("VMs", lambda index: vms[index]),
        number("new VMs", lambda index: (schedule.vm_machine[rented[index]] < 0).sum()) if from_state else None,
        number("cores", lambda index: vms[index] * offers[index].vm_type.vcpus),
        number("tasks", lambda index: tasks[index], ","),
        number("last end (s)", lambda index: schedule.vm_end_s[rented[index]].max(), ","),
        number("cores busy (%)", busy_percent, ".1f"),
        number("price ($/h)", lambda index: offers[index].price_usd_per_hour, "g"),
        number("cost ($)", lambda index: schedule.vm_cost_usd[rented[index]].sum(), ".6f"),
    )


_MOST_LATE = 10
"""Late tasks that a table has."""


def late_lines(late: Lateness, why: str = "") -> list[tuple[str, str]]:
    """Lines on the late tasks of a plan: how many, why, and what would save them, by their names."""
    of_all = f"weight {late.weight:g}" if any(task.weight != 1 for task in late.tasks) else ""
    bound = "proved to be the fewest" if late.fewest else f"at least {late.weight_bound:g} in every plan"
    parts = [
        counted(len(late.tasks), "task"),
        of_all,
        bound if late.weight_bound else "",
        f"{late.lateness_s:,.0f} s in all",
    ]
    lines = [("late", ", ".join(filter(None, parts)))]
    lines += [("why", why)] if why else []
    ways = [] if late.enough_deadline_s is None else [f"a deadline of {late.enough_deadline_s:,} s"]
    ways += [f"{counted(vms.vms, f'more {vms.type} {vms.market} VM')}" for vms in late.enough_vms or ()]
    return [*lines, ("enough", " or ".join(ways))] if ways else lines


def late_table(late: Lateness) -> Table:
    """Table of the late tasks, the latest first; of very many, the first."""
    table = table_of(
        late.tasks[:_MOST_LATE],
        words("late task", "id"),
        number("late (s)", "late_s", ","),
        number("weight", form="g"),
        number("lost since (s)", lambda task: "" if task.lost_since_s is None else f"{task.lost_since_s:,}"),
    )
    more = len(late.tasks) - _MOST_LATE
    return Table(table.columns, [*table.rows, [f"... and {more:,} more", "", "", ""]]) if more > 0 else table


_NOTHING_TO_LOSE = "has no spot VM to lose"
_LONGEST_REASON = 200


def survival_lines(survival: Survival) -> list[tuple[str, str]]:
    """Lines on the certificate of survival: the verdict, its reason, and the highest cost, by their names.

    Parameters
    ----------
    survival : Survival
        The certificate.
    """
    loss, place = LOSSES[survival.level], _place(survival)
    if survival.verdict != "survives":
        verdict = "does not survive" if survival.verdict == "does-not-survive" else "not shown to survive"
        reason = f": {shortened(survival.reason, _LONGEST_REASON)}" if survival.reason else ""
        return [("survives", f"{verdict} {loss}{place}{reason}")]
    without, ways = survival.cost_without_usd, (f"$ {way.cost_usd:.4f} {_way(way)}" for way in survival.spot_with or ())
    others = [] if without is None else [("", f"not surviving would cost $ {without:.4f}")]
    if without is not None and survival.spot_with is not None:
        needless = f"$ {without:.4f} if it need not (--survive none)"
        others = [("", f"spot VMs are left out so that it survives: {', '.join((needless, *ways))}")]
    unharmed = survival.worst_at_s is None and survival.least_slack_s is None and not survival.worst_types
    if unharmed and survival.worst_cost_usd is not None and survival.level != "each":
        return [("survives", _NOTHING_TO_LOSE), *others]
    worst = "" if survival.worst_cost_usd is None else f", worst case $ {survival.worst_cost_usd:.4f}{place}"
    all_of_spot = None if survival.level == "blackout" else survival.blackout_cost_usd
    together = "" if all_of_spot is None else f"; any at once $ {all_of_spot:.4f}"
    return [("survives", f"{loss}{worst}{together}"), *others]


def _way(change: SpotWith) -> str:
    """Return a change with which spot VMs pay in words."""
    if change.checkpoint is None:
        option = f"--deadline {change.deadline_s}s" if change.level is None else f"--survive {change.level}"
        return f"with {option}"
    taken = change.checkpoint
    if taken.dump_s_per_mb:
        return f"with a checkpoint.overhead_fraction of {taken.overhead_fraction:g}"
    every_s = taken.dump_base_s / taken.overhead_fraction
    return f"with a checkpoint of {taken.dump_base_s:g} s after every {every_s:,.0f} s of work"


def survival_text(survival: Survival) -> str:
    """Say in one line what `survival_lines` says."""
    (_, first), *others = survival_lines(survival)
    verb = "survives: " if first == _NOTHING_TO_LOSE else "survives " if survival.verdict == "survives" else ""
    return "; ".join([f"{verb}{first}", *(text for _, text in others)])


def checked_lines(found: Survival, certificate: Survival | None = None) -> list[tuple[str, str]]:
    """Lines on the survival that a checker found, by their names.

    Parameters
    ----------
    found : Survival
        What it found itself.
    certificate : Survival, optional
        What the plan says of the same, if that holds: where it states the worst cost, that is the figure, and that of
        the checker, which knows other rescues, is said beside it. No policy promises the checker's figure.
    """
    if found.worst_cost_usd is None:
        return survival_lines(found)
    if certificate is None or certificate.worst_cost_usd is None:
        fields = {"worst_cost_usd": None, "blackout_cost_usd": None, "worst_at_s": None}
        (name, text), *_ = survival_lines(found.model_copy(update=fields))
        most = f"; the checker's own rescues cost at most $ {found.worst_cost_usd:.4f}{_place(found)}"
        return [(name, f"{text}{most}")]
    lines = survival_lines(certificate.model_copy(update={"blackout_cost_usd": None, "cost_without_usd": None}))
    (name, text), own = lines[0], f"{found.worst_cost_usd:.4f}"
    others = f"; the checker's own rescues cost at most $ {own}"
    return [(name, f"{text} as the plan says{'' if own == f'{certificate.worst_cost_usd:.4f}' else others}")]


def _place(survival: Survival) -> str:
    """Types and moment of the worst loss, in brackets."""
    if survival.worst_at_s is None:
        return ""
    types = f"{shortened(', '.join(survival.worst_types), 60)} " if survival.worst_types else ""
    return f" ({types}at {survival.worst_at_s:,} s)"
