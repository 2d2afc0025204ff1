"""Bags of tasks from CSV files: headings, units, and everything that can be wrong, named by its line."""

from __future__ import annotations

import csv
import io
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.bags.csv_tasks import instance_of_csv
from spotbag.instances.bags.imported import Asked, Imported
from spotbag.instances.bags.vm_catalogue import VmChoice
from spotbag.instances.table_columns import CsvFormat, memory_mb_of, seconds_of
from tests.helpers.soaks import soak_of

TWO_TYPES = Asked(7200, VmChoice(types=["c6i.large", "m6i.xlarge"]))


def read(folder: Path, text: str, asked: Asked = TWO_TYPES, form: CsvFormat | None = None) -> Imported:
    """Write a CSV file, and read it."""
    path = folder / "tasks.csv"
    path.write_bytes(text.encode())
    return instance_of_csv(path, asked, form)


def rows(imported: Imported) -> list[dict[str, Any]]:
    """Tasks of an instance, with what was given."""
    return [task.model_dump(exclude_unset=True) for task in imported.instance.tasks]


def test_a_row_is_a_task_or_several_that_are_the_same(tmp_path: Path) -> None:
    text = "id,command,memory_gb,runtime_min,count,arch\na,run.sh 1,1.5,10,,\nb,,2,0.5,3,amd64\n"
    assert rows(read(tmp_path, text)) == [
        {"id": "a", "command": "run.sh 1", "memory_mb": 1536, "base_runtime_s": 600},
        {"id": "b", "memory_mb": 2048, "base_runtime_s": 30, "count": 3, "architecture": "x86_64"},
    ]


@pytest.mark.parametrize(
    ("heading", "cell", "seconds"),
    [
        ("runtime_s", "90", 90),
        ("Run Time (min)", "1.5", 90),
        ("duration-h", "0.5", 1800),
        ("seconds", "90", 90),
        ("elapsed", "1h30m", 5400),
        ("runtime", "00:12:30", 750),
        ("walltime", "2 min", 120),
        ("runtime_ms", "1500", 1.5),
    ],
)
def test_run_times_have_their_unit_in_the_heading_or_in_the_cell(
    tmp_path: Path, heading: str, cell: str, seconds: float
) -> None:
    [task] = rows(read(tmp_path, f"Task ID;Memory MB;{heading}\na;100;{cell}\n"))
    assert task == {"id": "a", "memory_mb": 100, "base_runtime_s": pytest.approx(seconds)}


@pytest.mark.parametrize(
    ("heading", "cell", "mb"),
    [("memory_mb", "512", 512), ("RAM [GB]", "2", 2048), ("mem_kb", "2048", 2), ("memory", "1.5 GiB", 1536)],
)
def test_memory_has_its_unit_in_the_heading_or_in_the_cell(tmp_path: Path, heading: str, cell: str, mb: float) -> None:
    [task] = rows(read(tmp_path, f"{heading},runtime_s\n{cell},10\n"))
    assert task == {"id": "t1", "memory_mb": mb, "base_runtime_s": 10}


@pytest.mark.parametrize(
    "headings",
    [
        ("runtime_s[c6i.large]", "runtime_s[m6i.xlarge]"),
        ("c6i.large_s", "m6i.xlarge_s"),
        ("Runtime (c6i.large) s", "m6i.xlarge seconds"),
        ("runtime_s:c6i.large", "M6I.XLARGE runtime_s"),
    ],
)
def test_each_type_has_a_column_of_its_own(tmp_path: Path, headings: tuple[str, str]) -> None:
    text = f"id,memory_mb,{','.join(headings)}\na,100,60,50\nb,100,,40\n"
    for asked in (TWO_TYPES, replace(TWO_TYPES, vms=VmChoice())):  # without types, those of the headings
        assert [task["runtime_s"] for task in rows(read(tmp_path, text, asked))] == [
            {"c6i.large": 60, "m6i.xlarge": 50},
            {"m6i.xlarge": 40},
        ]


