"""Control groups: finds this process's groups, makes one for each sandbox, and removes them."""
