"""Installs the project of `/work` the editable way into FOLDER, by its own build backend.

Input: {backend, backend_path, ask} as JSON. What the backend writes elsewhere, such as a module
with the version, stays, too. Output: {error, requires}: null, and nothing, where it is built. To
`ask`, a backend that requires more for it says what, and nothing is built.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "/work/.fettle/project"


def main() -> None:
    """One order."""
    order = json.load(sys.stdin)
    said = os.dup(1)
    os.dup2(2, 1)
    os.chdir("/work")
    sys.path[:0] = [f"/work/{each}" for each in order["backend_path"]]
    Path(FOLDER).mkdir(parents=True, exist_ok=True)
    error, requires = None, []
    try:
        backend = _backend(order["backend"])
        if order["ask"] and hasattr(backend, "get_requires_for_build_editable"):
            requires = list(backend.get_requires_for_build_editable())
        if not requires:
            _build(backend)
    except (Exception, SystemExit) as failure:  # noqa: BLE001 - whatever a backend raises
        error = f"{type(failure).__name__}: {failure}"[:400]
    os.write(said, json.dumps({"error": error, "requires": requires}).encode())


def _backend(name: str) -> Any:
    module, _, inside = name.partition(":")
    backend: Any = importlib.import_module(module)
    for part in filter(None, inside.split(".")):
        backend = getattr(backend, part)
    return backend


def _build(backend: Any) -> None:
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
