"""Measures of the house: how many files, classes, names and parameters a reader has to learn.

``python -m tests.house`` prints them as a table, and what stands behind each; ``test_house.py``
holds them as ceilings.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import pkgutil
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from types import ModuleType

from sklearn.base import BaseEstimator

import labelweave

PACKAGE = Path(labelweave.__file__).parent
PROJECT = Path(__file__).resolve().parents[1]
LONG_FUNCTION = 60


@cache
def sources() -> dict[str, str]:
    """Return the text of every Python file of the package, by its path below the package."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {str(path.relative_to(PACKAGE)): path.read_text("utf-8") for path in paths}


@cache
def modules() -> dict[str, ModuleType]:
    """Return every Python module of the package, imported, by its name."""
    found = pkgutil.walk_packages(labelweave.__path__, "labelweave.")
    names = [m.name for m in found if not m.name.endswith("__main__")]
    python = [n for n in names if f"{n.partition('.')[2].replace('.', '/')}.py" in sources()]
    packages = [
        n for n in names if f"{n.partition('.')[2].replace('.', '/')}/__init__.py" in sources()
    ]
    return {name: importlib.import_module(name) for name in ["labelweave", *python, *packages]}


def is_ours(thing: object) -> bool:
    """Whether a class or function is defined in the package."""
    return str(getattr(thing, "__module__", "")).partition(".")[0] == "labelweave"


@cache
def classes() -> list[type]:
    """Return the classes that the modules of the package define."""
    return [
        thing
        for name, module in modules().items()
        for thing in vars(module).values()
        if inspect.isclass(thing) and thing.__module__ == name
    ]


def name_of(cls: type) -> str:
    """Return the path of a class below the package."""
    return f"{cls.__module__.partition('.')[2]}.{cls.__qualname__}"


# ---------------------------------------------------------------------- files


def lines_of_files() -> dict[str, int]:
    """Return the number of lines of each file."""
    return {path: len(text.splitlines()) for path, text in sources().items()}


