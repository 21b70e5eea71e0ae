"""Images that have the layers of commands: what is in one, and those that an engine has."""
