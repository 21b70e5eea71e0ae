"""The system call filter: which calls pass, and its two forms (BPF, and a container engine's JSON).

syscalls            the allow-list: calls that always pass, and calls that depend on their arguments
conditions          the conditions on these arguments
allowed_arguments   each value that fcntl, prctl, ioctl and setsockopt may take
filters             assembles both forms of the filter
"""
