"""What goes over the wire. Free of FastAPI: the command line reads and writes with these."""
