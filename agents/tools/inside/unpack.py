"""Unpacks the packages of a workspace, once in a sandbox, and adds them to the module path: the
`.pth` file of a run executes this text when an interpreter starts. What a package would have every
interpreter execute (its `.pth` files, a `sitecustomize`) is left out.
"""

# ruff: noqa: PTH104, PTH112, PTH208, SIM105 - pathlib and contextlib are slow to import

from __future__ import annotations

import os
import sys

AT_START = ("sitecustomize", "usercustomize")
PACKAGES, TARGET = "/work/.packages", "/tmp/.packages"  # noqa: S108 - the sandbox's own


def unpack() -> None:
    """Make TARGET. Another process of the sandbox may be first."""
    import zipfile  # noqa: PLC0415 - most interpreters find it made

    part = f"{TARGET}-{os.getpid()}"
    for name in sorted(os.listdir(PACKAGES)):
        if name.endswith(".whl"):
            zipfile.ZipFile(f"{PACKAGES}/{name}").extractall(part)
    for name in os.listdir(part):
        for kind in ("purelib", "platlib"):
            folder = f"{part}/{name}/{kind}"
            if name.endswith(".data") and os.path.isdir(folder):
                for entry in os.listdir(folder):
                    os.rename(f"{folder}/{entry}", f"{part}/{entry}")
    for name in os.listdir(part):
        if name.partition(".")[0] in AT_START:
            os.rename(f"{part}/{name}", f"{part}/not-at-start-{name}")
    try:
        os.rename(part, TARGET)
    except OSError:
        pass


if os.path.isdir(PACKAGES) and not os.path.isdir(TARGET):
    unpack()
if os.path.isdir(TARGET) and TARGET not in sys.path:
    sys.path.append(TARGET)
