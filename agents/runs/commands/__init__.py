"""Commands: how a command line and pytest are started, and what their outputs say of it."""
