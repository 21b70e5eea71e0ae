"""The benchmark of repair: is each failure classified rightly, and does each path of repair end
where it should?

`programs.yaml` holds programs with real bugs, each of which is truly run in the sandbox; `paths`
are jobs through the whole graph, with a local provider in the model's place.
"""
