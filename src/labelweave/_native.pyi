"""Compiled kernels of labelweave."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def level() -> str:
    """The SIMD level that this module is compiled for."""

def compiler() -> str:
    """The compiler that made this module."""

def best_f_measure(by_label: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], cardinality: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], beta: float, out: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """The label vectors of largest expected F-measure."""

def best_independent_f_measure(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], beta: float, out: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    The label vectors of largest expected F-measure for the log-odds of independent labels.
    """

def expected_independent_f_measure(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], beta: float, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    The expected F-measures of label vectors for the log-odds of independent labels.
    """

class Matrix:
    """
    A design matrix the kernels can read: dense, or CSR with its number of columns.
    """

    @overload
    def __init__(self, dense: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int) -> None: ...

def linear_scores(x: Matrix, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], intercept: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
    """Fill scores with X weights' + intercept."""

def chain_log_prob(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], log_prob: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_threads: int = 1) -> None:
    """The log-probability of each row of labels."""

def conditional_log_prob(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], log_prob: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    The sum of the log-probabilities of the labels of each row, each given its parents.
    """

def chain_greedy(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], log_prob: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], upper_bound: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Replace every -1 in labels by the likelier value given the earlier labels.
    """

def chain_table(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], known: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Fill out[i, column] with the log-probability of the label vector whose bit slot[j] is label j.
    """

def chain_cardinality(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """Fill out[i, s] with the probability of s positive labels."""

def chain_cardinality_by_label(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Fill out[i, j, s] with the probability that label j is positive together with s - 1 others.
    """

def chain_sample(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None, None), order='C', device='cpu')], log_weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Replace every -1 in labels by a draw keyed by (seed, rows[i], draw, label); weigh the given ones.
    """

def chain_populations(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], known: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, size: int, marginals: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], log_evidence: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], quantum: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None, None, None), order='C', device='cpu')], log_weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Walk populations of at most size weighted prefixes that agree with known, keyed by (seed, rows[i], draw, label).
    """

def chain_gibbs(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], known: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, first_draw: int, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], best: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], best_gain: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], samples: Annotated[NDArray[numpy.int8], dict(shape=(None, None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Resample all labels that are not known, best_gain.shape[1] times, from the state in labels.
    """

def chain_search(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], budget: int, epsilon: float, seconds: float, floor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], log_mass: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], log_prob: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], upper_bound: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], n_threads: int = 1, max_open: int = 1048576) -> None:
    """
    Replace every -1 in labels so that each row is its most probable vector, as far as the limits allow.
    """

def chain_beam(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], width: int, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], upper_bound: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Replace every -1 in labels by beam search; upper_bound covers the vectors that were dropped.
    """

def chain_beam_list(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], known: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], width: int, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None, None), order='C', device='cpu')], log_prob: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], upper_bound: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    The best vectors of a beam search that agree with known; upper_bound covers all others.
    """

def chain_relaxed_search(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coupling: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], known: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: int, budget: int, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], log_prob: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], upper_bound: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Replace labels that agree with known by better ones, and bound all such vectors by relaxation and search.
    """

def weigh_edges(train_x: Matrix, held_x: Matrix, train_labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], held_labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], train_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], held_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], C: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], label_penalty: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], candidates: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], tolerance: float, max_iterations: int, n_threads: int, alone: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pair: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_failed: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Weigh every label as the parent of every other; see native/edges/edge_weights.hpp.
    """

def field_anneal(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], inside: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], outside: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], known: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], seeds: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None, None), order='C', device='cpu')], log_weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Anneal draws from the inside couplings to all of them, in place, and fill in their log-weights.
    """

