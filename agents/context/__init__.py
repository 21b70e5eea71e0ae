"""What of a conversation is sent: `trimming` by price, `overflow` by the model's context."""
