"""The reference kernels in plain NumPy: readable, exact about what they compute, and the fallback without Numba.

Shapes as in `rbmbench.kernels`. Uniforms and coins of one draw form one flat sequence per replica; element (row, unit)
of a (rows, units) array takes position row * units + unit. Sampling tosses coins: 16 bits decide nearly every unit, and
further bits are drawn only for the rest, so that half the random bits give a resolution of 2**-48.
"""

import numpy as np

from rbmbench.streams import Draw

__all__ = [
    "ascend",
    "bernoulli_mean",
    "bernoulli_mean_and_softplus_sum",
    "gather_rows",
    "hidden_log_weights",
    "sample",
    "sample_bernoulli",
    "sample_bernoulli_and_log_probability",
    "softplus_difference",
    "softplus_sum",
    "tempered_sweeps",
    "uniforms",
]

MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
CHUNK = 64  # positions served by 16 Philox blocks: vectorised code then writes each of the 4 words contiguously


def philox(counter, key):
    """Return the four output words of Philox4x32-10 (Salmon et al. 2011) for arrays of counters and keys.

    Parameters
    ----------
    counter : sequence of 4 uint32 arrays
    key : sequence of 2 uint32 arrays
        Broadcast against the counters.
    """
    c0, c1, c2, c3 = (np.asarray(word, dtype=np.uint64) for word in counter)
    k0, k1 = (np.asarray(word, dtype=np.uint64) for word in key)
    for _ in range(10):
        p0, p1 = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> np.uint64(32)) ^ c1 ^ k0, p1 & LOW, (p0 >> np.uint64(32)) ^ c3 ^ k1, p0 & LOW
        k0, k1 = (k0 + np.uint64(WEYL[0])) & LOW, (k1 + np.uint64(WEYL[1])) & LOW
    return tuple(word.astype(np.uint32) for word in (c0, c1, c2, c3))


def uniforms(draw: Draw, count: int, dtype=np.float32) -> np.ndarray:
    """Return the first ``count`` uniforms of a draw for every replica.

    Position p is served by Philox block 16 * (p // 64) + p % 16, word (p // 16) % 4. A word x becomes
    (x >> 8) * 2**-24 in float32 and (x + 1/2) * 2**-32 in float64.

    Returns
    -------
    ndarray, shape (replicas, count), on [0, 1)
    """
    chunks = -(-count // CHUNK)
    blocks = np.arange(16 * chunks, dtype=np.uint32)
    words = _words(draw, draw.purpose, blocks)
    bits = np.stack([word.reshape(len(draw.trials), chunks, 16) for word in words], axis=2)
    bits = bits.reshape(len(draw.trials), chunks * CHUNK)[:, :count]
    if dtype == np.float32:
        return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)
    return (bits + 0.5) * 2.0**-32


