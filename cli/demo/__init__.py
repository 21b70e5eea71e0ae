"""`make demo`: five jobs through a throw-away deployment, by the public API alone."""