def test_run_times_on_types_that_are_not_chosen_are_left_out(tmp_path: Path) -> None:
    asked = replace(TWO_TYPES, vms=VmChoice(types=["c6i.large"]))
    imported = read(tmp_path, "id,memory_mb,c6i.large_s,m6i.xlarge_s\na,100,60,50\n", asked)
    assert rows(imported)[0]["runtime_s"] == {"c6i.large": 60}
    assert any("'m6i.xlarge_s' left out, not among --types" in warning for warning in imported.warnings)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_byte_order_mark_delimiter_and_quoted_commands(tmp_path: Path, delimiter: str) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter)
    writer.writerows([["id", "command", "memory_mb", "runtime_s"], ["a", 'sh -c "x; y,\tz"\nwait', "1", "2"], []])
    writer.writerow(["b", "echo", "1", "-2"])
    with pytest.raises(InputError, match=r"line 5: runtime_s '-2' must be greater than 0$"):
        read(tmp_path, "\ufeff" + buffer.getvalue())
    [task, _] = rows(read(tmp_path, "\ufeff" + buffer.getvalue().replace("-2", "2")))
    assert task["command"] == 'sh -c "x; y,\tz"\nwait'


def test_a_run_time_measured_once_is_divided_by_the_speed_of_each_type(tmp_path: Path) -> None:
    vms = VmChoice(
        types=["c6i.large", "m6i.xlarge"], speeds={"c6i.large": 1.25, "m6i.xlarge": 1.0}, measured_on="c6i.large"
    )
    instance = read(tmp_path, "memory_mb,runtime_s\n1,80\n", replace(TWO_TYPES, vms=vms)).instance
    assert instance.runtime_s.tolist() == [[80, 100]]


def test_headings_of_ones_own(tmp_path: Path) -> None:
    form = CsvFormat(columns={"memory": "need", "runtime[c6i.large]": "t1"}, memory_unit="GB", runtime_unit="min")
    asked = replace(TWO_TYPES, vms=VmChoice(types=["c6i.large"]))
    imported = read(tmp_path, "id,need,t1,remark\na,2,3,slow\n", asked, form)
    assert rows(imported) == [{"id": "a", "memory_mb": 2048, "runtime_s": {"c6i.large": 180}}]
    assert imported.warnings[0].endswith("tasks.csv: nothing was made of column 'remark'")


def test_everything_that_is_wrong_is_named_by_its_line(tmp_path: Path) -> None:
    text = (
        "id,memory_gb,runtime_min,count,arch\n"
        "a,1,10,,\n"
        "a,1,10,,\n"  # line 3
        "c,much,-3,1.5,sparc\n"
        "d,,2,0,\n"
        "e,1,1\n"
        "f,1,abc,,\n"
    )
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert {str(issue) for issue in caught.value.issues} == {
        "line 3: id 'a' is a duplicate of line 2",
        "line 4: memory_gb 'much' must be a number",
        "line 4: runtime_min '-3' must be greater than 0",
        "line 4: count '1.5' must be a whole number",
        "line 4: arch 'sparc' must be x86_64 or arm64",
        "line 5: memory_gb is missing (--memory 1GB is for tasks that do not say)",
        "line 6: has 3 cells, the first line 5",
        "line 7: runtime_min 'abc' must be a number",
    }


