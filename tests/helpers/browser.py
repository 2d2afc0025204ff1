"""Pages: the elements in them, and what a browser makes of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

_WATCH = """
<script>
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => errors.push("refused: " + event.blockedURI));
for (const kind of ["error", "warn"]) console[kind] = (...words) => errors.push(words.join(" "));
</script>
"""


class Reader(HTMLParser):
    """Elements of a page with their attributes, and the text in each kind of them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append("")

    def handle_data(self, data: str) -> None:
        if self.elements:
            self.texts[self.elements[-1][0]][-1] += data


def in_a_browser(made: bytes, folder: Path, width: int, script: str) -> dict[str, Any]:
    """Open a page, run a script in it, and return what it puts into ``answer``; ``errors`` has those of the page."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no Chromium")
    path = folder / "page.html"
    report = "answer.errors = errors; document.body.dataset.answer = JSON.stringify(answer)"
    steps = f"const answer = {{}}; try {{ {script} }} catch (error) {{ answer.error = String(error) }} {report}"
    run = f"<script>addEventListener('load', async () => {{ {steps} }})</script></body>"
    page = made.decode("utf-8").replace("<title>", f"{_WATCH}<title>", 1)
    path.write_text(run.join(page.rsplit("</body>", 1)), encoding="utf-8")
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command += [f"--window-size={width},800", "--virtual-time-budget=5000", "--dump-dom", path.as_uri()]
    at_home = os.environ | {"HOME": str(folder)}  # what a page saves goes there
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=at_home)
    [answer] = [attributes["data-answer"] for tag, attributes in Reader(done.stdout).elements if tag == "body"]
    assert answer is not None
    found: dict[str, Any] = json.loads(answer)
    return found
