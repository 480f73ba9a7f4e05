"""The house keeps its plan: imports point downwards, stubs are current, names are documented."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import labelweave
from labelweave._core import native
from tests.conftest import PROJECT

CONFIGURATION = PROJECT / "pyproject.toml"
ROOMS = sorted(
    name
    for _, name, _ in pkgutil.iter_modules(labelweave.__path__)
    if not name.startswith("_") and name not in ("cli", "logistic")
)
# Records that are shown by the examples of what makes or calls them.
SHOWN_ELSEWHERE = {"joint": {"JointDistribution"}}

# Packages whose modules all others may import, private or not: the ground floor.
GROUND_FLOOR = {"_common", "_core"}


def layers() -> list[str]:
    with CONFIGURATION.open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    # Rooms on one line are siblings, none of which may import another.
    lines = [line for contract in contracts for line in contract["layers"]]
    return [layer.strip() for line in lines for layer in line.split("|")]


def public(room: str) -> dict[str, object]:
    module = importlib.import_module(f"labelweave.{room}" if room else "labelweave")
    return {name: getattr(module, name) for name in getattr(module, "__all__", ())}


def own_docstring(thing: object) -> str:
    # A subclass without a docstring would show its parent's.
    text = vars(thing).get("__doc__") if inspect.isclass(thing) else inspect.getdoc(thing)
    return text or ""


def test_imports_point_downwards(capsys):
    status = lint_imports(config_filename=str(CONFIGURATION), no_cache=True, no_logo=True)
    assert status == 0, capsys.readouterr().out


# The folders of native/, from below; those of one line include none of each other.
NATIVE_LAYERS = [
    {"simd", "threads", "readers"},
    {"random", "linalg", "design"},
    {"chain", "tree", "field", "logistic", "edges", "online", "svm", "decision"},
    {"bind"},
]


def test_includes_of_native_code_point_downwards():
    level = {folder: k for k, layer in enumerate(NATIVE_LAYERS) for folder in layer}
    sources = sorted((PROJECT / "native").glob("*/*.?pp"))
    assert {path.parent.name for path in sources} == {*level, "cpu"}
    for path in sources:
        folder = path.parent.name
        for included in re.findall(r'#include "([^"/]+)/', path.read_text("utf-8")):
            assert included == folder or level[included] < level[folder], path


def test_every_module_has_its_place_among_the_layers():
    found = {name for _, name, _ in pkgutil.iter_modules(labelweave.__path__)}
    compiled = {name for name in found if name == "_cpu" or name.startswith("_native")}
    assert found - {"__main__"} - compiled == {layer.partition(".")[2] for layer in layers()}


def imported_names(path: Path) -> list[str]:
    """Return what a module imports from labelweave, as dotted paths below it."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    relative = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level]
    assert not relative, f"{path} has relative imports"
    names = [a.name for node in nodes if isinstance(node, ast.Import) for a in node.names]
    names += [
        f"{node.module}.{alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    return [name.partition(".")[2] for name in names if name.startswith("labelweave.")]


def private_imports() -> set[tuple[str, str]]:
    package = Path(labelweave.__file__).parent
    found = set()
    for path in package.rglob("*.py"):
        module = path.relative_to(package).with_suffix("")
        for name in imported_names(path):
            home, *inside = name.split(".")
            parts = inside if home in GROUND_FLOOR else [home, *inside]
            is_private = any(part.startswith("_") and not part.endswith("__") for part in parts)
            if home != module.parts[0] and module.parts[0] != "_core" and is_private:
                found.add((".".join(module.parts), name))
    return found


def test_no_package_imports_what_is_private_to_another():
    assert private_imports() == set(), "give it a public name, or move it to the ground floor"


def test_native_code_has_one_door():
    package = Path(labelweave.__file__).parent
    sources = {path: path.read_text("utf-8") for path in package.rglob("*.py")}
    users = {
        path.name
        for path, text in sources.items()
        if "_native" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom | ast.Import) and "_native" in ast.unparse(node)
    }
    assert users == {"_core.py"}


def test_the_stub_of_the_compiled_module_is_current(tmp_path):
    fresh = tmp_path / "_native.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-m", native.__name__, "-o", fresh]
    subprocess.run(command, check=True, capture_output=True)
    kept = Path(labelweave.__file__).with_name("_native.pyi")
    assert ast.unparse(ast.parse(kept.read_text("utf-8"))) == ast.unparse(
        ast.parse(fresh.read_text("utf-8"))
    ), "run `make stubs`"


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_public_names_are_documented(room):
    assert importlib.import_module(f"labelweave.{room}" if room else "labelweave").__doc__
    things = {n: t for n, t in public(room).items() if inspect.isclass(t) or inspect.isroutine(t)}
    assert [name for name, thing in things.items() if not own_docstring(thing)] == []
    without_example = {n for n, thing in things.items() if ">>>" not in own_docstring(thing)}
    assert without_example == SHOWN_ELSEWHERE.get(room, set())


@pytest.mark.parametrize("room", ["", "decision", "inference", "joint"])
def test_every_parameter_is_documented(room):
    """What users construct names each parameter in its docstring."""
    missing = [
        f"{name}({parameter})"
        for name, thing in public(room).items()
        if (inspect.isclass(thing) or inspect.isfunction(thing))
        and not getattr(thing, "_is_protocol", False)
        and not (inspect.isclass(thing) and issubclass(thing, Warning))
        for parameter in inspect.signature(thing).parameters
        if parameter not in own_docstring(thing)
    ]
    assert missing == []


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_public_methods_are_documented(room):
    missing = [
        f"{name}.{method}"
        for name, thing in public(room).items()
        if inspect.isclass(thing)
        for method, function in vars(thing).items()
        if inspect.isfunction(function) and not method.startswith("_") and not function.__doc__
    ]
    assert missing == []


def test_rooms_are_there_after_a_plain_import():
    # One in a fresh process; the others by the same door, which this process need not pass again.
    code = "import labelweave; labelweave.decision.FLoss"
    subprocess.run([sys.executable, "-c", code], check=True)
    for room in ROOMS:
        assert labelweave.__getattr__(room) is sys.modules[f"labelweave.{room}"]
    assert set(ROOMS) <= set(dir(labelweave))
