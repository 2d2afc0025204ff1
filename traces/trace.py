"""A trace: what happened in a replay, event by event, and its outcome."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.errors import SpotbagError, show_value


@dataclass(frozen=True, slots=True)
class Trace:
    """Events of one replay, with its instance and settings.

    Attributes
    ----------
    instance : dict
        The instance document, with ``d_spot_s``; or that of a hybrid platform, with its jobs.
    run : dict
        The record ``run``, with the policy. Of a bag: day, plan, timeline, billing, hibernation; of a stream: seed,
        what identifies the stream, billing, jobs; of a platform: seed, which jobs were drawn, rules, whether it
        displaces; of a plan that was really run: plan, its start on the clock.
    events : list of dict
        The records ``event``, in the order they happened.
    end : dict
        The record ``end``: the figures of the replay.
    """

    instance: dict[str, Any]
    run: dict[str, Any]
    events: list[dict[str, Any]]
    end: dict[str, Any]

    def follow(self, take: Callable[[dict[str, Any]], None]) -> None:
        """Take in all events, in their order.

        Parameters
        ----------
        take : callable
            Takes in an event; a ``KeyError`` says what it does not know, or not in a state for that.

        Raises
        ------
        SpotbagError
            At the first event that cannot be taken in.
        """
        for number, event in enumerate(self.events, 1):
            try:
                take(event)
            except KeyError as error:
                raise SpotbagError(
                    f"event {number} of the trace ({event['event']!r} at {event['t']} s): {show_value(error.args[0])} "
                    "is not known, or not in a state for that; 'spotbag audit' says more"
                ) from None

    @property
    def of_stream(self) -> bool:
        """True for the trace of a stream."""
        return run_of_stream(self.run)

    @property
    def of_execution(self) -> bool:
        """True for the trace of a plan that was really run."""
        return run_of_execution(self.run)

    @property
    def of_platform(self) -> bool:
        """True for the trace of a hybrid platform."""
        return document_of_platform(self.instance)


def run_of_stream(run: Mapping[str, Any]) -> bool:
    """True for the run record of a stream."""
    return "jobs" in run


def run_of_execution(run: Mapping[str, Any]) -> bool:
    """True for the run record of a plan that was really run."""
    return "began_at" in run


def document_of_platform(document: Mapping[str, Any]) -> bool:
    """True for the document of a hybrid platform."""
    from ..instances.platforms.platform import PLATFORM_FORMAT  # here, so that bags load no platforms

    return document.get("format") == PLATFORM_FORMAT


def document_sha256(document: Mapping[str, Any]) -> str:
    """SHA-256 digest of a document: of its canonical JSON (sorted keys, no blanks, UTF-8), in hex."""
    canonical = json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
