"""Compiled functions whose files cannot be read or written are compiled without them, and the answers are the same."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba
import pytest

from spotbag.core import compiled as compiled_module
from spotbag.core import processes
from spotbag.core.compiled import NotKeptWarning, fingerprint, is_ready, keeps_loops, parts_of
from spotbag.core.limits import LimitReached, within
from spotbag.replay.bags import compiled_engine, moments, rules
from spotbag.replay.bags.compiled_engine import DRIVERS
from spotbag.replay.bags.policies.hads import Hads
from spotbag.replay.bags.policies.static import Static
from spotbag.replay.bags.state import RulePolicy
from tests.helpers.stops import StopAt

_MODULE = """
from spotbag.core.compiled import compiled

@compiled
def twice(number):
    return 2 * number
"""


def loaded(folder: Path, text: str) -> Any:
    """Load a module anew, as another process does."""
    path = folder / "doubling.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("doubling", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def load(tmp_path: Path) -> Callable[[], Any]:
    """Load a module with a compiled function anew, as another process does."""
    return lambda: loaded(tmp_path, _MODULE).twice


def cached(folder: Path) -> list[Path]:
    """Files of the cache."""
    return sorted((folder / "__pycache__").glob("*.nb?"))


def test_what_was_compiled_is_found(load: Callable[[], Any], tmp_path: Path) -> None:
    assert load()(21) == 42
    again = load()
    assert is_ready(again)
    assert again(21) == 42
    assert sum(again.stats.cache_hits.values()) == 1
    assert [path.suffix for path in cached(tmp_path)] == [".nbc", ".nbi"]


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("kept", [0, 0.5])
def test_a_truncated_cache_is_made_anew(load: Callable[[], Any], tmp_path: Path, ending: str, kept: float) -> None:
    assert load()(21) == 42
    [file] = [path for path in cached(tmp_path) if path.suffix == ending]
    whole = file.read_bytes()
    file.write_bytes(whole[: int(kept * len(whole))])
    damaged = load()
    assert is_ready(damaged) is (ending == ".nbc")
    assert damaged(21) == 42
    mended = load()
    assert mended(21) == 42
    assert sum(mended.stats.cache_hits.values()) == 1


@pytest.mark.parametrize("name", ["_save_index", "_save_data"])
def test_a_full_disk_does_without_a_cache(
    load: Callable[[], Any], tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, name, fail)
    monkeypatch.setattr(compiled_module, "_warned", [])
    with pytest.warns(NotKeptWarning, match="No space left on device.*NUMBA_CACHE_DIR"):
        assert load()(21) == 42
    assert cached(tmp_path) == []  # an index would name data that is not there, or that of an older version
    assert load()(21) == 42  # without a second warning
    assert not keeps_loops()


def test_where_no_folder_can_be_written_to_that_is_said_once(
    load: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each process compiled for 38 s, and nobody knew why.
    monkeypatch.setattr(numba.core.caching._CacheLocator, "ensure_cache_path", _fail_to_write)
    monkeypatch.setattr(compiled_module, "_warned", [])
    with pytest.warns(NotKeptWarning, match="neither the folder of spotbag nor the user's cache can be written to"):
        assert load()(21) == 42
    assert load()(21) == 42


def _fail_to_write(*given: Any) -> None:
    raise OSError(30, "Read-only file system")


def test_who_stops_work_does_not_wait_until_it_is_compiled(
    load: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    processes.wait_for_left_behind()  # a solver that another test has interrupted
    twice = load()
    begun, ended = processes.threading.Event(), processes.threading.Event()
    compile_all = twice.compile

    def compile_slowly(signature: Any) -> Any:
        begun.set()
        assert ended.wait(60)
        return compile_all(signature)

    monkeypatch.setattr(twice, "compile", compile_slowly)
    with within(stop=StopAt(2)), pytest.raises(LimitReached):
        twice(21)
    assert begun.is_set()
    assert processes.left_behind() == {processes.COMPILING}
    ended.set()
    processes.wait_for_left_behind()
    assert twice(21) == 42


# ------------------------------------------------- what changes in other files is seen, with the caches that there are

_OUTER = """
from spotbag.core.compiled import compiled
from inner_part import Pair, scaled

@compiled
def loop(number):
    return scaled(number) + Pair(number, 0).right