def test_faults_of_a_kind_are_one_line(tmp_path: Path) -> None:
    text = "id,memory_mb,runtime_s\n" + "".join(f"t{k},1,x\n" for k in range(8)) + "long,1,99999\nlonger,1,999990\n"
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert str(caught.value).endswith("lines 2, 3, 4, 5, 6 and 3 more: runtime_s 'x' must be a number (that of line 2)")
    with pytest.raises(InputError) as caught:
        read(tmp_path, text.replace("x", "5"))
    said = (
        "the deadline of 7,200 s (--deadline) is too early: longer takes 999,990 s on the fastest VM type that it fits"
    )
    assert str(caught.value).endswith(f"{said}; the least deadline that could do is 999,990 s")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,memory_mb\na,1\n", "has no column of run times: call it runtime_s"),
        (
            "memory_mb,runtime_s,c6i.large_s\n1,2,3\n",
            "column 'runtime_s' holds run times for all types, column 'c6i.large_s' for one",
        ),
        ("memory_mb,c6i.large_s\n1,2\n", "has no column of run times on m6i.xlarge"),
        ("memory_mb,memory_gb,runtime_s\n1,2,3\n", "columns 'memory_mb' and 'memory_gb' both hold the memory"),
        ("memory_mb,runtime_s\n", "has a line of headings, and no tasks below it"),
        ('memory_mb,runtime_s\n1,"2\n', "line 2: has a quotation mark that is opened and not closed"),
        ("memory,runtime_s\n2Qi,2\n", "line 2: memory '2Qi' has a unit that is not known; known are b, bytes, kb"),
        ("memory,runtime_s\n100,2\n", "line 2: memory '100' has no unit: call the column memory_mb"),
        ("memory_mb,runtime\n1,200\n", "line 2: runtime '200' has no unit: call the column runtime_s"),
        ("memory_mb,runtime_s\n20000,200\n", "line 2 't1': memory_mb 20000 fits no VM type (largest 16384)"),
        ("id,memory_mb,runtime_s\n,1,200\n", "line 2: id '' must not be empty"),
        ("memory_mb,runtime_s,count\n1,200,0\n", "line 2 't1': count 0 must be greater than or equal to 1"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("choice", "form", "message"),
    [
        (VmChoice(), None, "no VM types are chosen: --types c6i.large,m6i.xlarge"),
        (
            VmChoice(types=["c6i.larg"]),
            None,
            "--types c6i.larg: is no VM type of the catalogue (did you mean c6i.large",
        ),
        (VmChoice(types=["c6i.large"], region="moon"), None, "has no region 'moon' (it has us-east-1; 'spotbag"),
        (VmChoice(types=["c6i.*"], speeds={"c6i.large": 1}), None, "--speed: c6i.xlarge has none"),
        (
            VmChoice(types=["c6i.*"], measured_on="c6i.large"),
            None,
            "--speed must give its speed and those of the other",
        ),
        (
            VmChoice(types=["c6i.large"]),
            CsvFormat(columns={"memory": "x"}),
            "--column memory=x: there is no such column",
        ),
        (VmChoice(types=["c6i.large"]), CsvFormat(columns={"size": "id"}), "'size' is no role; roles are id, command"),
        (
            VmChoice(types=["c6i.large"]),
            CsvFormat(columns={"id": "id", "command": "id"}),
            "--column command=id: that column is the id already",
        ),
        (
            VmChoice(types=["c6i.large"]),
            CsvFormat(columns={"memory_gb": "id", "memory": "memory_mb"}),
            "columns 'id' and 'memory_mb' both hold the memory",
        ),
        (
            VmChoice(types=["c6i.large"]),
            CsvFormat(ignored=["cores"]),
            "--ignore-column cores: there is no such column in",
        ),
        (VmChoice(types=["c6i.large"]), CsvFormat(memory_unit="stone"), "--memory-unit stone: is no unit"),
    ],
)
def test_choices_that_cannot_be_met(tmp_path: Path, choice: VmChoice, form: CsvFormat | None, message: str) -> None:
    with pytest.raises(SpotbagError) as caught:
        read(tmp_path, "id,memory_mb,runtime_s\na,1,2\n", Asked(100, choice), form)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "mb"),
    [
        ("2.5E-01 MB", 0.25),
        ("2.5e-01", 0.25),
        ("+0,25", 0.25),
        ("+0,25 MB", 0.25),
        ("2,5E-01MB", 0.25),
        ("+1e1 b", 10 / 1024**2),
    ],
)
def test_signs_exponents_and_decimal_commas_go_together(tmp_path: Path, cell: str, mb: float) -> None:
    [task] = rows(read(tmp_path, f"memory_mb;runtime_s\n{cell};1\n"))
    assert task["memory_mb"] == mb


