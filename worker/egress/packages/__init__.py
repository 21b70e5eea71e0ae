"""Packages for jobs, by pip, from an operator's index and by an operator's list (ADR 46).

No code of a package runs here: pip downloads wheels, and they are passed on as they are.
"""
