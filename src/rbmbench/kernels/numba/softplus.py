# SPDX-License-Identifier: BSD-3-Clause
"""Row sums of softplus(a) = log(1 + exp(a)), alone, with the means, and at two inverse temperatures."""

import numpy as np

from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.elementary import FAST, exp_minus

BLOCK = 64
LARGE = 1e270

# The sum of softplus(a) over a row is the sum of max(a, 0) plus the log of the product of 1 + exp(-|a|). The factors
# are in (1, 2], so BLOCK of them fit float32; NumPy's vectorised log is applied to all rows at once. Unsigned indices
# need no check for negative values, so that the loops vectorise.


@compiled(fastmath=FAST, error_model="numpy")
def _softplus_parts(activation, bias, positive, product, means):
    """Write the sums of the positive parts and the products; replace activations by means unless ``means`` is None."""
    replicas, rows, units = activation.shape
    zero, one = bias.dtype.type(0), bias.dtype.type(1)
    for r in range(replicas):
        for row in range(rows):
            row_positive, row_product = 0.0, 1.0
            for start in range(0, units, BLOCK):
                block_positive, block_product = zero, one
                for k in range(min(BLOCK, units - start)):
                    i = np.uint64(start) + np.uint64(k)
                    a = activation[r, row, i] + bias[r, i]
                    t = exp_minus(abs(a))
                    block_positive += max(a, zero)
                    block_product *= one + t
                    if means is not None:  # decided at compile time
                        activation[r, row, i] = (one if a >= zero else t) / (one + t)
                row_positive += block_positive
                row_product *= block_product
                if row_product > LARGE:
                    row_positive += np.log(row_product)
                    row_product = 1.0
            positive[r, row], product[r, row] = row_positive, row_product


@compiled(fastmath=FAST, error_model="numpy")
def _softplus_difference(activation, bias, first, second, positive, first_product, second_product):
    """Add the difference of the positive parts to ``positive``; write the products at both inverse temperatures."""
    replicas, rows, units = activation.shape
    zero, one = bias.dtype.type(0), bias.dtype.type(1)
    for r in range(replicas):
        for row in range(rows):
            row_positive, row_first, row_second = 0.0, 1.0, 1.0
            for start in range(0, units, BLOCK):
                block_positive, block_first, block_second = zero, one, one
                for k in range(min(BLOCK, units - start)):
                    i = np.uint64(start) + np.uint64(k)
                    a = activation[r, row, i] + bias[r, i]
                    block_positive += max(a, zero)
                    block_first *= one + exp_minus(first * abs(a))
                    block_second *= one + exp_minus(second * abs(a))
                row_positive += block_positive
                row_first *= block_first
                row_second *= block_second
                if row_first > LARGE or row_second > LARGE:
                    positive[r, row] += np.log(row_second) - np.log(row_first)
                    row_first, row_second = 1.0, 1.0
            positive[r, row] += np.float64(second - first) * row_positive
            first_product[r, row], second_product[r, row] = row_first, row_second


def softplus_difference(activation, bias, first, second, difference):
    products = np.empty((2, *difference.shape))
    kind = activation.dtype.type
    _softplus_difference(activation, bias, kind(first), kind(second), difference, *products)
    np.log(products, out=products)
    difference += products[1] - products[0]


def softplus_sum(activation, bias, softplus, means=None):
    product = np.empty_like(softplus)
    _softplus_parts(activation, bias, softplus, product, means)
    softplus += np.log(product, out=product)


def bernoulli_mean_and_softplus_sum(activation, bias, softplus):
    softplus_sum(activation, bias, softplus, means=True)
