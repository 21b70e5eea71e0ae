"""The commands of `fettle-lab`: a module for each one, with a `click.Command` named `command`."""
