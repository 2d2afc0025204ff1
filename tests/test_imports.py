"""Who may import whom: stages downwards, no system another, and no circle of files; what an ``__init__`` may hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

pytestmark = pytest.mark.xdist_group("imports")  # one process: reading all files takes long

ROOT = Path(__file__).parents[1]
STAGES = {
    "core": [],
    "instances": ["core"],
    "schedules": ["core", "instances"],
    "traces": ["core", "instances", "schedules"],
    "audits": ["core", "instances", "schedules", "traces"],
    "models": ["core", "instances", "schedules"],
    "bounds": ["core", "instances", "schedules", "models"],
    "heuristics": ["core", "instances", "schedules", "models", "bounds"],
    "solvers": ["core", "instances", "schedules", "models", "bounds", "heuristics", "audits"],
    "replay": ["core", "instances", "schedules", "traces", "audits", "models", "bounds", "heuristics", "solvers"],
    "charts": ["core", "instances", "schedules", "traces", "solvers"],
    "executors": ["core", "instances", "schedules", "traces", "audits", "models", "bounds", "heuristics", "solvers"],
    "experiments": [
        *["core", "instances", "schedules", "traces", "audits", "models", "bounds", "heuristics", "solvers", "replay"],
        *["charts", "executors"],
    ],
    "reports": [
        *["core", "instances", "schedules", "traces", "audits", "models", "bounds", "heuristics", "solvers", "replay"],
        *["charts", "executors", "experiments"],
    ],
}
"""Stages, and those that each may import beside itself. The package ``spotbag`` itself (src) may import all.

The distribution ``spotbag-papers`` (benchmarks), which imports ``spotbag`` as its users do, stands above them.
"""
PAPERS = "benchmarks"
SYSTEMS = {"bags", "streams", "platforms"}
DOORS = {
    "traces/trace.py",
    "traces/files.py",
    "traces/stories.py",
    "audits/auditor.py",
    "charts/replay.py",
    "audits/given.py",
    "solvers/backend.py",
}
"""Shared files that may import systems: they choose by system, and a back end takes its limits from a run of a method.

Besides them: data, and what is shared of the command line.
"""
INITS_WITH_CODE = {
    "replay/bags/policies/__init__.py",
    "replay/streams/policies/__init__.py",
    "src/spotbag/__init__.py",
    "src/spotbag/cli/__init__.py",
}
"""An ``__init__`` that holds more than a docstring: lists of policies, the public names, and the command line."""


def modules() -> dict[str, Path]:
    """Files of the package by their dotted names, ``spotbag`` left out: ``models.bags.interval``."""
    found = {}
    for path in sorted(path for top in (*STAGES, "src", PAPERS) for path in (ROOT / top).rglob("*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] == "src":
            place = place.relative_to("src/spotbag") if place.parts[1] == "spotbag" else None
        elif place.parts[0] not in (*STAGES, PAPERS):
            place = None
        if place is None or "build" in place.parts:
            continue
        parts = place.with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def named_modules(table: ast.expr) -> Iterator[str]:
    """Modules that a table ``_MODULES`` names, which are imported when they are asked for."""
    entries = ast.literal_eval(table)
    assert entries
    yield from entries.values()


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements of a file, however deep; expressions hold none and are passed over."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.expr):
            yield node
            yield from statements(node)


def modules_named(target: str, node: ast.ImportFrom) -> set[str]:
    """Modules that an import from another one asks for: those that it names, or the one that has what it names."""
    inside = {f"{target}.{alias.name}".lstrip(".") for alias in node.names}
    return {each if each in MODULES else target for each in inside}


def imports_of(name: str, path: Path) -> set[str]:
    """Modules of the package that a file imports, wherever in it, also for types only."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    package = [part for part in package if part]
    found: set[str] = set()
    stub = path.with_suffix(".pyi")  # what it names is imported when it is asked for
    texts = [file.read_text(encoding="utf-8") for file in (path, stub) if file.exists()]
    for node in statements(ast.parse("\n".join(texts).replace("from __future__ import annotations\n", ""))):
        if isinstance(node, ast.ImportFrom) and package[:1] == [PAPERS] and (node.module or "").startswith("spotbag"):
            found |= modules_named(node.module.partition(".")[2], node)
        elif isinstance(node, ast.Import):
            top = {alias.name.split(".")[0] for alias in node.names}
            assert not top & {"spotbag", *STAGES}, f"{path}: use relative imports between folders"
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            # The bare name of a stage would import a second copy of every class from the repository's root.
            top = {(node.module or "").split(".")[0]}
            assert not top & {"spotbag", *STAGES}, f"{path}: use relative imports between folders"
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1]
            found |= modules_named(".".join(base + (node.module.split(".") if node.module else [])), node)
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "_MODULES":
            found |= {".".join([*package, place]) for place in named_modules(node.value)}
    assert found <= set(MODULES), (path, found - set(MODULES))
    return found - {name}


