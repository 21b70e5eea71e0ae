"""The records of the domain: specs, job records, reviews, events. Frozen values."""
