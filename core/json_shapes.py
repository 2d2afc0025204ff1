"""Size in memory of the values of a JSON text, estimated before the text is parsed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_FEWEST_CHARACTERS = 16
"""Mean length of the objects and arrays of any document of ours, at least; each takes some hundred bytes of memory."""
_FEW = 1_000_000
"""Objects and arrays that any text may hold."""
_DEEPEST = 10_000
_CHUNK = 1_000_000

_OBJECT, _ARRAY, _END, _KEY = 1, 2, 3, 4
_KINDS = np.zeros(256, dtype=np.uint8)
for _character, _kind in (("{", _OBJECT), ("[", _ARRAY), ("}", _END), ("]", _END), (":", _KEY)):
    _KINDS[ord(_character)] = _kind
_STEPS = np.array([0, 1, 1, -1, 0], dtype=np.int64)


def oversize(text: str, most_keys: int) -> str | None:
    """Fault of a JSON text whose values would take far more memory than usual for its length; None if there is none.

    Parameters
    ----------
    text : str
        Of a JSON document, or of anything else.
    most_keys : int
        Most keys of an object.
    """
    # Without escapes, every quotation mark begins or ends a text.
    plain = text.encode(errors="replace").replace(b"\\\\", b"__").replace(b'\\"', b"__")
    data = np.frombuffer(plain, dtype=np.uint8)
    most = max(_FEW, len(text) // _FEWEST_CHARACTERS)
    within, depth, containers = False, 0, 0
    n_keys = np.zeros(_DEEPEST + 1, dtype=np.int64)  # of the innermost open object of each depth
    for begin in range(0, len(data), _CHUNK):
        chunk = data[begin : begin + _CHUNK]
        quoted = np.logical_xor.accumulate(chunk == ord('"')) ^ within
        within = bool(quoted[-1])
        kinds = _KINDS[chunk]
        kinds[quoted] = 0
        kinds = kinds[kinds > 0]
        if not len(kinds):
            continue
        containers += int(np.count_nonzero(kinds <= _ARRAY))
        if containers > most:
            return f"holds more than {most} objects and arrays in {len(text)} characters, as no document of ours does"
        depths = depth + np.cumsum(_STEPS[kinds])
        depth = int(depths[-1])
        if depths.min() < 0 or depths.max() > _DEEPEST:
            return None  # no JSON, or too deep for any reader
        if _count_keys(kinds, depths, n_keys) > most_keys:
            return f"holds an object with more than {most_keys} keys"
    return None


def _count_keys(kinds: npt.NDArray[np.uint8], depths: npt.NDArray[np.int64], n_keys: npt.NDArray[np.int64]) -> int:
    """Count the keys of the objects of a chunk, going on with those that were open before it; return the most."""
    counted = (kinds == _OBJECT) | (kinds == _KEY)
    if not counted.any():
        return 0
    kinds, depths = kinds[counted], depths[counted].astype(np.uint16)
    order = np.argsort(depths, kind="stable")
    kinds, depths = kinds[order], depths[order]
    begins = kinds == _OBJECT
    new_depth = np.concatenate([[True], depths[1:] != depths[:-1]])
    starts = np.flatnonzero(begins | new_depth)
    counts = np.add.reduceat((kinds == _KEY).astype(np.int64), starts)
    going_on = ~begins[starts]
    counts[going_on] += n_keys[depths[starts[going_on]]]
    last = np.concatenate([new_depth[starts][1:], [True]])
    n_keys[depths[starts[last]]] = counts[last]
    return int(counts.max())
