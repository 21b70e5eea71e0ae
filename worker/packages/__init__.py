"""Packages for jobs, from an operator's index and by an operator's list.

Nothing of a package is run here: a wheel is read as a zip file, for what it needs, and passed on.
"""