@pytest.mark.parametrize("cell", ["nan", "inf", "1_000", "１２", "1e309", "1e-400", "0x10", "1 000", "--1", "٣"])
def test_what_is_no_number_in_digits_is_refused(tmp_path: Path, cell: str) -> None:
    for column in ("memory_mb", "runtime_s", "count"):
        row = {"memory_mb": "1", "runtime_s": "1", "count": "1"} | {column: cell}
        with pytest.raises(InputError, match=rf"line 2: {column} '.*' must be a (whole )?number"):
            read(tmp_path, f"{','.join(row)}\n{','.join(row.values())}\n")


@pytest.mark.parametrize("cell", ["0:75", "1:60:00", "0:00:60"])
def test_a_clock_has_sixty_minutes_and_seconds(tmp_path: Path, cell: str) -> None:
    with pytest.raises(InputError, match=r"line 2: runtime"):
        read(tmp_path, f"memory_mb,runtime\n1,{cell}\n")


def test_an_odd_blank_does_not_make_hours_seconds(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 2: runtime_h '0.25.x0b' must be a number"):
        read(tmp_path, "memory_mb,runtime_h\n1,0.25\x0b\n")


def test_run_times_on_types_of_other_architectures_are_looked_at_and_not_taken(tmp_path: Path) -> None:
    text = "memory_mb,arch,c6i.large_s,c7g.large_s\n1,arm64,{},50\n"
    asked = replace(TWO_TYPES, vms=VmChoice())
    for cell in ("", "60"):
        assert rows(read(tmp_path, text.format(cell), asked))[0]["runtime_s"] == {"c7g.large": 50}
    for cell in ("None", "-1", "1000000001"):
        with pytest.raises(InputError, match=rf"line 2: c6i.large_s '{cell}' must be "):
            read(tmp_path, text.format(cell), asked)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_all_ends_of_lines_are_read_alike(tmp_path: Path, ends: str) -> None:
    lines = ["id;memory_mb;runtime_s", "a;1,5;2", "b;2,5;3", ""]
    found = rows(read(tmp_path, ends.join(lines)))
    assert [(task["id"], task["memory_mb"], task["base_runtime_s"]) for task in found] == [("a", 1.5, 2), ("b", 2.5, 3)]


@pytest.mark.parametrize(
    "heading",
    [
        "max",
        "price",
        "stuff",
        "",
        "anything else",
        "runtime_s[c6i.8arge]",
        "c6i.large]",
        "c6i.largemin",
        "mc6i.large",
        "time_{",
    ],
)
def test_what_is_not_understood_is_refused_by_name(tmp_path: Path, heading: str) -> None:
    text = f"id,memory_mb,runtime_s,{heading}\na,1,1,\nb,1,1,4\nc,1,1,5\n"
    name = heading or "column 4"
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    said = f"line 3: {name} '4' is in a column of which nothing is made: --ignore-column {heading!r} leaves it out"
    assert [str(issue).split(", --column")[0] for issue in caught.value.issues] == [said]
    assert len(rows(read(tmp_path, text, form=CsvFormat(ignored=[heading])))) == 3
    assert len(rows(read(tmp_path, text.replace("4", "").replace("5", "")))) == 3  # an empty column says nothing


@pytest.mark.parametrize("heading", ["(" * 200_000, "[a" + " " * 200_000 + "b"], ids=["brackets", "spaces"])
def test_a_long_heading_is_gone_through_once(tmp_path: Path, heading: str) -> None:
    """As many times as it has characters would take hours."""
    text = f"id,memory_mb,runtime_s,{heading}\na,1,1,\n"
    assert [task["id"] for task in rows(read(tmp_path, text))] == ["a"]


def test_a_column_of_a_role_that_is_said_leaves_the_others_out(tmp_path: Path) -> None:
    text = "task_id,name,memory_mb,duration_s,real_s\n1,a,1,7,5\n"
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, form=CsvFormat(ignored=["real_s"]))
    said = (
        "columns 'task_id' and 'name' both hold the id: --column id=name takes one, --ignore-column name leaves it out"
    )
    assert str(caught.value).endswith(said)
    imported = read(tmp_path, text, form=CsvFormat(columns={"id": "task_id", "runtime_s": "real_s"}))
    assert rows(imported) == [{"id": "1", "memory_mb": 1, "base_runtime_s": 5}]
    assert [warning.split(": ", 1)[1] for warning in imported.warnings[:2]] == [
        "column 'name' left out: --column says which is the id",
        "column 'duration_s' left out: --column says which is the runtime",
    ]
    [task] = rows(read(tmp_path, text, form=CsvFormat(ignored=["name", "real_s"])))
    assert (task["id"], task["base_runtime_s"]) == ("1", 7)


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_comma_in_a_number_is_a_decimal_comma_where_it_divides_no_cells(tmp_path: Path, delimiter: str) -> None:
    text = "id;memory;runtime_min;count\na;1,5GB;12,5;2\nb;512MB;0:01:30;1\nc;1GB;1,5h;\n"
    imported = read(tmp_path, text.replace(";", delimiter))
    tasks = rows(imported)
    assert [task["memory_mb"] for task in tasks] == [1536, 512, 1024]
    assert [task["base_runtime_s"] for task in tasks] == [750, 90, 5400]
    assert any(
        text.endswith("commas in numbers are decimal commas, as in line 2: runtime_min 12,5")
        for text in imported.warnings
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "memory_gb;runtime_s\n1.5;1,234\n",
            "line 2: runtime_s '1,234' has a comma where line 2, '1.5', has a point: write one or the other",
        ),
        ("memory_gb;runtime_s\n1;1,234.5\n", "line 2: runtime_s '1,234.5' must be a number with a decimal point"),
        (
            "memory_mb;runtime_s\n1,024;12,500\n",
            "line 2: runtime_s '12,500' may have a decimal comma, or one between thousands: write a decimal point",
        ),
        ('memory_gb,runtime_s\n"1,5",2\n', "memory_gb '1,5' must be a number with a decimal point (a decimal comma"),
        ('memory_gb,runtime\n1,"1,5h"\n', "runtime '1,5h' must be a number with a decimal point (a decimal comma"),
    ],
)
def test_commas_that_could_mean_two_things_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_a_type_without_a_column_is_named_beside_the_only_column_there_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\(there is column 'c6i.large_s'\); add one"):
        read(tmp_path, "memory_mb,c6i.large_s\n1,2\n", Asked(100, VmChoice(types=["c6i.large", "c6i.xlarge"])))


