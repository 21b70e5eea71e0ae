"""Makes the virtual environment of a run that has files for its `site-packages`.

The environment is like one of `python -m venv`, but takes a millisecond: a link to the interpreter,
and a `pyvenv.cfg` next to it. So the interpreter sets its module path in every process, independent
of the environment variables of the process.
"""

# ruff: noqa: PTH101, PTH103, PTH119, PTH120, PTH123, PTH208, PTH211

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = "/run/venv"
PACKAGES_FILE = "~sandbox.pth"
"""Adds the sandbox's packages. `site` reads these files in the order of their names, and no name of
`Command.site` comes after this one.
"""
_SCRIPTS = "/opt/scripts"
_MAX_LINE_BYTES = 128


def make_venv(python: str, files: Mapping[str, bytes]) -> str:
    """Make an environment over the environment of `python`; returns the new interpreter's path."""
    library = os.path.basename(os.path.dirname(os.__file__))  # such as python3.11
    packages = f"{ROOT}/lib/{library}/site-packages"
    programs = f"{ROOT}/bin"
    os.makedirs(packages)
    os.makedirs(programs)
    home = os.path.dirname(getattr(sys, "_base_executable", "") or sys.executable)
    _write(f"{ROOT}/pyvenv.cfg", f"home = {home}\ninclude-system-site-packages = false\n".encode())
    for name in ("python", "python3"):
        os.symlink(python, f"{programs}/{name}")
    for name, data in files.items():
        os.makedirs(os.path.dirname(f"{packages}/{name}"), exist_ok=True)
        _write(f"{packages}/{name}", data)
        if name.endswith(".dist-info/entry_points.txt"):
            _write_scripts(programs, data.decode())
    site_paths = (path for path in sys.path if path.endswith(("site-packages", "dist-packages")))
    lines = (f"import site; site.addsitedir({path!r})\n" for path in site_paths)
    _write(f"{packages}/{PACKAGES_FILE}", "".join(lines).encode())
    for name, data in _read_programs(python):
        if not os.path.lexists(f"{programs}/{name}"):
            _write(f"{programs}/{name}", data)
            os.chmod(f"{programs}/{name}", 0o755)  # noqa: S103
    return f"{programs}/python"


def _read_programs(python: str) -> Iterator[tuple[str, bytes]]:
    """Read the programs of the interpreter's environment (such as `pytest`), as name and text. The
    first line of a text names the interpreter of the new environment.
    """
    programs = os.path.dirname(python)
    interpreter = f"#!{programs}/python".encode()
    for folder in (_SCRIPTS, programs):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():  # noqa: PTH112
            path = f"{folder}/{name}"
            if os.path.islink(path) or not os.path.isfile(path):  # noqa: PTH113, PTH114
                continue
            with open(path, "rb") as file:
                line = file.readline(_MAX_LINE_BYTES)
                if line.startswith(interpreter) and line.endswith(b"\n"):
                    yield name, f"#!{ROOT}/bin/python\n".encode() + file.read()


def _write_scripts(programs: str, entry_points: str) -> None:
    """Write the programs that an installer makes from the group `console_scripts`."""
    group = ""
    for line in entry_points.splitlines():
        name, _, target = map(str.strip, line.partition("="))
        parts = target.replace(":", ".", 1).split(".")
        if line.startswith("["):
            group = line
        elif group == "[console_scripts]" and all(map(str.isidentifier, parts)):
            path, (module, _, function) = f"{programs}/{name}", target.partition(":")
            if function and name and "/" not in name and not os.path.lexists(path):
                first = function.partition(".")[0]
                code = f"import sys\nfrom {module} import {first}\nsys.exit({function}())\n"
                _write(path, f"#!{ROOT}/bin/python\n{code}".encode())
                os.chmod(path, 0o755)  # noqa: S103


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
