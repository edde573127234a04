# SPDX-License-Identifier: BSD-3-Clause
"""RBMs for and from scikit-learn: a transformer for pipelines, and models to and from `BernoulliRBM`."""

from functools import cached_property

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.neural_network import BernoulliRBM
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer
from rbmbench.likelihood import ais_log_partition, base_rate_bias, exact_log_partition, is_enumerable
from rbmbench.likelihood.exact import normalised
from rbmbench.model.rbm import RBM
from rbmbench.training.trainer import train

PARTICLES, TEMPERATURES = 512, 1000
"""Of the annealing that estimates log Z of models too large to enumerate."""


class RBMTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A binary RBM as a scikit-learn transformer, trained by any estimator of `rbmbench.estimators`.

    Parameters are named as those of `sklearn.neural_network.BernoulliRBM`, where it has them.

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
    threshold : float
        A visible unit is 1 where a value is larger. The default leaves values of 0 and 1 as they are.
    random_state : int, RandomState or None
        Seed of all random numbers.

    Attributes
    ----------
    rbm_ : RBM
        The trained model, float32.
    log_partition_ : float
        log Z in nats, computed when it is first used: exact if a layer has at most 25 units, otherwise estimated by
        annealed importance sampling.
    components_, intercept_visible_, intercept_hidden_ : ndarray, shapes (n, m), (m,), (n,)
        Parameters of the model, as those of `BernoulliRBM`.
    n_features_in_ : int
        Number of visible units.

    Raises
    ------
    SettingsError
        In `fit`, if a parameter is not allowed.
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
        threshold=0.5,
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
        self.random_state = random_state

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn: sparse rows are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y=None):
        """Train the RBM on rows X (rows, m), and return self; y is ignored."""
        rows = self._states(X, reset=True)
        batch = min(positive_integer("batch_size", self.batch_size), len(rows))
        iterations = positive_integer("n_iter", self.n_iter) * (len(rows) // batch)
        result = train(
            rows,
            hidden=self.n_components,
            batch=batch,
            iterations=iterations,
            estimator=self.estimator,
            options=self.options,
            update=self.update,
            rate=self.learning_rate,
            seed=int(check_random_state(self.random_state).randint(2**32, dtype=np.uint64)),
            evaluate_every=iterations,
        )
        self.rbm_ = result.rbm[0]
        self._base_bias = base_rate_bias(rows)
        self._n_features_out = self.rbm_.hidden_units
        self.__dict__.pop("log_partition_", None)
        return self

    def transform(self, X):
        """Return p(h = 1 | v) for rows X (rows, m): float64 (rows, n)."""
        check_is_fitted(self)
        return self.rbm_.astype(np.float64).hidden_mean(self._states(X))

    def score_samples(self, X):
        """Return log p(v) of rows X (rows, m), in nats: float64 (rows,)."""
        check_is_fitted(self)
        return normalised(-self.rbm_.astype(np.float64).free_energy(self._states(X)), self.log_partition_)

    def score(self, X, y=None):
        """Return the mean of log p(v) over rows X, in nats; y is ignored."""
        return float(self.score_samples(X).mean())

    @cached_property
    def log_partition_(self):
        """Log Z in nats, see above."""
        check_is_fitted(self)
        if is_enumerable(self.rbm_.visible_units, self.rbm_.hidden_units):
            return float(exact_log_partition(self.rbm_))
        return float(ais_log_partition(self.rbm_, PARTICLES, TEMPERATURES, base=self._base_bias).log_partition)

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

    def _states(self, X, reset=False) -> np.ndarray:
        """Return rows as states, uint8."""
        rows = validate_data(self, X, reset=reset, dtype="numeric", accept_sparse="csr")
        rows = rows.toarray() if sparse.issparse(rows) else rows
        return (rows > self.threshold).astype(np.uint8)


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
        raise SettingsError(f"to_scikit_learn: found an RBM of shape {rbm.W.shape}; allowed: one model, such as rbm[0]")
    rbm = rbm.on_host().copy()
    model = BernoulliRBM(n_components=rbm.hidden_units)
    model.components_, model.intercept_visible_, model.intercept_hidden_ = rbm.W.T, rbm.b, rbm.c
    model.n_features_in_, model._n_features_out = rbm.visible_units, rbm.hidden_units
    return model
