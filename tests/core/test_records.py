"""Records of documents: whatever a key is called, however much is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.instances.bags.timeline import TIMELINE_FORMAT, parse_timeline
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.instances.streams.stream import Stream
from spotbag.instances.streams.stream_files import library_stream
from spotbag.schedules.schedule_files import parse_schedule_document
from spotbag.traces.files import parse_traces

INSTANCE = library_instance("tiny/two-cores")
PLAN = {"format": "spotbag.schedule/1", "instance": "x", "vms": [], "tasks": []}
READERS: dict[str, tuple[dict[str, Any], Callable[[str, str], object]]] = {
    "instance": (INSTANCE.to_document(), Instance.parse),
    "stream": (library_stream("tiny/two-jobs").to_document(), Stream.parse),
    "platform": (library_platform("caron/two-sites").to_document(), Platform.parse),
    "plan": (PLAN, parse_schedule_document),
    "timeline": ({"format": TIMELINE_FORMAT, "name": "x", "events": []}, parse_timeline),
    "trace": (
        {"record": "header", "format": "spotbag.trace/1", "spotbag": "0", "instance": INSTANCE.to_document()},
        parse_traces,
    ),
}


@pytest.mark.parametrize("key", ["cls", "self", "args", "fields", "model_config", "__init__", "source"])
@pytest.mark.parametrize("reader", READERS)
def test_a_key_called_cls_is_an_unknown_key(reader: str, key: str) -> None:
    document, parse = READERS[reader]
    with pytest.raises(InputError, match=f"{key} is an unknown key"):
        parse(json.dumps({**document, key: 1}), "demo.json")


def test_a_field_called_cls_cannot_be_replaced() -> None:
    for key in ("cls", "self"):
        with pytest.raises(InputError, match=f"{key} is an unknown key"):
            INSTANCE.replace(**{key: 1})
