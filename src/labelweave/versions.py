"""The environment that results depend on: versions, SIMD level, compiler, BLAS and threads."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

from labelweave import __version__
from labelweave._core import native

__all__ = ["show_versions"]

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "joblib")
# Packages that show results and cannot change them, except for two of their files.
_SHOWING = ("cli", "report", "papers", "distributed")
_MEASURING = ("papers/measurements.py", "papers/posteriors.py")


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results depend on."""
    own = {"python": platform.python_version(), "labelweave": __version__}
    return own | {name: version(name) for name in _LIBRARIES}


@cache
def results_depend_on() -> dict[str, str]:
    """Return what must be the same in two processes for their results to be the same bits."""
    own = {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "SIMD level": native.level(),
        "compiler": native.compiler(),
        "code": _python_digest().hexdigest()[:12],
    }
    return library_versions() | own


@cache
def code_version() -> str:
    """Return the library's version, its SIMD level, and a digest of code, libraries and CPU."""
    digest = _python_digest()
    digest.update(Path(native.__file__).read_bytes())
    digest.update(repr((library_versions(), cpu_name())).encode())
    return f"{__version__}+{native.level()}.{digest.hexdigest()[:12]}"


def _python_digest() -> hashlib._Hash:
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for file in sorted(folder.rglob("*.py")):
        name = file.relative_to(folder).as_posix()
        if not name.startswith(_SHOWING) or name.startswith(_MEASURING):
            digest.update(name.encode() + file.read_bytes())
    return digest


def environment() -> dict[str, str]:
    """Describe the machine and the compiled core."""
    return {
        "platform": platform.platform(),
        "CPU": cpu_name(),
        "cores": str(os.cpu_count()),
        "SIMD level": native.level(),
        "compiler": native.compiler(),
        "BLAS": "; ".join(_blas_libraries()) or "not loaded",
    }


def cpu_name() -> str:
    """Return the name of the CPU as reported by the operating system."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def show_versions() -> None:
    """Print versions, SIMD level, compiler, BLAS and threads, for bug reports.

    Examples
    --------
    >>> import labelweave
    >>> labelweave.show_versions()  # doctest: +ELLIPSIS
    python: ...
    """
    for name, value in (library_versions() | environment()).items():
        print(f"{name}: {value}")


def _blas_libraries() -> list[str]:
    import scipy.linalg.blas  # noqa: F401 - SciPy's BLAS is loaded on first use

    # Sorted by name, because the order of loading is accidental.
    return sorted(
        f"{pool['internal_api']} {pool['version']} ({pool['num_threads']} threads)"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    )
