"""A page in the browser that shows a model's predictions for every row and answers questions.

Needs ``pip install 'labelweave[explore]'``.
"""

try:
    from labelweave.explore.server import explore
except ModuleNotFoundError as error:
    if error.name not in ("starlette", "uvicorn"):
        raise
    raise ModuleNotFoundError(
        f"the explorer needs {error.name}: pip install 'labelweave[explore]'", name=error.name
    ) from error

__all__ = ["explore"]
