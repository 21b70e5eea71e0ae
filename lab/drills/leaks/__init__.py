"""Thousands of runs in a row must leave nothing behind.

mix     the runs: quick, failing, hanging, forking, flooding, killed, and abandoned by the caller
census  counts of processes, mounts, groups, containers, files, descriptors, and memory
growth  the judgement of growth; pure
drill   the complete drill
"""
