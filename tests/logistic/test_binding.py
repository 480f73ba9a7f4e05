"""The native functions refuse what they cannot read."""

from __future__ import annotations

import numpy as np
import pytest

from labelweave._core import native

N, D, E, P, S = 12, 3, 2, 4, 2
REFUSED = (ValueError, TypeError)


def dense_matrix(n_rows=N, n_columns=D, value=1.0):
    return native.Matrix(np.full((n_rows, n_columns), value))


def sparse_matrix(n_rows=N, n_columns=D):
    """Every row holds its first column."""
    return native.Matrix(
        np.arange(n_rows + 1), np.zeros(n_rows, np.int32), np.ones(n_rows), n_columns
    )


def call(**changes):
    """Solve a well-formed problem with some arguments changed; return the outputs."""
    rng = np.random.default_rng(0)
    arguments = {
        "x": native.Matrix(rng.normal(size=(N, D))),
        "extras": sparse_matrix(n_columns=E),
        "labels": np.tile(np.arange(N, dtype=np.int8) % 2, (2, 1)),
        "shares": np.full((1, N), 0.3),
        "target": np.array([0, 1, 0, 2], np.int32),
        "weights": np.ones((1, N)),
        "weight": np.zeros(P, np.int32),
        "total": np.ones(N),
        "C": np.ones((P, S)),
        "extra_penalty": np.ones((P, S)),
        "extra_mask": np.ones((P, E), np.uint8),
        "start": np.zeros((P, D + 1 + E)),
        "start_intercept": np.zeros(P),
        "tolerance": 1e-9,
        "max_newton": 50,
        "patience": 0,
        "n_threads": 2,
        "largest_transpose": 2**20,
        "coef": np.full((P, D + 1 + E), np.nan),
        "objective": np.full((P, S), np.nan),
        "held_out": np.full((P, S), np.nan),
        "passes": np.zeros(P, np.int32),
        "converged": np.zeros(P, np.uint8),
    }
    for name, value in changes.items():
        arguments[name] = value() if callable(value) else value
    native.solve_logistic(**arguments)
    return arguments


# Parameters are functions because matrices kept until the interpreter ends count as leaked.
MATRICES = pytest.mark.parametrize("make", [dense_matrix, sparse_matrix], ids=["dense", "csr"])


@MATRICES
def test_well_formed_calls_fill_every_output(make):
    x = make()
    outputs = call(x=x)
    for name in ("coef", "objective", "held_out"):
        assert np.isfinite(outputs[name]).all()
    assert outputs["converged"].all()
    assert outputs["passes"].all()
    nothing = dict.fromkeys(("extras", "weights", "weight", "total", "extra_mask", "start"))
    assert np.isfinite(call(x=x, **nothing, coef=None)["objective"]).all()


SHAPES = {
    "labels": [(2, N - 1), (2, N + 1), (2, 0), (0, N), (1, N), (2, N, 1), (N,)],
    "shares": [(1, N - 1), (1, N + 1), (0, N), (N,)],
    "target": [(P - 1,), (P + 1,), (0,), (P, 1)],
    "weights": [(1, N - 1), (0, N), (N,), (1, N + 1)],
    "weight": [(P - 1,), (P + 1,), (P, 1)],
    "total": [(N - 1,), (N + 1,), (1, N), (0,)],
    "C": [(P - 1, S), (P + 1, S), (P, S + 1), (P, 0), (P,), (S, P)],
    "extra_penalty": [(P, 1), (1, S), (P + 1, S), (P,)],
    "extra_mask": [(P, E - 1), (P, E + 1), (P - 1, E), (P,)],
    "start": [(P, D), (P, D + E), (P - 1, D + 1 + E), (P, D + 2 + E)],
    "start_intercept": [(P - 1,), (P + 1,), (P, 1)],
    "coef": [(P, D + E), (P - 1, D + 1 + E), (P, D + 2 + E), (P,)],
    "objective": [(P, S - 1), (P - 1, S), (P, S + 1), (P,)],
    "held_out": [(P, S - 1), (P - 1, S), (P, S + 1), (P,)],
    "passes": [(P - 1,), (P + 1,), (P, 1)],
    "converged": [(P - 1,), (P + 1,), (P, 1)],
}


@pytest.mark.parametrize(
    ("name", "shape"), [(name, shape) for name, shapes in SHAPES.items() for shape in shapes]
)
def test_wrong_shapes(name, shape):
    dtype = call()[name].dtype
    fill = 1 if dtype.kind == "f" else 0
    with pytest.raises(REFUSED):
        call(**{name: np.full(shape, fill, dtype)})


