"""A job's data as text and markup. Pure."""
