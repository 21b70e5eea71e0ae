"""Installs the fail point in an interpreter that a process with a fail point starts: see
`fail_points.py`.
"""

from __future__ import annotations

import os

from support.processes.fail_points import NAMED, install

if NAMED in os.environ:
    install(os.environ[NAMED])
