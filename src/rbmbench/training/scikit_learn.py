# SPDX-License-Identifier: BSD-3-Clause
"""RBMs for and from scikit-learn: a transformer for pipelines, and models to and from `BernoulliRBM`."""

from collections.abc import Callable
from functools import cached_property, partial
from numbers import Real
from time import perf_counter

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.neural_network import BernoulliRBM
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rbmbench.base.errors import DataError, SettingsError
from rbmbench.base.registry import number_within, positive_integer
from rbmbench.base.settings import RunSettings
from rbmbench.likelihood import ais_log_partition, base_rate_bias, exact_log_partition, is_enumerable, log_likelihood
from rbmbench.likelihood.exact import normalised
from rbmbench.likelihood.pseudo import pseudo_log_likelihood
from rbmbench.model.rbm import RBM
from rbmbench.model.sparse_rows import SparseRows
from rbmbench.training.arguments import settings_from
from rbmbench.training.evaluation import pseudo_score
from rbmbench.training.passes import Passes

PARTICLES, TEMPERATURES = 512, 1000  # of the annealing that estimates log Z of models too large to enumerate
REPORTED_ROWS = 200  # training rows that ``verbose`` scores


class RBMTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A binary RBM as a scikit-learn transformer, trained by any estimator of `rbmbench.estimators`.

    Parameters have the names of `sklearn.neural_network.BernoulliRBM` and `MLPClassifier`, if these have them.

    Parameters
    ----------
    n_components : int
        Number of hidden units.
    estimator : str
        Name of the gradient estimator.
    options : dict, optional
        Options of the estimator, such as ``{"k": 10}``.
    update : str or dict
        Update rule: its name, or name and options.
    learning_rate : float
    batch_size : int
        Rows of a mini-batch; all rows if there are fewer.
    n_iter : int
        Passes over the rows, at least 1. Rows that do not fill a mini-batch are left out of a pass.
    threshold : float, optional
        A visible unit is 1 where a value is larger. By default values must be whole numbers, as 0 and 1 or counts, and
        a unit is 1 where its value is at least 1.
    warm_start : bool
        Whether `fit` continues from the model of the previous fit, with its chains, instead of a new one.
    early_stopping : bool
        Whether `fit` holds out rows, ends when their score has not risen for ``n_iter_no_change`` passes, and keeps the
        model of the best pass. The score is the mean log p(v) if log Z can be enumerated, and otherwise the mean
        pseudo-likelihood, computed from at most 64 units.
    validation_fraction : float
        Share of the rows that early stopping holds out, between 0 and 1.
    n_iter_no_change : int
        Passes without a rise of the score by more than ``tol``, nats per row, after which training stops early.
    tol : float
    verbose : bool
        Whether each pass prints its score: of the held-out rows, or else of at most 200 training rows.
    random_state : int, RandomState or None
        Seed of all random numbers.

    Attributes
    ----------
    rbm_ : RBM
        The trained model, float32.
    log_partition_, log_partition_error_ : float
        log Z in nats and its standard error, computed when first used: exact, with error 0, if a layer has at most 25
        units, otherwise estimated by annealed importance sampling.
    components_, intercept_visible_, intercept_hidden_ : ndarray, shapes (n, m), (m,), (n,)
        Parameters of the model, as those of `BernoulliRBM`.
    n_features_in_ : int
        Number of visible units.
    n_iter_ : int
        Passes of the training of the model, those of earlier fits that were continued included.
    validation_scores_ : list of float
        With early stopping, the scores of the passes of the last fit.

    Raises
    ------
    DataError
        In any method, if a value is not a whole number and ``threshold`` is None.
    SettingsError
        In `fit` and `partial_fit`, if a parameter is not allowed.
    """

    def __init__(
        self,
        n_components=256,
        *,
        estimator="pcd",
        options=None,
        update="sgd",
        learning_rate=0.1,
        batch_size=10,
        n_iter=10,
        threshold=None,
        warm_start=False,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        tol=1e-3,
        verbose=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.estimator = estimator
        self.options = options
        self.update = update
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_iter = n_iter
        self.threshold = threshold
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.categorical = True
        return tags

    def fit(self, X, y=None):
        """Train the RBM on rows X (rows, m), and return self; y is ignored."""
        first = not (self.warm_start and getattr(self, "_trained", None))
        rows = self._states(X, reset=first)
        if first:
            self._begin()
        held_out = None
        if self.early_stopping:
            held_out, rows = self._split(rows)
            self.validation_scores_ = []
        self._train(rows, positive_integer("n_iter", self.n_iter), held_out)
        return self

    def partial_fit(self, X, y=None):
        """Make one pass over rows X (rows, m) from the current model, or a new one, and return self; y is ignored.

        Chains continue from call to call while ``batch_size`` rows or more are passed.
        """
        first = getattr(self, "_trained", None) is None
        rows = self._states(X, reset=first)
        if first:
            self._begin()
        self._train(rows, 1)
        return self

    def transform(self, X):
        """Return p(h = 1 | v) for rows X (rows, m): float64 (rows, n)."""
        return self._applied(self._model().hidden_mean, X)

    def inverse_transform(self, H):
        """Return p(v = 1 | h) for hidden states or means H (rows, n), as of `transform`: float64 (rows, m)."""
        return self._model().visible_mean(check_array(H, dtype=np.float64))

    def gibbs(self, X):
        """Return rows after one Gibbs step from rows X (rows, m): uint8 (rows, m) of 0 and 1.

        Random numbers continue from call to call; `fit` starts them anew, unless ``warm_start`` is set.
        """
        model, rows = self._model(), np.asarray(self._states(X))
        hidden = _tossed(model.hidden_mean(rows), self.random_state_)
        return _tossed(model.visible_mean(hidden), self.random_state_)

    def score_samples(self, X):
        """Return log p(v) of rows X (rows, m), in nats: float64 (rows,).

        All have the error of ``log_partition_``, which is `log_partition_error_`.
        """
        return normalised(-self._applied(self._model().free_energy, X), self.log_partition_)

    def score(self, X, y=None):
        """Return the mean of log p(v) over rows X, in nats; y is ignored."""
        return float(self.score_samples(X).mean())

    def pseudo_likelihood(self, X):
        """Return the log pseudo-likelihood of rows X (rows, m), in nats, which needs no log Z: float64 (rows,).

        It is the sum over the units of log p(v_i | all other units), exact, at the cost of m free energies a row.
        """
        return self._applied(partial(pseudo_log_likelihood, self._model()), X)

    @cached_property
    def log_partition_(self):
        """Log Z in nats, see above."""
        check_is_fitted(self, "rbm_")
        self._log_partition_error = 0.0
        if is_enumerable(self.rbm_.visible_units, self.rbm_.hidden_units):
            return float(exact_log_partition(self.rbm_))
        estimate = ais_log_partition(self.rbm_, PARTICLES, TEMPERATURES, base=self._base_bias)
        self._log_partition_error = float(estimate.standard_error)
        return float(estimate.log_partition)

    @property
    def log_partition_error_(self):
        """Standard error of log Z in nats, see above."""
        self.log_partition_  # noqa: B018  # computes both
        return self._log_partition_error

    @property
    def components_(self):
        """Weights, (n, m)."""
        return self.rbm_.W.T

    @property
    def intercept_visible_(self):
        """Visible bias, (m,)."""
        return self.rbm_.b

    @property
    def intercept_hidden_(self):
        """Hidden bias, (n,)."""
        return self.rbm_.c

    def _begin(self) -> None:
        self._trained = None
        self.random_state_ = check_random_state(self.random_state)
        self._seed = int(self.random_state_.randint(2**32, dtype=np.uint64))

    def _train(self, rows: np.ndarray, passes: int, held_out: np.ndarray | None = None) -> None:
        """Make passes over rows, until the score of held-out rows stops rising; keep the last or best model."""
        training = Passes(rows, self._settings(rows, passes), self._trained)
        scored = rows[:: -(-len(rows) // REPORTED_ROWS)] if held_out is None else held_out
        best, best_score, stale, started = None, -np.inf, 0, perf_counter()
        patience = positive_integer("n_iter_no_change", self.n_iter_no_change)
        tol = number_within("tol", self.tol, np.inf)
        for number in range(1, passes + 1):
            rbm, score = training.next(), None
            exact = is_enumerable(rbm.visible_units, rbm.hidden_units)
            if self.verbose or held_out is not None:
                mean = log_likelihood(rbm, scored, exact_log_partition(rbm)) if exact else pseudo_score(rbm, scored)
                score = float(mean)
            if self.verbose:
                seconds, kind = perf_counter() - started, "log-likelihood" if exact else "pseudo-likelihood"
                row_kind = "training" if held_out is None else "held-out"
                print(f"[RBMTransformer] pass {number}, {kind} of {row_kind} rows = {score:.4f}, time = {seconds:.2f}s")
            if held_out is None:
                best = rbm
                continue
            self.validation_scores_.append(score)
            stale = 0 if score > best_score + tol else stale + 1
            if score > best_score:
                best, best_score = rbm, score
            if stale == patience:
                break
        self.rbm_, self._trained, self.n_iter_ = best, training.trained(best), training.passes
        self._base_bias = base_rate_bias(rows)
        self._n_features_out = best.hidden_units
        self.__dict__.pop("log_partition_", None)

    def _settings(self, rows: np.ndarray, passes: int) -> RunSettings:
        batch = min(positive_integer("batch_size", self.batch_size), len(rows))
        values = {
            "hidden": self.n_components,
            "batch": batch,
            "iterations": passes * (len(rows) // batch),
            "estimator": self.estimator,
            "options": self.options,
            "update": self.update,
            "rate": self.learning_rate,
            "seed": self._seed,
        }
        return settings_from(values, {"name": "user"}, "train")

    def _split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return held-out rows and the others, chosen at random; a `SettingsError` if either would be empty."""
        share = self.validation_fraction
        count = round(share * len(rows)) if isinstance(share, float | np.floating) and 0 < share < 1 else 0
        if not 0 < count < len(rows):
            allowed = "between 0 and 1 and leave rows on both sides"
            raise SettingsError(f"validation_fraction: must be {allowed}, got {share!r} of {len(rows)} rows")
        # The same rows in each fit that continues a model, which has been trained on the others.
        order = np.random.RandomState(self._seed).permutation(len(rows))
        return rows[order[:count]], rows.take(order[count:], axis=0)

    def _model(self) -> RBM:
        check_is_fitted(self, "rbm_")
        return self.rbm_.astype(np.float64)

    def _applied(self, function, X) -> np.ndarray:
        """Return a function of dense rows for rows X, which are made dense in blocks if they are sparse."""
        rows = self._states(X)
        blocks = rows.blocks() if isinstance(rows, SparseRows) else [rows]
        return np.concatenate([function(block) for block in blocks])

    def _states(self, X, reset=False) -> "np.ndarray | SparseRows":
        rows = validate_data(self, X, reset=reset, dtype="numeric", accept_sparse="csr")
        if self.threshold is not None and not (isinstance(self.threshold, Real) and np.isfinite(self.threshold)):
            raise SettingsError(f"threshold: must be None or a finite number, got {self.threshold!r}")
        if not sparse.issparse(rows) or (self.threshold or 0) < 0:
            rows = rows.toarray() if sparse.issparse(rows) else rows
            return self._on(rows, lambda wrong: np.unravel_index(wrong, rows.shape))
        rows = rows.copy()
        rows.sum_duplicates()
        places = rows.tocoo()
        is_on = self._on(rows.data, lambda wrong: (places.row[wrong], places.col[wrong]))
        return SparseRows(sparse.csr_array((is_on, rows.indices, rows.indptr), shape=rows.shape))

    def _on(self, values: np.ndarray, place: Callable[[int], tuple[int, int]]) -> np.ndarray:
        """Return whether units of these values are on, uint8; ``place`` returns row and column of the i-th value."""
        if self.threshold is not None:
            return (values > self.threshold).astype(np.uint8)
        between = values != np.floor(values)
        if between.any():
            row, column = place(wrong := between.argmax())
            name = repr(str(self.feature_names_in_[column])) if hasattr(self, "feature_names_in_") else column + 1
            raise DataError(
                f"X: row {row + 1}, column {name}: must be a whole number, as 0, 1 or a count, got "
                f"{values.flat[wrong]:g}; threshold turns numbers into 0 and 1"
            )
        return (values >= 1).astype(np.uint8)


