"""Digests of data: the same in every process, another one for other data."""

import subprocess
import sys

import numpy as np
import pandas as pd
from scipy import sparse

from labelweave._common.row_keys import data_digest

Y = np.array([[1, 0], [0, 1], [1, 1]])
MIXED = pd.DataFrame({"a": pd.Categorical(["x", "y", "x"]), "b": [1.0, np.nan, 3.0]})


def test_other_data_have_other_digests():
    X = np.arange(6.0).reshape(3, 2)
    levels = MIXED.assign(a=MIXED["a"].cat.add_categories("z"))
    features = [
        *(X, X.astype(np.float32), X.T.reshape(3, 2), X[:, ::-1], np.zeros((3, 2))),
        *(np.zeros((3, 2), dtype=np.int64), sparse.csr_array(X), X.astype(str).astype(object)),
        *(MIXED, MIXED.rename(columns={"a": "c"}), MIXED.fillna(2.0), MIXED.iloc[::-1], levels),
    ]
    digests = {data_digest(values, labels) for values in features for labels in (Y, 1 - Y)}
    assert len(digests) == 2 * len(features)


def test_the_layout_in_memory_does_not_count():
    X = np.arange(6.0).reshape(3, 2)
    assert data_digest(np.asfortranarray(X), Y) == data_digest(X, Y)
    assert data_digest(sparse.coo_matrix(X), Y) == data_digest(sparse.csr_array(X), Y)


def test_another_process_has_the_same_digests():
    code = (
        "from tests.common.test_digests import MIXED, Y, data_digest;"
        "print(data_digest(MIXED, Y), data_digest(Y.astype(str).astype(object), Y))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        data_digest(MIXED, Y),
        data_digest(Y.astype(str).astype(object), Y),
    ]
