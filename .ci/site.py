"""Parts of the documentation site beside Markdown: formulas, the command reference, and the package to read."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import typer
from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor
from mkdocs.structure.files import File
from traitlets.config import Config

_ROOT = Path(__file__).parents[1]
_NIGHTLY = _ROOT / ".cache" / "nightly.html"
"""The report that ``make nightly`` has written, if it has."""


def on_startup(command: str, dirty: bool) -> None:
    """Put the package together for mkdocstrings, which leaves out folders that are not there when it is configured."""
    subprocess.run([_ROOT / ".ci" / "package-view", _ROOT / ".cache" / "package"], check=True)


def on_config(config: Any) -> None:
    """Have formulas read."""
    config.markdown_extensions.append(_Formulas())


def on_files(files: Any, config: Any) -> None:
    """Add the examples: the scripts, and the notebooks with what they print now."""
    folder = _ROOT / "examples"
    texts: dict[str, str | bytes] = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.*")}
    pages = [texts["README.md"].replace("](../docs/", "](../")]
    for name in sorted(name for name in texts if name.endswith(".py")):
        pages.append(_file(name, texts[name]))
    texts["README.md"] = "\n".join(pages)
    for path in sorted(folder.glob("*.ipynb")):
        texts |= _executed(path)
    texts["plugin/README.md"] = _plugin(folder / "plugin")
    for name, content in texts.items():
        files.append(File.generated(config, f"examples/{name}", content=content))
    if _NIGHTLY.exists():
        files.append(File.generated(config, _NIGHTLY.name, content=_NIGHTLY.read_bytes()))


def _file(name: str, text: str | bytes) -> str:
    """A section with the text of a file."""
    return f"## {name}\n\n```{'toml' if name.endswith('.toml') else 'python'}\n{text}```\n"


def _plugin(folder: Path) -> str:
    """The page of the plug-in: its files below what it says of them."""
    readme = (folder / "README.md").read_text(encoding="utf-8").replace("](../../docs/", "](../../")
    names = re.findall(r"\]\((\S+\.(?:py|toml))\)", readme)
    for name in names:
        readme = readme.replace(f"({name})", f"(#{name.rpartition('/')[2].replace('.', '')})")
    files = [_file(name.rpartition("/")[2], (folder / name).read_text(encoding="utf-8")) for name in names]
    return "\n".join([readme, *files])


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the reference of all commands where a page asks for it; examples, beside docs/, are below it on the site."""
    if "<!-- commands -->" in markdown:
        markdown = markdown.replace("<!-- commands -->", "\n".join(_commands()))
    if _NIGHTLY.exists():
        markdown = markdown.replace("`make nightly`", f"[`make nightly`](../{_NIGHTLY.name})")
    markdown = re.sub(r"^(```\w+) \w+$", r"\1", markdown, flags=re.MULTILINE)  # a second word is for tests
    return markdown.replace("../examples/", "examples/")


def _executed(path: Path) -> dict[str, str | bytes]:
    """Return a notebook as a page with its pictures, by name, after all its cells have run; once, until it changes."""
    cached = _ROOT / ".cache" / "notebooks" / f"{hashlib.sha256(path.read_bytes()).hexdigest()}.ipynb"
    if not cached.exists():
        notebook = nbformat.read(path, as_version=4)
        place = {"metadata": {"path": path.parent}}
        with tempfile.TemporaryDirectory() as sockets:
            local = Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}})  # no port is opened
            nbclient.NotebookClient(notebook, timeout=300, resources=place, config=local).execute()
        cached.parent.mkdir(exist_ok=True)
        nbformat.write(notebook, cached)
    notebook = nbformat.read(cached, as_version=4)
    parts: list[str] = []
    pictures: dict[str, str | bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
        for data in (output.data for output in cell.outputs if output.output_type != "stream"):
            if "image/png" in data:
                name = f"{path.stem}_{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode(data["image/png"])
                parts.append(f"![What the cell above draws]({name})")
            else:
                printed += data["text/plain"] + "\n"
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```")
    parts.append(f"This page is a [notebook]({path.name}), run when the site was built.")
    return {f"{path.stem}.md": "\n\n".join(parts), **pictures}


class _Formulas(Extension):
    """LaTeX as MathML, which needs no script: blocks of ``math``, and $`...`$ in a line, as on GitHub."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (the name is given)
        md.preprocessors.register(_DisplayedFormulas(md), "displayed-formulas", 28)
        md.inlinePatterns.register(_InlineFormulas(r"\$`([^`]+)`\$", md), "inline-formulas", 195)


class _DisplayedFormulas(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        return re.sub(r"^```math\n(.*?)^```$", self._formula, "\n".join(lines), flags=re.DOTALL | re.MULTILINE).split(
            "\n"
        )

    def _formula(self, block: re.Match[str]) -> str:
        # Browsers take the alignment of columns from style sheets only.
        mathml = convert(block[1].strip(), display="block").replace('columnalign="', 'class="')
        return "\n" + self.md.htmlStash.store(f'<div class="formula">{mathml}</div>') + "\n"


class _InlineFormulas(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # type: ignore[override]  # noqa: N802
        return self.md.htmlStash.store(convert(m[1])), m.start(0), m.end(0)


def _commands() -> Iterator[str]:
    """Markdown lines of the reference of all commands."""
    from spotbag.cli.app import make_app

    yield from _reference(typer.main.get_command(make_app()), "spotbag")


def _reference(command: Any, name: str, context: Any = None) -> Iterator[str]:
    """Markdown lines of the reference of a command and of those below it: what their --help says."""
    context = command.context_class(command, info_name=name.rpartition(" ")[2], parent=context)
    if context.parent is not None:
        yield from (f"{'#' * len(name.split())} {name}", "")
    for paragraph in (command.help or "").split("\n\n"):
        if paragraph.startswith("\b\n"):  # lines that stay as they are
            yield from ("```text", paragraph.removeprefix("\b\n"), "```", "")
        else:
            yield from (_text(paragraph), "")
    yield from ("```text", " ".join([name, *command.collect_usage_pieces(context)]), "```", "")
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [f"| `{names}` | {_text(meaning)} |" for names, meaning in filter(None, records)]
    yield from ("| argument or option | meaning |", "|---|---|", *rows, "")
    if command.epilog:
        kind, _, example = command.epilog.partition(":")
        yield from (f"{kind}:", "", "```bash", example.strip(), "```", "")
    for sub_name, sub_command in getattr(command, "commands", {}).items():
        yield from _reference(sub_command, f"{name} {sub_name}", context)


def _text(text: str) -> str:
    """Text of a help message as Markdown that shows it as it is."""
    return re.sub(r"([*_|\\`\[\]])", r"\\\1", html.escape(" ".join(text.split()), quote=False))
