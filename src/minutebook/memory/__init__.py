"""Use cases: a module for each subject, a method for each use case, a transaction for each write."""
