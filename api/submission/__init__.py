"""From a validated request to a JobSpec, with the limits of the operator's settings."""
