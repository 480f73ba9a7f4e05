"""Joints and data whose labels have awkward names."""

from __future__ import annotations

import numpy as np

from labelweave.joint import ChainJoint, TreeJoint

NAMES = ("$x_1$", "<b>", "_hidden", "a\nb", "plain")
#: As they should appear in a picture, letter by letter.
DRAWN = ("$x_1$", "<b>", " _hidden", "a b", "plain")


def drawn(text: str) -> str:
    """Return what matplotlib shows for a text that is no formula."""
    from matplotlib import cbook

    assert not cbook.is_math_text(text)
    return text.replace(r"\$", "$")


def labels(n: int = 120, L: int = 5) -> np.ndarray:
    rng = np.random.default_rng(0)
    hidden = rng.uniform(0.1, 0.8, size=(n, 1))
    return (rng.uniform(size=(n, L)) < hidden).astype(int)


def tree_joint(n: int = 40) -> TreeJoint:
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(n, 5, 2))
    logits[:, 0, 1] = logits[:, 0, 0]
    return TreeJoint(logits, np.array([-1, 0, 0, 1, 1]), label_names=NAMES)


def long_chain(n: int = 3, L: int = 20) -> ChainJoint:
    """Return a chain with too many labels to be exact."""
    rng = np.random.default_rng(2)
    return ChainJoint(rng.normal(size=(n, L)), np.tril(rng.normal(size=(L, L)) / 4, -1))
