"""Redis as the stores use it: the names of keys, connections, scripts, channels, its settings."""
