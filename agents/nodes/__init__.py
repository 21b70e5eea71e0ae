"""The graph's nodes, one file each: they do; `agents.routing` and `agents.evidence` decide."""
