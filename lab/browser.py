"""Debian's Chromium, without a network except loopback."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from cli.errors import CliError

ARGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


def browser_path() -> str:
    """The browser's path. Raises CliError without one."""
    path = shutil.which("chromium")
    if path is None:
        raise CliError("there is no browser", next_step="deploy/packages.sh chromium")
    return path


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser that runs until the block ends."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_path(), args=list(ARGS))
        try:
            yield browser
        finally:
            browser.close()
