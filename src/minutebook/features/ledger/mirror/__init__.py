"""The tables that follow a ledger in Git: brought to what it has, rebuilt, rewritten."""
