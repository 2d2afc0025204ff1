"""``spotbag report``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from .arguments import InstanceOptions, StateOption, check_output, refuse_two_from_standard_input, wrote
from .progress import busy

if TYPE_CHECKING:
    from ..reports.page import Report

EXAMPLE = "Example:  spotbag report plan.json --out plan.html"


def report_command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="PLAN|TRACE|FOLDER",
            help="A plan, or what 'solve --json' has printed; a trace of replays; what 'bench --out' has written as "
            "JSON; or the folder of an experiment.",
            show_default=False,
        ),
    ],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The page (.html).", show_default=False)],
    changes: InstanceOptions,
    instance: Annotated[
        str | None, typer.Option("--instance", metavar="INSTANCE", help="Instance of the plan, if not of the library.")
    ] = None,
    state: StateOption = None,
) -> None:
    """Write a page about a plan, about replays, or about an experiment.

    It has tables that sort and filter, and charts that zoom, and needs nothing but a browser: no network, no other
    file. Exit code 0: written; 2: bad input.
    """
    from .. import __version__
    from ..core.errors import SpotbagError
    from ..core.text_files import write_bytes
    from ..reports.page import report_page

    if not out.lower().endswith((".html", ".htm")):
        raise SpotbagError(f"{out}: a report is a page; its name must end in .html")
    refuse_two_from_standard_input(what, instance, state)
    check_output(out, what, instance, state)
    with busy(f"writing {out}"):
        made = _report(what, instance, changes, state, __version__)
        write_bytes(out, report_page(made))
    wrote(out)


def _report(what: str, instance: str | None, changes: InstanceOptions, state: str | None, version: str) -> Report:
    """Make the report on what is given, whichever it is."""
    from ..core.errors import SpotbagError
    from ..core.json_documents import format_of, parse_json
    from ..core.text_files import read_text, source_name
    from ..schedules.documents import SCHEDULE_FORMAT
    from ..schedules.schedule_files import schedule_document_of
    from .bags.planning import schedule_or_none

    if os.path.isdir(what):
        from ..reports.bags.experiment import experiment_report

        return experiment_report(what, version)
    text, source = read_text(what), source_name(what)
    found = format_of(text)
    if found == "spotbag.published-comparison/1":
        from ..reports.papers import paper_report, parse_paper

        return paper_report(parse_paper(text, source), version)
    if found not in (SCHEDULE_FORMAT, "spotbag.solve/1"):
        from ..reports.replay import replay_report
        from ..traces.files import parse_traces

        return replay_report(parse_traces(text, source), version)
    answer = parse_json(text, source)
    if found != SCHEDULE_FORMAT and answer.get("plan") is None:
        raise SpotbagError(f"{source}: has no plan to report on")
    document = schedule_document_of(answer if found == SCHEDULE_FORMAT else answer["plan"], source)
    schedule = schedule_or_none(document, instance, what, changes, state)
    if schedule is None:
        raise SpotbagError(f"{what}: is a plan for {document.instance!r}; to report on it, name that with --instance")
    from ..reports.bags.plan import plan_report

    return plan_report(schedule, document, version, None if found == SCHEDULE_FORMAT else answer)
