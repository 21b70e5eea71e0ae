"""The generated modules of the client are what their sources make of them."""

from __future__ import annotations

import runpy
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
SCRIPT = REPOSITORY / "deploy" / "client_code.py"


def test_the_synchronous_client_and_the_problems_are_up_to_date() -> None:
    modules = runpy.run_path(str(SCRIPT))["generated"]()
    files = {path.relative_to(REPOSITORY): path.read_text() for path in modules}
    expected = {path.relative_to(REPOSITORY): text for path, text in modules.items()}
    assert files == expected, "write them: make types"
    written = set((REPOSITORY / "fettle" / "_sync").glob("*.py"))
    assert written <= modules.keys(), "a module of _sync has no source in _async"


def test_no_word_of_asynchronous_code_is_left() -> None:
    for path in (REPOSITORY / "fettle" / "_sync").glob("*.py"):
        _, *code = path.read_text().splitlines()  # the first line names the source
        words = " ".join(code).replace(".", " ").split()
        assert not {"async", "await", "asyncio"} & set(words), path
