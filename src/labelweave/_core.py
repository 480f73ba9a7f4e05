"""The one door to the compiled kernels: the module for the best SIMD level that the CPU has.

The kernels are compiled once for each level of x86-64: v2 (SSE4.2), v3 (AVX2 and FMA) and v4
(AVX-512); on other processors there is one module. The environment variable ``LABELWEAVE_SIMD``
asks for a level.
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
    "(or `pip install .`) in the checkout, with a C++17 compiler at hand."
)


def choose_level(asked: str, available: tuple[str, ...], built: tuple[str, ...]) -> str:
    """Return the level to use: the one that is asked for, or else the best.

    Parameters
    ----------
    asked : str
        The value of ``LABELWEAVE_SIMD``; empty if nothing was asked for.
    available : tuple of str
        The levels of the CPU, the best one last.
    built : tuple of str
        The levels the kernels are compiled for.

    Examples
    --------
    >>> choose_level("", available=("v2", "v3"), built=("v2", "v3", "v4"))
    'v3'
    """
    usable = [level for level in available if level in built]
    if not asked:
        if not usable:
            raise ImportError(
                f"labelweave is compiled for {_listed(built)}; this CPU has {_listed(available)}. "
                "Build it on this machine: pip install . in the checkout."
            )
        return usable[-1]
    if asked not in usable:
        reason = f"this CPU has {_listed(available)}"
        if asked in available:
            reason = f"the kernels are compiled for {_listed(built)}"
        raise ImportError(
            f"{_VARIABLE}={asked} is not possible: {reason}. Use one of: {_listed(usable)}."
        )
    return asked


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
