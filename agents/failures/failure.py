"""Failure: what kind of end a failed run had, and its cause in one line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from agents.texts import one_line

PROGRAM: Final = "/run/main.py"
"""How tracebacks name code that is handed over as text: `sandbox.protocol.Command.python`."""
LONGEST_CAUSE = 300
"""Characters of a cause: it stands in events, prompts and on one line of a terminal."""


class FailureClass(StrEnum):
    """What kind of failure it was. Trouble of the sandbox itself is none: it raises, and the job
    is tried again (`sandbox.protocol.SandboxUnavailable`)."""

    SYNTAX = "syntax"
    IMPORT = "import"
    TYPE = "type"
    NAME = "name"
    """A name or an attribute that is not there."""
    KEY = "key"
    """A key or an index that is not there."""
    VALUE = "value"
    ASSERTION = "assertion"
    FILE = "file"
    RECURSION = "recursion"
    ZERO_DIVISION = "zero_division"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    OUTPUT_FLOOD = "output_flood"
    """Far more was printed, or written to files, than is kept."""
    NETWORK_DENIED = "network_denied"
    TEST_FAILURE = "test_failure"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Failure:
    """`exception` names the type of the exception that ended the program, if one did; `file` and
    `line` are the innermost place in the program's own code that its traceback shows."""

    kind: FailureClass
    cause: str
    exception: str | None = None
    file: str | None = None
    line: int | None = None

    def fields(self) -> dict[str, Any]:
        """{class, cause, exception, file, line}, as a run's record holds it."""
        return {
            "class": self.kind.value,
            "cause": one_line(self.cause, LONGEST_CAUSE),
            "exception": self.exception,
            "file": self.file,
            "line": self.line,
        }
