"""Files as people have them: words, codes, gaps, identifiers, and rows that do not fit."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from labelweave import persistence
from tests.cli.conftest import PRIOR

BR = "br(C=1)"


@pytest.fixture
def songs(tmp_path):
    """Write 60 songs with an identifier, a genre, a coded zone, gaps, and labels in words."""
    rng = np.random.default_rng(0)
    genre = rng.choice(["rock", "folk", "jazz"], 60)
    loud = rng.random(60)
    frame = pd.DataFrame(
        {
            "id": [f"song-{k}" for k in range(60)],
            "genre": np.where(rng.random(60) < 0.1, "", genre),
            "zone": [f"0{k}" for k in rng.integers(1, 4, 60)],
            "loud": np.where(rng.random(60) < 0.1, "?", loud.round(3).astype(str)),
            "calm, slow": np.where(genre == "folk", "yes", "no"),
            "live": np.where(loud > 0.5, "TRUE", "FALSE"),
        }
    )
    path = tmp_path / "songs.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def model(run, songs, tmp_path):
    path = tmp_path / "songs.skops"
    labels = ("--labels", '"calm, slow",live')
    columns = ("--ignore", "id", "--nominal", "zone")
    result = run("fit", songs, *labels, *columns, "-m", BR, "--model", path)
    assert result.exit_code == 0, result.stderr
    assert "features: 1 numeric column: imputed, standardised; 2 nominal" in result.stderr
    assert "one-hot: genre, zone" in result.stderr
    return path


def test_a_model_of_mixed_columns_predicts_and_is_measured(run, songs, model, tmp_path):
    fitted = persistence.load_model(model)
    assert list(fitted.feature_names_in_) == ["genre", "zone", "loud"]
    predicted = run("predict", model, songs)
    assert predicted.exit_code == 0, predicted.stderr
    table = pd.read_csv(io.StringIO(predicted.stdout))
    assert list(table.columns) == ["calm, slow", "live"]
    measured = run("evaluate", model, songs, "--metrics", "exact_match")
    assert measured.exit_code == 0, measured.stderr
    truth = pd.read_csv(songs)[["calm, slow", "live"]].isin(["yes", True])
    exact = (table.to_numpy() == truth.to_numpy()).all(axis=1).mean()
    assert exact > 0.7
    assert f"{exact:.4f}" in measured.stdout
    frame = pd.read_csv(songs, dtype={"zone": str}, na_values=["?"])
    frame.to_parquet(tmp_path / "songs.parquet")
    assert run("predict", model, tmp_path / "songs.parquet").stdout == predicted.stdout


def test_predict_takes_levels_it_has_not_seen(run, model, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("zone,loud,genre\n99,0.9,polka\n,,\n")
    result = run("predict", model, path, "--proba")
    assert result.exit_code == 0, result.stderr
    assert np.isfinite(pd.read_csv(io.StringIO(result.stdout))).all(axis=None)
    path.write_text("zone,loud,genre\n01,soft,rock\n")
    result = run("predict", model, path)
    assert result.exit_code == 2
    assert "FILE: column 'loud' has no finite number in row 1 ('soft')" in result.stderr


def test_compare_prepares_columns_inside_the_folds(run, songs):
    result = run(
        "compare", songs, "--labels", "last:2", "--ignore", "id", "-m", f"{BR},{PRIOR}", "-k", "2",
        "--jobs", "1", "--metrics", "exact_match",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "features: 2 numeric columns: imputed, standardised; 1 nominal column" in result.stderr


def test_rows_longer_than_the_header_are_refused(run, model, tmp_path):
    path = tmp_path / "shifted.csv"
    path.write_text("genre,zone,loud\n7,rock,01,0.5\n8,folk,02,0.1\n")
    for command in ("predict", "evaluate"):
        result = run(command, model, path)
        assert result.exit_code == 2
        assert "shifted.csv:2: 4 values, but there are 3 columns" in result.stderr


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_files_without_rows_or_names_are_refused(run, model, tmp_path, command):
    path = tmp_path / "bad.csv"
    path.write_text("genre,zone,loud\n")
    result = run(command, model, path)
    assert result.exit_code == 2
    assert "bad.csv: expected rows below the column names, found none" in result.stderr
    path.write_text("1,2,0.5\n2,3,0.1\n")
    result = run(command, model, path)
    assert result.exit_code == 2
    assert "--no-header" in result.stderr


def test_limits_are_options(run, songs, tmp_path):
    small = ("--labels", "last:2", "-m", PRIOR, "-k", "2", "--max-memory")
    packed = tmp_path / "songs.csv.gz"
    packed.write_bytes(gzip.compress(songs.read_bytes()))
    result = run("compare", packed, *small, "1KB")
    assert result.exit_code == 2
    assert "songs.csv.gz: larger than 1.0 KB" in result.stderr
    assert "--max-memory: expected a size such as 16GB" in run("compare", songs, *small, "x").stderr
    wide = tmp_path / "wide.svm"
    wide.write_text("0 20000000:1\n1 1:1\n")
    words = ("compare", wide, "-m", PRIOR, "-k", "2", "--metrics", "exact_match", "--jobs", "1")
    assert "--max-features" in run(*words).stderr
    assert run(*words, "--max-features", "20000000").exit_code == 0
    stream = tmp_path / "wide.xmc"
    stream.write_text("1 20000000 64\n0 0:1\n")
    result = run("stream", stream, "--out", tmp_path / "m.skops")
    assert result.exit_code == 2
    assert "--max-features" in result.stderr
    result = run("stream", stream, "--out", tmp_path / "m.skops", "--max-features", "20000000")
    assert result.exit_code == 2
    assert "20,000,000 features and 64 labels needs 38.9 GB, more than 2.0 GB" in result.stderr
