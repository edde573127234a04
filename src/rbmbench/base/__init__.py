"""Foundations of the package: errors, settings, validation, random streams, registries of named parts."""
