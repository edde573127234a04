"""The configuration: its models, and how it is read, merged and checked."""