@cache
def code_lines(text: str) -> set[int]:
    """Return the numbers of the lines that hold code: no comment, docstring or blank line."""
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {
        line
        for token in tokens
        if token.type not in layout and token.string
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def long_functions() -> dict[str, int]:
    """Return the functions with more than `LONG_FUNCTION` lines of code, with their lines."""
    found = {}
    for path, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = set(range(node.lineno, (node.end_lineno or 0) + 1))
                if len(body) > LONG_FUNCTION and len(body & code_lines(text)) > LONG_FUNCTION:
                    found[f"{path}:{node.name}"] = len(body & code_lines(text))
    return found


def recurring_file_names() -> dict[str, int]:
    """Return the file names, but for ``__init__.py``, that more than one folder has."""
    names = Counter(Path(path).name for path in sources())
    return {name: n for name, n in names.items() if n > 1 and name != "__init__.py"}


def _imported(text: str) -> set[str]:
    """Return the modules that a file imports, and those that define the names it imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module in modules():
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                thing = getattr(modules()[node.module], alias.name, None)
                home = (
                    thing.__module__
                    if is_ours(thing) and not isinstance(thing, ModuleType)
                    else node.module
                )
                found.add(submodule if submodule in modules() else str(home))
    return found & set(modules())


def modules_with_one_importer() -> dict[str, str]:
    """Return the modules that one file imports, ``__init__.py`` not counted, with that file."""
    importers = defaultdict(list)
    for path, text in sources().items():
        if not path.endswith("__init__.py"):
            for name in _imported(text):
                importers[name].append(path)
    return {name: paths[0] for name, paths in sorted(importers.items()) if len(paths) == 1}


# -------------------------------------------------------------------- classes


def ancestors() -> dict[str, int]:
    """Return how many classes of ours are above each class."""
    return {name_of(cls): sum(map(is_ours, cls.__mro__[1:])) for cls in classes()}


def is_protocol(cls: type) -> bool:
    """Whether a class is a protocol, rather than a class that implements one."""
    return bool(cls.__dict__.get("_is_protocol", False))


def _members(protocol: type) -> set[str]:
    """Return the methods and attributes that a protocol asks for."""
    found: set[str] = set()
    for cls in protocol.__mro__:
        if is_ours(cls) and is_protocol(cls):
            found |= {*vars(cls), *vars(cls).get("__annotations__", ())}
    return {name for name in found if not name.startswith("_") or name == "__call__"}


def _has(cls: type, member: str) -> bool:
    """Whether a class defines or declares a member, or a constructor among its bases names it."""
    for base in cls.__mro__:
        constructor = getattr(vars(base).get("__init__"), "__code__", None)
        names = constructor.co_names if constructor else ()
        if (
            member in vars(base)
            or member in vars(base).get("__annotations__", ())
            or member in names
        ):
            return True
    return False


def implementations(protocol: type) -> set[str]:
    """Return the classes that have the members of a protocol, and that no class of ours extends."""
    members = _members(protocol)
    return {
        name_of(cls)
        for cls in classes()
        if not is_protocol(cls) and not children(cls) and all(_has(cls, m) for m in members)
    }


def children(cls: type) -> set[str]:
    """Return the classes of ours that derive directly from a class."""
    return {name_of(sub) for sub in classes() if cls in sub.__bases__}


def lonely_bases() -> dict[str, str]:
    """Return the bases with one subclass and the protocols with one implementation, with that one.

    A protocol of nothing but a call is not counted: functions implement it.
    """
    found = {}
    for cls in classes():
        if not is_protocol(cls):
            below = children(cls)
        elif _members(cls) == {"__call__"}:
            below = set()
        else:
            below = implementations(cls)
        if len(below) == 1:
            found[name_of(cls)] = below.pop()
    return found


def capabilities() -> dict[str, int]:
    """Return the capabilities of joint distributions, with how many forms have each."""
    home = "labelweave.joint.capabilities"
    return {
        cls.__name__: len(implementations(cls))
        for cls in classes()
        if cls.__module__ == home and is_protocol(cls)
    }


# ---------------------------------------------------------------------- names


def public_names() -> set[str]:
    """Return the distinct names in ``__all__`` of the packages."""
    packages = [module for module in modules().values() if hasattr(module, "__path__")]
    return {name for module in packages for name in getattr(module, "__all__", ())}


def constructor_parameters() -> dict[str, int]:
    """Return the number of constructor parameters of each estimator."""
    return {
        name_of(cls): len(inspect.signature(cls).parameters)
        for cls in classes()
        if issubclass(cls, BaseEstimator) and not inspect.isabstract(cls)
    }


# ---------------------------------------------------------------------- paths

# The run is a process of its own: what this one has imported and cached is not there.
_TRACE = """
import sys, threading
from labelweave.cli import main

package, ran, OPTIMIZED = sys.argv.pop(1), set(), 1  # only code of functions is optimized

def importing(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(package):
            return True
        frame = frame.f_back
    return False

def record(frame, event, _):  # returns no tracer of lines: it is called for calls only
    code = frame.f_code
    if code.co_filename not in ran and code.co_filename.startswith(package):
        if code.co_flags & OPTIMIZED and not importing(frame):
            ran.add(code.co_filename)

threading.settrace(record)
sys.settrace(record)
try:
    main()
finally:
    sys.settrace(None)
    print("\\0".join(sorted(ran)), file=sys.stderr)
"""


def files_run_by(*arguments: str) -> list[str]:
    """Return the files of the package of which a command runs a function once they are imported."""
    command = [sys.executable, "-c", _TRACE, str(PACKAGE), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    paths = done.stderr.splitlines()[-1].split("\0")
    return [str(Path(path).relative_to(PACKAGE)) for path in paths]


# What a user runs first, on two folds.
FIRST_COMMAND = ("compare", "emotions", "--methods", "br,mc", "--folds", "2", "--jobs", "1")


# ---------------------------------------------------------------------- table


def measures() -> dict[str, int]:
    """Return the numbers that have a ceiling, but for the files that a command runs."""
    return {
        "Python files": len(sources()),
        "lines": sum(lines_of_files().values()),
        "longest file": max(lines_of_files().values()),
        f"functions of more than {LONG_FUNCTION} lines": len(long_functions()),
        "most classes above a class": max(ancestors().values()),
        "bases with one subclass": len(lonely_bases()),
        "capabilities": len(capabilities()),
        "public names": len(public_names()),
        "most constructor parameters": max(constructor_parameters().values()),
    }


def _largest(numbers: dict[str, int], n: int = 5) -> str:
    first = sorted(numbers.items(), key=lambda item: -item[1])[:n]
    return ", ".join(f"{name} {number}" for name, number in first)


def main() -> None:
    """Print the table, then what stands behind it."""
    ran = files_run_by(*FIRST_COMMAND)
    command = " ".join(FIRST_COMMAND[:4])
    code = sum(len(code_lines(text)) for text in sources().values())
    rows = {**measures(), f"files run by `{command}`": len(ran)}
    information = {
        "lines of code": code,
        "file names that recur": len(recurring_file_names()),
        "modules with one importer": len(modules_with_one_importer()),
    }
    print("| | |\n|---|---|")
    for name, number in {**rows, **information}.items():
        print(f"| {name} | {number:,} |")
    print("\nLongest files:", _largest(lines_of_files()))
    print(f"Functions over {LONG_FUNCTION} lines of code:", _largest(long_functions(), 20))
    print("Most classes above:", _largest(ancestors()))
    print("Capabilities, with their implementations:", _largest(capabilities(), 20))
    print("Most constructor parameters:", _largest(constructor_parameters()))
    print("Recurring file names:", _largest(recurring_file_names(), 40))
    print("Bases with one subclass:")
    print(*(f"  {base} <- {below}" for base, below in lonely_bases().items()), sep="\n")
    print("Modules with one importer:")
    print(*(f"  {name} <- {path}" for name, path in modules_with_one_importer().items()), sep="\n")
    print("Files run:", *ran, sep="\n  ")


if __name__ == "__main__":
    main()
