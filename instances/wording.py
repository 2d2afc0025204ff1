"""Small words for messages."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 VM``, ``2 VMs``, ``1,200 tasks``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def shortened(text: str, length: int) -> str:
    """Return a text that is no longer than asked, cut at the end if need be."""
    return text if len(text) <= length else text[: length - 1] + "…"


def cut_in_the_middle(text: str, length: int) -> str:
    """Return a text that is no longer than asked; names that differ only at their ends still do."""
    if len(text) <= length:
        return text
    end = (length - 1) // 2
    return f"{text[: length - 1 - end]}…{text[len(text) - end :]}"
