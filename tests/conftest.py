"""Hypothesis looks for new examples on a developer's machine, and for the same ones where changes are judged.

How long an example takes decides nothing: machines differ.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("new-examples", deadline=None)
settings.register_profile("same-examples", deadline=None, derandomize=True)
settings.load_profile("same-examples" if os.environ.get("CI") else "new-examples")
