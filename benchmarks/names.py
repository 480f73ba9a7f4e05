"""The public names, for docs/reference.md: what `__all__` of labelweave and of its rooms lists."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from typing import Any

import labelweave
from benchmarks.tables import Rows

TOP = "labelweave"


def rooms() -> dict[str, tuple[str, ...]]:
    """Return the public names of every module that has some, sorted, by the module."""
    modules = [TOP, *(each.name for each in pkgutil.walk_packages(labelweave.__path__, f"{TOP}."))]
    modules = [name for name in modules if "._" not in name and ".cli" not in name]
    found = {name: getattr(import_module(name), "__all__", ()) for name in modules}
    # What the top level has as well is listed there only.
    top = set(found[TOP])
    own = {name: set(names) - (top if name != TOP else set()) for name, names in found.items()}
    return {name: tuple(sorted(names, key=str.lower)) for name, names in own.items() if names}


def table(room: str) -> Rows:
    """Return the names of a room, each with the first sentence of its documentation."""
    module = import_module(room)
    listed = ((name, getattr(module, name)) for name in rooms()[room])
    return [["name", "purpose"], *([f"`{name}`", _purpose(thing)] for name, thing in listed)]


def _purpose(thing: Any) -> str:
    described = inspect.isclass(thing) or inspect.isroutine(thing)
    text = inspect.getdoc(thing) if described else "The metrics by name; each can be called."
    return " ".join((text or "").partition("\n\n")[0].split()).replace("|", "\\|")
