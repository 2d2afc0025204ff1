"""Names of the library, beside files in the working folder."""

from __future__ import annotations

import json

import pytest

from spotbag.instances.library import library_instance
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.instances.streams.stream_files import library_stream
from tests.helpers.command_shell import Shell


@pytest.mark.parametrize("kind", ["instance", "stream", "platform"])
def test_a_library_name_is_not_shadowed_by_a_file(shell: Shell, kind: str) -> None:
    name, other = {
        "instance": ("tiny/two-cores", library_instance("tiny/boot")),
        "stream": ("tiny/two-jobs", library_stream("thai/table2")),
        "platform": ("caron/two-sites", library_platform("tiny/hybrid")),
    }[kind]

    def named(argument: str) -> object:
        if kind == "instance":
            return shell.json("bound", argument)["instance"]
        shell.run(kind, argument, "--write", "written.json")
        return json.loads((shell.folder / "written.json").read_text())["name"]

    (shell.folder / name).parent.mkdir()
    other.write(shell.folder / name)
    assert named(name) == name
    assert f"warning: {name} is taken from the library; the file of this name is ./{name}" in shell.err
    assert named(f"./{name}") == other.name
    assert "taken from the library" not in shell.err


def test_show_takes_a_name_from_the_library(shell: Shell) -> None:
    (shell.folder / "tiny").mkdir()
    library_instance("tiny/boot").write(shell.folder / "tiny" / "two-cores")
    assert "tiny/two-cores: " in shell.run("show", "tiny/two-cores")
    assert "tiny/boot: " in shell.run("show", "./tiny/two-cores")


def test_a_folder_of_a_library_name_is_no_file(shell: Shell) -> None:
    (shell.folder / "tiny" / "two-cores").mkdir(parents=True)
    assert "tiny/two-cores: " in shell.run("show", "tiny/two-cores")
    assert shell.err == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", '"format" is missing; it must say "spotbag.instance/1"'),
        ("[", "a file of tasks has no deadline"),
        ('{"format": "spotbag.instance/1", "format": "spotbag.schedule/1"}', "gives the key 'format' more than once"),
        ('{"format": 5}', "format 5 is not 'spotbag.instance/1'"),
        ('{"format": "spotbag.jobs/1"}', "this is a stream of jobs"),
    ],
)
def test_what_show_cannot_show_is_refused(shell: Shell, text: str, said: str) -> None:
    (shell.folder / "a").write_text(text)
    shell.run("show", "a", code=2)
    assert said in shell.err
