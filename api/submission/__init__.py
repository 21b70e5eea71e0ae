"""From a checked request to a JobSpec: what the operator's settings limit, field by field."""
