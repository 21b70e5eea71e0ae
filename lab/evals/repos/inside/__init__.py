"""Programs that run in the sandbox, sent as text; they import the standard library alone."""
