"""Commands about a deployment: keys, limits, models, settings, workers, the audit log."""
