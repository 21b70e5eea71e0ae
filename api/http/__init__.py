"""HTTP: connections and their limits, request bodies, responses, event streams."""
