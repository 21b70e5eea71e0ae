"""Implements `agents.ports`, over `jobs`, `sandbox` and the operator's settings."""
