# SPDX-License-Identifier: BSD-3-Clause
"""RBMs: parameters, energies, Gibbs steps, mini-batches, and distributions by enumeration."""
