"""Control groups: found, delegated, one for each sandbox, and removed after a supervisor."""
