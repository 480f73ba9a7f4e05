"""Named sets of parameters, such as those a method was published with.

Defaults are what serves best; a preset is what somebody else has fixed. It fills in ordinary
parameters when an object is made, so that printing, cloning and searching over parameters need to
know nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeAlias

#: Parameters by the name of the preset.
Presets: TypeAlias = Mapping[str, Mapping[str, Any]]


class HasPresets:
    """A class with named sets of parameters."""

    presets: ClassVar[Presets] = MappingProxyType({})

    @classmethod
    def preset(cls, name: str, **parameters: Any) -> Self:
        """Return an object with the parameters of a preset."""
        if not isinstance(name, str) or name not in cls.presets:
            known = ", ".join(map(repr, cls.presets)) or "none"
            raise ValueError(f"{cls.__name__} has no preset {name!r}: it has {known}")
        return cls(**{**cls.presets[name], **parameters})


def published(**settings: Any) -> Presets:
    """Return the one preset of a method that was published with these settings."""
    return MappingProxyType({"published": MappingProxyType(settings)})
