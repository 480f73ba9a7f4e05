"""``labelweave explore`` from the words typed to the page, and to Ctrl-C."""

import signal
import subprocess
import sys

import pytest

from labelweave import BinaryRelevance
from labelweave.data import load
from labelweave.persistence import save_model
from tests.explore.make import Client


@pytest.fixture
def model(run, tmp_path):
    path = tmp_path / "emotions.skops"
    assert run("fit", "emotions", "--method", "br(C=0.01)", "--model", path).exit_code == 0
    return path


# Whoever runs the tests in the background may ignore Ctrl-C, and children inherit that.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from labelweave.cli import main
main()
"""


def test_the_page_is_served_until_ctrl_c(model):
    command = [sys.executable, "-c", INTERRUPTIBLE, "explore", model, "emotions", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith("explore at http://127.0.0.1:")
        client = Client(line.split()[2])
        assert client.json("/api/summary")["n_rows"] == 593
        assert client.json("/api/row/0")["truth"] is not None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        assert process.returncode == 130
        assert errors == ""
    finally:
        process.kill()
        process.wait()


def test_bad_input_is_named(run, model, tmp_path):
    missing = run("explore", tmp_path / "none.skops", "emotions")
    assert (missing.exit_code, "MODEL" in missing.stderr) == (2, True)
    other = tmp_path / "other.json"
    other.write_text("{}")
    compared = run("explore", model, "emotions", "--compared", other)
    assert (compared.exit_code, "--compared" in compared.stderr) == (2, True)
    labels = run("explore", model, "yeast")
    assert labels.exit_code == 2


def test_a_model_that_was_fitted_to_arrays_goes_by_position(run, tmp_path):
    data = load("emotions")
    path = tmp_path / "arrays.skops"
    save_model(BinaryRelevance(C=0.01).fit(data.X, data.Y), path)
    result = run("evaluate", path, "emotions", "--metrics", "exact_match")
    assert result.exit_code == 0, result.stderr
