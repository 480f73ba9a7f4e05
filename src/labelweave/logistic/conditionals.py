"""Linear conditionals of labels, fitted by the engine: log-odds linear in x and other labels.

Label j has the log-odds w_j·x + b_j + Σ_k V_jk y_k, where k runs over its parents in a `LabelGraph`
and V is the coupling. The conditionals of several structures are fitted over the same data at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.files import check_shape
from labelweave._common.matrices import as_features, linear_scores
from labelweave._common.progress import stage
from labelweave._core import native
from labelweave.logistic.penalties import Folds, PenaltyChoice, choose_penalties
from labelweave.logistic.problem import (
    ClassWeight,
    LogisticProblems,
    as_labels,
    as_weights,
    class_weighted,
)
from labelweave.logistic.solver import Solutions, solve_problems


@dataclass(frozen=True, eq=False)
class LabelGraph:
    """The parents of every label, as in a Bayesian network, in the order that its conditional uses.

    As an array it is the (L, L) mask whose entry ``[j, k]`` says whether k is a parent of j.
    """

    parents: tuple[Indices, ...]

    @classmethod
    def empty(cls, n_labels: int) -> LabelGraph:
        return cls((np.empty(0, dtype=np.int64),) * n_labels)

    @classmethod
    def chain(cls, order: Indices) -> LabelGraph:
        """Return the graph in which the parents of a label are all labels before it in `order`."""
        rank = np.argsort(order)
        return cls(tuple(order[: rank[label]] for label in range(len(order))))

    @classmethod
    def forest(cls, parents: Indices) -> LabelGraph:
        """Return the graph in which every label has at most one parent; -1 stands for none."""
        return cls(tuple(parents[j : j + 1][parents[j : j + 1] >= 0] for j in range(len(parents))))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Mask:
        mask = np.zeros((len(self.parents),) * 2, dtype=np.bool_)
        for label, parents in enumerate(self.parents):
            mask[label, parents] = True
        return mask if dtype is None else mask.astype(dtype, copy=False)


# Newton's last steps are cheap, and a fit this accurate does not depend on the form of the rows:
# repeated or weighted, sparse or dense.
FINAL_TOLERANCE = 1e-14
# The losses of structures differ by less than the losses of penalties.
_STRUCTURE_TOLERANCE = 1e-5


@dataclass(frozen=True)
class LinearConditionals:
    """Log-odds of every label: ``z = X weights' + intercept + Y coupling'``.

    Attributes
    ----------
    weights : (L, D) array
    intercept : (L,) array
    coupling : (L, L) array
        ``coupling[j, k]`` is the coefficient of label k in the log-odds of label j.
    C, label_penalty : float
        The penalties the conditionals were fitted with.
    """

    weights: Floats
    intercept: Floats
    coupling: Floats
    C: float
    label_penalty: float

    @classmethod
    def of(
        cls, solutions: Solutions, chosen: PenaltyChoice, problems: Any = slice(None)
    ) -> LinearConditionals:
        """Return the conditionals of L problems; there is no coupling without extra columns."""
        coef, coupling = solutions.coef[problems], solutions.extra_coef[problems]
        if not coupling.shape[1]:
            coupling = np.zeros((len(coef), len(coef)))
        intercept = solutions.intercept[problems]
        return cls(coef, intercept, coupling, chosen.C, chosen.label_penalty)

    def scores(self, X: Any, given: Floats | None = None, *, n_threads: int = 1) -> Floats:
        """Return the log-odds of each label given the labels in `given` (zeros if None), (n, L).

        `given` may hold estimates of the labels, such as probabilities. The scores of a row do not
        depend on the other rows, to the last bit.
        """
        scores = linear_scores(X, self.weights, self.intercept, n_threads)
        if given is not None:
            scores += linear_scores(given, self.coupling, np.zeros(len(self.intercept)), n_threads)
        return scores

    def log_prob(self, X: Any, labels: Labels, *, n_threads: int = 1) -> Floats:
        """Return the sum of the log-probabilities of each row's labels given their parents, (n,).

        It is the log-probability of the label vector if no label is its own ancestor.
        """
        scores = self.scores(X, n_threads=n_threads)
        log_prob = np.empty(len(scores))
        native.conditional_log_prob(scores, self.coupling, labels, log_prob, n_threads)
        return log_prob

    def _check_learned(self) -> None:
        """Raise ValueError if the arrays, read from a file, do not fit together."""
        n_labels, n_features = len(self.intercept), np.shape(self.weights)[-1]
        check_shape(self.intercept, (n_labels,), "intercept")
        check_shape(self.weights, (n_labels, n_features), "weights")
        check_shape(self.coupling, (n_labels, n_labels), "coupling")


def fit_conditionals(
    X: Any, Y: ArrayLike, parents: ArrayLike | None = None, **options: Any
) -> LinearConditionals:
    """Fit P(y_j | x, labels k with parents[j, k]) for every label j, as `fit_structures` does."""
    labels = as_labels(Y)
    n_labels = labels.shape[1]
    structure = np.zeros((n_labels, n_labels), dtype=bool) if parents is None else parents
    return fit_structures(X, labels, [structure], **options)[0]


def fit_structures(
    X: Any,
    Y: ArrayLike,
    structures: Sequence[ArrayLike],
    *,
    C: float | str = "cv",
    label_penalty: float | str = "cv",
    sample_weight: ArrayLike | None = None,
    class_weight: ClassWeight = None,
    bootstrap_counts: Floats | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> list[LinearConditionals]:
    """Fit the conditionals of several structures over the same data, all at once."""
    problems = structure_problems(X, Y, structures, as_weights(sample_weight), bootstrap_counts)
    n_structures = len(structures)
    n_labels = problems.n_problems // n_structures
    chosen = structure_penalties(
        X,
        Y,
        structures[0],
        C=C,
        label_penalty=label_penalty,
        sample_weight=sample_weight,
        seed=seed,
        n_threads=n_threads,
    )
    shape = (problems.n_problems, 1)
    problems = replace(
        problems, C=np.full(shape, chosen.C), extra_penalty=np.full(shape, chosen.label_penalty)
    )
    if class_weight is not None:
        problems = class_weighted(problems, class_weight)
    with stage("fitting conditionals"):
        solutions = solve_problems(problems, tol=FINAL_TOLERANCE, n_threads=n_threads)
    warn_unless_converged(solutions)
    return [
        LinearConditionals.of(solutions, chosen, slice(m * n_labels, (m + 1) * n_labels))
        for m in range(n_structures)
    ]


def structure_penalties(
    X: Any,
    Y: ArrayLike,
    structure: ArrayLike,
    *,
    C: float | str = "cv",
    label_penalty: float | str = "cv",
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> PenaltyChoice:
    if "cv" not in (C, label_penalty):
        return PenaltyChoice(float(C), float(label_penalty))
    problems = structure_problems(X, Y, [structure], as_weights(sample_weight), None)
    return choose_penalties(
        problems, C=C, label_penalty=label_penalty, seed=seed, n_threads=n_threads
    )


def structure_losses(
    X: Any,
    Y: ArrayLike,
    structures: Sequence[ArrayLike],
    *,
    C: float,
    label_penalty: float,
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> Floats:
    """Return the cross-validated logistic loss of each structure, (M,)."""
    problems = structure_problems(X, Y, structures, as_weights(sample_weight), None)
    folds = Folds.of(problems, seed, n_threads)
    path = np.array([[C, label_penalty]])
    solutions = folds.solve(path, tol=_STRUCTURE_TOLERANCE, keep_coef=False)
    losses = folds.losses(solutions).sum(axis=(0, 2)) / folds.n_repeats
    per_structure: Floats = losses.reshape(len(structures), -1).sum(axis=1)
    return per_structure


def structure_problems(
    X: Any,
    Y: ArrayLike,
    structures: Sequence[ArrayLike],
    weight: Floats | None,
    bootstrap_counts: Floats | None,
) -> LogisticProblems:
    """Return the problems of all structures: problem m * L + j is label j in structure m."""
    labels = as_labels(Y)
    n_labels, n_structures = labels.shape[1], len(structures)
    parent_mask = np.concatenate([np.asarray(parents, dtype=np.bool_) for parents in structures])
    weights = None if weight is None else weight[:, None]
    weight_of = None
    if bootstrap_counts is not None:
        weights = bootstrap_counts if weights is None else bootstrap_counts * weights
        weight_of = np.repeat(np.arange(n_structures, dtype=np.int32), n_labels)
    return LogisticProblems(
        X=as_features(X),
        targets=labels,
        target_of=np.tile(np.arange(n_labels, dtype=np.int32), n_structures),
        C=np.ones((n_structures * n_labels, 1)),
        extras=sp.csr_array(labels, dtype=np.float64) if parent_mask.any() else None,
        extra_mask=parent_mask if parent_mask.any() else None,
        weights=weights,
        weight_of=weight_of,
        total_weight=weight,
    )


def warn_unless_converged(solutions: Solutions) -> None:
    n_failed = int((~solutions.converged).sum())
    if n_failed:
        warnings.warn(
            f"{n_failed} of {len(solutions.converged)} logistic regressions did not converge: "
            "scale the features (for example with sklearn's StandardScaler) or lower C",
            ConvergenceWarning,
            stacklevel=4,
        )
