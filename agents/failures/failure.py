"""Failure: the class of a failed run, and its cause in one line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from agents.texts import one_line

PROGRAM: Final = "/run/main.py"
"""The file name of a Python program in tracebacks: see `sandbox.protocol.Command.python`."""
LONGEST_CAUSE = 300
"""Characters of a cause: it is shown in events, prompts and on one line of a terminal."""


class FailureClass(StrEnum):
    """The class of a failure. An infrastructure error of the sandbox has no class: it raises, and
    the job is tried again (`sandbox.protocol.SandboxUnavailable`)."""

    SYNTAX = "syntax"
    IMPORT = "import"
    TYPE = "type"
    NAME = "name"
    """A missing name or attribute."""
    KEY = "key"
    """A missing key or index."""
    VALUE = "value"
    ASSERTION = "assertion"
    FILE = "file"
    RECURSION = "recursion"
    ZERO_DIVISION = "zero_division"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    OUTPUT_FLOOD = "output_flood"
    """Far more was printed or written to files than is kept."""
    NETWORK_DENIED = "network_denied"
    TEST_FAILURE = "test_failure"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Failure:
    """`exception` is the type of the exception that ended the program, or None; `file` and `line`
    are the innermost place in the program's own code in its traceback."""

    kind: FailureClass
    cause: str
    exception: str | None = None
    file: str | None = None
    line: int | None = None

    def fields(self) -> dict[str, Any]:
        """{class, cause, exception, file, line}, as in a run's record."""
        return {
            "class": self.kind.value,
            "cause": one_line(self.cause, LONGEST_CAUSE),
            "exception": self.exception,
            "file": self.file,
            "line": self.line,
        }
