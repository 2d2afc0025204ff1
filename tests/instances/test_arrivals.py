"""Jobs that arrive over time, from tables and logs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.arrivals import Arrival, Deadlines, arrivals_of_table, since_first
from spotbag.instances.bags.job_logs import JobFilter, arrivals_of_log
from spotbag.instances.platforms.platform_files import library_platform, platform_of_arrivals
from spotbag.instances.streams.entries import StreamVmType
from spotbag.instances.streams.stream import Stream
from spotbag.instances.streams.stream_files import stream_of_arrivals
from spotbag.instances.table_columns import CsvFormat
from spotbag.instances.table_formats import kind_of_file

HOST = StreamVmType(name="host", price_usd_per_block=1.0)
SWF_JOB = "{} {} 3 {} {} -1 -1 {} 600 -1 1 7 1 {} 1 1 -1 -1\n"
SWF = "; UnixStartTime: 0\n" + SWF_JOB.format(1, 100, 60, 2, 2, 5) + SWF_JOB.format(2, 160, 30, 1, -1, -1)


def read(text: str, **given: Any) -> list[Arrival]:
    return arrivals_of_table(text, "arrivals.csv", CsvFormat(**given))[0]


def stream(arrivals: list[Arrival], deadlines: Deadlines | None = None, **speeds: float) -> Stream:
    return stream_of_arrivals(
        arrivals,
        deadlines or Deadlines(),
        [HOST],
        speeds,
        name="mine",
        source="arrivals.csv",
        block_s=3600,
        creation_overhead_s=0,
    )


def test_dates_and_seconds_of_the_epoch_count_from_the_first_arrival() -> None:
    rows = {
        "2026-11-28T09:00:00Z": "2026-11-28 10:00:00",
        "2026-11-28T10:30:00+01:00": "2026-11-28T10:00:00Z",  # half an hour after the first, in another zone
        "1795858200": "1795860000000",  # as seconds and as milliseconds of the epoch: 09:30:00 and 10:00:00
    }
    text = "arrival,runtime_min,deadline\n" + "".join(f"{at},10,{due}\n" for at, due in rows.items())
    found = [(at_s, due_s) for _, at_s, due_s in since_first(read(text), Deadlines())]
    assert found == [(0, 3600), (1800, 3600), (1800, 3600)]


def test_a_clock_of_its_own_and_times_within_which_jobs_should_end() -> None:
    arrivals = read("job;submit time (min);elapsed_h;within;tasks;app\nx;10,0;1;2h;4;fit\n".replace("10,0", "10"))
    assert arrivals == [Arrival(2, "x", Fraction(600), 3600.0, 4, Fraction(600 + 7200), "fit")]


def test_run_times_are_written_as_those_of_tasks() -> None:
    cells = {"90s": 90, "1h30m": 5400, "00:12:30.5": 750.5, "1-02:03:04": 93784, "0 days 00:45:00": 2700, "PT1H": 3600}
    found = read("arrival_s;runtime\n" + "".join(f"0;{cell}\n" for cell in cells))
    assert [arrival.runtime_s for arrival in found] == [*cells.values()]


def test_fractions_of_a_second_make_arrivals_later_and_deadlines_earlier() -> None:
    arrivals = read("arrival_s,runtime_s,deadline_s\n0.5,1,10.9\n1.2,1,12\n")
    assert [(at_s, due_s) for _, at_s, due_s in since_first(arrivals, Deadlines())] == [(0, 9), (1, 11)]


def test_deadlines_of_a_file_without_any_are_a_time_and_run_times_after_the_arrival() -> None:
    arrivals = read("arrival_s,runtime_s\n5,10\n")
    due = {
        (after, stretch): Deadlines(after, stretch).of(arrivals[0])
        for after in (None, 60)
        for stretch in (None, 3)
        if after or stretch
    }
    assert due == {(60, None): 65, (None, 3): 35, (60, 3): 95}
    with pytest.raises(SpotbagError, match="line 2 has no deadline: a column deadline or within_s"):
        stream(arrivals)


def test_jobs_keep_their_run_times_and_applications_are_divided_by_them() -> None:
    made = stream(
        read("arrival_s,runtime_s,within_s,app,count\n0,10,99,fit,2\n5,20,99,fit,1\n9,7.5,99,scan,1\n"), host=2.0
    )
    averages = {job.id: made.average_s(job.application, "host") for job in made.jobs}
    assert averages == {"j1": 5, "j2": 10, "j3": Fraction("3.75")}
    assert [job.application for job in made.jobs] == ["fit 10s", "fit 20s", "scan"]
    assert made.is_the_same_for_all_seeds
    assert [(job.submitted_s, job.deadline_s, job.n_tasks) for job in made.jobs] == [
        (0, 99, 2),
        (5, 104, 1),
        (9, 108, 1),
    ]


def test_the_work_of_a_job_of_a_platform_is_what_all_its_tasks_run_for() -> None:
    arrivals = read("arrival,runtime_s,within_h,count,budget,priority\n1e9,90,1,3,,\n1000000060,1,1,1,7.5,4\n")
    resources = library_platform("tiny/hybrid")
    made = platform_of_arrivals(
        arrivals, Deadlines(), resources, budget_per_minute=2.0, name="mine", source="arrivals.csv"
    )
    first, second = made.jobs
    assert (first.size_processor_minutes, first.budget, first.priority) == (5, 10.0, 0)  # 270 s are 4.5 minutes
    assert (second.size_processor_minutes, second.budget, second.priority) == (1, 7.5, 4)
    assert (second.arrival_s, second.deadline_s) == (60, 3660)
    assert (made.resources, made.agents) == (resources.resources, resources.agents)


def test_jobs_without_a_run_time_are_counted_and_left_out() -> None:
    found, said = arrivals_of_table("arrival_s,runtime_s\n0,5\n1,\n2,0\n", "a.csv")
    assert [arrival.line for arrival in found] == [2]
    assert said == [
        "a.csv: 1 row without a run time left out (the first in line 3)",
        "a.csv: 1 row with a run time of 0 left out (the first in line 4)",
    ]


def test_columns_by_option_take_the_place_of_those_by_heading() -> None:
    text = "when,duration_s,real,queue,notes\n3,99,5,q,n\n"
    arrivals = read(text, columns={"arrival_s": "when", "runtime_s": "real"}, ignored=["queue"])
    assert arrivals == [Arrival(2, "j1", Fraction(3), 5.0)]
    assert read("arrival_s,runtime_s,queue\n3,5,\n") == arrivals  # nothing is in it
    text = "arrival_s,runtime_s,status\n9,7,FAILED\n3,5,ok\n"
    assert [one.line for one in read(text, only={"status": ["ok"]})] == [3]
    found, said = arrivals_of_table(
        "submitted_min,time,runtime_s\n3,x,5\n", "a.csv", CsvFormat({"arrival": "submitted_min"})
    )
    assert found == [Arrival(2, "j1", Fraction(180), 5.0)]  # with the unit of its heading
    assert said == ["a.csv: column 'time' left out: --column says which is the arrival"]


@pytest.mark.parametrize(
    ("columns", "ignored", "message"),
    [
        ({"arrival_s": "t", "runtime_s": "t"}, [], "--column runtime_s=t: that column is the arrival already"),
        ({"runtime_s": "t"}, ["t"], "--column runtime_s=t: that column is to be left out"),
        ({"size": "t"}, [], "'size' is no role; roles are id, arrival"),
        ({}, ["x"], "--ignore-column x: there is no such column"),
    ],
)
def test_options_of_columns_that_cannot_be_met(columns: dict[str, str], ignored: list[str], message: str) -> None:
    with pytest.raises(SpotbagError) as caught:
        read("arrival_s,runtime_s,t\n1,2,3\n", columns=columns, ignored=ignored)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runtime_s\n5\n", "has no column of the arrival: call it arrival_s"),
        ("arrival_s\n5\n", "has no column of the runtime: call it runtime_s"),
        ("arrival_s,runtime_s,state\n5,1,ok\n", "line 2: state 'ok' is in a column of which nothing is made: --ignore"),
        ("arrival_s,submitted_s,runtime_s\n5,5,1\n", "columns 'arrival_s' and 'submitted_s' both hold the arrival"),
        (
            "arrival_s,runtime_s\n2026-11-28,1\n",
            "line 2: arrival_s '2026-11-28' must be a number, as its heading has a unit",
        ),
        ("arrival,runtime_s\n5,1\n", "line 2: arrival '5' must be a date such as 2026-11-28T09:00:00Z"),
        ("arrival_s,runtime\n5,1\n", "line 2: runtime '1' has no unit: call the column runtime_s"),
        ("arrival_s,runtime\n5,12:30\n", "line 2: runtime '12:30' may be minutes and seconds, or hours and minutes"),
        ("arrival_s,runtime\n5,soon\n", "line 2: runtime 'soon' must be a duration such as 90s"),
        ("arrival_s,runtime_s,within_h\n5,1,1e6\n", "line 2: within_h '1e6' must be at most 1,000,000,000 s"),
        ("arrival_s,runtime_s\n,1\n", "line 2: arrival_s is missing"),
        ("arrival_s,runtime_s\n1,-1\n", "line 2: runtime_s '-1' must not be negative"),
        ("arrival_s,runtime_s,count\n1,1,1.5\n", "line 2: count '1.5' must be a whole number"),
        ("arrival_s,runtime_s,count\n1,1,0\n", "line 2: count '0' must be at least 1"),
        ("id,arrival_s,runtime_s\na,1,1\na,2,1\n", "line 3: id 'a' is a duplicate of line 2"),
        ("arrival_s,runtime_s,deadline_s\n10,1,10\n", "line 2: deadline_s '10' must be after the arrival"),
        ("arrival_s,runtime_s,deadline\n10,1,2026-11-28\n", "line 2: deadline '2026-11-28' is on another clock"),
        ("arrival_s,runtime_s,deadline_s,within_s\n1,1,9,9\n", "has deadlines, and times within which"),
        ("arrival_s,runtime_s\n1,0\n", "has no job with a run time"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_way_out(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert message in str(caught.value)


def test_faults_of_the_stream_say_the_line_of_the_file() -> None:
    with pytest.raises(InputError, match=r"line 3 'j2': n_tasks 2000000"):
        stream(read("arrival_s,runtime_s,within_s,count\n0,5,9,1\n1,5,9,2e6\n"))


def test_jobs_of_a_log_of_several_cores_are_tasks_and_programs_applications() -> None:
    found, said = arrivals_of_log(SWF.splitlines(keepends=True), "swf", "log.swf", JobFilter())
    assert found == [
        Arrival(2, "j1", Fraction(100), 60.0, 2, application="app5"),
        Arrival(3, "j2", Fraction(160), 30.0),
    ]
    assert said == ["log.swf: 1 jobs of several cores became a task for each core"]
    (asked,), _ = arrivals_of_log(SWF.splitlines(), "swf", "log.swf", JobFilter(requested_times=True, most_jobs=1))
    assert asked.runtime_s == 600
    with pytest.raises(InputError, match="line 3: column 1 '1' is a duplicate of line 2"):
        arrivals_of_log(SWF.replace("\n2 160", "\n1 160").splitlines(), "swf", "log.swf", JobFilter())


def test_a_job_of_a_log_whose_submission_is_not_known_is_left_out() -> None:
    lines = [*SWF.splitlines(), SWF_JOB.format(3, -1, 30, 1, -1, -1), SWF_JOB.format(4, "0e999999999", 30, 1, -1, -1)]
    found, said = arrivals_of_log(lines, "swf", "log.swf", JobFilter())
    assert [(arrival.id, arrival.at_s) for arrival in found] == [("j1", 100), ("j2", 160), ("j4", 0)]
    assert "log.swf: 1 jobs without a time of submission left out" in said


GWF_JOB = "1\t0\t3\t60\t1\t-1\t-1\t1\t600\t-1\t1\tU1\tG1\tprog\tQ\tP\tS\tS\tBoT\tb1\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('\n {"format": "spotbag.jobs/1"}', "instance"),
        (SWF, "swf"),
        (GWF_JOB, "gwf"),
        ("# JobID\n" + GWF_JOB.replace("\t", " "), "gwf"),
        ("arrival_s,runtime_s\n0,5\n", "table"),
        (",".join("1" * 18) + "\n", "table"),
        ("", "table"),
    ],
)
def test_files_are_recognised_by_their_content(text: str, kind: str) -> None:
    assert kind_of_file(text) == kind


def test_a_program_of_a_grid_log_is_an_application() -> None:
    (arrival,), _ = arrivals_of_log([GWF_JOB], "gwf", "log.gwf", JobFilter())
    assert (arrival.application, arrival.count) == ("appprog", 1)
