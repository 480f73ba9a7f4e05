"""What inference returns: a label vector for each row, with a certificate."""

from labelweave.joint.mode import Mode, SearchedMode

__all__ = ["Mode", "SearchedMode"]
