"""A run's container: its life, its events, and the relays of one with a proxy."""
