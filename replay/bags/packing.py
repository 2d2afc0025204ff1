"""The loops of `on-time` for a replay in Python: rescues are always looked for by compiled code."""

from __future__ import annotations

from array import array
from typing import Any

import numba
import numpy as np

from ...core.compiled_rows import compiled_rules, rows_from
from ...core.rows import dtype_of, enter, tables_of
from .policies.on_time_rescue import latest_rescue, new_vms_from
from .rows import Rows, shapes

_numba: Any = numba  # it has no types
rows_of_record = rows_from(Rows)
_SINGLES = ("n_packed", "n_rescuers", "covered", "standby_latest_s", "n_found_new")


def _latest_rescue(context: Any, first_s: int, last_s: int) -> tuple[int, int]:
    """Pack tasks onto on-demand VMs."""
    return latest_rescue(rows_of_record(context[0]), first_s, last_s)


def _new_vms_from(context: Any, start_s: int) -> int:
    """Pack tasks onto new on-demand VMs."""
    return new_vms_from(rows_of_record(context[0]), start_s)


_PARTS: dict[Any, Any] = {}
_LATEST = compiled_rules(_latest_rescue, "latest_rescue", {}, _PARTS)
_NEW = compiled_rules(_new_vms_from, "new_vms_from", {}, _PARTS)


def compile_packing() -> None:
    """Have both loops at hand."""
    context = _numba.typeof(np.zeros(1, dtype=dtype_of(Rows)))
    _LATEST.compile((context, _numba.int64, _numba.int64))
    _NEW.compile((context, _numba.int64))


def numbers(n: int) -> list[int]:
    """Return numbers that Python reads and writes as those of a list, and loops by their address."""
    return array("q", bytes(8 * n))  # type: ignore[return-value]


class Packing:
    """Tables of a replay for the loops that pack, by address, and the fields of its state that they read.

    Parameters
    ----------
    state : ReplayState
        The replay, whose tables for `on-time` are there.
    """

    def __init__(self, state: Any) -> None:
        tables = state.plan.tables
        room = shapes({"packed": len(state.rescuers), "packed_cores": len(state.rescuer_kb)})
        self._context = np.zeros(1, dtype=dtype_of(Rows))
        self._limits = tables.given["limits"].copy()
        self._kept: list[Any] = []
        for name, row, _ in tables_of(Rows):
            if isinstance(values := getattr(state, name), array):
                self._enter(name, np.frombuffer(values, np.int64))
            elif name in room:
                self._enter(name, np.zeros(room[name], dtype_of(row)))
        for name in ("columns", "column_of", "standby_offers"):
            self._enter(name, np.array(getattr(state, name), np.int64))
        for name in ("offers", "members"):
            self._enter(name, tables.given[name])
        self._enter("limits", self._limits)
        for name in ("n_columns", "n_standby_offers", "most_cores", "n_limits", "start_overhead_s", "deadline_s"):
            self._context[name] = getattr(state, name)

    def _enter(self, name: str, table: Any) -> None:
        self._kept.append(table)
        enter(self._context[0], name, table)

    def latest_rescue(self, state: Any, first_s: int, last_s: int) -> tuple[int, int]:
        """Pack tasks onto on-demand VMs; see `on_time_rescue`."""
        return self._run(_LATEST, state, first_s, last_s)  # type: ignore[no-any-return]

    def new_vms_from(self, state: Any, start_s: int) -> int:
        """Pack tasks onto new on-demand VMs; see `on_time_rescue`."""
        return self._run(_NEW, state, start_s)  # type: ignore[no-any-return]

    def _run(self, loop: Any, state: Any, *given: int) -> Any:
        row = self._context[0]
        for name in _SINGLES:
            row[name] = getattr(state, name)
        self._limits["used"] = [limit.used for limit in state.limits]
        found = loop(self._context, *given)
        state.n_found_new = int(row["n_found_new"])
        return found
