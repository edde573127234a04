"""What is known of the library that multiplies matrices, for loops that choose how to ask it for a product."""

__all__ = ["SMALL_PRODUCT"]

# Multiplications, up to which OpenBLAS has kernels for AVX-512 that rearrange no matrix before they multiply.
SMALL_PRODUCT = 10**6
