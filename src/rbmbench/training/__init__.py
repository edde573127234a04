"""Training runs: the loop, shards of trials, checkpoints, evaluation on a schedule."""
