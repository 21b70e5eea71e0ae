"""Words: numbers, times, money and foreign text as a page shows them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

_LEAST = Decimal("0.0001")
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u3164\ufeff\uffa0\U000e0000-\U000e007f]"
)
_UNITS = (("day", 86_400), ("h", 3_600), ("min", 60))
STATUS = {
    "queued": "queued",
    "running": "running",
    "awaiting_review": "in review",
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "cancelled",
}

_ENDS = {
    "timeout": "stopped: it ran for too long",
    "cpu": "stopped: it used too much processor time",
    "memory": "stopped: it used too much memory",
    "output": "stopped: it printed far more than is kept",
    "disk": "stopped: its files took too much room",
    "processes": "failed with all of its processes and threads in use",
    "killed": "stopped: it was killed from outside",
}


def visible(text: Any) -> str:
    """Foreign text, '' for None, whose control characters, invisible signs and direction marks
    are spelled out: they could hide code, or show it in an order in which it does not run."""
    told = "" if text is None else str(text)
    return _HIDDEN.sub(_spelled, told.replace("\r\n", "\n"))


def first_line(text: str, width: int = 160) -> str:
    """A text's first line, cut to a width."""
    line = next((part.strip() for part in visible(text).splitlines() if part.strip()), "")
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def plural(count: int, word: str, words: str | None = None) -> str:
    """`1 run`, `2 runs`."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"


def seconds(value: float) -> str:
    """`0.42 s`, `12.3 s`, `2 min 05 s`, `3 h 10 min`."""
    if value < 9.995:
        return f"{value:.2f} s"
    if value < 59.95:
        return f"{value:.1f} s"
    whole = int(value)
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60:02d} min"


def roughly(value: float) -> str:
    """How long, by its largest unit: `3 days`, `2 h`, `5 min`, `under a minute`."""
    for unit, length in _UNITS:
        if value >= length:
            count = int(value // length)
            return plural(count, unit) if unit == "day" else f"{count} {unit}"
    return "under a minute"


def size(count: int) -> str:
    """`812 B`, `34.1 KiB`, `1.2 MiB`."""
    if count < 1_024:
        return f"{count} B"
    scaled, unit = (count / 1_024, "KiB") if count < 1_024**2 else (count / 1_024**2, "MiB")
    return f"{scaled:.1f} {unit}"


def money(dollars: str | None) -> str:
    """`$0.0031`, `under $0.0001`, `price unknown`."""
    if dollars is None:
        return "price unknown"
    amount = Decimal(dollars)
    if amount == 0:
        return "$0"
    if amount < _LEAST:
        return f"under ${_LEAST}"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def spent(spend: Any) -> str:
    """What a spend comes to; what has no known price is said to be missing."""
    if spend["cost_usd"] is not None:
        return money(spend["cost_usd"])
    known = Decimal(spend["known_usd"])
    return f"over {money(spend['known_usd'])}" if known else "price unknown"


def moment(iso: str | None) -> str:
    """A time as a person writes it, in UTC: `2026-11-22 07:40`."""
    return iso[:16].replace("T", " ") if iso else ""


def since(iso: str, now: datetime | None = None) -> float:
    """Seconds since a time."""
    return ((now or datetime.now(UTC)) - datetime.fromisoformat(iso)).total_seconds()


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def ending(run: Any) -> str:
    """How a run ended."""
    if run["end"] == "exited":
        return f"exit {run['exit_code']}"
    if run["end"] == "signaled":
        return f"killed by signal {run['signal']}"
    return _ENDS.get(run["end"], str(run["end"]))


def offset(value: float) -> str:
    """Time since a job's start: `0:07`, `12:30`, `2:05:00`."""
    whole = int(value)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
