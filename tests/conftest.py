"""Hypothesis looks for new examples on a developer's machine, and for the same ones where changes are judged."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same-examples", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("same-examples")
