"""Branches: steps of a plan that need nothing of each other, taken side by side.

`waves` says which steps; `ports` gives each branch files and a journal of its own; `merging` lays
what they come to over each other; `abreast` keeps one that fails from cutting off the others.
"""
