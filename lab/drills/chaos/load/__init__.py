"""The jobs of a chaos run, each with a client that writes down what it saw."""
