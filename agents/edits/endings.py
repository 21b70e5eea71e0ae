"""Line ends: a model writes line feeds, whatever the file has."""

from __future__ import annotations

from agents.lines import lines_of


def has_only_crlf(text: str) -> bool:
    """Whether each line of `text` that ends, ends with a carriage return and a line feed."""
    ends = text.count("\n")
    return 0 < ends == text.count("\r\n")


def as_crlf(text: str) -> str:
    """`text` with each line feed behind a carriage return."""
    return "".join(
        line if line.endswith("\r\n") or not line.endswith("\n") else line[:-1] + "\r\n"
        for line in lines_of(text)
    )
