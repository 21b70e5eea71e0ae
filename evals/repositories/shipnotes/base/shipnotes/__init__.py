"""Release notes from fragments."""
