"""Programs that run in the sandbox, sent as text; they import only the standard library."""
