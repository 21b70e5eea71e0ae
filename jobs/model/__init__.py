"""The records of the domain: what was asked, what stands, what happened. Frozen values."""