"""
_INNER = """
from dataclasses import dataclass
from typing import NamedTuple
from spotbag.core.compiled import compiled_part, shared_part
from spotbag.core.compiled_rows import rows_from
from innermost_part import FACTOR, TABLE, plus

@dataclass
class One:
    a: "int"
    b: "int"

@dataclass
class All:
    ones: "list[One]"

all_of = rows_from(All)

class Pair(NamedTuple):
    left: int
    right: int

@compiled_part
def scaled(number):
    return plus(FACTOR * number) + TABLE[0]

@compiled_part
def at(r):
    return all_of(r).ones[0].a
"""
_INNERMOST = """
import numpy as np
from spotbag.core.compiled import compiled_part

_TERM = 0
FACTOR = 2
TABLE = np.zeros(2)

@compiled_part
def plus(number, term=0):
    return number + _TERM + term
"""


@pytest.fixture
def loop_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Load a loop that is made of three files anew, in which some text is replaced, as another process does."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    texts = {"outer_loop": _OUTER, "inner_part": _INNER, "innermost_part": _INNERMOST}

    def load(old: str = "", new: str = "") -> Any:
        for name, text in texts.items():
            monkeypatch.delitem(sys.modules, name, raising=False)
            (tmp_path / f"{name}.py").write_text(text.replace(old, new) if old else text)
        importlib.invalidate_caches()
        return importlib.import_module("outer_loop").loop

    return load


def test_a_changed_part_of_another_file_is_compiled_anew(loop_of: Callable[..., Any]) -> None:
    assert loop_of()(21) == 42
    assert is_ready(loop_of())
    changed = loop_of("number + _TERM", "number - 2 + _TERM")
    assert not is_ready(changed)
    assert changed(21) == 40
    assert is_ready(loop_of("number + _TERM", "number - 2 + _TERM"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FACTOR = 2", "FACTOR = 2.0"),
        ("_TERM = 0", "_TERM = 1"),
        ("term=0", "term=1"),
        ("np.zeros(2)", "np.ones(2)"),
        ("FACTOR * number", "FACTOR + number"),
        ("TABLE[0]", "TABLE[1]"),
        ("@compiled_part\ndef scaled", "@shared_part\ndef scaled"),
        ("left: int\n    right: int", "right: int\n    left: int"),
    ],
)
def test_all_that_changes_what_a_loop_does_is_seen(loop_of: Callable[..., Any], old: str, new: str) -> None:
    assert fingerprint(loop_of()) != fingerprint(loop_of(old, new))


def test_records_are_told_apart_by_their_fields(loop_of: Callable[..., Any]) -> None:
    loop_of()
    before = fingerprint(sys.modules["inner_part"].at)
    loop_of('a: "int"\n    b: "int"', 'b: "int"\n    a: "int"')
    assert fingerprint(sys.modules["inner_part"].at) != before


def test_what_changes_nothing_costs_no_compiling(loop_of: Callable[..., Any]) -> None:
    before = fingerprint(loop_of())
    assert fingerprint(loop_of("_TERM = 0", "_TERM = 0  # nothing")) == before
    assert fingerprint(loop_of("_TERM = 0", "_TERM = 0\n_OTHER = 1")) == before
    assert before != fingerprint(loop_of("_TERM = 0", "_TERM = -0.0"))


def test_checked_bounds_have_a_cache_of_their_own(loop_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    loop = loop_of()
    before = fingerprint(loop)
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert fingerprint(loop) != before


_SPELLED_OUT = """
from spotbag.core.compiled import compiled, compiled_part

@compiled_part
def part(number, doubled):
    return 2 * number if doubled else number

@compiled
def loop(number):
    return part(0, True) + part(1, False) + part(number, number > 1) + part(7, number > 1)
