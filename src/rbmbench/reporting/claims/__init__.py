"""Claims: the evidence they rest on, the measurements, and the verdicts."""
