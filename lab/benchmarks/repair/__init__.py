"""The benchmark of repair: the classification of failures, and the outcome of repair paths.

`programs.yaml` has programs with real bugs, which run in the sandbox. `paths` are jobs through the
complete graph, with a local provider instead of a model.
"""
