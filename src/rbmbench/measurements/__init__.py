"""Measurements of trained or random models: bias and variance of gradients, samples, meeting times of chains."""
