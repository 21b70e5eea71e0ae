"""The programs that an attack sends into a sandbox: the source of probes, and of their shared
functions.
"""