def test_a_task_needs_a_run_time_on_a_type_of_its_architecture(tmp_path: Path) -> None:
    text = "memory_mb,arch,c6i.large_s,c7g.large_s\n1,arm64,60,50\n1,,60,50\n1,arm64,60,\n"
    with pytest.raises(InputError, match=r"line 4: has a run time in none of the columns .* that are arm64"):
        read(tmp_path, text, replace(TWO_TYPES, vms=VmChoice()))
    tasks = rows(read(tmp_path, text.replace("60,\n", "60,70\n"), replace(TWO_TYPES, vms=VmChoice())))
    assert [list(task["runtime_s"]) for task in tasks] == [["c7g.large"], ["c6i.large", "c7g.large"], ["c7g.large"]]


def test_limits_prices_and_what_was_assumed(tmp_path: Path) -> None:
    vms = VmChoice(types=["c6i.large", "t3.large", "r5.large"], limit=3, max_spot=2, zone="use1-az5")
    imported = read(tmp_path, "memory_mb,runtime_s\n1,2\n", Asked(100, vms))
    instance = imported.instance
    assert [(offer.vm_type.name, offer.market, offer.limit) for offer in instance.offers] == [
        ("c6i.large", "spot", 2),
        ("c6i.large", "on-demand", 3),
        ("t3.large", "on-demand", 3),
        ("r5.large", "on-demand", 3),
    ]
    assert instance.offers[0].price_usd_per_hour == 0.0232
    text = "\n".join(imported.warnings)
    assert "prices of us-east-1: spot of 2026-07-09, on-demand of 2026-01-19 to 2026-07-09" in text
    assert "no spot price is known of r5.large" in text
    assert "burstable types are offered on demand only: t3.large" in text
    assert "run times are taken to be the same on all types" in text
    assert instance.name == "tasks"
    assert instance.provenance is not None
    assert instance.provenance.source == "CSV file tasks.csv"


