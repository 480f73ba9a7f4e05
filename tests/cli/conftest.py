"""A small table on disk, and a way to run the command line in this process."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification
from typer.main import get_command
from typer.testing import CliRunner

from labelweave.cli.app import app

NEIGHBOURS = "sklearn.neighbors.KNeighborsClassifier(n_neighbors=3, algorithm='brute')"
PRIOR = "sklearn.dummy.DummyClassifier"


command_of = cache(get_command)


@pytest.fixture(autouse=True)
def _no_width_asked_for(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def run(monkeypatch):
    """Run a command; an exception that reaches the user is an error of the test."""
    # Typer would build all commands again for each that is run.
    monkeypatch.setattr("typer.testing._get_command", command_of)

    def invoke(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exception is None or isinstance(result.exception, SystemExit), result
        return result

    return invoke


@pytest.fixture
def table(tmp_path):
    """Write 60 rows with 5 features and the labels sun, rain, wind."""
    X, Y = make_multilabel_classification(60, 5, n_classes=3, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcde")) * np.array([1, 10, 100, 1, 1])
    frame[["sun", "rain", "wind"]] = Y
    path = tmp_path / "weather.csv"
    frame.to_csv(path, index=False)
    return path
