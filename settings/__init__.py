"""Every setting of every process, with its default: the only place that reads the environment.

A value comes from, first wins: a flag, the environment (`FETTLE_...`), the file that `--config` or
FETTLE_CONFIG names, the default. A process reads its settings once, at its start, and passes plain
values on.

Why: docs/decisions/0003-settings-package.md
"""
