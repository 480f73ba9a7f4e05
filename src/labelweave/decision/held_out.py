"""Scores of rows that a model was not trained on, beside their true labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats
from labelweave.decision.probabilities import Scores, as_scores, check_scores


class LabelledScores(NamedTuple):
    """Scores and true labels of rows that a model was not trained on, checked.

    Attributes
    ----------
    scores : (n, L) array or Probabilities
    labels : (n, L) array of 0/1
    weight : (n,) array

    Examples
    --------
    >>> LabelledScores.of([[0.9], [0.2]], [[1], [0]]).weight
    array([1., 1.])
    """

    scores: Scores
    labels: npt.NDArray[Any]
    weight: Floats

    @classmethod
    def of(
        cls,
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
    ) -> LabelledScores:
        """Check scores, labels and weights; rows have weight 1 by default."""
        values, truth = check_scores(scores), np.asarray(labels)
        if truth.shape != values.shape:
            raise ValueError(
                f"labels have shape {truth.shape}, scores {values.shape}: they must match"
            )
        if not np.isin(truth, (0, 1)).all():
            raise ValueError("labels must be 0 or 1")
        weight = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, float)
        if weight.shape != (len(values),):
            raise ValueError(f"sample_weight must be one number for each of the {len(values)} rows")
        return cls(as_scores(scores), truth, weight)
