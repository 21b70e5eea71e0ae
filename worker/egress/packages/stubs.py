"""Stubs: empty wheels for packages that the sandbox has already, so that pip takes them as given.

pip resolves for an interpreter that it does not run in, and cannot ask what is installed there. A
stub has a local version (`2.4.6+there`), which no index can have: a constraint to it keeps pip
from downloading the package itself, and `numpy>=2` and `numpy==2.4.6` accept it.
"""

from __future__ import annotations

import zipfile
from pathlib import Path


def local_version(version: str) -> str:
    """The version of the stub of a package that is there in `version`."""
    return f"{version}.there" if "+" in version else f"{version}+there"


def write_stub(folder: Path, name: str, version: str) -> None:
    """Write the empty wheel of a package (normalized name) into `folder`."""
    stem = f"{name.replace('-', '_')}-{local_version(version)}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {local_version(version)}\n"
        wheel.writestr(f"{stem}.dist-info/METADATA", metadata)
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")