def solve_logistic(x: Matrix, extras: Matrix | None, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], shares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, weight: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, total: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, C: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], extra_penalty: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], extra_mask: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, start_intercept: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tolerance: float, max_newton: int, patience: int, n_threads: int, largest_transpose: int, coef: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, objective: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], held_out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], passes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], converged: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Solve many logistic problems over one design along paths of penalties; see native/logistic/solver.hpp.
    """

class OnlineSettings:
    """How an online model learns; see OnlineState."""

    def __init__(self, *, coupled: bool, skew_margin: bool, margin: float, noise: float, prior_variance: float, bias_variance: float, label_offset: float, flip_probability: float, forgetting: float) -> None: ...

class ThreadTuner:
    """Whether threads were found to be worth it."""

    def __init__(self) -> None: ...

class OnlineModel:
    """The arrays of an online model, for the kernels to work on."""

    def __init__(self, weights: Sequence[Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')]], current: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], bias_mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], bias_variance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], positives: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], observed: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], n_rows: int, skew: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], settings: OnlineSettings) -> None: ...

    @property
    def n_rows(self) -> int:
        """Rows learned from so far."""

    def update(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], predicted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], tuner: ThreadTuner, n_threads: int = 1) -> None:
        """
        Learn from rows in turn; labels are 0, 1 or -1 (unknown). Rows named in `predicted` are predicted before they are learned from: `z` is how many standard deviations scores exceed the bias.
        """

    def moments(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], variance: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
        """Mean and variance of every label's score, without the bias."""

    def samples(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, above: Annotated[NDArray[numpy.int8], dict(shape=(None, None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
        """Whether scores exceed the bias under models drawn from the posterior."""

    def touch(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Read and write the weights of the rows' features, and nothing else: a yardstick.
        """

def truncation_moments(d: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], margin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], flip_probability: float, shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], kept: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Mean and variance of N(d, 1) truncated to above the margin (below minus the margin where the label is recorded wrongly), as mean - d and as they are.
    """

def fill_uniform(seed: int, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], draw: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Fill out[i, j] with the uniform number in (0, 1) that belongs to (seed, rows[i], draw, j).
    """

def parse_arff_rows(text: bytes, offset: int, line: int, source: str, names: Sequence[str], target: Sequence[int], domain: Sequence[int], domains: Sequence[tuple[Sequence[str], Sequence[float]]]) -> tuple[bool, int, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C')]]:
    """
    Parse what follows the @data line: (sparse, n_rows, data, columns, row_starts, labels).
    """

def parse_xmc(text: bytes, source: str) -> tuple[tuple[int, int, int], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]]:
    """
    Parse XMC text: ((n, D, L), data, columns, row_starts, labels, label_starts).
    """

def parse_labelled_lines(text: bytes, line: int, source: str, n_features: int, n_labels: int, first_feature: int, svmlight: bool, skip_bad: bool) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], int, bytes]:
    """
    Parse lines of a stream of rows: (data, columns, row_starts, labels, label_starts, n_bad, complaint).
    """

def passive_aggressive(x: Matrix, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], intercept: bool, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, n_threads: int) -> None:
    """
    Learn from the rows in their order; scores get what each row was given before it was learned.
    """

def lasvm(x: Matrix, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gamma: float | None, tolerance: float, max_steps: int, room: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, n_threads: int) -> list[tuple[list[int], list[float], float, float, bool]]:
    """
    Online support vector machines, RBF if there is a gamma: (support, alpha, intercept, objective, converged) of each label.
    """

def kernel_matrix(a: Matrix, b: Matrix, gamma: float, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
    """Fill out with exp(-gamma |a_i - b_j|^2)."""

def tree_log_prob(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], log_prob: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """The log-probability of each vector of each row."""

def tree_mode(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], log_prob: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_threads: int = 1) -> None:
    """The most probable vector of each row."""

def tree_sample(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """Fill labels with draws keyed by (seed, rows[i], draw, label)."""

def tree_marginals(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """P(y_i = 1)."""

def tree_pairwise(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """P(y_i = 1, y_j = 1)."""

def tree_cardinality(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """P(|y| = s)."""

def tree_cardinality_by_label(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """P(y_i = 1, |y| = s)."""

def tree_condition(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], known: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], posterior: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], log_prob: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    The log-odds after the labels in known (-1: unknown) are given, and the evidence's log-probability.
    """

def tree_table(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], known: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], free: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    The log-probability of every vector: bit t of the column is label free[t], the others are known.
    """

def tree_top(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None, None), order='C', device='cpu')], log_prob: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    The labels.shape[1] most probable vectors of each row, decreasing; -1 and -inf where there are fewer.
    """

def tree_threshold(logits: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]], parents: Sequence[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], orders: Sequence[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], depth: int, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None, None), order='C', device='cpu')], log_prob: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], upper_bound: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], listed: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    The most probable vectors of a mixture of trees, and a bound on all others.
    """

def tree_annealing(logits: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]], parents: Sequence[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], orders: Sequence[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], temperatures: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], known: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Anneal labels in place: from the start in it to the best vector visited.
    """
