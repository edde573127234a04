"""PartName: CD-k that averages over the steps of its chains.

    E_model f  is estimated by  sum_i w_i (1/N) sum_j f(v_j^(i)),   f(v) = (v p(h|v)', v, p(h|v)),
    w_i = fading^(k-i) / sum_l fading^(k-l),   i = 1 ... k,

where v_j^(i) is the state after i steps of the Gibbs chain from row j of the mini-batch. With fading 0 it is CD-k, with
fading 1 the plain mean over the steps.

Source: paper and equation of the formula.
Shapes: chains (replicas, N, m) and (replicas, N, n); rows of the negative phase (replicas, k N, m).
"""

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer
from rbmbench.estimators import REGISTRY, Estimator
from rbmbench.model.gibbs import Population, hidden_mean, sample_hidden, sample_visible


@REGISTRY.register
class PartName(Estimator):
    """CD-k with ``k`` Gibbs steps, of which step i has a weight proportional to ``fading`` to the power k - i."""

    # The arguments of __init__ are the options; their values are checked here, before anything is computed.
    def __init__(self, k: int = 3, fading: float = 0.5):
        super().__init__()
        self.k = positive_integer("k", k)
        if isinstance(fading, bool) or not isinstance(fading, int | float) or not 0 <= fading <= 1:
            raise SettingsError(f"option 'fading': must be a number from 0 to 1, got {fading!r}")
        self.fading = float(fading)

    def products(self, batch, visible_units, hidden_units, diagnostics=None):
        """Return the products with W of an estimate: hidden means and statistics of the data, and 4 for each step."""
        return 2 + 4 * self.k

    def negative_phase(self, rbm, positive, state, stream):
        """Run chains for k steps from the mini-batch, and return the states after each step with their weights.

        ``positive`` has the mini-batch, ``visible`` (replicas, N, m), and its means p(h = 1 | v), ``hidden``. Every
        random number comes from ``stream``. An estimator with persistent chains keeps them in ``state``, named arrays
        with a leading axis of replicas, and defines ``start``; see rbmbench/estimators/pcd.py.
        """
        visible, rows = positive.visible, []
        for _ in range(self.k):
            hidden = sample_hidden(rbm, visible, stream, self.buffers)
            visible = sample_visible(rbm, hidden, stream, self.buffers)
            rows.append(visible.copy())  # the next step writes to the same buffer
        all_rows = np.concatenate(rows, axis=1)
        step_weights = self.fading ** np.arange(self.k - 1, -1, -1.0)
        row_weights = np.repeat(step_weights / step_weights.sum() / visible.shape[1], visible.shape[1])
        weights = np.empty(all_rows.shape[:2], all_rows.dtype, like=all_rows)
        weights[:] = np.asarray(row_weights, like=all_rows)
        # The last part are diagnostics, float64 (replicas,) by name: they become metrics of the run.
        return Population(all_rows, hidden_mean(rbm, all_rows, self.buffers), weights), state, {}
