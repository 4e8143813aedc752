"""Telemetry of the server for operators: an access log, health, metrics."""
