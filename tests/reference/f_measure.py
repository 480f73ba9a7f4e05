"""The vector of largest expected F-measure, by the formula."""

import numpy as np


def best_f_measure(by_label, cardinality, beta):
    """Sort the gains of the labels for every number of labels to predict."""
    n_rows, n_labels, _ = by_label.shape
    sizes = np.arange(1, n_labels + 1)
    share = (1 + beta**2) / (beta**2 * sizes[:, None] + sizes)
    gains = by_label[:, :, 1:] @ share
    order = np.argsort(-gains, axis=1, kind="stable")
    ranked = np.take_along_axis(gains, order, axis=1)
    expected = np.cumsum(ranked, axis=1)[:, np.arange(n_labels), np.arange(n_labels)]
    chosen = np.argmax(np.hstack([cardinality[:, :1], expected]), axis=1)
    labels = np.zeros((n_rows, n_labels), dtype=np.int8)
    for row, size in enumerate(chosen):
        labels[row, order[row, :size, size - 1]] = 1
    return labels
