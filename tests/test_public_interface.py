"""What docs/howto/embed.md promises to keep is kept, or its change is seen."""

from __future__ import annotations

import runpy
from pathlib import Path

HERE = Path(__file__).parent


def test_names_parameters_formats_and_options_are_those_that_are_stored() -> None:
    stored = set((HERE / "public_interface.txt").read_text().splitlines())
    now = set(runpy.run_path(str(HERE / "public_interface.py"))["public_interface"]())
    changed = "if it is meant and in the changelog: python tests/public_interface.py > tests/public_interface.txt"
    assert stored - now == set(), f"taken away or changed; {changed}"
    assert now - stored == set(), f"new; {changed}"
