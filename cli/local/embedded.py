"""A temporary service for another program; `fettle.embedded` of the Python client starts it."""

from __future__ import annotations

import json
import secrets
import sys

from cli.local.throwaway import throwaway
from cli.output import Screen


def serve_caller(workers: int) -> None:
    """Start a service, print its address and key as a line of JSON, and run until stdin is closed.

    The kernel closes this pipe also if the caller is killed. The progress goes to stderr.
    """
    key = secrets.token_urlsafe(24)
    with throwaway(Screen(stderr=True), workers=workers, key=key) as service:
        sys.stdout.write(json.dumps({"url": service.url, "api_key": key}) + "\n")
        sys.stdout.flush()
        while sys.stdin.buffer.read(1):
            pass
