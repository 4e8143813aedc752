"""Measures how well search finds what data sets ask for: `python -m benchmarks.finding`; docs/measuring-search.md describes their files and the measures.

`datasets.py` reads JSON lines, `runs.py` stores and asks, `metrics.py` scores, `report.py` makes tables.
"""
