"""The outermost handler of a drill's command: errors end the process with a message."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cli.errors import CliError
from cli.exit_codes import FAILED
from cli.output import Screen
from cli.render.parts import Tone
from cli.signals import StoppedBySignal
from sandbox.protocol import SandboxUnavailable


@contextmanager
def report_errors(screen: Screen) -> Iterator[None]:
    """End the process with the error's exit code if the block fails."""
    try:
        yield
    except CliError as error:
        parts = (error.title, error.detail, error.next_step)
        screen.line("error", "\n".join(filter(None, parts)), Tone.BAD)
        sys.exit(error.exit_code)
    except SandboxUnavailable as error:
        screen.line("error", f"no code can be run here: {error}", Tone.BAD)
        sys.exit(FAILED)
    except StoppedBySignal as stopped:
        sys.exit(stopped.exit_code)
