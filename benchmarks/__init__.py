"""Quality and speed beside simple baselines; `python -m benchmarks` runs everything."""

import minutebook  # noqa: F401  first, so that numpy finds how many threads it may have
