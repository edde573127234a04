"""What each kind of figure or table needs computed, and its spec: one module a kind, or a few that are alike."""
