"""Environment: what a job's code finds in its sandbox, as prompts name it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Environment:
    """`python` is the interpreter's version, `packages` are written `numpy 2.4.6`, `programs` are
    the shell's beyond coreutils. `runners` are programs that run projects' tests, which no prompt
    names. `digest` tells it from others. The default is known before a sandbox was asked."""

    python: str = "3"
    packages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    digest: str = ""
