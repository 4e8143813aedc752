"""Contracts, one folder each: the promise as data, the answers as code."""
