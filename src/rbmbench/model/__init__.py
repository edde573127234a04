"""RBMs: parameters, energies, Gibbs steps, mini-batches, and distributions by enumeration."""
