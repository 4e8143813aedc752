"""Telemetry of the server for operators: a log, health, figures, traces."""
