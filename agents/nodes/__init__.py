"""The graph's nodes, one file each: `graph.routing` and `evidence` decide what is next."""