def _tossed(means: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    return (random.random_sample(means.shape) < means).astype(np.uint8)


def from_scikit_learn(model: BernoulliRBM) -> RBM:
    """Return the RBM of a fitted `BernoulliRBM`, with copies of its parameters.

    Raises a `SettingsError` if it is not fitted, or has no such parameters.
    """
    names = ("components_", "intercept_visible_", "intercept_hidden_")
    if missing := [name for name in names if not hasattr(model, name)]:
        raise SettingsError(f"from_scikit_learn: {type(model).__name__}: no {missing[0]}; allowed: a fitted model")
    W, b, c = (np.array(getattr(model, name), order="C") for name in names)
    return RBM(np.ascontiguousarray(W.T), b, c)


def to_scikit_learn(rbm: RBM) -> BernoulliRBM:
    """Return a fitted `BernoulliRBM` with copies of the parameters of one RBM, which must have no leading axes.

    Its ``partial_fit`` trains it further. Raises a `SettingsError` if there are leading axes.
    """
    if rbm.W.ndim != 2:
        raise SettingsError(f"to_scikit_learn: must be one model, such as rbm[0], got an RBM of shape {rbm.W.shape}")
    rbm = rbm.on_host().copy()
    model = BernoulliRBM(n_components=rbm.hidden_units)
    model.components_, model.intercept_visible_, model.intercept_hidden_ = rbm.W.T, rbm.b, rbm.c
    model.n_features_in_, model._n_features_out = rbm.visible_units, rbm.hidden_units
    return model
