"""The benchmark of repair: the classification of failures, and the outcome of repair paths.

`programs.yaml` has programs with real bugs, which run in the sandbox. `paths` are jobs through the
whole graph, with a local provider in place of the model.
"""
