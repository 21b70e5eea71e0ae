"""Parallel branches: steps of a plan that do not depend on each other.

`waves` decides which steps run together. `branch_ports` gives each branch its own files and journal
entries. `merging` combines their files. `coordinator` lets the others finish when one branch fails.

Why: docs/decisions/0022-branches.md
"""
