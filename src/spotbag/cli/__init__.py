"""The command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code: 0 done, 1 no feasible plan, 2 bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    from ..instances.errors import InputError, SpotbagError
    from .app import app

    try:
        app(args=given, prog_name="spotbag")
    except SpotbagError as error:
        print(f"error: {error}", file=sys.stderr)
        if "--json" in given:
            import json

            issues = error.issues if isinstance(error, InputError) else ()
            listed = [{"path": issue.path, "item": issue.item, "message": str(issue)} for issue in issues]
            print(json.dumps({"status": "error", "message": str(error), "issues": listed}, indent=2))
        return BAD_INPUT
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0
