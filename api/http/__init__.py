"""The HTTP wire: connections and their bounds, bodies, answers."""
