"""Readers of other programs' files, one module a program; none follows a link or trusts a size."""
