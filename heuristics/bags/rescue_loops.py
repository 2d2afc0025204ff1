"""The rules of rescues as a compiled loop, in which arrays take the place of lists."""

from __future__ import annotations

from typing import Any

from ...core.compiled_rows import compiled_rules, rows_from
from . import rescue_rules
from .rescue_rules import LOW, Rows, answer

rows_of_record = rows_from(Rows)


def work_out(context: Any) -> int:
    """Answer a question."""
    return answer(rows_of_record(context[0]))


def sort_lost(r: Rows) -> None:
    """List the lost tasks by their keys."""
    for place in range(r.n_lost):
        sift_up(r.keys, place, r.keys[place])
    for place in range(r.n_lost):
        r.lost[place] = r.keys[0] & LOW
        last = r.n_lost - 1 - place
        sift_down(r.keys, last, r.keys[last])


def push(r: Rows, rental: int, key: int) -> None:
    """Put a key on a heap."""
    sift_up(r.heaps[rental], r.heap_sizes[rental], key)
    r.heap_sizes[rental] += 1


def replace_least(r: Rows, rental: int, key: int) -> None:
    """Take the least key from a heap, and put another one on it."""
    sift_down(r.heaps[rental], r.heap_sizes[rental], key)


def sift_up(heap: list[int], place: int, key: int) -> None:
    """Put a key where it belongs in a heap, from its last place on."""
    while place > 0:
        parent = (place - 1) >> 1
        if heap[parent] <= key:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = key


def sift_down(heap: list[int], size: int, key: int) -> None:
    """Put a key where it belongs in a heap, from its first place on."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key


IN_PLACE_OF = {getattr(rescue_rules, part.__name__): part for part in (sort_lost, push, replace_least)}
"""Parts of the rules, and what the compiled loop has in their places."""

LOOP = compiled_rules(work_out, "work_out_rescues", IN_PLACE_OF, {})
