"""Properties of the BLAS library, for code that chooses between ways to compute a product."""

__all__ = ["SMALL_PRODUCT"]

# Multiplications up to which OpenBLAS with AVX-512 multiplies without copying the matrices first.
SMALL_PRODUCT = 10**6
