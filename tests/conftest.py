"""Hypothesis looks for new examples on a developer's machine, and for the same ones where changes are judged.

How long an example takes, or is in the making, decides nothing: machines differ.

The garbage collector runs seldom, and passes over what was loaded before the first test: a fifth of the processor time
went into looking at solvers and plotting libraries again and again.

Compiled modules are kept, even where PYTHONDONTWRITEBYTECODE is set: else each of some sixty processes compiles the
package and the tests anew.
"""

from __future__ import annotations

import gc
import os
import sys

from hypothesis import HealthCheck, settings

_AS_LONG_AS_IT_TAKES = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("new-examples", _AS_LONG_AS_IT_TAKES)
settings.register_profile("same-examples", _AS_LONG_AS_IT_TAKES, derandomize=True)
settings.load_profile("same-examples" if os.environ.get("CI") else "new-examples")

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish() -> None:
    gc.freeze()