"""


def test_a_part_is_compiled_once_whatever_numbers_are_written_out(tmp_path: Path) -> None:
    """Numba by itself would compile it four times here; 0 + 1 + 42 + 14."""
    loop = loaded(tmp_path, _SPELLED_OUT).loop
    assert loop(21) == 57
    assert len(loop.py_func.__globals__["part"].signatures) == 1


def test_a_loop_names_what_its_cache_could_not_tell_apart(loop_of: Callable[..., Any]) -> None:
    loop = loop_of("_TERM = 0", "_TERM = object()")
    with pytest.raises(TypeError, match="import single names"):
        loop(21)


_ROOT = Path(__file__).parents[2]
_STAGES = ("bounds", "heuristics", "models", "replay", "solvers")
_KERNELS = sorted(path for stage in _STAGES for path in (_ROOT / stage).rglob("*_kernel.py"))


@cache
def _loops() -> dict[tuple[Path, str], Any]:
    """Compiled loops of the package by their files and names."""
    found = {}
    for path in _KERNELS:
        module = importlib.import_module(".".join(("spotbag", *path.relative_to(_ROOT).with_suffix("").parts)))
        for name, value in vars(module).items():
            options = getattr(value, "targetoptions", {"no_cpython_wrapper": True})
            if value is not None and "no_cpython_wrapper" not in options and value.__module__ == module.__name__:
                found[path, name] = value
    return found


@cache
def _names_of(path: Path) -> dict[str, Any]:
    """What the names of a file stand for: statements, or the file and the name that they are imported from."""
    names: dict[str, Any] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            place = path.parents[node.level - 1].joinpath(*(node.module or "").split(".")).with_suffix(".py")
            names |= {alias.asname or alias.name: (place, alias.name) for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = node
        elif isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("compiled_part("):
            assert isinstance(node.value, ast.Call)  # of a rule of core/bill.py
            names[ast.unparse(node.targets[0])] = path, ast.unparse(node.value.args[0])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {one.id: node for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return names


def _names_in(function: ast.FunctionDef) -> set[str]:
    """Names that a function reads and does not set."""
    names = [one for part in function.body for one in ast.walk(part) if isinstance(one, ast.Name)]
    local = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    local |= {one.id for one in names if isinstance(one.ctx, ast.Store)}
    return {one.id for one in names} - local


_Place = tuple[Path, str]
"""A file, and a name in it."""


def _made_of(path: Path, name: str, in_place_of: Mapping[_Place, _Place] | None = None) -> dict[_Place, set[str]]:
    """Functions that the source says a loop is made of, with their files, and the names of the file that they use.

    Some stand in place of others.
    """
    made: dict[_Place, set[str]] = {}
    left = [(path, name)]
    while left:
        place, name = (in_place_of or {}).get(left[-1], left.pop())
        means = _names_of(place).get(name)
        if isinstance(means, tuple):
            left.append(means)
        elif isinstance(means, ast.FunctionDef) and (place, name) not in made:
            made[place, name] = _names_in(means) & {*_names_of(place)}
            left += [(place, used) for used in made[place, name]]
    return made


def test_all_loops_are_keyed_by_all_that_they_are_made_of() -> None:
    """The functions, files and names that the sources name are those that are looked at."""
    assert {len(_made_of(*place)) > 1 for place in _loops()} == {True, False}
    for place, loop in _loops().items():
        looked_at = {
            (Path(inspect.getfile(part)).resolve(), part.__name__): {*used}
            for part, used in parts_of(loop).items()
            if inspect.unwrap(_in_module(part)) is part  # others write code
        }
        made_of = _made_of(*place)
        assert {file for file, _ in looked_at} == {file for file, _ in made_of}, place
        assert {*looked_at} == {*made_of}, place
        assert all(made_of[part] <= looked_at[part] for part in made_of), place


def _in_module(part: FunctionType) -> Any:
    """What the module of a part has by its name: the function, or the loop that is compiled of it."""
    found = getattr(sys.modules[part.__module__], part.__name__, None)
    return getattr(found, "py_func", found)


def _place_of(function: Callable[..., Any]) -> _Place:
    return Path(inspect.getfile(function)).resolve(), function.__name__


@pytest.mark.parametrize("policy", DRIVERS)
def test_loops_of_policies_are_keyed_by_all_rules_that_they_are_made_of(policy: type[RulePolicy]) -> None:
    """With answers of the policy in place of questions, and with parts of their own in place of those of Python."""
    given = compiled_engine.in_place_of(policy)
    in_place_of = {_place_of(function): _place_of(other) for function, other in given.items()}
    made_of = _made_of(*_place_of(compiled_engine.drive), in_place_of)
    looked_at = {_place_of(part): {*used} for part, used in parts_of(DRIVERS[policy]).items()}
    code = _ROOT / "core" / "compiled_rows.py"  # writes some
    names = {place: used for place, used in looked_at.items() if place[0] != code}
    assert {*names} == {*made_of}
    assert all(made_of[place] <= names[place] for place in made_of)
    assert not {*in_place_of} & {*names}


def test_rules_that_ask_no_policy_are_the_same_parts_of_all_loops() -> None:
    made = {kind: {part.__code__: part for part in parts_of(driver)} for kind, driver in DRIVERS.items()}
    common = {*made[Static]} & {*made[Hads]}
    own = {code for code in common if made[Static][code] is not made[Hads][code]}
    assert own == {part.__code__ for part in _that_ask(DRIVERS[Static])} & common
    assert {rules.finish.__code__, rules.move_up.__code__} <= common - own
    assert {moments.ask_idle.__code__, moments.step.__code__} <= own


def _that_ask(driver: Any) -> set[FunctionType]:
    """Parts of a loop that call answers of a policy, directly or not."""
    uses = parts_of(driver)
    found = {part for part, used in uses.items() if any(name.startswith("answer_") for name in used)}
    while new := {part for part, used in uses.items() if found & {*map(_plain_of, used.values())}} - found:
        found |= new
    return found


def _plain_of(part: Any) -> Any:
    return getattr(part, "py_func", None)


@pytest.mark.parametrize(
    ("module", "name"),
    [(rules, "NOISE"), (rules, "LACKING_CREDITS"), (rules, "BASELINE"), (moments, "NOISE"), (moments, "WAKE")],
)
def test_a_changed_constant_of_the_rules_is_seen(
    module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_engine, "_PARTS", {})
    before = fingerprint(compiled_engine._driver(Static))
    assert before == fingerprint(DRIVERS[Static])
    monkeypatch.setattr(compiled_engine, "_PARTS", {})
    monkeypatch.setattr(module, name, getattr(module, name) + 1)
    assert fingerprint(compiled_engine._driver(Static)) != before


@pytest.mark.slow
def test_another_process_finds_the_same_loops() -> None:
    """Nothing that a loop is keyed by depends on addresses in memory or on the seed of hashes."""
    places = [(loop.__module__, loop.__name__) for loop in _loops().values()]
    code = f"""
