"""Quality and speed beside simple baselines; `python -m benchmarks` runs everything."""
