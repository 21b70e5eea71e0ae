"""What `fettle up` says when everything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cli.output import Screen

TASK = "Write a binary search and test it on 20 numbers."
USUAL = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where things are. `flower_port` is None where Flower is not installed,
    `key` and `flower_password` where a person has set them.
    """

    url: str
    flower_port: int | None
    flower_password: str | None = field(repr=False)
    key: str | None = field(repr=False)
    models: Sequence[str]
    sign_in: str = field(default="", repr=False)
    """The path of a link that signs a browser in, once."""


def banner(screen: Screen, where: Addresses) -> None:
    """Say where to go and what to type."""
    screen.title("Fettle is up")
    for label, value in _facts(where):
        screen.line(label, value)
    screen.text()


def _facts(where: Addresses) -> list[tuple[str, str]]:
    url = "" if where.url == USUAL else f"--url {where.url} "
    model = "" if where.models else "--model recording:demo-binary-search "
    password = where.flower_password or "that of FETTLE_FLOWER_PASSWORD"
    flower = "not installed: pip install 'fettle[flower]'"
    if where.flower_port is not None:
        flower = f"http://127.0.0.1:{where.flower_port}, user fettle, password {password}"
    missing = "no key: set GROQ_API_KEY or GOOGLE_API_KEY (recordings can be played without)"
    pages = f"{where.url}{where.sign_in or '/app'}"
    once = " (signs you in; once, within 15 minutes)" if where.sign_in else ""
    return [
        ("pages", f"{pages}{once}"),
        ("api", f"{where.url}, its documentation at {where.url}/docs"),
        ("key", where.key or "that of FETTLE_API_KEY"),
        ("models", ", ".join(where.models) or missing),
        ("flower", flower),
        ("try", f'fettle {url}run {model}"{TASK}"'),
        ("stop", "Ctrl-C"),
    ]
