"""Use cases: one module a subject, one method a use case, one transaction a write."""
