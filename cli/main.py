"""The entry point of `fettle`. It imports no library before its environment is clean (ADR 62)."""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper

from settings.starting.environment import clean_environment


def main() -> None:
    """Run the command line; exits with a code that `cli.exit_codes` lists."""
    clean_environment()
    # Names of files, and texts in a pipe, may have bytes that are not in the encoding.
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):  # not if it is closed
            stream.reconfigure(errors=errors)
    sys.exit(run(sys.argv[1:]))


def run(args: list[str]) -> int:
    """Run one command; returns its exit code."""
    return int(import_module("cli.command_line").run(args))
