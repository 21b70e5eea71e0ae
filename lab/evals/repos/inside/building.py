"""Builds by a project's own backend: the project of `/work` the editable way into FOLDER, or the
source distribution `archive` as a wheel into WHEELS.

Input: {backend, backend_path, ask, archive} as JSON. Other files that the backend writes to
`/work`, such as a module with the version, stay, too. Output: {error, requires}: null and an empty
list after a build. With `ask`, a backend that has further requirements lists them, and builds
nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER, WHEELS, UNPACKED = "/work/.fettle/project", "/work/.fettle/wheels", "/work/.fettle/source"


def main() -> None:
    """Carry out one order."""
    order = json.load(sys.stdin)
    real_stdout = os.dup(1)
    os.dup2(2, 1)
    error, requires = None, []
    try:
        top = _unpacked(order["archive"]) if order["archive"] else "/work"
        os.chdir(top)
        sys.path[:0] = [f"{top}/{folder}" for folder in order["backend_path"]]
        backend = _backend(order["backend"])
        kind = "wheel" if order["archive"] else "editable"
        if order["ask"] and hasattr(backend, f"get_requires_for_build_{kind}"):
            requires = list(getattr(backend, f"get_requires_for_build_{kind}")())
        if not requires:
            _wheel(backend) if order["archive"] else _editable(backend)
    except (Exception, SystemExit) as failure:  # noqa: BLE001 - whatever a backend raises
        error = f"{type(failure).__name__}: {failure}"[:400]
    shutil.rmtree(UNPACKED, ignore_errors=True)
    os.write(real_stdout, json.dumps({"error": error, "requires": requires}).encode())


def _unpacked(archive: str) -> str:
    """The single directory of the archive."""
    shutil.unpack_archive(archive, UNPACKED)
    (top,) = Path(UNPACKED).iterdir()
    return str(top)


def _backend(name: str) -> Any:
    module, _, inside = name.partition(":")
    backend: Any = importlib.import_module(module)
    for part in filter(None, inside.split(".")):
        backend = getattr(backend, part)
    return backend


def _wheel(backend: Any) -> None:
    Path(WHEELS).mkdir(parents=True, exist_ok=True)
    backend.build_wheel(WHEELS)


def _editable(backend: Any) -> None:
    Path(FOLDER).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            wheel = backend.build_editable(folder)
        except (Exception, SystemExit):  # noqa: BLE001 - no such hook, or a compiler is missing
            backend.prepare_metadata_for_build_wheel(FOLDER)
        else:
            with zipfile.ZipFile(Path(folder, wheel)) as archive:
                archive.extractall(FOLDER)


if __name__ == "__main__":
    main()
