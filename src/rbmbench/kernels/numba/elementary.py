# SPDX-License-Identifier: BSD-3-Clause
"""exp(-a) as vectorisable code, and the permissions to the compiler that make loops vectorisable."""

from math import factorial

import numpy as np
from numba import types
from numba.extending import overload

from rbmbench.kernels.numba.compiling import compiled

# Comparisons with NaN may give any result: the training loop checks that parameters are finite.
FAST = {"contract", "nsz", "nnan", "ninf", "arcp", "reassoc"}

# 2**r on [-1/2, 1/2]: the polynomial of degree 5 with the smallest maximal relative error (7.5e-8).
P5, P4, P3, P2, P1, P0 = (
    np.float32(p) for p in (0.00132764704, 0.00967554162, 0.0555071328, 0.240221197, 0.693146967, 1.00000007)
)
MINUS_LOG2_E = np.float32(-1.4426950408889634)
ROUND = np.float32(12582912.0)  # 1.5 * 2**23: adding it rounds to an integer, in the low bits
EXPONENT = np.int32(23)
LEAST, MOST = np.float32(-115.0), np.float32(115.0)


@compiled(fastmath={"contract", "nsz"})
def _exp_minus_float32(a):
    y = min(max(a * MINUS_LOG2_E, LEAST), MOST)
    rounded = y + ROUND
    r = y - (rounded - ROUND)
    p = ((((P5 * r + P4) * r + P3) * r + P2) * r + P1) * r + P0
    bits = np.int32(np.float32(p).view(np.int32) + (np.float32(rounded).view(np.int32) << EXPONENT))
    return bits.view(np.float32)


# exp(r) on [-log(2)/2, log(2)/2]: the Taylor series to degree 13, with a remainder below 2e-17. Log 2 is split into two
# parts; multiples of the first are exact, so that r keeps full precision.
T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13 = (1 / factorial(k) for k in range(2, 14))
LOG2_E, LOG_2 = 1.4426950408889634, (0.6931471803691238, 1.9082149292705877e-10)
ROUND_FLOAT64 = 6755399441055744.0  # 1.5 * 2**52
EXPONENT_FLOAT64 = np.int64(52)
MOST_FLOAT64 = 700.0


@compiled(fastmath={"contract", "nsz"})
def _exp_minus_float64(a):
    x = -min(max(a, -MOST_FLOAT64), MOST_FLOAT64)
    rounded = x * LOG2_E + ROUND_FLOAT64
    whole = rounded - ROUND_FLOAT64
    r = (x - whole * LOG_2[0]) - whole * LOG_2[1]
    r2 = r * r
    r4 = r2 * r2
    # Estrin's scheme: shorter dependency chains than Horner's.
    low = ((1.0 + r) + (T2 + T3 * r) * r2) + ((T4 + T5 * r) + (T6 + T7 * r) * r2) * r4
    high = ((T8 + T9 * r) + (T10 + T11 * r) * r2) + (T12 + T13 * r) * r4
    p = low + high * (r4 * r4)
    bits = np.int64(np.float64(p).view(np.int64) + (np.float64(rounded).view(np.int64) << EXPONENT_FLOAT64))
    return bits.view(np.float64)


def exp_minus(a):
    """Return exp(-a), with a clamped to avoid overflow.

    float32: |a| <= 79, relative error below 2.5e-7 + 8e-8 |a|; float64: |a| <= 700, relative error below 5e-16.
    """


@overload(exp_minus)
def _choose_exp_minus(a):
    if a == types.float32:
        return lambda a: _exp_minus_float32(a)
    return lambda a: _exp_minus_float64(a)
