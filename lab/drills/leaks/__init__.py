"""Thousands of runs in a row must leave nothing behind.

mix       the runs: quick ones, failing, hanging, forking, flooding, killed, and given up by us
census    what there is of processes, mounts, groups, containers, files, descriptors, memory
growth    the judgement of growth; pure
drill     the whole
"""
