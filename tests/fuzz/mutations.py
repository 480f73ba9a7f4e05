"""Random damage: to bytes, and to archives whose checksums are right all the same."""

from __future__ import annotations

import io
import json
import random
import zipfile
from typing import Any

import numpy as np

# What stands in for a value of a JSON document.
VALUES: tuple[Any, ...] = (None, True, -1, 0, 2**63, 1e308, "", "x", [], {}, [[1]], {"a": 1})


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Overwrite, drop or insert a few bytes."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed) + 1)
        changed[at : at + rng.randint(0, 8)] = rng.randbytes(rng.randint(0, 8))
    return bytes(changed)


def forged(content: bytes, rng: random.Random) -> bytes:
    """Change one entry of a zip archive and write it anew."""
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        entries = {name: source.read(name) for name in source.namelist()}
    name = rng.choice(sorted(entries))
    if rng.random() < 0.1:
        del entries[name]
    elif name.endswith(".json"):
        entries[name] = json.dumps(forged_json(json.loads(entries[name]), rng)).encode()
    elif name.endswith(".npy"):
        entries[name] = forged_array(entries[name], rng)
    else:
        entries[name] = damaged(entries[name], rng)
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as target:
        for each, entry in entries.items():
            target.writestr(each, entry)
    return result.getvalue()


def forged_json(value: Any, rng: random.Random) -> Any:
    """Replace or drop something anywhere in a JSON document."""
    parts = list(value) if isinstance(value, dict) else list(range(len(value)))
    part = rng.choice(parts) if parts else None
    if part is None:
        return rng.choice(VALUES)
    inner = value[part]
    if isinstance(inner, dict | list) and inner and rng.random() < 0.9:
        value[part] = forged_json(inner, rng)
        return value
    if rng.random() < 0.3:
        del value[part]
    else:
        value[part] = rng.choice([*VALUES, *_neighbours(value[part], rng)])
    return value


def _neighbours(value: Any, rng: random.Random) -> list[Any]:
    if isinstance(value, str):
        return [value[::-1], value + "x", damaged(value.encode(), rng).decode("latin-1")]
    return [value + 1, -value] if isinstance(value, int | float) else []


def forged_array(content: bytes, rng: random.Random) -> bytes:
    """Change the values, the shape or the type of an array in NumPy's format."""
    try:
        array = np.load(io.BytesIO(content))
    except ValueError:
        return damaged(content, rng)
    changes = (
        lambda: array[..., None],
        lambda: array.ravel()[:-1],
        lambda: np.repeat(np.atleast_1d(array), 2, axis=0),
        lambda: array.astype(rng.choice(["f4", "f8", "i1", "i8", "u2", "c16", "?"])),
        lambda: _with_value(array, rng),
        lambda: _with_value(array, rng),
    )
    result = io.BytesIO()
    with np.errstate(all="ignore"):
        np.save(result, rng.choice(changes)())
    return result.getvalue()


def _with_value(array: np.ndarray, rng: random.Random) -> np.ndarray:
    if not array.size or array.dtype.kind not in "fiu":
        return array.T
    extremes = {"f": [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, 0.0]}
    info = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
    choices = [info.min, info.max, -1 if info.min else 1] if info else extremes["f"]
    changed = array.copy()
    changed.ravel()[rng.randrange(array.size)] = rng.choice(choices)
    return changed
