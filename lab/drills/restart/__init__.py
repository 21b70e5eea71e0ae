"""All programs are killed while jobs wait for a person. The jobs must continue without any loss."""
