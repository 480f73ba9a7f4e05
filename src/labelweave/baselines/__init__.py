"""The other systems that multi-label papers compare with, under the same promises as `models`."""

__all__: list[str] = []
