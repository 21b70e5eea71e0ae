"""SandboxEnvironment: the interpreter, the packages and the programs of a job's sandbox."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SandboxEnvironment:
    """The contents of a sandbox that prompts name. The default is used if no sandbox was asked."""

    python: str = "3"
    """The version of the interpreter."""
    packages: tuple[str, ...] = ()
    """Written `numpy 2.4.6`."""
    programs: tuple[str, ...] = ()
    """The programs of the shell beyond coreutils."""
    runners: tuple[str, ...] = ()
    """The programs that run projects' tests. No prompt names them."""
    digest: str = ""
    """Identifies the environment."""
