"""Move a store to another engine."""
