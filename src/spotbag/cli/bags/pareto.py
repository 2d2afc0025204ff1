"""``spotbag pareto``."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ...core.errors import SpotbagError
from ...core.processes import interruptible
from ...core.text_files import write_text
from ...core.text_tables import number, words
from ...core.wording import counted
from ..answers import ABSENT, Answer, Part, column
from ..arguments import InstanceOptions, MethodOptions
from ..console import (
    NO_FEASIBLE_PLAN,
    VERDICTS,
    beside_the_answer,
    busy,
    drawing,
    points_found,
    print_rows,
    seconds,
    warn,
    wrote,
)
from ..options import Only, given_options, instance_argument, json_option, option

if TYPE_CHECKING:
    from ...heuristics.bags.rescue import Certificate
    from ...instances.entries import SurvivalLevel
    from ...instances.instance import Instance
    from ...schedules.documents import SurvivalVerdict
    from ...schedules.schedule import Schedule
    from ...solvers.bags.pareto import FrontPoint as PointOfFront
    from ...solvers.bags.pareto import ParetoFront

EXAMPLE = "Example:  spotbag pareto burst-hads/J60 --markets spot --plot front.png --out front.csv"

_HEURISTICS = ("greedy", "lpt", "ils", "search")
_HEURISTICS_SHARE = 0.05
_PLANNING = MethodOptions(time_limit=60.0)


class Heuristic(Part):
    """The plan of a heuristic beside a front."""

    method: str = column(words("heuristic", "method"))
    makespan_s: int = column(number("makespan (s)", "makespan_s", ","))
    cost_usd: float = column(number("cost ($)", "cost_usd", ".6f"))
    cost_of_front_usd: float | None = column(number("above the front (%)", "above_front_percent", ".2f"))

    @property
    def above_front_percent(self) -> float | None:
        """Cost above that of the front; None where the point that is as fast was left out (``--points``)."""
        least = self.cost_of_front_usd
        return None if least is None else 100 * (self.cost_usd / least - 1)


class FrontPoint(Part):
    """A plan that no other one beats; ``vms`` says how many of what are rented.

    Whether it survives is there with ``--survive``.
    """

    makespan_s: int
    cost_usd: float
    bound_cost_usd: float
    proven: bool
    vms: dict[str, int]
    survives: SurvivalVerdict = ABSENT
    worst_cost_usd: float | None = ABSENT


class Pareto(Answer, kind="pareto"):
    """``spotbag pareto``."""

    instance: str
    status: str
    method: str
    complete: bool
    proven: bool
    deadline_s: int
    d_spot_s: int | None
    points: tuple[FrontPoint, ...]
    message: str
    warnings: tuple[str, ...]
    runtime_s: float
    interrupted: bool
    heuristics: tuple[Heuristic, ...]


@dataclass(frozen=True, kw_only=True)
class _Files:
    """Options of the files to write (see `spread`)."""

    out: str | None = option("FILE", "Write the points: .json or .csv.", file="written")
    plans: str | None = option("FOLDER", "Write the plan of each point as JSON in a folder.")
    plot: str | None = option("FILE", "Draw the front and the heuristics: .png, .svg, .pdf or .html.", file="drawn")

    def check(self) -> None:
        """Refuse, before any work is done, what cannot be written."""
        if self.out is not None and not self.out.lower().endswith((".json", ".csv")):
            raise SpotbagError(f"{self.out}: the points are written as .json or .csv")
        _check_folder(self.plans)

    def write(self, front: ParetoFront, others: dict[str, Schedule], certificates: Sequence[Certificate]) -> None:
        """Write the picture, the points and their plans, if there are any."""
        # No file rather than an empty one, which the next program would take for a front.
        if not front.points:
            return
        if self.plot is not None:
            with beside_the_answer(), drawing(self.plot):
                from ...charts.bags.plots import write_front

                write_front(front, self.plot, others)
        if self.out is not None:
            _write_points(front, self.out, certificates)
            wrote(self.out)
        if self.plans is not None:
            _write_plans(front, self.plans)
            wrote(self.plans, counted(len(front.points), "plan"))


def pareto_command(
    *,
    instance: str = instance_argument(),
    changes: InstanceOptions,
    planning: Annotated[MethodOptions, Only("time_limit", "seed", "threads")] = _PLANNING,
    points: int | None = option("N", "At most N points, evenly spread; all if absent.", min=2),
    files: _Files,
    as_json: bool = json_option(),
) -> None:
    """Find the plans that no other plan beats in cost and makespan, each proven or marked as not proven.

    With --survive, it is said of each whether it survives that; 'spotbag solve' chooses one that does.

    Ctrl-C ends it with the points so far. Exit code 0: there is a plan; 1: no feasible plan, with the reason; 2: bad
    input; 130: interrupted.
    """
    files.check()
    if files.plot is None:  # heuristics, which are drawn beside the front, plan by the goal
        named = (name for field, name in given_options(changes).items() if field in ("goal", "budget", "cost_weight"))
        warn(f"{name} changes nothing: a front is of all goals" for name in named)
    problem = changes.load(instance)
    with interruptible():  # from here on there is an answer, which a signal asks for
        front, others = _front(problem, points, planning, heuristics=files.plot is not None)
        if front.interrupted:
            warn(["interrupted: these are the points so far"])
        warn(front.warnings)
        certificates = _certificates(front, changes.survive)
        files.write(front, others, certificates)
        if as_json:
            beside = tuple(_row_of_plan(front, *entry) for entry in others.items())
            Pareto(**_as_object(front, certificates), heuristics=beside).print_json()
        else:
            _print_front(front, others, certificates)
    if not front.points:
        raise typer.Exit(NO_FEASIBLE_PLAN)


def _front(
    problem: Instance, points: int | None, planning: MethodOptions, heuristics: bool
) -> tuple[ParetoFront, dict[str, Schedule]]:
    """Find the front; with the plans of the heuristics, if they are wanted, within the same time."""
    from ...solvers.bags.pareto import pareto_front

    limit = planning.time_limit
    assert limit is not None, "there is a limit if none is given"
    begin = time.perf_counter()
    others: dict[str, Schedule] = {}
    if heuristics:
        with busy("planning by the heuristics"):
            others = _plans_of_heuristics(problem, _HEURISTICS_SHARE * limit, planning.seed)
    with points_found(f"front of {problem.name}", limit) as show:
        front = pareto_front(
            problem,
            # The heuristics are part of the time that was asked for; a little is left for the front in any case.
            time_limit_s=max(limit - (time.perf_counter() - begin), _HEURISTICS_SHARE * limit),
            seed=planning.seed,
            threads=planning.threads,
            most_points=points,
            on_point=show,
            initial=others.values(),
        )
    return front, others


def _check_folder(path: str | None) -> None:
    """Refuse, before any work is done, a folder that cannot be made or is a file."""
    if path is None:
        return
    if os.path.exists(path) and not os.path.isdir(path):
        raise SpotbagError(f"{path}: is a file; the plans need a folder")
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise SpotbagError(f"{path}: cannot be made: the folder around it does not exist")


def _plans_of_heuristics(instance: Instance, limit_s: float, seed: int) -> dict[str, Schedule]:
    """Plan by each heuristic under the instance's own objective, those that find a plan."""
    from ...solvers.bags.solve import solve

    plans = {}
    for method in _HEURISTICS:
        # Each plan is a start for the front as well.
        result = solve(instance, method, seed=seed, time_limit_s=limit_s)
        warn(f"{instance.name} by {method}: {text}" for text in result.warnings)
        if result.schedule is not None:
            plans[method] = result.schedule
        # The front, which is interrupted next, still has the plans so far.
        if result.interrupted:
            break
    return plans


