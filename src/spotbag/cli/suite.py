"""``spotbag suite``: results that others can check, on instances and days that stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ..core.errors import input_error
from ..core.text_files import write_text
from ..core.text_tables import number, words
from ..core.wording import counted
from .answers import Answer, Part, Written, listing
from .console import NOT_CORRECT, print_rows, warn, wrote
from .options import adder, argument, json_option, names_of, option

if TYPE_CHECKING:
    from ..experiments.bags.submissions import CheckedRow, Ranking

app = typer.Typer(no_args_is_help=True, help="Suites: frozen instances and days, and rows that others can check.")

_command = adder(app, "suite")
_SUITES = names_of("experiments.bags.suite", "suite_names")


class SetOfDays(Part):
    """Days of a suite; the seed of those that are held out is not known."""

    days: str
    seed: int | None
    n: int
    instances: int


class SuiteShown(Answer, kind="suite-shown"):
    """``spotbag suite show``."""

    name: str
    sha256: str
    instances: dict[str, str]
    days: tuple[SetOfDays, ...] = listing(
        words("days"),
        words("seed", lambda entry: "held out" if entry.seed is None else str(entry.seed)),
        number("of each", "n"),
        number("instances and scenarios", "instances"),
    )

    def print_text(self) -> None:
        """Print the instances and the days."""
        # Twelve digits tell files apart at a glance; --json has all, to be compared by programs.
        digests = words("SHA-256", lambda entry: entry[1][:12])
        print_rows(self.instances.items(), words("instance", lambda entry: entry[0]), digests)
        super().print_text()


class SubmissionChecked(Answer, kind="submission-checked"):
    """``spotbag suite check``: each row with its result, or why it is refused."""

    rows: tuple[CheckedRow, ...]
    refused: int

    def print_text(self) -> None:
        """Print the rows that are refused, and how many are not."""
        for row in self.rows:
            if row.reason:
                print(f"refused: {row.source}: {row.reason}")
        print(f"{len(self.rows) - self.refused} of {len(self.rows)} rows are what they say")


class SuiteRanking(Answer, kind="suite-ranking"):
    """``spotbag suite rank``: the entries of all rows that are not refused."""

    refused: int
    rankings: tuple[Ranking, ...]

    def print_text(self) -> None:
        """Print a table of entries and one of pairs for the plans, and for each set of days."""
        for found in self.rankings:
            print(f"{found.suite}, {found.what}: {counted(len(found.instances), 'instance')}" + _aside(found))
            print_rows(
                found.entries,
                words("entry"),
                number("mean rank", "mean_rank", ".2f"),
                number("best", form=","),
                number("above best (%)", "above_percent", ",.2f"),
                number("late days", "late_days", ","),
            )
            if found.pairs:
                print_rows(
                    found.pairs,
                    words("better"),
                    words("than", "other"),
                    words("wins / ties / losses", lambda pair: f"{pair.wins} / {pair.ties} / {pair.losses}"),
                    number("p (Wilcoxon)", "p_value", ".2g"),
                    number("p (Holm)", "p_holm", ".2g"),
                    words("ranks apart", lambda pair: "yes" if pair.apart else "no"),
                )


def _aside(found: Ranking) -> str:
    """Return the remarks above a table."""
    said = [] if found.critical_difference is None else [f"critical difference {found.critical_difference:.2f}"]
    said += [] if found.friedman_p is None else [f"Friedman p {found.friedman_p:.2g}"]
    said += [f"left out, as some entry lacks them: {', '.join(found.left_out)}"] if found.left_out else []
    return "".join(f"; {text}" for text in said)


@_command("show", "suite-1")
def show_command(
    *, name: str = argument("NAME", "Of a suite.", completes=_SUITES), as_json: bool = json_option()
) -> None:
    """Show a suite: its instances and days, and their digests. 'spotbag experiment show' prints its experiment."""
    from ..experiments.bags.suite import find_suite

    found = find_suite(name)
    days = (SetOfDays(days=key, seed=one.seed, n=one.n, instances=len(one.sha256)) for key, one in found.days.items())
    SuiteShown(name=name, sha256=found.sha256, instances=dict(found.instances), days=tuple(days)).show(as_json)


@_command("submit", "mine --suite suite-1 --name ours --out ours.jsonl")
def submit_command(
    *,
    folder: str = argument("FOLDER", "Of an experiment on the suite."),
    suite: str = option("NAME", "Which suite.", ..., completes=_SUITES),
    name: str = option("NAME", "What stands before the names of methods and policies.", ""),
    out: str = option("FILE", "Where the rows go.", ..., file="written"),
    as_json: bool = json_option(),
) -> None:
    """Write the rows of an experiment with what they rest on: plans, and traces of the days, replayed again.

    Each is checked before it is written; rows that 'spotbag suite check' would refuse are left out, with a warning.
    """
    from ..experiments.bags.submissions import submitted_lines

    lines = list(submitted_lines(folder, suite, f"{name}: " if name else ""))
    warnings = tuple(f"{row.source}: left out: {row.reason}" for _, row in lines if row.reason)
    warn(warnings)
    # A file without a row would be refused by whoever checks it.
    if len(warnings) == len(lines):
        raise input_error(folder, f"has no row that could be submitted for {suite}")
    write_text(out, "".join(f"{line}\n" for line, row in lines if not row.reason))
    if as_json:
        Written(written=(out,), warnings=warnings).print_json()
    else:
        wrote(out, counted(len(lines) - len(warnings), "row"))


@_command("check", "ours.jsonl")
def check_command(*, files: list[str] = argument("FILE...", "Submissions."), as_json: bool = json_option()) -> None:
    """Check each row of submissions: the plan by the checker, the traces by the auditor, the days by their digest.

    Days under a policy of spotbag's own are replayed. Exit code 0: all rows are what they say; 1: some are refused; 2:
    bad input.
    """
    from ..experiments.bags.submissions import check_submissions

    rows = check_submissions(files)
    refused = sum(bool(row.reason) for row in rows)
    SubmissionChecked(rows=tuple(rows), refused=refused).show(as_json)
    if refused:
        raise typer.Exit(NOT_CORRECT)


@_command("rank", "ours.jsonl theirs.jsonl")
def rank_command(*, files: list[str] = argument("FILE...", "Submissions."), as_json: bool = json_option()) -> None:
    """Rank the entries of submissions across instances, by the results of their rows; rows are checked first.

    Mean ranks that are more than the critical difference apart (Nemenyi, 5 %) are no chance; pairs are tested by
    Wilcoxon's signed ranks, with Holm's correction for their number. Refused rows are left out. Exit code 0: ranked; 1:
    all rows are refused; 2: bad input.
    """
    from ..experiments.bags.submissions import check_submissions, rankings

    rows = check_submissions(files)
    refused = sum(bool(row.reason) for row in rows)
    SuiteRanking(refused=refused, rankings=tuple(rankings(rows))).show(as_json)
    if refused:
        rows_are = counted(refused, "row") + (" is" if refused == 1 else " are")
        warn([f"{rows_are} refused, and left out: spotbag suite check {' '.join(files)} says why"])
    if refused == len(rows):
        raise typer.Exit(NOT_CORRECT)
