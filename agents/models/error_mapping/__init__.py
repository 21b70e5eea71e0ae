"""Maps the errors of providers and their client libraries to ModelError."""