def test_amounts_and_durations() -> None:
    assert [memory_mb_of(text) for text in ("1GB", "512 mb", "2048K", "5", "x GB", "")] == [
        1024,
        512,
        2,
        None,
        None,
        None,
    ]
    assert [seconds_of(text) for text in ("90s", "1:30", "1:00:00", "1.5h", "5", "5x", "")] == [
        *(90, 90, 3600, 5400, None, None, None)
    ]


def test_a_plural_in_brackets_makes_no_milliseconds_of_minutes() -> None:
    assert [seconds_of(text) for text in ("12 second(s)", "2 min(s)", "2 m(s)", "2 (s)")] == [12, 120, None, None]


_CELLS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00\r"), max_size=30)


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of tasks."""
    names = draw(
        st.lists(
            st.text(st.characters(min_codepoint=33, max_codepoint=0x24F, exclude_categories=("Cc", "Zs")), min_size=1),
            min_size=1,
            max_size=8,
            unique=True,
        )
    )
    return [
        {
            "id": name,
            "command": draw(_CELLS).strip(),
            "memory_mb": draw(st.floats(0.001, 16000).map(lambda value: round(value, 3))),
            "base_runtime_s": draw(st.floats(0.001, 7000).map(lambda value: round(value, 3))),
        }
        for name in names
        if "#" not in name
    ] or [{"id": "a", "command": "", "memory_mb": 1.0, "base_runtime_s": 1.0}]


@soak_of(tables(), st.sampled_from([",", ";", "\t"]), sample=50, whole=5000)
def test_what_is_written_as_csv_is_read_again(table: list[dict[str, Any]], delimiter: str) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter)
    writer.writerow(["id", "command", "memory_mb", "runtime_s"])
    writer.writerows(list(row.values()) for row in table)
    with tempfile.TemporaryDirectory() as folder:
        found = rows(read(Path(folder), buffer.getvalue()))
    assert found == [{key: value for key, value in row.items() if value != ""} for row in table]


def test_a_column_that_is_said_has_the_unit_of_its_heading(tmp_path: Path) -> None:
    form = CsvFormat(columns={"memory": "mem_gb", "runtime": "wall_min"}, memory_unit="KB")
    [task] = rows(read(tmp_path, "mem_gb,rss_mb,wall_min,duration_s\n2,100,1.5,7\n", form=form))
    assert (task["memory_mb"], task["base_runtime_s"]) == (2048, 90)
    form = CsvFormat(columns={"memory_mb": "mem_gb"})  # what an option says counts
    [task] = rows(read(tmp_path, "mem_gb,runtime_s\n2,1\n", form=form))
    assert task["memory_mb"] == 2


def test_counts_and_weights_have_decimal_commas_where_other_numbers_have(tmp_path: Path) -> None:
    [task] = rows(read(tmp_path, "memory_mb;runtime_s;count;weight\n1,5;1;2,0;0,5\n"))
    assert (task["memory_mb"], task["count"], task["weight"]) == (1.5, 2, 0.5)
    with pytest.raises(InputError, match=r"has a comma where line 2, '0\.5', has a point"):
        read(tmp_path, "memory_mb;runtime_s;weight\n1,5;1;0.5\n")
