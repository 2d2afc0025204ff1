"""Mutations of valid documents: of their structure, of the spelling of their values, and of their bytes.

All choices are made by one `random.Random`: the same seed gives the same inputs.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

Node: TypeAlias = Any


@dataclass(frozen=True)
class Spelled:
    """A value by its letters, which need not be JSON."""

    text: str


class Keys(list[list[Any]]):
    """An object: pairs of a key, as text or `Spelled`, and a value; a key may stand there twice."""


def tree(value: Any) -> Node:
    """Return a JSON value as it is mutated."""
    if isinstance(value, dict):
        return Keys([key, tree(child)] for key, child in value.items())
    return [tree(child) for child in value] if isinstance(value, list | tuple) else value


def spell(node: Node, ascii_only: bool = True) -> str:
    """Write a tree as text."""
    if isinstance(node, Spelled):
        return node.text
    if isinstance(node, Keys):
        pairs = (f"{spell(key, ascii_only)}: {spell(child, ascii_only)}" for key, child in node)
        return "{" + ", ".join(pairs) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(spell(child, ascii_only) for child in node) + "]"
    return json.dumps(node, ensure_ascii=ascii_only)


HOSTILE_TEXTS = (
    "",
    " ",
    "a\nb",
    "a\tb",
    "\x00",
    "\x1b[2J\x1b]0;owned\x07",
    "\x9b31m",
    "\u202eevil\u2066",
    "\u200b",
    "\u2028",
    "\x85",
    "[/bold]",
    "[red]",
    "%s{0}$\\frac{",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "日本",
    "e\u0301",
    "１２",
    "१२",
    "𝟙",
    "1_0",
    "1e5",
    "NaN",
    "null",
    "-",
    "#1",
    "t0#1",
    "spot",
    "on-demand",
    "x" * 200,
    "x" * 201,
    "x" * 100_001,
)
HOSTILE_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    0.5,
    -0.5,
    1e-9,
    0.1,
    10**6,
    10**9,
    10**9 + 1,
    2**31,
    2**53,
    2**53 + 1,
    2**63,
    10**18,
    10**40,
    1e300,
    5e-324,
    [],
    [[]],
    [None],
    *(
        Spelled(text)
        for text in (
            "NaN", "Infinity", "-Infinity", "-0", "-0.0", "1e400", "-1e400", "1e-400", "1" + "0" * 400, "9" * 5000,
            "0." + "3" * 3000, "01", "+1", ".5", "1.", "0x10", "1_0", "１", "True", "'a'", "", "{", "]", '"\\ud800"',
            '"\\ud83d\\ude00"', '"\\u0000"', '"\\x41"', '"\t"', "/* */ 1", "1e", "1E+2", "1.0e2", "{}", '{"": null}',
            '{"a": 1, "a": 2}', '{"__proto__": {}}', "[" * 500 + "]" * 500, "[" * 5000 + "]" * 5000,
            '{"a":' * 3000 + "1" + "}" * 3000, "[" * 100_000,
        )
    ),
)  # fmt: skip
HOSTILE_KEYS = (
    "cls", "self", "source", "document", "format", "name", "id", "count", "model_config", "model_fields", "__class__",
    "__init__", "_copy", "copy", "replace", "from", "from_vm", "fields", "spot", "burstable", "record", "event", "x",
    "most_entries", "FORMAT", "schema", "values", "data", "gap_seconds", "metadata", "deadlines", "Deadline_s",
)  # fmt: skip
FACTORS = (0.0, -1.0, 0.5, 2.0, 10.0, 1e3, 1e6, 1e12, 1e-3, 1e-6, 1e-12, 1 + 1e-9, 1 - 1e-9, 1 + 2**-52)


class Mutator:
    """Makes mutations of documents.

    Parameters
    ----------
    rng : random.Random
        What makes the choices.
    keys : sequence of str
        Keys of the format, by which others are renamed.
    """

    def __init__(self, rng: random.Random, keys: list[str]) -> None:
        self.rng = rng
        self.keys = keys

    # ------------------------------------------------------------------ whole documents

    def text(self, document: Any, heavy: bool = False) -> str:
        """Return the text of a mutated document."""
        rng = self.rng
        node = tree(document)
        way = rng.random()
        if way < 0.01:
            return self.dressed(node)
        if way < 0.35:  # spelled in another way, with other values and other names: most are still valid
            for _ in range(rng.choice((1, 2, 4, 30))):
                self.change_softly(node)
            if rng.random() < 0.5:
                self.rename_everywhere(node)
            return self.dressed(node)
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            node = self.change_hard(node, heavy)
        return self.dressed(node)

    def dressed(self, node: Node) -> str:
        """Write a tree in one of the ways in which JSON can be written."""
        rng = self.rng
        if rng.random() < 0.2:
            for holder in [holder for holder in walk(node) if isinstance(holder, Keys)]:
                rng.shuffle(holder)
        text = spell(node, ascii_only=rng.random() < 0.7)
        if rng.random() < 0.1:
            gap = rng.choice(("\n", "\r\n", "\t", "  ", "\n\n    "))
            text = text.replace(", ", f",{gap}")
        return text

    def as_bytes(self, text: str) -> bytes:
        """Return the bytes of a text, in one of ten cases damaged or in another encoding."""
        rng = self.rng
        data = text.encode("utf-8", "surrogatepass")
        if rng.random() < 0.9:
            return data
        way = rng.randrange(12)
        at = rng.randrange(len(data) + 1)
        if way == 0:
            return data[:at]
        if way == 1:
            return b"\xef\xbb\xbf" * rng.choice((1, 1, 2)) + data
        if way == 2:
            return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig")), "surrogatepass")
        if way == 3:
            return (
                data[:at] + rng.choice((b"\x00", b"\xff", b"\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf8")) + data[at:]
            )
        if way == 4:
            return data[:at] + data[at + rng.randrange(1, 9) :]
        if way == 5:
            return data[:at] + data[max(0, at - rng.randrange(60)) : at] + data[at:]
        if way == 6:
            return data + rng.choice((b"\n", b"\x00", b"\x1a", b"garbage", b"{}", b"//", data))
        if way == 7:
            return rng.choice((b"", b" ", b"\n", b"null", b"[]", b"{}", b'"a"', b"1", b"\x1f\x8b\x08", b"PK\x03\x04"))
        if way == 8:
            return bytes(rng.randrange(256) for _ in range(rng.randrange(300)))
        if way == 9:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        if way == 10:
            return data.replace(b" ", rng.choice((b"\x0b", b"\x0c", b"\xc2\xa0", b"\xe2\x80\xa8", b"\t", b"")))
        return data[:at] + rng.choice((b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"e", b"-", b"9")) + data[at:]

    # ------------------------------------------------------------------ single changes

    def change_softly(self, node: Node) -> None:
        """Spell a number in another way or change it a little, write a text, or leave out a key."""
        rng = self.rng
        holders = list(walk(node))
        places = [(holder, place) for holder in holders for place in range(len(holder))]
        if not places:
            return
        holder, place = rng.choice(places)
        value = _get(holder, place)
        if isinstance(value, bool) or value is None or isinstance(value, list | Spelled):
            if isinstance(holder, Keys) and rng.random() < 0.05:
                del holder[place]
            return
        if isinstance(value, int | float):
            _set(holder, place, self.near_number(value))
        elif isinstance(holder, Keys) and holder[place][0] in ("description", "notes", "source", "command", "method"):
            _set(holder, place, rng.choice(HOSTILE_TEXTS))

    def near_number(self, value: float) -> Node:
        """Return a number that is the same in other letters, or a little off."""
        rng = self.rng
        way = rng.randrange(8)
        if way == 0:
            return Spelled(f"{value:.17e}")
        if way == 1:
            return Spelled(f"{value}.0" if isinstance(value, int) else f"{value!r}")
        if way == 2:
            return Spelled(f"{value}e0" if isinstance(value, int) else f"{value!r}")
        if way == 3:
            return Spelled(f"{value:.60f}" if abs(value) < 1e18 else repr(value))
        if way == 4 and isinstance(value, int):
            return Spelled(f"{value}.{'0' * rng.randrange(1, 400)}")
        if way == 5:
            return value + rng.choice((1, -1, 7))
        if way == 6:
            return math.nextafter(value, rng.choice((0.0, math.inf)))
        return value * rng.uniform(0.5, 2) if isinstance(value, float) else max(int(value * rng.uniform(0.5, 2)), 1)

    def rename_everywhere(self, node: Node) -> None:
        """Call something by another name, wherever the name stands."""
        names = {
            child
            for holder in walk(node)
            if isinstance(holder, Keys)
            for key, child in holder
            if key in ("id", "name") and isinstance(child, str)
        }
        if not names:
            return
        old = self.rng.choice(sorted(names))
        new = self.rng.choice((*HOSTILE_TEXTS, old + self.rng.choice(HOSTILE_TEXTS)))
        for holder in walk(node):
            for place in range(len(holder)):
                if _get(holder, place) == old:
                    _set(holder, place, new)
                if isinstance(holder, Keys) and holder[place][0] == old:
                    holder[place][0] = new

    def change_hard(self, node: Node, heavy: bool) -> Node:
        """Change the structure; return the tree, which may be another one."""
        rng = self.rng
        holders = [holder for holder in walk(node) if holder]
        if not holders or rng.random() < 0.005:
            return self.value()
        holder = holders[0] if rng.random() < 0.15 else rng.choice(holders)
        place = rng.randrange(len(holder))
        changes: list[Callable[[list[Any], int, list[list[Any]]], None]] = [
            self._replace, self._replace, self._replace, self._scale, self._scale, self._delete, self._double,
            self._rename, self._add, self._swap, self._wrap, self._retype, self._write,
        ]  # fmt: skip
        if heavy:
            changes = [self._many_entries, self._many_keys, self._long]
        rng.choice(changes)(holder, place, holders)
        return node

    def value(self) -> Node:
        """Choose a value that is likely to be wrong."""
        rng = self.rng
        way = rng.random()
        if way < 0.6:
            return _copied(rng.choice(HOSTILE_VALUES))
        if way < 0.8:
            return rng.choice(HOSTILE_TEXTS)
        if way < 0.9:
            return rng.choice((1, -1)) * rng.randrange(10 ** rng.randrange(1, 25))
        return rng.choice((1, -1)) * rng.random() * 10.0 ** rng.randrange(-30, 30)

    def key(self) -> Node:
        """Choose a key."""
        rng = self.rng
        pool = rng.choice((HOSTILE_KEYS, HOSTILE_KEYS[:8], self.keys, HOSTILE_TEXTS))
        return Spelled('"\\ud800"') if rng.random() < 0.02 else rng.choice(pool)

    def _replace(self, holder: list[Any], place: int, _: list[list[Any]]) -> None:
        _set(holder, place, self.value())

    def _scale(self, holder: list[Any], place: int, _: list[list[Any]]) -> None:
        value = _get(holder, place)
        if isinstance(value, int | float) and not isinstance(value, bool):
            scaled = value * self.rng.choice(FACTORS)
            _set(holder, place, int(scaled) if isinstance(value, int) and math.isfinite(scaled) else tree(scaled))

    def _delete(self, holder: list[Any], place: int, _: list[list[Any]]) -> None:
        del holder[place]

    def _double(self, holder: list[Any], place: int, _: list[list[Any]]) -> None:
        holder.insert(self.rng.randrange(len(holder) + 1), _copied(holder[place]))

    def _rename(self, holder: list[Any], place: int, _: list[list[Any]]) -> None:
        if isinstance(holder, Keys):
            key = holder[place][0]
            near = isinstance(key, str) and self.rng.random() < 0.3
            holder[place][0] = self.rng.choice((key + "s", key.upper(), key[:-1], f" {key}")) if near else self.key()

    def _add(self, holder: list[Any], place: int, _: list[list[Any]]) -> None:
        holder.insert(place, [self.key(), self.value()] if isinstance(holder, Keys) else self.value())

    def _swap(self, holder: list[Any], place: int, holders: list[list[Any]]) -> None:
        other = self.rng.choice(holders)
        _set(holder, place, _copied(_get(other, self.rng.randrange(len(other)))))

    def _wrap(self, holder: list[Any], place: int, _: list[list[Any]]) -> None:
        value = _get(holder, place)
        _set(holder, place, [value] if self.rng.random() < 0.5 else Keys([[self.key(), value]]))

    def _retype(self, holder: list[Any], place: int, _: list[list[Any]]) -> None:
        value = _get(holder, place)
        if isinstance(value, str):
            _set(holder, place, Spelled(value) if self.rng.random() < 0.5 else len(value))
        elif not isinstance(value, list | Spelled):
            _set(holder, place, json.dumps(value))

    def _write(self, holder: list[Any], place: int, _: list[list[Any]]) -> None:
        if isinstance(_get(holder, place), str):
            value = _get(holder, place)
            at = self.rng.randrange(len(value) + 1)
            _set(holder, place, value[:at] + self.rng.choice(HOSTILE_TEXTS[:-3]) + value[at:])

    def _many_entries(self, holder: list[Any], place: int, holders: list[list[Any]]) -> None:
        lists = [one for one in holders if not isinstance(one, Keys)]
        target = self.rng.choice(lists) if lists else holder
        letters = sum(map(len, map(spell, target[0] if isinstance(target, Keys) else target[:1]))) + 4
        entry, count = target[0], min(10 ** self.rng.randrange(3, 7), 2_000_000 // letters)
        if isinstance(target, Keys) or self.rng.random() < 0.5:
            target.extend(_copied(entry) for _ in range(min(count, 20_000)))
        else:
            target.extend(self.rng.choice((None, 1, "x", [], Keys())) for _ in range(count))

    def _many_keys(self, holder: list[Any], place: int, holders: list[list[Any]]) -> None:
        objects = [one for one in holders if isinstance(one, Keys)]
        target = self.rng.choice(objects) if objects else holder
        count = 10 ** self.rng.randrange(2, 6)
        if isinstance(target, Keys):
            value = self.rng.choice((1, None, "x", Keys(), []))
            target.extend([f"k{number}", value] for number in range(count))

    def _long(self, holder: list[Any], place: int, _: list[list[Any]]) -> None:
        letter = self.rng.choice(("x", "\x1b", "é", "\u202e", "[", '"', "\\", "😀", " "))
        text = letter * 10 ** self.rng.randrange(3, 6)
        if isinstance(holder, Keys) and self.rng.random() < 0.5:
            holder[place][0] = text
        else:
            _set(holder, place, self.rng.choice((text, Spelled("1" * len(text)), Spelled("[" * len(text)))))


def walk(node: Node) -> Iterator[list[Any]]:
    """Yield all objects and arrays of a tree."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Keys):
            yield here
            waiting += [child for _, child in here if isinstance(child, list)]
        elif isinstance(here, list):
            yield here
            waiting += [child for child in here if isinstance(child, list)]


def _get(holder: list[Any], place: int) -> Node:
    return holder[place][1] if isinstance(holder, Keys) else holder[place]


def _set(holder: list[Any], place: int, value: Node) -> None:
    if isinstance(holder, Keys):
        holder[place][1] = value
    else:
        holder[place] = value


def _copied(node: Node) -> Node:
    if isinstance(node, Keys):
        return Keys([key, _copied(child)] for key, child in node)
    return [_copied(child) for child in node] if isinstance(node, list) else node
