"""The jobs of a chaos run, each with a client that logs its observations."""
