"""Which failed runs get a hint: only runs for which the hint adds information to the output."""

from __future__ import annotations

from typing import Any

import pytest

from agents.failures.failure import FailureClass
from agents.failures.hints import Hint, HintKind, hint_of

QUIET = (FailureClass.UNKNOWN, FailureClass.KEY, FailureClass.TEST_FAILURE, FailureClass.TYPE)
PATHS = ("src/shop/__init__.py", "src/shop/tax.py", "tools/clean.py", "tests/test_tax.py", "README")


def run(
    kind: FailureClass,
    cause: str = "",
    *,
    code: str = "run",
    tool: str = "shell",
    end: str = "exited",
    exception: str | None = None,
) -> dict[str, Any]:
    failure = {"class": kind.value, "cause": cause, "exception": exception}
    return {"tool": tool, "code": {"text": code}, "end": end, "failure": failure}


def imports(module: str) -> dict[str, Any]:
    cause = f"ModuleNotFoundError: No module named '{module}'"
    return run(FailureClass.IMPORT, cause, exception="ModuleNotFoundError")


@pytest.mark.parametrize(
    ("failed", "hint"),
    [
        (imports("shop"), Hint(HintKind.OWN_MODULE, "src/shop/")),
        (imports("clean"), Hint(HintKind.OWN_MODULE, "tools/clean.py")),
        (imports("requests"), Hint(HintKind.NO_MODULE)),
        (imports("shop.nothing"), None),  # the package exists
        (run(FailureClass.IMPORT, "ImportError: cannot import name 'x' from 'shop'"), None),
        (run(FailureClass.UNKNOWN, code="pip install requests"), Hint(HintKind.INSTALLING)),
        (
            run(FailureClass.UNKNOWN, code="cd /tmp && python3 -m pip install x"),
            Hint(HintKind.INSTALLING),
        ),
        (run(FailureClass.UNKNOWN, code="grep -rn 'pip install' docs"), None),
        (run(FailureClass.UNKNOWN, code="pip install x", tool="verify"), None),
        (run(FailureClass.FILE, "OSError: [Errno 30] Read-only: '/x'"), Hint(HintKind.READ_ONLY)),
        (run(FailureClass.FILE, "FileNotFoundError: [Errno 2] No such file: 'x'"), None),
        (run(FailureClass.TIMEOUT, code="pytest -q", end="timeout"), Hint(HintKind.SLOW_TESTS)),
        (run(FailureClass.TIMEOUT, code="npm test", end="cpu"), Hint(HintKind.SLOW_TESTS)),
        (run(FailureClass.TIMEOUT, code="python app.py", end="timeout"), None),
        (run(FailureClass.MEMORY, end="signaled"), Hint(HintKind.KILLED)),
        (run(FailureClass.MEMORY, end="memory"), None),
        (run(FailureClass.MEMORY, "MemoryError", exception="MemoryError"), None),
        (run(FailureClass.OUTPUT_FLOOD, "OSError: [Errno 28] No space"), Hint(HintKind.FULL)),
        (run(FailureClass.OUTPUT_FLOOD, "it printed far more than is kept", end="output"), None),
        (run(FailureClass.NETWORK_DENIED), Hint(HintKind.NETWORK)),
        *((run(kind, "exit code 1"), None) for kind in QUIET),
    ],
)
def test_a_hint_adds_information_to_the_output(failed: dict[str, Any], hint: Hint | None) -> None:
    assert hint_of(failed, PATHS) == hint
