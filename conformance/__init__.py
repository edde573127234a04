# SPDX-License-Identifier: BSD-3-Clause
"""Small RBMs with exact numbers, and libraries that are compared with them."""
