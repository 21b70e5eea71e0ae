"""Parallel branches: steps of a plan that do not depend on each other.

`waves` decides which steps run together. `branches` gives each branch its own files and journal
entries. `merging` combines the files of the branches.

See ADR 22.
"""
