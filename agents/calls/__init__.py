"""Model and tool calls that are made once, whatever crashes: finished ones are in the journal."""
