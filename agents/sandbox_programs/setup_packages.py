"""Adds the packages that a repository's setup has installed to the module path. A run's `.pth` file
executes this text when an interpreter starts.
"""

# ruff: noqa: PTH112 - pathlib is slow to import

from __future__ import annotations

import os
import site
import sys

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
PACKAGES = f"/work/.setup/lib/{VERSION}/site-packages"

if os.path.isdir(PACKAGES):
    site.addsitedir(PACKAGES)
