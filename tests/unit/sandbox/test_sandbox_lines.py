from __future__ import annotations

from dataclasses import replace

import pytest

from sandbox.local.lines import LIBRARIES, wants_libraries
from sandbox.protocol import Command

PLOT = Command.python("import matplotlib.pyplot as plt")


@pytest.mark.parametrize("name", LIBRARIES)
def test_code_that_names_a_library_wants_it(name: str) -> None:
    assert wants_libraries(Command.python(f"__import__('{name}')"))


def test_the_usual_libraries_are_known() -> None:
    assert set(LIBRARIES) == {"numpy", "PIL", "matplotlib", "pandas", "pytest"}


def test_a_module_that_is_run_counts() -> None:
    assert wants_libraries(Command(("python", "-m", "pytest", "-q")))
    assert not wants_libraries(Command(("python", "-m", "unittest", "-q")))


def test_so_does_a_file_that_may_be_imported() -> None:
    command = Command.python("import own", {"lib/own.py": b"import numpy as np"})
    assert wants_libraries(command)
    assert not wants_libraries(replace(command, files={"own.txt": b"import numpy as np"}))


@pytest.mark.parametrize("code", ["", "print(1)", "import json, sqlite3", "\ud800"])
def test_the_rest_is_plain(code: str) -> None:
    assert not wants_libraries(Command.python(code, {"own.py": b"\xff\0import json"}))


def test_what_starts_an_interpreter_of_its_own_has_no_use_for_them() -> None:
    assert wants_libraries(PLOT)
    assert not wants_libraries(replace(PLOT, seed=3))
    assert not wants_libraries(Command(("python", "plot.py"), {"plot.py": b"import numpy"}))
    assert not wants_libraries(Command(("pytest",)))