def imported_packages(path: Path) -> set[str]:
    """Packages of others that a file imports, wherever in it."""
    names: set[str] = set()
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
    return {name.split(".")[0] for name in names}


@cache
def imports() -> dict[str, set[str]]:
    """Modules that each module imports."""
    return {name: imports_of(name, path) for name, path in MODULES.items()}


def stage_of(name: str) -> str:
    """Stage of a module; ``src`` for what belongs to none."""
    first = name.split(".")[0]
    return first if first in (*STAGES, PAPERS) else "src"


def system_of(name: str) -> str | None:
    """System of a module; plans are of bags."""
    if name.split(".")[0] in ("schedules", "executors"):
        return "bags"
    return next((part for part in name.split(".") if part in SYSTEMS), None)


def is_door(name: str) -> bool:
    """Whether a shared module may import systems."""
    place = MODULES[name].relative_to(ROOT).as_posix()
    return place in DOORS or place.startswith(("instances/data/", "src/", PAPERS))


@pytest.mark.parametrize("stage", [*STAGES, "src", PAPERS])
def test_stages_import_only_what_stands_below_them(stage: str) -> None:
    above = {"src": {*STAGES, "src"}, PAPERS: {*STAGES, "src", PAPERS}}
    may = above[stage] if stage in above else {stage, *STAGES[stage]}
    wrong = [
        f"{name} imports {target}"
        for name, targets in imports().items()
        if stage_of(name) == stage
        for target in sorted(targets)
        if stage_of(target) not in may
    ]
    assert not wrong


def test_no_system_imports_another() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, targets in imports().items()
        for target in sorted(targets)
        if system_of(name) and system_of(target) and system_of(name) != system_of(target)
    ]
    assert not wrong


def test_what_systems_share_imports_none_of_them() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, targets in imports().items()
        if system_of(name) is None and not is_door(name)
        for target in sorted(targets)
        if system_of(target)
    ]
    assert not wrong


def test_models_and_heuristics_run_no_linear_programme() -> None:
    # Models say what a programme is; what bounds and plans are made of comes from `bounds` and `solvers`.
    wrong = [
        f"{name} imports {target}"
        for name, path in MODULES.items()
        if stage_of(name) in ("models", "heuristics")
        for target in sorted(imported_packages(path) & {"highspy", "scipy"} | imports()[name] & {"bounds.programme"})
    ]
    assert not wrong


@pytest.mark.parametrize("door", sorted(DOORS))
def test_every_door_is_needed(door: str) -> None:
    [name] = [name for name, path in MODULES.items() if path == ROOT / door]
    assert system_of(name) is None
    assert any(system_of(target) for target in imports()[name])


def test_modules_that_are_named_in_a_table_count_as_imports() -> None:
    assert {"cli.bags.solve", "cli.audit", "cli.streams.size"} <= imports()["cli.app"]
    assert {"audits.auditor", "solvers.bags.solve"} <= imports()[""]


def test_the_table_in_the_docs_is_the_one_that_is_checked() -> None:
    text = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for stage, cell in re.findall(r"^\| `([\w/]+)/` \| .* \| ([^|]*) \|$", text, re.MULTILINE):
        words = re.sub(r" \(.*\)", "", cell)
        named = {"nothing": set(), "all above": set(found), "all": set(found)}
        found[stage] = named[words] if words in named else set(words.split(", "))
    assert found.pop(PAPERS) == {*STAGES, "src/spotbag"}
    assert found.pop("src/spotbag") == set(STAGES)
    assert found == {stage: set(others) for stage, others in STAGES.items()}


def test_an_init_holds_a_docstring_only() -> None:
    with_code = set()
    for path in MODULES.values():
        if path.name == "__init__.py":
            first, *rest = ast.parse(path.read_text(encoding="utf-8")).body
            assert isinstance(first, ast.Expr), path
            if rest:
                with_code.add(path.relative_to(ROOT).as_posix())
    assert with_code == INITS_WITH_CODE


def test_no_file_imports_itself_through_others() -> None:
    graph = nx.DiGraph((name, target) for name, targets in imports().items() for target in targets)
    assert [sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1] == []