def coins(draw: Draw, count: int) -> np.ndarray:
    """Return the first ``count`` coins of a draw for every replica: 16-bit numbers, uint32 (replicas, count).

    Position p is served by Philox block 16 * (p // 128) + p % 16, word (p // 16) % 4, of which positions with
    p % 128 < 64 take the low half.
    """
    chunks = -(-count // (2 * CHUNK))
    blocks = np.arange(16 * chunks, dtype=np.uint32)
    words = _words(draw, draw.purpose, blocks)
    bits = np.stack([word.reshape(len(draw.trials), chunks, 16) for word in words], axis=2)
    halves = np.stack([bits & np.uint32(0xFFFF), bits >> np.uint32(16)], axis=2)
    return halves.reshape(len(draw.trials), chunks * 2 * CHUNK)[:, :count]


def toss(draw: Draw, mean: np.ndarray) -> np.ndarray:
    """Return where the uniform (k + r) / 65536 of each position is below ``mean``, shape (replicas, ...).

    k is the position's coin. r, uniform on (0, 1), is drawn only where k leaves the matter open: from Philox block p of
    the same draw with the top bit of its purpose set, as (x + 1/2) * 2**-32 of the first word x.
    """
    flat = mean.reshape(len(mean), -1)
    x = flat * 65536.0 - coins(draw, flat.shape[1])
    result = x >= 1
    replica, position = np.nonzero((x > 0) & (x < 1))
    if len(replica):
        purpose = draw.purpose ^ np.uint32(0x80000000)
        one_trial_each = draw._replace(trials=draw.trials[replica])
        words = _words(one_trial_each, purpose, position[:, None])
        result[replica, position] = (words[0][:, 0] + 0.5) * 2.0**-32 < x[replica, position]
    return result.reshape(mean.shape)


def _words(draw: Draw, purpose, blocks) -> tuple:
    """Return the output words of Philox blocks, shape (replicas, blocks) each."""
    low, high = np.uint32(draw.number & LOW), np.uint32(draw.number >> np.uint64(32))
    return philox((blocks, low, high, purpose), (draw.seed, draw.trials[:, None]))


def _sigmoid(a: np.ndarray) -> np.ndarray:
    decay = np.exp(-np.abs(a))
    return np.where(a >= 0, 1, decay) / (1 + decay)


def _softplus(a: np.ndarray) -> np.ndarray:
    return np.maximum(a, 0) + np.log1p(np.exp(-np.abs(a)))


def gather_rows(data: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
    """Write rows ``data[index]`` as floats: data (rows, m) uint8, index (replicas, batch), out (replicas, batch, m)."""
    out[...] = data[index]


def bernoulli_mean(activation, bias) -> None:
    """Overwrite ``activation`` with sigmoid(activation + bias)."""
    activation[...] = _sigmoid(activation + bias[:, None, :])


def bernoulli_mean_and_softplus_sum(activation, bias, softplus) -> None:
    """Overwrite ``activation`` with sigmoid(activation + bias), and ``softplus`` with the row sums of its softplus.

    ``softplus`` is float64 (replicas, rows): sum of log(1 + exp(activation + bias)), nats.
    """
    softplus_sum(activation, bias, softplus)
    bernoulli_mean(activation, bias)


def ascend(parameter, up, up_rate: float, down, down_rate: float) -> None:
    """Add up_rate * up - down_rate * down to ``parameter``; arrays of one shape."""
    kind = parameter.dtype.type
    parameter += kind(up_rate) * up - kind(down_rate) * down


def softplus_sum(activation, bias, softplus) -> None:
    """Write the row sums of softplus(activation + bias), in nats, to ``softplus``: float64 (replicas, rows)."""
    softplus[...] = _softplus(activation + bias[:, None, :]).sum(axis=-1, dtype=np.float64)


def sample(mean, draw: Draw, out) -> None:
    """Write 1 with probability ``mean``, else 0, as `toss` decides."""
    out[...] = toss(draw, mean)


def softplus_difference(activation, bias, first: float, second: float, difference) -> None:
    """Add the row sums of softplus(second (activation + bias)) - softplus(first (activation + bias)) to ``difference``.

    ``difference`` is float64 (replicas, rows), nats; ``first`` and ``second`` are inverse temperatures.
    """
    a = activation + bias[:, None, :]
    kind = a.dtype.type
    difference += (_softplus(kind(second) * a) - _softplus(kind(first) * a)).sum(axis=-1, dtype=np.float64)


def sample_bernoulli(activation, bias, draw: Draw, scale: float = 1.0) -> None:
    """Overwrite ``activation`` with a sample of Bernoulli(sigmoid(scale * activation + bias))."""
    activation[...] = toss(draw, _sigmoid(activation.dtype.type(scale) * activation + bias[:, None, :]))


def sample_bernoulli_and_log_probability(activation, bias, draw: Draw, log_probability) -> None:
    """Sample as `sample_bernoulli` and write each row's log probability of its own sample.

    ``log_probability`` is float64 (replicas, rows): sum over units of x a - softplus(a), a = activation + bias, nats.
    """
    a = activation + bias[:, None, :]
    activation[...] = toss(draw, _sigmoid(a))
    log_probability[...] = (activation * a - _softplus(a)).sum(axis=-1, dtype=np.float64)


def tempered_sweeps(W, b, c, inverse_temperatures, draw: Draw, visible, samples) -> None:
    """Advance tempered chains of one-or-more independent sets and record the state at inverse temperature 1.

    A sweep is: h ~ sigmoid(beta (c + v W)), v ~ sigmoid(beta (b + W h)) for every chain, then swaps of the even and
    then of the odd neighbouring pairs of whole states (v, h), accepted with probability
    min(1, exp((beta_r - beta_s) (E_r - E_s))), E the energy of (v, h). Sweep s uses draw number + s.

    Parameters
    ----------
    W, b, c : ndarray, shapes (replicas, m, n), (replicas, m), (replicas, n)
    inverse_temperatures : ndarray, shape (chains,), ascending to 1
    draw : Draw
        The first of as many successive draws as there are sweeps.
    visible : ndarray, shape (replicas, sets, chains, m)
        The chains' visible states; changed in place.
    samples : ndarray, shape (replicas, sets, sweeps, m)
        Receives the visible state of the last chain after every sweep.
    """
    replicas, sets, chains, m = visible.shape
    n = W.shape[-1]
    beta = inverse_temperatures[:, None]
    for sweep in range(samples.shape[2]):
        number = draw._replace(number=draw.number + np.uint64(sweep))
        u = uniforms(number, sets * chains * (n + m + 1), W.dtype).reshape(replicas, sets, chains * (n + m + 1))
        u_h, u_v, u_swap = np.split(u, [chains * n, chains * (n + m)], axis=-1)
        hidden_activation = visible @ W[:, None] + c[:, None, None, :]
        hidden = (u_h.reshape(hidden_activation.shape) < _sigmoid(beta * hidden_activation)).astype(W.dtype)
        activation = hidden @ W.swapaxes(-1, -2)[:, None] + b[:, None, None, :]
        visible[...] = u_v.reshape(activation.shape) < _sigmoid(beta * activation)
        energy = -(visible * activation).sum(-1) - (hidden * c[:, None, None, :]).sum(-1)
        for first in (0, 1):
            for r in range(first, chains - 1, 2):
                exponent = (inverse_temperatures[r] - inverse_temperatures[r + 1]) * (
                    energy[..., r] - energy[..., r + 1]
                )
                swap = u_swap[..., r] < np.exp(np.minimum(exponent, 0))
                for state in (visible, energy):
                    pair = state[:, :, r : r + 2]
                    pair[swap] = pair[swap][:, ::-1]
        samples[:, :, sweep] = visible[:, :, -1]


def hidden_log_weights(W, b, c) -> np.ndarray:
    """Return log sum_v exp(-E(v, h)) for every hidden state h of one RBM, in nats: the straightforward sum.

    Parameters
    ----------
    W, b, c : float64 ndarrays, shapes (m, n), (m,), (n,)

    Returns
    -------
    ndarray, float64, shape (2**n,)
        State number s has hidden unit j equal to bit n - 1 - j of s.
    """
    n = len(c)
    log_weights = np.empty(2**n)
    block = max(1, min(2**n, 2**22 // max(1, len(b))))
    for start in range(0, 2**n, block):
        h = binary_states(n, start, min(2**n, start + block))
        log_weights[start : start + len(h)] = h @ c + _softplus(h @ W.T + b).sum(axis=1)
    return log_weights


def binary_states(units: int, start: int = 0, stop: int | None = None) -> np.ndarray:
    """Return states ``start`` to ``stop`` of binary units, float64 (states, units), unit 0 the highest bit."""
    return states_of(np.arange(start, 2**units if stop is None else stop), units)


def states_of(numbers: np.ndarray, units: int) -> np.ndarray:
    """Return the states of binary units that have these numbers, float64 (..., units), unit 0 the highest bit."""
    bits = np.arange(units - 1, -1, -1, dtype=np.uint64)
    return ((numbers.astype(np.uint64)[..., None] >> bits) & np.uint64(1)).astype(np.float64)
