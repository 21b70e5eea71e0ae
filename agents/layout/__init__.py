"""Layout: which modules a project's own metadata makes importable, as its editable install would.

`editable` reads the metadata and asks the rule of the build backend: `backends` for those that add
directories to the module path, `setuptools` for the one that also maps single packages. `site`
turns the answer, and the metadata of `distribution`, into files of a `site-packages` directory.
Pure: no code of the project runs.

Why: docs/decisions/0069-a-run-is-what-a-clone-does.md
"""
