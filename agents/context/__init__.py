"""The parts of a conversation that are sent: `trimming` by price, `overflow` by the model's
context."""
