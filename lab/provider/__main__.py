"""`python -m lab.provider`: the local provider as a separate process."""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys

from lab.provider.script import Script
from lab.provider.server import ProviderServer


def main(arguments: list[str] | None = None) -> int:
    """Serves until SIGINT or SIGTERM. Its first line on stdout is JSON with the base URLs."""
    options = _parser().parse_args(arguments)
    script = _script(options.script)
    with ProviderServer(script, host=options.host, port=options.port, remembers=False) as server:
        urls = {"groq": server.groq_url, "gemini": server.gemini_url, "openai": server.openai_url}
        sys.stdout.write(json.dumps(urls) + "\n")
        sys.stdout.flush()
        # the main thread blocks the signals and waits for them, so that the process ends in order
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.provider", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--script",
        default="lab.provider.script:echo",
        metavar="MODULE:NAME",
        help="a function from the request to the turn (default: %(default)s)",
    )
    return parser


def _script(reference: str) -> Script:
    module, _, name = reference.partition(":")
    script: Script = getattr(importlib.import_module(module), name)
    return script


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    raise SystemExit(main())
