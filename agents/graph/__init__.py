"""The graph's shape, its state, its routes, and what goes in and comes out."""
