"""What is said about faulty documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.core.records import WholeDocument


def errors_of(kind: type[WholeDocument], faulty: Any) -> str:
    """What is said about a text, or a document, that is not one of a kind."""
    text = faulty if isinstance(faulty, str) else json.dumps(faulty)
    with pytest.raises(InputError) as caught:
        kind.parse(text, "demo.json")
    message = str(caught.value)
    assert message.startswith("demo.json: ")
    return message