def _row_of_plan(front: ParetoFront, method: str, plan: Schedule) -> Heuristic:
    """Return the figures of a heuristic's plan, and the cost of the cheapest point of the front that is as fast."""
    # Points that are as fast and cheaper are what the heuristic has missed.
    least = min((point.cost_usd for point in front.points if point.makespan_s <= plan.makespan_s), default=None)
    return Heuristic.of(plan, method=method, cost_of_front_usd=least)


def _certificates(front: ParetoFront, level: str | None) -> list[Certificate]:
    """Say of each point what its plan survives, if that is asked for: no plan is chosen by it."""
    if level is None or level == "none":
        return []
    from ...core.limits import LimitReached
    from ...heuristics.bags.rescue import certify

    try:
        with busy("looking at what the plans survive"):
            return [certify(point.schedule, cast("SurvivalLevel", level)) for point in front.points]
    except LimitReached:
        warn(["interrupted: it was not looked at what the plans survive"])
        return []


def _as_object(front: ParetoFront, certificates: Sequence[Certificate]) -> dict[str, Any]:
    """The front as a JSON object, with what its plans survive where that was looked at."""
    made = front.to_dict()
    for point, certificate in zip(made["points"], certificates, strict=False):
        point |= {"survives": certificate.verdict, "worst_cost_usd": certificate.worst_cost_usd}
    return made


