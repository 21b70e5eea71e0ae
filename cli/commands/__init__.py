"""The commands: each module has one, named `command`."""
