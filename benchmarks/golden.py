"""What models answer, at this commit and at another: the net under changes that change no result.

Run as ``python -m benchmarks.golden record FILE [NAME ...]`` at each of two commits (the one before
a change with a copy of this file), and then ``python -m benchmarks.golden compare BEFORE AFTER``,
which lists every array that differs, in how many rows and by how much.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import use_published_data
from labelweave import Dataset, load
from labelweave.models.methods import make_method

Arrays = dict[str, NDArray[Any]]

#: Every family, and presets.
METHODS = (
    *("br", "cc", "pcc", "p2cg", "ecc", "epcc", "sc", "mc(max_components=3)"),
    *(
        "mpcc(max_components=2)",
        "ectbn",
        "forest",
        "weave",
        "best(candidates=['br','pcc'],pool=True)",
    ),
    *("calibrated(estimator=pcc())", "conformal(estimator=pcc())", "lp", "rakel", "chf", "mlknn"),
    *("iblr", "mlcrf", "mmoc", "svm", "pa-online", "bomc-cmn", "bomc-sample", "bomc-ind-cmn"),
    "pcc(class_weight='balanced',order='auto')",
    "pcc(features=KernelFeatures(n_components=50))",
    *(f"{name}(preset='published')" for name in ("cc", "ecc", "sc", "mlcrf", "bomc-cmn")),
    "mc(preset='published',max_components=3)",
    "br(decision='macro_f1')",
    "pcc(decision='f1')",
)
#: Data sets, the number of their most frequent labels, and of rows to fit and to predict.
DATA = {"emotions": (6, 300, 80), "yeast": (8, 400, 80), "enron": (10, 400, 80)}


def rows_of(name: str) -> tuple[Dataset, Dataset]:
    """Return the rows to fit and to predict."""
    n_labels, n_train, n_test = DATA[name]
    data = load(name, labels=f"top:{n_labels}")
    order = np.random.default_rng(0).permutation(data.n_rows)
    return data.take(order[:n_train]), data.take(order[n_train : n_train + n_test])


def answers(method: str, train: Dataset, test: Dataset) -> Arrays:
    """Return everything that a model says of the test rows."""
    model = make_method(method).fit(train.X, train.Y)
    found = {"labels": model.predict(test.X)}
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name)(test.X))
    if hasattr(model, "predict_joint"):
        found |= of_joint(model.predict_joint(test.X), test.Y)
    if hasattr(model, "predict_set"):
        sets = model.predict_set(test.X)
        found |= {"sets": sets.sizes, "inner": sets.inner, "outer": sets.outer}
    return found


def of_joint(joint: Any, truth: NDArray[Any]) -> Arrays:
    """Return what a joint distribution says: queries, searches, draws, decisions and evidence."""
    mode, top = joint.mode(), joint.top(5)
    given = joint.condition({0: 1})
    return {
        "log_prob": joint.log_prob(truth),
        "marginals": joint.marginals(),
        "entropy": joint.entropy(),
        "pairwise": joint.pairwise(),
        "mode": mode.labels,
        "mode log_prob": mode.log_prob,
        "mode bound": mode.upper_bound,
        "top": top.labels,
        "top log_prob": top.log_prob,
        "sample": joint.sample(3, random_state=0),
        "evidence": joint.evidence_log_prob({0: 1}).value,
        "given marginals": given.marginals(),
        "given mode": given.mode().labels,
        "hamming": joint.decide("hamming").labels,
        "f1": joint.decide("f1").labels,
        "ranking": joint.decide("ranking").labels,
    }


def record(methods: Sequence[str]) -> Arrays:
    """Return the answers of methods on all data sets; what fails is kept as its message."""
    use_published_data()
    found: Arrays = {}
    for data in DATA:
        train, test = rows_of(data)
        for method in methods:
            print(data, method, flush=True)
            try:
                parts = answers(method, train, test)
            except Exception as error:
                parts = {"error": np.array(f"{type(error).__name__}: {error}")}
            found |= {f"{data} / {method} / {name}": values for name, values in parts.items()}
    return found


def differences(
    before: Mapping[str, NDArray[Any]], after: Mapping[str, NDArray[Any]]
) -> Iterator[str]:
    """Yield a line for each array that is not the same to the last bit."""
    for key in sorted(before.keys() | after.keys()):
        if key not in before or key not in after:
            yield f"{key}: only {'after' if key in after else 'before'}"
        elif (line := _difference(before[key], after[key])) is not None:
            yield f"{key}: {line}"


def _difference(old: NDArray[Any], new: NDArray[Any]) -> str | None:
    if old.shape != new.shape or old.dtype.kind in "US" or new.dtype.kind in "US":
        return None if np.array_equal(old, new) else f"{_shown(old)} became {_shown(new)}"
    same = (old == new) | ((old != old) & (new != new))  # NaN is the same as NaN
    if same.all():
        return None
    rows = (~same).reshape(len(same), -1).any(axis=1)
    apart = np.abs(np.asarray(old, float) - np.asarray(new, float))
    return f"{rows.sum()} of {len(rows)} rows, by up to {np.nanmax(apart):.3g}"


def _shown(values: NDArray[Any]) -> str:
    return str(values) if values.dtype.kind in "US" else f"shape {values.shape}"


def main(words: Sequence[str]) -> None:
    """Record answers, or compare two records; exit with 1 if they differ."""
    if words[0] == "record":
        np.savez_compressed(Path(words[1]), **record(words[2:] or METHODS))  # type: ignore[arg-type]
        return
    before, after = (dict(np.load(path)) for path in words[1:3])
    lines = list(differences(before, after))
    print("\n".join(lines) or f"{len(before)} arrays are the same to the last bit")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
