"""The rows that the structures of a mixture's components are learned from."""

from __future__ import annotations

import numpy as np
import pytest

from labelweave.logistic.conditionals import LabelGraph
from labelweave.logistic.penalties import PenaltyChoice
from labelweave.models.conditionals import TrainingRows
from labelweave.models.em import CLOSE, EM, EXACT, ROUGH, MixtureSettings
from labelweave.models.mixture_size import learned_structure
from tests.contract.samples import sample


class Recorder:
    """A learner of empty structures that keeps what it is asked to learn from."""

    def __init__(self, chosen=None):
        self.chosen, self.asked = chosen, []

    def restricted(self, rows):
        part = Recorder(rows)
        part.asked = self.asked
        return part

    def learn(self, penalties, row_weight, index, tolerance):
        self.asked.append((self.chosen, row_weight, tolerance))
        return LabelGraph.empty(4)


def test_structures_are_learned_from_samples_of_the_right_weight():
    """Rows of large weight are all there; the others are as heavy as all of them, on average."""
    features, labels = sample(n=4000, n_labels=4, seed=5)
    training = TrainingRows(features, labels.astype(np.int8))
    penalties = PenaltyChoice(C=0.5, label_penalty=0.1)
    weight = np.random.default_rng(0).beta(0.3, 2.0, size=4000)
    weight[0] = 1.0
    for em_tolerances, is_sampled in ((CLOSE, True), (ROUGH, True), (EXACT, False)):
        recorder = Recorder()
        em = EM(training, penalties, MixtureSettings(), em_tolerances)
        learned_structure(em, recorder, weight, 0)
        rows, given, tolerance = recorder.asked[0]
        assert tolerance == em_tolerances.edges
        assert (rows is not None) == is_sampled
        if rows is None:
            np.testing.assert_array_equal(given, weight)
            continue
        assert len(rows) < 0.6 * len(weight)
        heavy = weight[rows] >= 0.25
        assert heavy.sum() == (weight >= 0.25).sum()
        np.testing.assert_array_equal(given[heavy], weight[rows][heavy])
        np.testing.assert_array_equal(given[~heavy], 0.25)
        for column in (np.ones(4000), labels[:, 0], labels[:, 1] * labels[:, 2]):
            assert given @ column[rows] == pytest.approx(weight @ column, rel=0.1)
