"""Everything dies while jobs wait for a person. They must go on as if nothing had happened."""
