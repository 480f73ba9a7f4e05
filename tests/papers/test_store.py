"""Results on disk: whole lines only, whatever the process was doing when it stopped."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.papers.plan import Task
from labelweave.papers.results import Record, result_lines

RECORDS = [
    (f"key{fold}", Record(Task("fold", "emotions", "br", fold, 0), {"exact_match": fold / 7}, 1.0))
    for fold in range(4)
]


def write(folder, records):
    with result_lines(folder).writing() as append:
        for key, record in records:
            append(key, record)


def test_what_is_written_is_read(tmp_path):
    special = Record(Task("fold", "emotions", "mc(preset='published')", 0, 1), {}, 0.5, "é: failed")
    write(tmp_path, [*RECORDS, ("other", special)])
    assert result_lines(tmp_path).read() == dict([*RECORDS, ("other", special)])


def test_infinite_losses_survive(tmp_path):
    record = Record(RECORDS[0][1].task, {"cll_loss_sum": float("inf")}, 1.0)
    write(tmp_path, [("key", record)])
    assert result_lines(tmp_path).read()["key"].values["cll_loss_sum"] == float("inf")


@given(st.data())
def test_a_file_cut_anywhere_keeps_its_whole_lines(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("cut")
    write(folder, RECORDS)
    file = folder / "results.jsonl"
    content = file.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    file.write_bytes(content[:cut])
    n_whole = content[:cut].count(b"\n")
    assert result_lines(folder).read() == dict(RECORDS[:n_whole])
    write(folder, RECORDS[n_whole:])  # a further run goes on behind the whole lines
    assert file.read_bytes() == content


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    with (
        result_lines(tmp_path).writing(),
        pytest.raises(ValueError, match="another run"),
        result_lines(tmp_path).writing(),
    ):
        pass


@pytest.mark.parametrize("line", ["{", "[]", '{"key": "k"}', json.dumps({"key": "k", "task": 3})])
def test_a_damaged_line_is_named(tmp_path, line):
    (tmp_path / "results.jsonl").write_text(line + "\n")
    with pytest.raises(ValueError, match=r"results.jsonl: line 1 is damaged"):
        result_lines(tmp_path).read()


def test_keys_depend_on_all_that_results_depend_on():
    base = Task("fold", "emotions", "br", 0, 0, {"n_folds": 10})
    others = [
        Task("convergence", "emotions", "br", 0, 0, {"n_folds": 10}),
        Task("fold", "scene", "br", 0, 0, {"n_folds": 10}),
        Task("fold", "emotions", "cc", 0, 0, {"n_folds": 10}),
        Task("fold", "emotions", "br", 1, 0, {"n_folds": 10}),
        Task("fold", "emotions", "br", 0, 1, {"n_folds": 10}),
        Task("fold", "emotions", "br", 0, 0, {"n_folds": 5}),
    ]
    keys = {task.key("data", "code") for task in (base, *others)}
    keys |= {base.key("other data", "code"), base.key("data", "other code")}
    assert len(keys) == len(others) + 3