def _write_points(front: ParetoFront, path: str, certificates: Sequence[Certificate]) -> None:
    import csv
    import io

    from ...core.json_documents import format_json

    if path.lower().endswith(".json"):
        write_text(path, format_json(_as_object(front, certificates)))
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    survival = ["survives", "worst_cost_usd"] if certificates else []
    writer.writerow(["makespan_s", "cost_usd", "bound_cost_usd", "proven", "vms", *survival])
    for point, certificate in zip_longest(front.points, certificates):
        proven = "yes" if point.proven else "no"
        rented = "; ".join(_rented(point))
        more = [] if certificate is None else [certificate.verdict, certificate.worst_cost_usd]
        writer.writerow([point.makespan_s, point.cost_usd, point.bound_cost_usd, proven, rented, *more])
    write_text(path, text.getvalue())


def _write_plans(front: ParetoFront, folder: str) -> None:
    """Write the plans, each named by its makespan."""
    from ...schedules.schedule_files import write_schedule

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise SpotbagError(f"{folder}: cannot be made: {error.strerror}") from None
    for point in front.points:
        write_schedule(point.schedule, os.path.join(folder, f"plan-{point.makespan_s}s.json"), front.method)


def _print_front(front: ParetoFront, others: dict[str, Schedule], certificates: Sequence[Certificate]) -> None:
    name = front.instance.name
    if not front.points:
        known = "proved: no plan exists" if front.complete else "no plan was found; this proves nothing"
        print(f"{name}: no front ({known})")
        print(front.message)
        return
    pairs = [*zip_longest(front.points, certificates)]
    print_rows(
        pairs,
        number("makespan (s)", lambda pair: seconds(pair[0].makespan_s)),
        number("cost ($)", lambda pair: pair[0].cost_usd, ".6f"),
        words("VMs", lambda pair: ", ".join(_rented(pair[0]))),
        words("proven", lambda pair: "yes" if pair[0].proven else f"no (at least $ {pair[0].bound_cost_usd:.6f})"),
        words(f"survives\n{certificates[0].level}", lambda pair: VERDICTS[pair[1].verdict]) if certificates else None,
        number("worst case\n($)", lambda pair: pair[1].worst_cost_usd, ".6f") if certificates else None,
    )
    if others:
        print_rows((_row_of_plan(front, *entry) for entry in others.items()), *Heuristic.columns())
    proven = sum(point.proven for point in front.points)
    all_of_it = "the whole front" if front.complete else "not proved to be the whole front"
    ended = ", interrupted" if front.interrupted else ""
    print(
        f"{name}: {counted(len(front.points), 'point')}, {proven} proven, {all_of_it}; "
        f"{front.method}, {front.runtime_s:.1f} s{ended}"
    )


def _rented(point: PointOfFront) -> list[str]:
    return [f"{count} {offer}" for offer, count in point.schedule.vm_counts().items()]
