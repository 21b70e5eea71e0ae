"""`make demo`: five jobs through a throw-away deployment. The demo uses only the public API."""
