"""Model and tool calls that are made once, also after a crash: the journal has finished calls."""
