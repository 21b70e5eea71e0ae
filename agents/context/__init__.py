"""What of a request a model is sent: `trimming` by price, `overflow` by the model's context."""
