"""``labelweave dependence``: the table, the pictures, and what can go wrong."""

import io

import numpy as np
import pandas as pd
import pytest

from labelweave import persistence
from labelweave.evaluation import LabelDependence
from labelweave.models.predictions import predict_joint
from tests.cli.conftest import NEIGHBOURS

NAMES = ["sun", "rain", "wind"]


@pytest.fixture
def model(run, table, tmp_path):
    path = tmp_path / "weather.skops"
    words = ("--labels", "last:3", "--method", "pcc(C=1,label_penalty=0.1)", "--model", path)
    assert run("fit", table, *words).exit_code == 0
    return path


@pytest.mark.parametrize("row", [None, 7])
def test_the_strongest_pairs_are_written(run, table, model, tmp_path, row):
    joint = predict_joint(persistence.load_model(model), pd.read_csv(table)[list("abcde")])
    expected = LabelDependence.from_joint(joint, row=row, label_names=NAMES).to_frame(2)
    words = [] if row is None else ["--row", row]
    result = run("dependence", model, table, "--top", 2, *words)
    assert result.exit_code == 0, result.stderr
    found = pd.read_csv(io.StringIO(result.stdout))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-5)
    output = tmp_path / "pairs.csv"
    assert run("dependence", model, table, "--top", 2, *words, "-o", output).stdout == ""
    pd.testing.assert_frame_equal(pd.read_csv(output), found)


@pytest.mark.parametrize("picture", ["graph", "information", "log-odds"])
def test_pictures(run, table, model, tmp_path, picture):
    path = tmp_path / "pairs.svg"
    result = run("dependence", model, table, "--plot", path, "--picture", picture)
    assert result.exit_code == 0, result.stderr
    assert path.read_bytes().startswith(b"<?xml")
    assert np.isfinite(pd.read_csv(io.StringIO(result.stdout)).mutual_information).all()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--plot", "pairs.gif"], "must have one of the extensions .png, .svg, .pdf"),
        (["--plot", "no/such/folder/pairs.png"], "does not exist"),
        (["--picture", "log-odds"], "--picture: name the file to draw into"),
        (["--row", "60"], "--row: 60 is not among the 60 rows"),
        (["--top", "0"], "--top"),
    ],
)
def test_wrong_usage_is_named(run, table, model, words, complaint):
    result = run("dependence", model, table, *words)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_a_model_without_a_joint_has_no_dependence(run, table, tmp_path):
    path = tmp_path / "other.skops"
    run("fit", table, "--labels", "last:3", "--method", NEIGHBOURS, "--model", path)
    result = run("dependence", path, table)
    assert result.exit_code == 2
    assert "MODEL: this model has no joint distribution" in result.stderr
