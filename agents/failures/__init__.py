"""Failures: the class of a failed run and its cause, and the change of a file as a diff. Pure."""
