"""Building the sandboxes' image on an engine: `python -m sandbox.docker build`."""
