# SPDX-License-Identifier: BSD-3-Clause
"""Training of one model by passes over rows, which may differ between passes; without evaluations and checkpoints.

The passes of a new model are the iterations of `rbmbench.train`, bit for bit.
"""

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench.base.errors import SettingsError
from rbmbench.base.settings import RunSettings
from rbmbench.kernels import backends, on_host
from rbmbench.model.rbm import RBM
from rbmbench.model.sparse_rows import array_like, on_backend
from rbmbench.training.shards import Shard
from rbmbench.training.trainer import initial_parameters


@dataclass(frozen=True)
class Trained:
    """State between passes: a model (1, m, n), chains, velocities, and the positions of random streams."""

    rbm: RBM
    settings: RunSettings
    state: dict[str, np.ndarray]
    memory: dict[str, np.ndarray]
    draw: int
    passes: int


class Passes:
    """Passes over rows (rows, m), uint8 or `SparseRows`, of a new model, or of one that was trained before.

    Chains and velocities continue if the estimator, the update rule and the rows of a mini-batch are as before, else
    they start anew. Rows that do not fill a mini-batch are left out of a pass.
    """

    def __init__(self, rows, settings: RunSettings, earlier: Trained | None = None):
        data = on_backend(rows, backends.choose("auto", backends.work(settings, rows.shape[1])).arrays)
        if earlier and (got := (rows.shape[1], settings.hidden)) != (units := earlier.rbm.W.shape[1:]):
            text = "must have the {} visible and {} hidden units of the model that is continued, got {} and {}"
            raise SettingsError(f"X, n_components: {text.format(*units, *got)}")
        rbm = earlier.rbm.copy() if earlier else initial_parameters(rows, settings)
        stage = settings.schedule[0]
        self.settings, self.passes = settings, earlier.passes if earlier else 0
        self._shard = Shard(rbm.like(array_like(data)), data, settings, [settings.first_trial])
        self._shard.stream.number = earlier.draw if earlier else 0
        continues = False
        if earlier and earlier.settings.batch == settings.batch:
            before = earlier.settings.schedule[0]
            continues = (before.estimator, before.update) == (stage.estimator, stage.update)
        self._shard.enter(stage, start=not continues)
        if continues:
            self._shard.state, self._shard.memory = (
                {name: np.array(array, like=array_like(data)) for name, array in arrays.items()}
                for arrays in (earlier.state, earlier.memory)
            )

    def next(self) -> RBM:
        """Make a pass, and return the model (m, n), a copy; `TrainingError` if its parameters are not finite."""
        iterations = self._shard.batches.per_epoch
        with threadpool_limits(1):
            self._shard.advance(self.passes * iterations, (self.passes + 1) * iterations)
        self._shard.check_energies((self.passes + 1) * iterations)
        self.passes += 1
        return self._shard.rbm[0].on_host().copy()

    def trained(self, rbm: RBM) -> Trained:
        """Return the state for further passes, with one of the models (m, n) that `next` has returned."""
        both = self._shard.state, self._shard.memory
        state, memory = ({name: on_host(array).copy() for name, array in arrays.items()} for arrays in both)
        return Trained(rbm[None], self.settings, state, memory, self._shard.stream.number, self.passes)
