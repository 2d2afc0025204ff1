"""``spotbag report``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..core.errors import SpotbagError, input_error
from ..core.text_files import read_text, source_name, write_bytes
from .arguments import InstanceOptions
from .console import busy, warn, wrote
from .options import argument, of_plan_option, option, state_option

if TYPE_CHECKING:
    from ..reports.page import Report

EXAMPLE = "Example:  spotbag report plan.json --out plan.html"

_ANSWER = "spotbag.solve/1"


def report_command(
    *,
    what: str = argument(
        "PLAN|TRACE|FOLDER",
        "A plan, or what 'solve --json' has printed; a trace of replays; what 'bench --out' has written as JSON; or "
        "the folder of an experiment.",
        file="read",
    ),
    out: str = option("FILE", "The page (.html).", ..., file="written"),
    changes: InstanceOptions,
    instance: str | None = of_plan_option(),
    state: str | None = state_option(),
) -> None:
    """Write a page about a plan, about replays, or about an experiment.

    It has tables that sort and filter, and charts that zoom; it needs a browser, and no network.
    Exit code 0: written; 2: bad input.
    """
    from ..reports.page import report_page

    if not out.lower().endswith((".html", ".htm")):
        raise SpotbagError(f"{out}: a report is a page; its name must end in .html")
    with busy(f"writing {out}"):
        write_bytes(out, report_page(_report(what, instance, changes, state)))
    wrote(out)


def _report(what: str, instance: str | None, changes: InstanceOptions, state: str | None) -> Report:
    """Make the report on what is given, whichever it is."""
    from .. import __version__
    from ..core.json_documents import format_of, parse_json
    from ..reports.papers import PAPER_FORMAT, paper_report, parse_paper
    from ..schedules.documents import SCHEDULE_FORMAT

    # Read once, as it may be standard input.
    text = "" if os.path.isdir(what) else read_text(what)
    kind, source = format_of(text), source_name(what)
    if kind in (SCHEDULE_FORMAT, _ANSWER):
        from ..reports.bags.plan import plan_report
        from ..schedules.schedule_files import schedule_document_of

        document = parse_json(text, source)
        answer = _checked(document, source) if kind == _ANSWER else None
        # What a solve has printed has the plan within it, beside the bounds that the page shows as well.
        plan = schedule_document_of(document if answer is None else answer["plan"], source)
        schedule = changes.plan_or_none(plan, instance, what, state)
        if schedule is None:
            raise SpotbagError(f"{source}: is a plan for {plan.instance!r}; to report on it, name that with --instance")
        return plan_report(schedule, plan, __version__, answer)
    if instance is not None or state is not None or changes != InstanceOptions():
        warn([f"{what} is no plan: --instance, --state and options that change an instance changed nothing"])
    if os.path.isdir(what):
        from ..reports.bags.experiment import experiment_report

        return experiment_report(what, __version__)
    if kind == PAPER_FORMAT:
        return paper_report(parse_paper(text, source), __version__)
    from ..reports.replay import replay_report
    from ..traces.files import parse_traces

    return replay_report(parse_traces(text, source), __version__)


def _checked(answer: dict[str, Any], source: str) -> dict[str, Any]:
    """Refuse an object that ``spotbag solve --json`` does not print of a plan."""
    from pydantic import ValidationError

    from .answer_schema import adapter_of

    if answer.get("plan") is None:
        raise SpotbagError(f"{source}: has no plan to report on")
    try:
        adapter_of("solve").validate_python(answer)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise input_error(source, f"is not what 'spotbag solve --json' prints: see {place}") from None
    return answer
