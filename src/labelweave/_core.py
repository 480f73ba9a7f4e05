"""The one door to the compiled kernels, with a helpful message when they are missing."""

try:
    from labelweave import _native as native
except ImportError as error:  # pragma: no cover - needs a broken installation
    raise ImportError(
        "labelweave's compiled core (labelweave._native) could not be loaded: "
        f"{error}. Install the package instead of importing its source tree: run `make build` "
        "(or `pip install .`) in the checkout, with a C++17 compiler at hand."
    ) from error

__all__ = ["native"]
