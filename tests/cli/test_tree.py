"""labelweave tree: text on the terminal, drawings in files, and what can go wrong."""

import numpy as np
import pytest

from labelweave import Structure
from labelweave.plots.dependence import save_structures


@pytest.mark.parametrize("ending", ["png", "svg", "dot"])
def test_shows_and_draws_the_tree(run, table, tmp_path, ending):
    path = tmp_path / f"tree.{ending}"
    result = run("tree", table, "--labels", "last:3", "--out", path)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Structure(3 labels, ")
    for name in ("sun", "rain", "wind"):
        assert name in result.stdout
    content = path.read_bytes()
    start = {"png": b"\x89PNG", "svg": b"<?xml", "dot": b"digraph labels {"}[ending]
    assert content.startswith(start)


def test_every_tree_of_a_mixture(run, table, tmp_path):
    path = tmp_path / "trees.dot"
    method = "mc(n_components=2, C=1, label_penalty=0.1)"
    result = run("tree", table, "--labels", "last:3", "-m", method, "-o", path)
    assert result.exit_code == 0, result.stderr
    assert "Tree 1 of 2" in result.stdout
    assert "Tree 2 of 2" in result.stdout
    assert path.read_text().count("digraph") == 2
    drawn = tmp_path / "trees.png"
    save_structures([Structure(np.array([-1, 0])), Structure(np.array([1, -1]))], drawn)
    assert drawn.stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--method", "br"], "br does not learn trees; use sc, mc or ectbn"),
        (["--output", "tree.gif"], "must have one of the extensions .png, .svg, .pdf, .dot"),
        (["--output", "no/such/folder/tree.png"], "does not exist"),
        (["--method", "sc(shape=1)"], "no option 'shape'"),
    ],
)
def test_wrong_usage_is_named(run, table, words, complaint):
    result = run("tree", table, "--labels", "last:3", *words)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_a_file_of_unknown_ending_is_refused(tmp_path):
    with pytest.raises(ValueError, match="extension must be"):
        save_structures([Structure(np.array([-1]))], tmp_path / "tree.doc")


def test_work_that_fails_is_told_apart(run, table):
    result = run("tree", table, "--labels", "last:3", "--method", "sc(structure='ring')")
    assert result.exit_code == 1
    assert "structure must be 'learned', 'random'" in result.stderr
