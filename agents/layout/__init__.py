"""Layout: which modules a project's own metadata makes importable, as its editable install would.

`site` reads the metadata and applies the rule of the build backend: `backends` has the rules for
backends that add directories to the module path, `setuptools` the rule that also maps single
packages. `site` writes the result, and the project's metadata, as files of a `site-packages`
directory. Pure: no code of the project runs.

See ADR 69.
"""
