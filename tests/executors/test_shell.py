"""Plans as scripts: they run what was planned, in order, once, and whatever happens is in their logs."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import InputError, SpotbagError
from spotbag.executors.logs import read_logs
from spotbag.executors.shell import export_plan, folder_names, quoted
from spotbag.traces.bags.execution import PlannedTask
from tests.helpers.exported_plans import core_of, document_of, drive, environment, events_of, exported, log_of
from tests.helpers.soaks import soak_of
from tests.helpers.tiny_days import bag, plan, vm_type

GATE = "until [ -e gate ]; do sleep 0.01; done"
"""A command that ends when somebody makes the file ``gate``."""


def wait_until(so: Callable[[], bool]) -> None:
    """Wait for something that happens for certain."""
    while not so():
        time.sleep(0.01)


def begun(vm: Path, *, in_folder: str = "") -> subprocess.Popen[bytes]:
    """Start what a VM runs."""
    return subprocess.Popen(["sh", str(vm / "run.sh")], cwd=vm, env=environment(in_folder), stderr=subprocess.DEVNULL)


def shells(tmp_path: Path) -> list[str]:
    """Folders with a shell each, for all shells of this machine: to be looked into first for ``sh``."""
    found = []
    for name in ("dash", "bash", "busybox"):
        program = shutil.which(name)
        if program is not None:
            folder = tmp_path / "shells" / name
            folder.mkdir(parents=True)
            (folder / "sh").symlink_to(program)
            found.append(str(folder))
    return found


def test_each_core_runs_its_tasks_in_order_where_it_is_called_and_all_is_logged(tmp_path: Path) -> None:
    vm = exported([*core_of(["pwd; echo $SPOTBAG_TASK $SPOTBAG_VM $SPOTBAG_CORE", "true"]),
                   *core_of(["true", "echo bad >&2"], core=1)], tmp_path / "run")  # fmt: skip
    assert drive(vm, cwd=tmp_path).stderr == "vm: all 4 tasks are done\n"
    assert [task for task in events_of(vm, "end") if "-" not in task] == ["t1", "t2"]
    assert [task for task in events_of(vm, "start") if "-" in task] == ["t1-1", "t2-1"]
    lines = log_of(vm)
    assert [lines[0]["event"], lines[-1]["event"]] == ["begin", "finish"]
    first, *_, last = [line["at"] for line in lines]
    assert first <= min(line["at"] for line in lines) <= max(line["at"] for line in lines) <= last
    outputs = {path.name: path.read_text() for path in (vm / "output").iterdir() if path.stat().st_size}
    assert outputs == {"1-t1.out": f"{tmp_path}\nt1 vm 0\n", "4-t2-1.err": "bad\n"}


def dated(folder: Path, ready_s: int) -> Path:
    """Export two tasks of a core, of which the second is released later; return the folder of the VM."""
    rows = [{"id": name, "memory_mb": 1, "runtime_s": {"a": 1}, "command": "true"} for name in "ut"]
    instance = bag({"u": {"a": 1}}, [vm_type("a")], deadline_s=9999).replace(
        tasks=[rows[0], rows[1] | {"ready_s": ready_s}]
    )
    [path] = export_plan(plan(instance, ["a spot"], {"u": (0, 0, 0), "t": (0, 0, ready_s)}), folder)
    return path


@pytest.mark.slow
def test_a_task_waits_for_its_release_by_when_the_plan_began_and_is_stopped_as_it_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTBAG_BEGAN_AT", f"{time.time() - 2000:.3f}")
    assert drive(dated(tmp_path / "released", 1000)).returncode == 0
    wrong = dated(tmp_path / "refused", 1000)
    for word in ("today", ".", "1.2.3"):
        monkeypatch.setenv("SPOTBAG_BEGAN_AT", word)
        refused = drive(wrong)
        assert (refused.returncode, f"SPOTBAG_BEGAN_AT is '{word}': it must be" in refused.stderr) == (2, True)
    assert not (wrong / "log.jsonl").exists()  # else a later start would take that for when the VM began
    monkeypatch.delenv("SPOTBAG_BEGAN_AT")
    for path in shells(tmp_path):
        vm = dated(tmp_path / f"run-{Path(path).name}", 1000)
        process = begun(vm, in_folder=path)
        wait_until(lambda: (vm / "log.jsonl").exists() and events_of(vm, "end") == ["u"])  # noqa: B023
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 143
        assert events_of(vm, "start") == ["u"]


@pytest.mark.slow
def test_a_task_is_not_run_before_it_is_released(tmp_path: Path) -> None:
    for path in shells(tmp_path):
        vm = dated(tmp_path / f"run-{Path(path).name}", 2)
        assert drive(vm, path).returncode == 0
        began, *_, begun_at = [line["at"] for line in log_of(vm) if line["event"] in ("begin", "start")]
        assert 2 <= begun_at - began < 5


def test_what_failed_is_reported_and_run_again_and_what_is_done_is_not(tmp_path: Path) -> None:
    vm = exported(core_of(["echo once >>once", "[ -e repaired ] || exit 7", "true"]), tmp_path / "run")
    first = drive(vm)
    assert first.returncode == 1
    assert "task t2 failed with exit code 7" in first.stderr
    assert "2 of 3 tasks are done" in first.stderr
    (vm / "repaired").touch()
    assert drive(vm).returncode == 0
    assert drive(vm).returncode == 0
    assert events_of(vm, "start") == ["t1", "t2", "t3", "t2"]
    assert (vm / "once").read_text() == "once\n"


TEXTS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=30, max_size=30)


def print_by_commands(texts: list[str]) -> None:
    """Have a command print each of some texts, and compare."""
    with tempfile.TemporaryDirectory() as folder:
        vm = exported(core_of([f"printf %s {quoted(text)}" for text in texts]), Path(folder) / "run")
        assert drive(vm).returncode == 0
        for number, text in enumerate(texts, 1):
            assert (vm / "output" / f"{number}-t{number}.out").read_bytes() == text.encode(), repr(text)


@given(TEXTS)
@settings(max_examples=2)
def test_commands_reach_the_shell_as_they_are(texts: list[str]) -> None:
    odd = ["'", "\\", '$HOME `pwd` "x" \n\t!', "-n", "%s", "\r\n", "é\u0081 😀", "#", "*"]
    print_by_commands([*texts, *odd])


@soak_of(TEXTS, sample=10, whole=300)
def test_many_commands_reach_the_shell_as_they_are(texts: list[str]) -> None:
    print_by_commands(texts)


def test_odd_names_of_tasks_and_vms_do_no_harm(tmp_path: Path) -> None:
    names = ["a b", "../x", "$(touch bad)", "'", '"', "\\", "é", '", "exit_code": 0}', "-n", "*"]
    rows = [(name, 'o\'d/d "vm"', 0, number, number + 1, "exit 1") for number, name in enumerate(names)]
    vm = exported(rows, tmp_path / "run")
    assert vm.parent == tmp_path / "run"
    assert drive(vm).returncode == 1
    assert drive(vm).returncode == 1
    assert events_of(vm, "end") == 2 * names
    assert log_of(vm)[0]["vm"] == 'o\'d/d "vm"'
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_names_of_folders_are_told_apart_by_every_file_system() -> None:
    assert folder_names(["c5.large-spot-1", "c5.large-spot-2"]) == ["c5.large-spot-1", "c5.large-spot-2"]
    assert folder_names(["VM", "vm"]) == ["vm-1-VM", "vm-2-vm"]
    assert folder_names(["..", "vms.tsv"]) == ["vm-1-..", "vm-2-vms.tsv"]


OF_THE_DRIVER = ["at", "core", "done", "here", "log", "next", "pid", "state", "tasks", "up", "vm"]
"""Names that its variables have had."""


@pytest.mark.parametrize("user", [dict.fromkeys([*OF_THE_DRIVER, "PARALLEL_SHELL"], "the user's"), {}])
def test_commands_find_what_their_user_has_exported_and_nothing_else(tmp_path: Path, user: dict[str, str]) -> None:
    vm = exported([*core_of(["env >first"]), *core_of(["env >second"], core=1)], tmp_path / "run")
    ours = {f"spotbag_{name}": "a stranger's" for name in OF_THE_DRIVER}
    before = {name: value for name, value in os.environ.items() if name not in OF_THE_DRIVER} | {"_": "of bash"}
    subprocess.run(["sh", str(vm / "run.sh")], check=True, env=before | ours | user, cwd=vm, capture_output=True)
    for number, core in (("first", "0"), ("second", "1")):
        found = dict(line.split("=", 1) for line in (vm / number).read_text().splitlines() if "=" in line)
        task = "t1" if core == "0" else "t1-1"
        expected = user | {"SPOTBAG_TASK": task, "SPOTBAG_VM": "vm", "SPOTBAG_CORE": core, "SPOTBAG_CORES": core}
        assert {name: found[name] for name in found if name not in before} == expected


def test_a_command_that_would_truncate_the_log_by_its_name_does_not(tmp_path: Path) -> None:
    vm = exported(core_of(['echo mine >"$log"', "true"]), tmp_path / "run")
    env = os.environ | {"log": "mine.txt", "state": "mine", "here": "/nowhere"}
    said = subprocess.run(["sh", "run.sh"], check=True, env=env, cwd=vm, capture_output=True, text=True).stderr
    assert said == "vm: all 2 tasks are done\n"
    assert (vm / "mine.txt").read_text() == "mine\n"
    assert events_of(vm, "end") == ["t1", "t2"]


def test_a_command_that_begins_with_a_dash_is_a_command(tmp_path: Path) -> None:
    (tmp_path / "-n").write_text("#!/bin/sh\necho ran $1\n")
    (tmp_path / "-n").chmod(0o755)
    vm = exported(core_of(["-n 7", "-e true", "--version"]), tmp_path / "run")
    assert drive(vm, str(tmp_path)).returncode == 1
    codes = [line["exit_code"] for line in log_of(vm) if line["event"] == "end"]
    assert codes == [0, 127, 127]  # no program is called so but the first
    assert (vm / "output" / "1-t1.out").read_text() == "ran 7\n"


def test_the_log_has_the_end_of_what_a_failed_command_said(tmp_path: Path) -> None:
    said = [
        "true",
        "echo out; exit 3",
        r"""printf 'a "b" \\ \303\244\033[1m\nend' >&2; exit 4""",
        "seq 500 >&2; exit 5",
    ]
    vm = exported(core_of(said), tmp_path / "run")
    assert drive(vm).returncode == 1
    ends = [line for line in log_of(vm) if line["event"] == "end"]
    assert [line.get("message") for line in ends[:3]] == [None, "", 'a "b" \\ [1m\nend']
    assert ends[3]["message"].split("\n") == [str(number) for number in range(376, 501)]
    planned = [PlannedTask(f"t{number}", "vm", 0, number, number + 1) for number in range(1, 5)]
    made = read_logs([vm / "log.jsonl"], planned, {"vm": 1}, 0)
    assert [one.message for one in made.failures] == [line["message"] for line in ends[1:]]


def test_names_do_not_command_the_terminal_on_which_scripts_say_them(tmp_path: Path) -> None:
    """A control sequence may begin with one character, U+009B, which names may have; U+202E turns what follows."""
    vm = exported([("\u009b31m\u202et", "\u009b2Jv", 0, 0, 1, "exit 3")], tmp_path / "run")
    said = drive(vm).stderr
    assert "\\u009b2Jv: task \\u009b31m\\u202et failed with exit code 3 (see output/1-" in said
    assert not {"\u009b", "\u202e"} & {*said}


def test_where_memory_may_bind_a_task_waits_for_those_before_it_in_the_plan(tmp_path: Path) -> None:
    rows = [("early", "vm", 0, 0, 5, GATE), ("beside", "vm", 1, 0, 4, "true"), ("late", "vm", 1, 5, 6, "true")]
    vm = exported(rows, tmp_path / "run")
    driver = begun(vm)
    wait_until(lambda: (vm / "log.jsonl").exists() and "beside" in events_of(vm, "end"))
    assert "late" not in events_of(vm, "start")
    (vm / "gate").touch()
    assert driver.wait() == 0
    tasks = [line["task"] for line in log_of(vm) if line["event"] in ("start", "end")]
    assert tasks[-3:] == ["early", "late", "late"]


@pytest.mark.skipif(shutil.which("flock") is None, reason="nothing keeps two starts apart where there is no flock")
def test_a_driver_that_is_killed_and_started_again_runs_nothing_twice(tmp_path: Path) -> None:
    vm = exported(core_of(["true", GATE, "true"]), tmp_path / "run")
    driver = begun(vm)
    wait_until(lambda: (vm / "log.jsonl").exists() and "t2" in events_of(vm, "start"))
    driver.kill()
    driver.wait()
    again = begun(vm)
    (vm / "gate").touch()
    assert again.wait() == 0
    assert events_of(vm, "start") == events_of(vm, "end") == ["t1", "t2", "t3"]


def test_what_was_cut_off_when_all_was_killed_is_run_again(tmp_path: Path) -> None:
    vm = exported(core_of(["true", f"echo $$ >pid; {GATE}", "true"]), tmp_path / "run")
    driver = begun(vm)
    wait_until(lambda: (vm / "pid").exists() and (vm / "pid").stat().st_size > 0)
    for pid in (driver.pid, int((vm / "state" / "core-0.pid").read_text()), int((vm / "pid").read_text())):
        os.kill(pid, signal.SIGKILL)
    driver.wait()
    with (vm / "log.jsonl").open("a") as log:
        log.write('{"at": 17')  # what was written at that moment may be cut short
    (vm / "gate").touch()
    assert drive(vm).returncode == 0
    assert (vm / "log.jsonl").read_text().count('"event": "begin"') == 2
    lines = [line for line in (vm / "log.jsonl").read_text().splitlines() if '"start"' in line]
    assert [line.rpartition('"task": ')[2] for line in lines] == ['"t1"}', '"t2"}', '"t2"}', '"t3"}']


def test_a_signal_stops_the_tasks_too_and_the_next_start_goes_on(tmp_path: Path) -> None:
    vm = exported([*core_of([f"echo $$ >pid; {GATE}; echo more", "true"]), *core_of([GATE], core=1)], tmp_path / "run")
    driver = begun(vm)
    wait_until(lambda: (vm / "pid").exists() and (vm / "pid").stat().st_size > 0)
    wait_until(lambda: len(events_of(vm, "start")) == 2)
    driver.terminate()
    assert driver.wait() == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int((vm / "pid").read_text()), 0)
    assert log_of(vm)[-1]["event"] == "stop"
    assert not events_of(vm, "end")
    (vm / "gate").touch()
    assert drive(vm).returncode == 0
    assert sorted(events_of(vm, "end")) == ["t1", "t1-1", "t2"]


def test_a_task_that_stops_before_the_signal_comes_has_not_ended(tmp_path: Path) -> None:
    # A task that was just made looks for itself whether it is to stop: it was recorded as ended with exit code 143.
    vm = tmp_path / "run" / "vm"
    exported(core_of([f"touch '{vm}/state/stop'; exit 143", "true"]), tmp_path / "run")
    assert drive(vm).returncode != 0
    assert events_of(vm, "start") == ["t1"]
    assert not events_of(vm, "end")


@pytest.mark.slow
def test_every_shell_of_this_machine_runs_stops_and_goes_on(tmp_path: Path) -> None:
    for folder in shells(tmp_path):
        beside = [("u", "vm", 1, 0, 9, GATE), ("v", "vm", 1, 9, 10, "printf 'é %s' \"$SPOTBAG_TASK\"")]
        rows = [*core_of(["true", GATE, "exit 3"]), *beside]
        vm = exported(rows, tmp_path / Path(folder).name)
        driver = begun(vm, in_folder=folder)
        wait_until(lambda vm=vm: (vm / "log.jsonl").exists() and len(events_of(vm, "start")) == 3)
        driver.terminate()
        assert driver.wait() == 143
        (vm / "gate").touch()
        assert drive(vm, folder).returncode == 1
        assert sorted(events_of(vm, "end")) == ["t1", "t2", "t3", "u", "v"]
        assert (vm / "output" / "5-v.out").read_text() == "é v"
        assert drive(vm, folder).returncode == 1
        assert events_of(vm, "end")[5:] == ["t3"]


@pytest.mark.slow
def test_nobody_waits_for_ever_for_a_core_that_was_killed(tmp_path: Path) -> None:
    rows = [("early", "vm", 0, 0, 5, f"echo $$ >pid; {GATE}"), ("late", "vm", 1, 5, 6, "true")]
    vm = exported(rows, tmp_path / "run")
    driver = begun(vm)
    wait_until(lambda: (vm / "pid").exists() and (vm / "pid").stat().st_size > 0)
    for pid in (int((vm / "state" / "core-0.pid").read_text()), int((vm / "pid").read_text())):
        os.kill(pid, signal.SIGKILL)
    assert driver.wait() == 1
    assert events_of(vm, "start") == ["early"]
    (vm / "gate").touch()
    assert drive(vm).returncode == 0
    assert events_of(vm, "end") == ["early", "late"]


@pytest.mark.slow
def test_many_tasks_on_many_cores_are_each_run_once_in_order(tmp_path: Path) -> None:
    rows = [row for core in range(8) for row in core_of(["true"] * 60, core=core)]
    vm = exported(rows, tmp_path / "run")
    assert drive(vm).returncode == 0
    ends = events_of(vm, "end")
    assert sorted(ends) == sorted(row[0] for row in rows)
    for core in range(8):
        tasks = [row[0] for row in rows if row[2] == core]
        assert [task for task in ends if task in set(tasks)] == tasks


# ------------------------------------------------------------------------------------------------------- refusals


def test_a_task_without_a_command_is_named_with_the_way_out(tmp_path: Path) -> None:
    rows = [*core_of(["true", "true"]), ("no command", "vm", 1, 0, 1, None), ("neither", "vm", 1, 1, 2, None)]
    with pytest.raises(InputError, match=r"'no command'.*and 1 other task have none.*'command' in the bag"):
        export_plan(document_of(rows), tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("command", "message"), [("a\0b", "zero byte"), ("é" * 65_536, "131,072 bytes")])
def test_a_command_that_no_shell_takes_is_refused(tmp_path: Path, command: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        export_plan(document_of([("t", "vm", 0, 0, 1, command)]), tmp_path / "run")


def test_a_folder_and_its_driver_have_the_rights_that_new_ones_have(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        vm = exported(core_of(["true"]), tmp_path / "run")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (vm.parent, vm, vm / "run.sh", vm / "core-0.sh")]
    assert modes == [0o750, 0o750, 0o750, 0o640]


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SpotbagError, match="is not an empty folder"):
        export_plan(document_of(core_of(["true"])), tmp_path)
    with pytest.raises(SpotbagError, match="is not an empty folder"):
        export_plan(document_of(core_of(["true"])), tmp_path / "file")
    with pytest.raises(SpotbagError, match=r"the folder .* does not exist"):
        export_plan(document_of(core_of(["true"])), tmp_path / "none" / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# ------------------------------------------------------------------------------------------------------- SkyPilot


def test_skypilot_gets_a_file_for_each_vm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [*core_of(["true"], vm="c5.large-spot-1"), ("z", "z: [ü😀\"']", 0, 0, 1, "true")]
    first, second = export_plan(document_of(rows), "out", to="skypilot", infra="aws/us-east-1")
    task = yaml.safe_load(second.read_text())
    folder = second.with_suffix("")
    assert task == {
        "name": "vm-2-z",
        "workdir": ".",
        "resources": {"infra": "aws/us-east-1", "instance_type": "c5.large", "use_spot": True},
        "file_mounts": {f"~/spotbag/{folder.name}": str(folder)},
        "run": f"sh ~/spotbag/{folder.name}/run.sh",
    }
    assert (folder / "run.sh").is_file()
    assert yaml.safe_load(first.read_text())["name"] == "vm-1-c5-large-spot-1"
    with pytest.raises(SpotbagError, match="skypilot"):
        export_plan(document_of(rows), "out2", infra="aws")