from importlib import import_module
from spotbag.core.compiled import fingerprint
from spotbag.replay.bags.compiled_engine import DRIVERS
loops = [getattr(import_module(module), name) for module, name in {places}]
print(*map(fingerprint, loops), *sorted(map(fingerprint, DRIVERS.values())))
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    drivers = sorted(map(fingerprint, DRIVERS.values()))  # tests that take one out put it back as the last
    assert made.stdout.split() == [*map(fingerprint, _loops().values()), *drivers]


_TWO_LOOPS = """
import sys
from dataclasses import dataclass
import numpy as np
from spotbag.core import compiled
from spotbag.core.compiled_rows import compiled_rules, rows_from
from spotbag.core.rows import dtype_of

import spotbag.core.compiled_rows
compiled.is_ours = spotbag.core.compiled_rows.is_ours = lambda module: module == "__main__"

@dataclass(slots=True)
class State:
    number: "int" = 0

all_of = rows_from(State)

def answer(r):
    pass

def small(r):
    r.number += 1

def large(r):
    r.number += 100

def settle(r):
    for _ in range(r.number + 2):
        answer(r)
        if r.number > 1000:
            answer(r)

def drive(context):
    r = all_of(context[0])
    settle(r)
    settle(r)
    return r.number

made = {}
loops = {"small": compiled_rules(drive, "drive_small", {answer: small}, made)}
loops["large"] = compiled_rules(drive, "drive_large", {answer: large}, made)
for name in sys.argv[1:]:
    print(name, loops[name](np.zeros(1, dtype_of(State))))
"""


@pytest.mark.slow
def test_parts_of_loops_that_several_processes_have_compiled_are_told_apart(tmp_path: Path) -> None:
    """Each process numbers parts from 1 on; loops that were read together took the part of one for that of another.

    Of one each: 2 answers, then 4, 6 in all. Of a hundred each: 200 after 2 answers; of 202 more, 8 to 1,000 with
    one answer, 194 with two: 39,800.
    """
    path = tmp_path / "two_loops.py"
    path.write_text(_TWO_LOOPS)

    def run(*names: str) -> list[str]:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, path, *names], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split("\n")[:-1]

    assert run("small") == ["small 6"]
    assert run("large") == ["large 39800"]
    assert run("small", "large") == ["small 6", "large 39800"]
    assert run("large", "small") == ["large 39800", "small 6"]
