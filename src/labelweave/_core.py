"""The single entry point to the compiled kernels, for the best SIMD level of the CPU.

The kernels are compiled once for each x86-64 level: v2 (SSE4.2), v3 (AVX2 and FMA) and v4
(AVX-512); for other processors there is one module. The environment variable ``LABELWEAVE_SIMD``
selects a level.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__all__ = ["native"]

_VARIABLE = "LABELWEAVE_SIMD"
_REPAIR = (
    "Install the package instead of importing its source tree: run `make build` "
    "(or `pip install .`) in the checkout; this requires a C++17 compiler."
)


def choose_level(requested: str, available: tuple[str, ...], built: tuple[str, ...]) -> str:
    """Return the level to use: the requested one, or else the best."""
    usable = [level for level in available if level in built]
    if not requested:
        if not usable:
            raise ImportError(
                f"labelweave is compiled for {_listed(built)}, but this CPU supports "
                f"{_listed(available)}. "
                "Build it on this machine with `pip install .` in the checkout."
            )
        return usable[-1]
    if requested not in usable:
        reason = f"this CPU supports {_listed(available)}"
        if requested in available:
            reason = f"the kernels are compiled for {_listed(built)}"
        raise ImportError(
            f"{_VARIABLE}={requested} is not available: {reason}. Choose from: {_listed(usable)}."
        )
    return requested


def _listed(levels: list[str] | tuple[str, ...]) -> str:
    return ", ".join(levels) or "none of x86-64-v2, v3 and v4"


def _module_name(level: str) -> str:
    return f"labelweave._native_{level}"


def _load() -> Any:
    try:
        available = import_module("labelweave._cpu").levels()
        built = tuple(
            level for level in ("v2", "v3", "v4", "neon", "plain") if find_spec(_module_name(level))
        )
    except ImportError as error:  # pragma: no cover - needs a broken installation
        raise ImportError(
            f"labelweave's compiled core could not be loaded: {error}. {_REPAIR}"
        ) from error
    level = choose_level(os.environ.get(_VARIABLE, ""), available, built)
    try:
        return import_module(_module_name(level))
    except ImportError as error:  # pragma: no cover - needs a broken installation
        raise ImportError(
            f"labelweave's compiled core ({_module_name(level)}) could not be loaded: {error}. "
            f"{_REPAIR}"
        ) from error


if TYPE_CHECKING:
    from labelweave import _native as native
else:
    native = _load()