@pytest.mark.parametrize(
    "changes",
    [
        {"target": np.array([0, 1, 3, 1], np.int32)},
        {"target": np.array([0, -1, 0, 1], np.int32)},
        {"target": np.array([0, 2**31 - 1, 0, 1], np.int32)},
        {"weight": np.array([0, 0, 1, 0], np.int32)},
        {"weight": np.array([0, 0, -1, 0], np.int32)},
        {"weight": None},
        {"C": np.zeros((P, S))},
        {"C": np.full((P, S), np.nan)},
        {"C": np.full((P, S), -1.0)},
        {"C": np.full((P, S), 1e-310)},
        {"extra_penalty": np.full((P, S), -1.0)},
        {"extra_penalty": np.full((P, S), np.nan)},
        {"extra_penalty": np.full((P, S), np.inf)},
        {"x": lambda: dense_matrix(N - 1, D)},
        {"x": lambda: dense_matrix(N + 1, D)},
        {"x": lambda: dense_matrix(N, D + 1)},
        {"x": lambda: dense_matrix(N, D - 1)},
        {"x": lambda: sparse_matrix(n_rows=N - 1)},
        {"x": lambda: sparse_matrix(n_columns=D + 1)},
        {"x": np.ones((N, D))},
        {"x": None},
        {"extras": lambda: dense_matrix(N, E)},
        {"extras": lambda: sparse_matrix(n_rows=N + 1, n_columns=E)},
        {"extras": lambda: sparse_matrix(n_columns=E + 1)},
        {"extras": None},
        {"labels": None},
        {"labels": "ab"},
        {"tolerance": "small"},
        {"max_newton": 2**40},
        {"coef": np.zeros((P, D + 1 + E), np.float32)},
        {"coef": np.zeros((D + 1 + E, P)).T},
        {"coef": np.zeros((P, 2 * (D + 1 + E)))[:, ::2]},
        {"objective": np.zeros((P, S), np.int64)},
        {"held_out": np.zeros((S, P)).T},
        {"passes": np.zeros(P, np.int64)},
        {"converged": np.zeros(P, bool)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_wrong_values(changes):
    with pytest.raises(REFUSED):
        call(**changes)


def test_read_only_outputs():
    coef = np.zeros((P, D + 1 + E))
    coef.flags.writeable = False
    with pytest.raises(REFUSED):
        call(coef=coef)
    assert not coef.any()


@pytest.mark.parametrize(
    "settings",
    [
        {"max_newton": -1},
        {"max_newton": 0},
        {"patience": -3},
        {"tolerance": -1.0},
        {"tolerance": np.nan},
        {"tolerance": np.inf},
        {"n_threads": -2},
        {"n_threads": 50},
        {"largest_transpose": 0},
        {"labels": np.full((2, N), 2, np.int8)},
        {"labels": np.full((2, N), -1, np.int8)},
        {"weights": np.full((1, N), -1.0)},
        {"weights": np.full((1, N), np.nan)},
        {"weights": np.full((1, N), np.inf)},
        {"weights": np.zeros((1, N))},
        {"start": np.full((P, D + 1 + E), np.nan)},
        {"start": np.full((P, D + 1 + E), 1e300)},
        {"start_intercept": np.full(P, np.inf), "start": None},
        {"x": lambda: dense_matrix(value=np.inf)},
        {"total": np.full(N, -5.0)},
    ],
    ids=lambda settings: f"{next(iter(settings))}",
)
def test_strange_values_end(settings):
    outputs = call(**settings)
    passes = outputs["passes"]
    assert np.all((passes >= 0) & (passes <= 2 * (200 + 41) * 100))


def test_no_problems_and_no_rows():
    none = {name: np.zeros((0, S)) for name in ("C", "extra_penalty", "objective", "held_out")}
    none |= {name: np.zeros(0, np.int32) for name in ("target", "weight", "passes")}
    none |= {name: np.zeros((0, D + 1 + E)) for name in ("start", "coef")}
    none |= {"extra_mask": np.zeros((0, E), np.uint8), "start_intercept": np.zeros(0)}
    call(**none, converged=np.zeros(0, np.uint8))
    for x in (native.Matrix(np.zeros((0, D))), sparse_matrix(n_rows=0)):
        call(
            x=x,
            extras=sparse_matrix(n_rows=0, n_columns=E),
            labels=np.zeros((2, 0), np.int8),
            shares=np.zeros((1, 0)),
            weights=np.zeros((1, 0)),
            total=np.zeros(0),
        )


@pytest.mark.parametrize(
    ("indptr", "indices", "values", "n_columns"),
    [
        ([], [], [], 2),
        ([1, 1], [0], [1.0], 2),
        ([0, 2], [0], [1.0], 2),
        ([0, -1, 1], [0], [1.0], 2),
        ([0, 2, 1], [0, 0], [1.0, 1.0], 2),
        ([0, 2**62], [0], [1.0], 2),
        ([0, 1], [2], [1.0], 2),
        ([0, 1], [-1], [1.0], 2),
        ([0, 1], [0], [1.0], 0),
        ([0, 1], [0], [1.0, 2.0], 2),
        ([0, 1], [0, 1], [1.0], 2),
        ([0, 1], [0], [1.0], -1),
        ([[0, 1]], [0], [1.0], 2),
        ([0, 1], [0], None, 2),
    ],
)
def test_malformed_csr(indptr, indices, values, n_columns):
    with pytest.raises(REFUSED):
        native.Matrix(
            np.array(indptr, np.int64),
            np.array(indices, np.int32),
            None if values is None else np.array(values),
            n_columns,
        )


@pytest.mark.parametrize("dense", [np.zeros(3), np.zeros((2, 2, 2)), None, "text", 3.0])
def test_malformed_dense(dense):
    with pytest.raises(REFUSED):
        native.Matrix(dense)


@MATRICES
@pytest.mark.parametrize(
    ("weights", "intercept", "scores"),
    [
        ((P, D + 1), (P,), (N, P)),
        ((P, D - 1), (P,), (N, P)),
        ((P + 1, D), (P,), (N, P)),
        ((P, D), (P - 1,), (N, P)),
        ((P, D), (P,), (N - 1, P)),
        ((P, D), (P,), (N + 1, P)),
        ((P, D), (P,), (N, P + 1)),
        ((P, D), (P, 1), (N, P)),
        ((D,), (P,), (N, P)),
    ],
)
def test_scores_of_wrong_shape(make, weights, intercept, scores):
    with pytest.raises(REFUSED):
        native.linear_scores(make(), np.zeros(weights), np.zeros(intercept), np.zeros(scores), 1)


@MATRICES
def test_scores_are_never_written_to_a_copy(make):
    for scores in (np.zeros((N, P), np.float32), np.zeros((P, N)).T):
        with pytest.raises(TypeError):
            native.linear_scores(make(), np.zeros((P, D)), np.ones(P), scores, 1)
