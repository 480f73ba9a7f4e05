"""Named sets of parameters, such as those a method was published with.

A class with presets has two attributes: ``presets``, the parameters by the name of the preset, and
``preset``, which makes an object with ordinary parameters:
``TreeNetwork.preset("published", C=1.0)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

Made = TypeVar("Made")

#: Parameters by the name of the preset.
Presets: TypeAlias = Mapping[str, Mapping[str, Any]]
#: The presets of a class that has none.
NO_PRESETS: Presets = MappingProxyType({})


def published(**settings: Any) -> Presets:
    return MappingProxyType({"published": MappingProxyType(settings)})


def presets_of(kind: type) -> Presets:
    presets: Presets = getattr(kind, "presets", NO_PRESETS)
    return presets


class Preset:
    """The attribute `preset` of a class: makes an object with the parameters of a preset."""

    def __get__(self, instance: Any, owner: type[Made]) -> Callable[..., Made]:
        return partial(_make, owner)


def _make(kind: type[Made], name: str, **parameters: Any) -> Made:
    presets = presets_of(kind)
    if not isinstance(name, str) or name not in presets:
        known = ", ".join(map(repr, presets)) or "none"
        raise ValueError(f"{kind.__name__} has no preset {name!r}: it has {known}")
    return kind(**{**presets[name], **parameters})
