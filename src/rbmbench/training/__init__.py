"""Training runs: the loop, shards of trials, checkpoints, scheduled evaluation."""
